// Expands the references of a server entry and collects its secrets (UPS-5).

import { dirname, isAbsolute, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Variables } from '../../core/plan.js';
import type { World } from '../../core/snapshot.js';
import { quoteOutside } from '../../core/text.js';
import { type HttpServer, mayStart, type ServerEntry, type StdioServer } from '../../core/upstream.js';
import { expandHome } from '../../files/home.js';
import { readHead } from '../../files/read.js';
import { isNeverPassed } from '../../process/environment.js';
import { readSecret, type SecretReference } from '../../process/secret-reference.js';
import { isWebAddress, mapTexts, type TextPosition } from './fields.js';
import { createSecretCollector, type ExpandedValue } from './mask.js';
import { findSecretReferences, parseServerValue, type ValuePart } from './value.js';

export interface ExpandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string | undefined;
  readonly workdir: string;
  /** Whether servers of the workspace may be used: it is trusted, or a person calls (POL-20). */
  readonly trusted: boolean;
  /** What needs the value, in messages; the server by default. */
  readonly subject?: string;
  /** Returns a secret of a command or the keychain, which was read before. */
  readonly secretOf: (reference: SecretReference) => string;
}

export interface ExpandedServer {
  readonly server: ResolvedServer;
  /** Values from references and values with a secret name. */
  readonly secrets: readonly string[];
}

const MAX_FILE = 64 * 1024;

/**
 * Expands every reference in one pass: the content of a variable or file is not expanded again. Throws `unavailable`
 * if a reference has no value, and `needs_trust` for a server of an untrusted workspace; messages contain no values.
 */
export function expandServer(entry: ServerEntry, options: ExpandOptions): ExpandedServer {
  if (!mayStart(entry, options)) {
    const isInstalled = entry.owner === 'package';
    const why = isInstalled ? 'was not accepted' : 'belongs to an untrusted workspace';
    throw new ToolError('needs_trust', `server ${quoteOutside(entry.name, 60)} ${why}`, {
      hint: isInstalled ? `wield mcp accept ${entry.name}` : `wield trust ${options.workdir}`,
      data: { server: entry.name },
    });
  }
  const secrets = createSecretCollector();
  const expanded = mapTexts(entry, (text, position) => {
    const found = expandText(text, position, entry, options);
    secrets.add(position, found);
    return found.value;
  });
  const server = expanded.kind === 'stdio' ? toProcess(expanded, options) : toAddress(expanded);
  if (server.kind === 'stdio') secrets.addArguments(server.args);
  return { server, secrets: secrets.all() };
}

/** Reads the secrets that commands and the keychain have, and expands every reference. */
export async function expandWithSecrets(
  entry: ServerEntry,
  { world, workdir }: { readonly world: World; readonly workdir: string },
  subject = subjectOf(entry),
): Promise<ExpandedServer> {
  const options = { ...world, workdir, trusted: true, subject };
  const references: SecretReference[] = [];
  mapTexts(entry, (text, { field }) => {
    references.push(...findSecretReferences(parseServerValue(text, field)));
    return text;
  });
  const secrets = new Map<string, string>();
  for (const reference of references)
    secrets.set(
      reference.written,
      await readSecret(reference, { world, workdir }).catch(({ message, hint }: ToolError) => {
        throw fault('unavailable', entry, `${subject}: ${message}`, hint);
      }),
    );
  return expandServer(entry, { ...options, secretOf: ({ written }) => secrets.get(written)! });
}

const subjectOf = ({ name }: ServerEntry): string => `server ${quoteOutside(name, 60)}`;

function expandText(text: string, position: TextPosition, entry: ServerEntry, options: ExpandOptions): ExpandedValue {
  const pieces: ExpandedValue['pieces'][number][] = [];
  const follow = (part: ValuePart): string => {
    if (part.kind === 'text') return part.text;
    const value = followReference(part, entry, options, follow);
    if (part.kind === 'variable' && !isSet(options.env[part.name])) return value;
    if (part.kind !== 'workdir' && part.kind !== 'home')
      pieces.push({ value, name: part.kind === 'variable' ? part.name : undefined });
    return value;
  };
  const value = parseServerValue(text, position.field).map(follow).join('');
  assertCharacters(entry, position, value);
  return { value, pieces };
}

/** What values belong to that are no part of a server entry. */
interface ValueOwner {
  readonly name: string;
  /** The file that contains them. */
  readonly file: string;
}

const ofUser = ({ name, file }: ValueOwner) => {
  return { name, owner: 'user', position: { file, pointer: null, line: null } } as const;
};

export interface ExpandedCredentials {
  readonly values: readonly string[];
  readonly secrets: readonly string[];
}

/** Expands credentials of requests to the server with this URL. Throws `unavailable` if a reference has no value. */
export async function expandCredentials(
  { url, values, ...owner }: ValueOwner & { readonly url: string; readonly values: readonly string[] },
  options: { readonly world: World; readonly workdir: string },
): Promise<ExpandedCredentials> {
  const headers = Object.fromEntries(values.map((value, at) => [`secret-${at}`, value]));
  const { server, secrets } = await expandWithSecrets({ ...ofUser(owner), kind: 'http', url, headers }, options);
  return { values: server.kind === 'http' ? Object.values(server.headers) : [], secrets };
}

/** Expands the values of variables that the configuration refers to. */
export async function expandVariables(
  env: Variables,
  owner: ValueOwner,
  options: { readonly world: World; readonly workdir: string },
): Promise<{ readonly values: Variables; readonly secrets: readonly string[] }> {
  const { name } = owner;
  const entry: ServerEntry = { ...ofUser(owner), kind: 'stdio', command: name, args: [], env };
  const { server } = await expandWithSecrets(entry, options, quoteOutside(name, 60));
  const values = server.kind === 'stdio' ? server.env : {};
  return { values, secrets: Object.values(values) };
}

function toProcess(entry: StdioServer, { home, workdir }: ExpandOptions): ResolvedServer {
  if (entry.command.trim() === '') throw unusable(entry, 'command', 'is empty', 'set the variable it refers to');
  const cwd = entry.cwd === undefined ? workdir : resolve(workdir, expandHome(entry.cwd, home));
  const path = expandHome(entry.command, home);
  // Relative to the working directory of the server.
  const command = path.includes('/') && !isAbsolute(path) ? resolve(cwd, path) : path;
  return { ...entry, command, cwd };
}

function toAddress(entry: HttpServer): ResolvedServer {
  if (!isWebAddress(entry.url))
    throw unusable(entry, 'url', 'is not an HTTP URL', 'write one that begins with https://');
  return entry;
}

const isSet = (value: string | undefined): value is string => value !== undefined && value !== '';

function followReference(
  part: Exclude<ValuePart, { kind: 'text' }>,
  entry: ServerEntry,
  { env, home, workdir, secretOf, subject = subjectOf(entry) }: ExpandOptions,
  follow: (part: ValuePart) => string,
): string {
  const missing = (what: string, hint: string, data?: Record<string, string>): ToolError =>
    fault('unavailable', entry, `${subject} needs ${what}`, hint, data);
  if (part.kind === 'workdir') return workdir;
  if (part.kind === 'command' || part.kind === 'keychain') return secretOf(part);
  if (part.kind === 'variable') {
    // An empty variable is a value unless there is a default.
    const value = Object.hasOwn(env, part.name) && !isNeverPassed(part.name) ? env[part.name] : undefined;
    if (part.fallback !== undefined) return isSet(value) ? value : part.fallback.map(follow).join('');
    if (value !== undefined) return value;
    throw missing(
      `the variable ${part.name}, which is ${isNeverPassed(part.name) ? 'never passed on' : 'not set'}`,
      `set ${part.name}, or write \${${part.name}:-default}`,
      { variable: part.name },
    );
  }
  if (part.kind === 'home' || part.path.startsWith('~/')) {
    if (home === undefined) throw missing('a home directory', 'set HOME');
    if (part.kind === 'home') return home;
  }
  const path = resolve(dirname(entry.position.file), expandHome(part.path, home));
  try {
    return readSmallText(path).replace(/\r?\n$/, '');
  } catch (error) {
    throw missing(
      `the file ${quoteOutside(path, 200)}, which ${quoteOutside((error as Error).message, 100)}`,
      'write the secret to it with mode 600; if this is not a reference, start the value with ${X:-}',
      { path },
    );
  }
}

const FAULTS: Readonly<Record<string, string>> = { missing: 'does not exist', 'not-a-file': 'is not a file' };

function readSmallText(path: string): string {
  const reading = readHead(path, MAX_FILE);
  if ('fault' in reading) throw new Error(FAULTS[reading.fault] ?? 'cannot be read');
  if (!reading.complete) throw new Error('is larger than 64 KiB');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(reading.bytes);
  } catch {
    throw new Error('is not UTF-8 text');
  }
}

// A line break would start another header, and a NUL would truncate the value.
function assertCharacters(entry: ServerEntry, { field, name }: TextPosition, value: string): void {
  const odd =
    field === 'headers' ? /[^\t\u0020-\u007e\u0080-\u00ff]/ : field === 'url' ? /[\u0000-\u0020\u007f]/ : /\u0000/;
  if (odd.test(value)) {
    const where = name === undefined || field === 'args' ? field : `${field}.${quoteOutside(name, 60)}`;
    throw unusable(
      entry,
      where,
      'contains an invalid character',
      'remove line breaks and control characters from the value it refers to',
    );
  }
}

function unusable(entry: ServerEntry, where: string, message: string, hint: string): ToolError {
  return fault('invalid_definition', entry, `${subjectOf(entry)}, ${where}: ${message}`, hint);
}

function fault(
  code: 'unavailable' | 'invalid_definition',
  { name, position: { file } }: ServerEntry,
  message: string,
  hint: string | undefined,
  data: Record<string, string> = {},
): ToolError {
  return new ToolError(code, `${message} (${file})`, { hint, data: { server: name, file, ...data } });
}

/** A server with all references expanded; kept only while connected, and never displayed. */
export type ResolvedServer = (StdioServer & { readonly cwd: string }) | HttpServer;
