// Asks npm, uv or docker which version of a package they would run, and for its integrity. Nothing of the package runs.

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { World } from '../../core/snapshot.js';
import { quoteOutside, words } from '../../core/text.js';
import { removeTree } from '../../files/remove.js';
import { writeFileAtomic } from '../../files/write.js';
import { baseEnvironment, findProgram, pathOutside } from '../../process/environment.js';
import { runProcess } from '../../process/spawn.js';
import { describePackage, type RunPackage } from './package.js';

/** What a server is pinned to. */
export interface Pin {
  /** Exact; of an image its digest. */
  readonly version: string;
  /** `sha512-…` of npm, `sha256:…` of each file of PyPI, the digest of an image. */
  readonly integrity: string;
}

export interface Resolved extends Pin {
  /** The files of its installer that name every package it needs. */
  readonly files: Readonly<Record<string, string>>;
}

/** How installers are run. */
export interface Installing {
  /** The server. */
  readonly server: string;
  /** The variables of its entry. */
  readonly variables: Readonly<Record<string, string>>;
  /** Where the server runs: programs of that directory install nothing (EXE-70). */
  readonly cwd: string;
  readonly world: World;
  readonly signal?: AbortSignal | undefined;
}

const LIMIT_MS = 5 * 60_000;
export const NPM_FLAGS = words(
  '--ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error --fetch-retries=0',
);

/** Throws `unavailable` if it cannot be resolved. */
export async function resolvePackage(wanted: RunPackage, installing: Installing): Promise<Resolved> {
  if (wanted.ecosystem === 'docker') return resolveImage(wanted, installing);
  // Not where the server runs: a checkout can have settings of npm and uv.
  const directory = mkdtempSync(join(tmpdir(), 'wield-'));
  try {
    return await (wanted.ecosystem === 'npm' ? resolveNpm : resolvePypi)(wanted, directory, installing);
  } finally {
    removeTree(directory);
  }
}

async function resolveNpm(wanted: RunPackage, directory: string, installing: Installing): Promise<Resolved> {
  const { name } = wanted;
  const spec = `${name}@${wanted.wanted ?? 'latest'}`;
  writeFileAtomic(join(directory, 'package.json'), '{ "private": true }\n', { durable: false });
  const flags = ['install', '--package-lock-only', '--save-exact', ...NPM_FLAGS];
  await runInstaller(['npm', ...flags, '--prefix', directory, '--', spec], directory, installing);
  const read = (file: string): string => readFileSync(join(directory, file), 'utf8');
  const files = { 'package.json': read('package.json'), 'package-lock.json': read('package-lock.json') };
  const { version, integrity } = readNpmLock(files['package-lock.json']).get(`node_modules/${name}`) ?? {};
  if (version === undefined || integrity === undefined)
    throw unnamed(wanted, installing, 'npm names no integrity of it');
  return { version, integrity, files };
}

async function resolvePypi(wanted: RunPackage, directory: string, installing: Installing): Promise<Resolved> {
  const { name, python } = wanted;
  writeFileAtomic(join(directory, 'requirements.in'), `${toRequirement(wanted)}\n`, { durable: false });
  const flags = ['--quiet', '--no-config', '--no-header', '--no-annotate', '--generate-hashes', '--no-build'];
  const own = python === undefined ? [] : ['--python', python];
  const files = ['-o', 'requirements.txt', 'requirements.in'];
  await runInstaller(['uv', 'pip', 'compile', ...flags, ...own, ...files], directory, installing);
  const text = readFileSync(join(directory, 'requirements.txt'), 'utf8');
  const found = readRequirements(text).find((one) => toPypiName(one.name) === toPypiName(name));
  if (found === undefined || found.hashes.length === 0) throw unnamed(wanted, installing, 'uv names no hash of it');
  const integrity = [...found.hashes].sort().join(' ');
  return { version: found.version, integrity, files: { 'requirements.txt': text } };
}

// The registry has the digest; of an image that was built here, nobody has.
async function resolveImage(wanted: RunPackage, installing: Installing): Promise<Resolved> {
  const { runner, name, wanted: tag = 'latest' } = wanted;
  if (tag.startsWith('sha256:')) return { version: tag, integrity: tag, files: {} };
  const image = `${name}:${tag}`;
  const asked = await runProgram(
    [runner, 'buildx', 'imagetools', 'inspect', '--format', '{{.Manifest.Digest}}', image],
    '/',
    installing,
  );
  const known = asked.ok
    ? asked
    : await runProgram([runner, 'image', 'inspect', '--format', '{{join .RepoDigests " "}}', image], '/', installing);
  const [digest] = /sha256:[0-9a-f]{64}/.exec(known.stdout) ?? [];
  if (!known.ok || digest === undefined)
    throw unnamed({ ...wanted, wanted: tag }, installing, asked.reason || `${runner} names no digest of it`);
  return { version: digest, integrity: digest, files: {} };
}

interface LockedPackage {
  readonly name: string;
  readonly version: string | undefined;
  readonly integrity: string | undefined;
}

/** Returns the packages of a `package-lock.json` by their paths. */
export function readNpmLock(text: string): ReadonlyMap<string, LockedPackage> {
  const { packages }: { packages?: unknown } = JSON.parse(text);
  const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return new Map(
    Object.entries(isRecord(packages) ? packages : {}).flatMap(([path, value]): [string, LockedPackage][] => {
      if (path === '' || !isRecord(value)) return [];
      const name = asText(value.name) ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return [[path, { name, version: asText(value.version), integrity: asText(value.integrity) }]];
    }),
  );
}

interface Requirement {
  readonly name: string;
  readonly version: string;
  readonly hashes: readonly string[];
}

/** Reads what `uv pip compile --generate-hashes` writes. */
export function readRequirements(text: string): Requirement[] {
  return text
    .replace(/\\\r?\n/g, ' ')
    .split('\n')
    .flatMap((line) => {
      const [, name, version, rest = ''] = /^([\w.-]+)(?:\[[^\]]*\])?==([^\s;]+)(.*)$/.exec(line.trim()) ?? [];
      if (name === undefined || version === undefined) return [];
      return [{ name, version, hashes: [...rest.matchAll(/--hash=(sha256:[0-9a-f]{64})/g)].map(([, hash]) => hash!) }];
    });
}

/** Returns the one spelling of the name of a project on PyPI. */
export function toPypiName(name: string): string {
  return name.toLowerCase().replace(/[-_.]+/g, '-');
}

/** Returns a package of PyPI as uv reads it. */
export function toRequirement({ name, extras, wanted }: RunPackage): string {
  if (wanted === undefined || wanted === 'latest') return `${name}${extras}`;
  return `${name}${extras}${/^[<>~!=]/.test(wanted) ? wanted : `==${wanted}`}`;
}

/** Throws `unavailable` with the end of its output if a program of the search path fails. */
export async function runInstaller(
  argv: readonly string[],
  cwd: string,
  installing: Installing,
  fail = unresolved,
): Promise<void> {
  const { ok, reason } = await runProgram(argv, cwd, installing);
  if (!ok) throw fail(argv.at(-1)!, installing.server, reason);
}

// Which registry is asked, and how. Other variables could make an installer run something, outside of a sandbox too.
const FOR_INSTALLERS =
  /^(?:npm_config_(?:registry|cafile|proxy|https_proxy|noproxy)|NPM_TOKEN|NODE_AUTH_TOKEN|UV_(?:DEFAULT_INDEX|INDEX\w*|EXTRA_INDEX_URL)|HTTPS?_PROXY|NO_PROXY|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|DOCKER_(?:HOST|CONTEXT))$/i;
// Files that can name programs, so that those of an entry are not used.
const FILES_OF_USER = /^(?:npm_config_userconfig|DOCKER_CONFIG)$/i;

function toInstallerEnvironment(variables: Installing['variables'], world: World): Record<string, string> {
  const of = (given: World['env'], pattern: RegExp) =>
    Object.fromEntries(Object.entries(given).filter(([name]) => pattern.test(name)));
  const chosen = { ...of({ ...world.env, ...variables }, FOR_INSTALLERS), ...of(world.env, FILES_OF_USER) };
  return { ...baseEnvironment(world, []), ...(chosen as Record<string, string>) };
}

async function runProgram(
  [program = '', ...args]: readonly string[],
  cwd: string,
  { variables, cwd: workdir, world, signal }: Installing,
): Promise<{ readonly ok: boolean; readonly stdout: string; readonly reason: string }> {
  const path = pathOutside(workdir, world);
  const binary = findProgram(program, path);
  if (binary === undefined) return { ok: false, stdout: '', reason: `${program} is not installed` };
  world.debug(`running ${basename(binary)} ${args.join(' ')} in ${cwd}`);
  const environment = { ...toInstallerEnvironment(variables, world), PATH: path.join(delimiter) };
  const request = { argv: [binary, ...args], cwd, environment, stdin: '', signal };
  const outcome = await runProcess({ ...request, timeoutMs: LIMIT_MS, outputBytes: 4 * 1024 * 1024 }, world);
  const lines = outcome.stderr.toString('utf8').split('\n');
  const reason = lines.map((line) => line.trim().replace(/^(?:npm )?(?:error|ERR!|code)\s*/i, ''));
  return {
    ok: outcome.ending === 'exit' && outcome.exitCode === 0,
    stdout: outcome.stdout.toString('utf8'),
    reason: reason.filter((line) => line !== '' && !/^npm warn|log of this run|debug-0\.log/i.test(line)).join(' '),
  };
}

function unnamed(wanted: RunPackage, { server }: Installing, reason: string): ToolError {
  return unresolved(describePackage(wanted, wanted.wanted), server, reason);
}

function unresolved(what: string, server: string, reason: string): ToolError {
  return new ToolError(
    'unavailable',
    `cannot pin ${quoteOutside(what, 120)} of the server ${server}: ${quoteOutside(reason, 300)}`,
    {
      hint: 'check the name and the connection; --unpinned of wield mcp add writes the command as it is',
      data: { server },
    },
  );
}
