// Verifies who signed a commit or tag, by git and with the keys that the user lists (INS-93).

import { join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { expandHome } from '../../files/home.js';
import { readTextFile } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { writeFileAtomic } from '../../files/write.js';
import type { InstallEnvironment, Signer } from '../environment.js';
import type { SourceRecord } from '../state.js';
import { clonePaths } from './clones.js';
import { TAG_REF } from './fetch-commit.js';
import { runGit } from './git.js';

const MAX_BYTES = 1024 * 1024;
const FINGERPRINT = /^(?:[0-9A-F]{40}|[0-9A-F]{64})$/;
const PUBLIC_KEY = /^((?:ssh|ecdsa|sk)-[\w@.-]+ [A-Za-z0-9+/]+=*)(?: (.*))?$/;

// A line of `allowed_signers` has names and options before its key.
const HAS_KEY = /(?:^|\s)(?:ssh|ecdsa|sk)-[\w@.-]+\s+[A-Za-z0-9+/]+=*(?:\s|$)/;

/** Returns the fingerprint of an OpenPGP key in one spelling; undefined for other texts. */
function toFingerprint(text: string): string | undefined {
  const plain = text.replace(/^0x|\s/gi, '').toUpperCase();
  return FINGERPRINT.test(plain) ? plain : undefined;
}

/**
 * Reads signers: OpenPGP fingerprints, SSH public keys, and files of such keys or in the format of `allowed_signers`.
 * Each becomes a line. Throws `usage` for one that has no key, and for a file with a line that has none.
 */
export function readSigners(texts: readonly string[], cwd: string, home: string | undefined): readonly string[] {
  return texts.flatMap((given) => {
    const text = given.trim();
    const key = toFingerprint(text);
    if (key !== undefined) return [key];
    if (PUBLIC_KEY.test(text) && !/[\0-\x1f\x7f]/.test(text)) return [text];
    const path = resolve(cwd, expandHome(text, home));
    const lines = (text === '' ? '' : (readTextFile(path, MAX_BYTES) ?? ''))
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== '' && !/^#|[\0-\x08\x0b-\x1f\x7f]/.test(line));
    // Anything else could be a private key, and would be recorded.
    if (lines.length > 0 && lines.every((line) => toFingerprint(line) !== undefined || HAS_KEY.test(line)))
      return lines.map((line) => toFingerprint(line) ?? line);
    throw new ToolError('usage', `no key of a signer: ${quoteOutside(text, 200)}`, {
      hint: 'name an SSH public key, a file of them, or the fingerprint of an OpenPGP key, of 40 hexadecimal digits',
    });
  });
}

// Returns the signers that each list allows, and where it is.
function listsOf({ signers = [], id }: SourceRecord, { sourceSigners, world }: InstallEnvironment) {
  return [
    ...(signers.length === 0 ? [] : [{ lines: signers, where: `the signers of ${id}` }]),
    ...sourceSigners.map(({ allow, file, line }) => ({
      lines: readSigners(allow, '/', world.home),
      where: `sources.signers in ${file}:${line}`,
    })),
  ];
}

/** Whether a source must be signed. Directories of this machine are not: they are not fetched. */
export function needsSignature(
  { signers = [], kind }: SourceRecord,
  { sourceSigners }: Pick<InstallEnvironment, 'sourceSigners'>,
): boolean {
  return kind !== 'local' && signers.length + sourceSigners.length > 0;
}

/** Throws `integrity` unless the registered commit has the signature that is required now (INS-93). */
export async function assertSigned(record: SourceRecord, environment: InstallEnvironment): Promise<void> {
  if (!needsSignature(record, environment)) return;
  if (record.kind === 'bundle') throw unsigned(record);
  const { commit, directory, pin } = record;
  const { git: gitDirectory } = clonePaths(environment.paths, directory!, commit);
  const tag = pin?.to === 'tag' || pin?.to === 'ref' ? pin.name : undefined;
  await findSigner(record, { gitDirectory, commit: commit!, tag }, environment);
}

export function unsigned({ id }: SourceRecord): ToolError {
  return new ToolError('integrity', `${id} is a bundle, which has no signature that can be verified`, {
    hint: 'add its repository instead; the configuration or --signer requires signatures',
  });
}

export interface Signed {
  readonly gitDirectory: string;
  readonly commit: string;
  /** The tag that led to the commit, which was fetched too. */
  readonly tag: string | undefined;
}

/** Returns who signed a commit, or the tag that led to it. Throws `integrity` unless each list allows a signer (INS-93). */
export async function findSigner(
  record: SourceRecord,
  signed: Signed,
  environment: InstallEnvironment,
): Promise<Signer | null> {
  let signer: Signer | null = null;
  for (const { lines, where } of listsOf(record, environment)) {
    const byTag = await verifyTag(signed, lines, environment);
    const found = typeof byTag === 'object' ? byTag : await verify('commit', signed.commit, signed, lines, environment);
    if (typeof found === 'string')
      throw new ToolError('integrity', `the commit ${signed.commit.slice(0, 12)} of ${record.id} ${found}`, {
        hint: `${where} must contain who signed it; ask the author, and add a key only if you know whose it is`,
      });
    signer ??= found;
  }
  return signer;
}

// A tag vouches for a commit only under its own name: otherwise an old one could be served as a new version.
async function verifyTag(
  signed: Signed,
  lines: readonly string[],
  environment: InstallEnvironment,
): Promise<Signer | string> {
  const { gitDirectory, commit, tag } = signed;
  if (tag === undefined) return 'has no tag';
  const { ok, stdout } = await runGit(environment, { gitDirectory }, ['cat-file', 'tag', TAG_REF]);
  const head = `object ${commit}\ntype commit\ntag ${tag}\n`;
  if (!ok || !stdout.toString('utf8').startsWith(head)) return 'has no annotated tag of that name';
  return verify('tag', TAG_REF, signed, lines, environment);
}

/** Returns the signer, or why there is no valid one. */
async function verify(
  of: Signer['of'],
  object: string,
  { gitDirectory }: Signed,
  lines: readonly string[],
  environment: InstallEnvironment,
): Promise<Signer | string> {
  const file = join(gitDirectory, 'wield-signers');
  const allowed = lines.filter((line) => !FINGERPRINT.test(line) && !isExpired(line, environment.world.now()));
  writeFileAtomic(file, `${allowed.map(toAllowedSigner).join('\n')}\n`, { durable: false });
  try {
    const settings = [`gpg.ssh.allowedSignersFile=${file}`, 'gpg.x509.program=/dev/null'];
    const args = [...settings.flatMap((one) => ['-c', one]), `verify-${of}`, '--raw', object];
    const { GNUPGHOME } = environment.world.env;
    const options = { gitDirectory, ...(GNUPGHOME !== undefined && { variables: { GNUPGHOME } }) };
    const { ok, stderr } = await runGit(environment, options, args);
    const found = stderr.includes('[GNUPG:] ') ? readStatus(stderr, lines) : readSsh(stderr);
    if (typeof found === 'object' && !ok) return 'has a signature that git does not accept';
    return typeof found === 'string' ? found : { ...found, of };
  } finally {
    removeFile(file);
  }
}

function toAllowedSigner(line: string): string {
  const [, key, comment = ''] = PUBLIC_KEY.exec(line) ?? [];
  return key === undefined ? line : `${/^[\w.@+-]+$/.test(comment) ? comment : '*'} namespaces="git" ${key}`;
}

// Git compares with the time of the commit, which its author chose.
function isExpired(line: string, now: number): boolean {
  const [, before] = /^[^#]*?\bvalid-before="?(\d{8,14})/i.exec(line) ?? [];
  const time = new Date(now).toISOString().replace(/\D/g, '');
  return before !== undefined && time.slice(0, before.length) >= before;
}

// Good "git" signature for ada@example.com with ED25519 key SHA256:…
const GOOD = /^Good "git" signature for (.+) with \S+ key (SHA256:[A-Za-z0-9+/]+)$/gm;
const UNKNOWN = /^Good "git" signature with \S+ key (SHA256:[A-Za-z0-9+/]+)$/m;

function readSsh(output: string): Omit<Signer, 'of'> | string {
  const [first, ...others] = output.matchAll(GOOD);
  if (first !== undefined && others.length === 0) return { key: first[2]!, name: first[1] === '*' ? null : first[1]! };
  const unknown = UNKNOWN.exec(output)?.[1];
  if (unknown !== undefined) return `is signed by ${unknown}, which is not an allowed signer, or has expired`;
  const reason = output.trim().split('\n').at(-1) ?? '';
  return reason === '' ? 'is not signed' : `has no valid signature: ${quoteOutside(reason, 200)}`;
}

// The lines that gpg writes for programs. Git also accepts a signature of a key that has expired.
function readStatus(output: string, lines: readonly string[]): Omit<Signer, 'of'> | string {
  const states = [...output.matchAll(/^\[GNUPG:\] (\w+) ?(.*)$/gm)].map(([, word, rest = '']) => ({ word, rest }));
  const all = (word: string): string[] => states.filter((one) => one.word === word).map(({ rest }) => rest);
  const [[good, ...otherGood], [valid, ...otherValid]] = [all('GOODSIG'), all('VALIDSIG')];
  const bad = ['EXPSIG', 'EXPKEYSIG', 'REVKEYSIG', 'BADSIG', 'ERRSIG'].find((word) => all(word).length > 0);
  if (bad === 'ERRSIG')
    return `is signed by the key ${quoteOutside(all(bad)[0]!.split(' ')[0]!, 40)}, which gpg does not have`;
  if (bad !== undefined || good === undefined || valid === undefined || otherGood.length + otherValid.length > 0)
    return `has no valid signature: ${WHY[bad ?? ''] ?? 'gpg does not accept it'}`;
  const fields = valid.split(' ');
  const keys = [fields[0]!, fields[9] ?? fields[0]!];
  if (!keys.some((key) => lines.includes(key))) return `is signed by ${keys[1]}, which is not an allowed signer`;
  return { key: keys[1]!, name: good.slice(good.indexOf(' ') + 1) };
}

const WHY: Readonly<Record<string, string>> = {
  EXPSIG: 'it has expired',
  EXPKEYSIG: 'its key has expired',
  REVKEYSIG: 'its key was revoked',
  BADSIG: 'it is wrong',
};

/** Formats a signer for people. */
export function describeSigner({ key, name, of }: Signer): string {
  return `${name === null ? '' : `${quoteOutside(name, 120)}, `}${key} (${of})`;
}

/** Where files come from: a commit, its time, and who signed it. */
export interface Provenance {
  readonly commit: string;
  readonly time: string | null;
  readonly signer: Signer | null;
}

/** Returns undefined for a source without commits. The signer is known of the commit that the source is at (INS-95). */
export async function readProvenance(
  record: SourceRecord | undefined,
  commit: string | null,
  environment: InstallEnvironment,
): Promise<Provenance | undefined> {
  if (record?.kind !== 'git' || record.directory === null || commit === null) return undefined;
  const { git: gitDirectory } = clonePaths(environment.paths, record.directory, commit);
  const args = ['show', '--no-patch', '--no-show-signature', '--format=%cI', '--end-of-options', commit];
  const { ok, stdout } = await runGit(environment, { gitDirectory }, args);
  const signer = record.commit === commit ? (record.signer ?? null) : null;
  return { commit, time: ok ? stdout.toString('utf8').trim() : null, signer };
}

/** Formats where files come from, for people. */
export function describeProvenance({ commit, time, signer }: Provenance): string {
  const when = time === null ? '' : ` of ${time.slice(0, 16).replace('T', ' ')}`;
  return `${commit.slice(0, 12)}${when}, ${signer === null ? 'signer not verified' : `signed by ${describeSigner(signer)}`}`;
}
