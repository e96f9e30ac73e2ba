// Replaces the references of a server by what they stand for, once, and collects what must be shown nowhere (UPS-5).

import { dirname, isAbsolute, join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import type { HttpServer, ResolvedServer, ServerEntry, StdioServer } from '../../core/upstream.js';
import { readHead } from '../../files/read.js';
import { isWebAddress } from './entry.js';
import { createSecretCollector, type SecretCollector } from './secrets.js';
import { parseServerValue, type ValuePart } from './value.js';

export interface ExpandOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string | undefined;
  readonly workdir: string;
  /** Whether what a workspace says counts: it is trusted, or a person calls (POL-20). */
  readonly trusted: boolean;
  /** The text of a file; the real one by default. */
  readonly readFile?: (path: string) => string;
}

export interface ExpandedServer {
  readonly server: ResolvedServer;
  /** What came from references or stands under a telling name. */
  readonly secrets: readonly string[];
}

/** A value after expansion, with the pieces of it that came from elsewhere. */
export interface Expanded {
  readonly value: string;
  readonly pieces: readonly { readonly value: string; readonly name: string | undefined }[];
}

type Expand = (field: string, text: string, name?: string) => Expanded;

const MAX_FILE = 64 * 1024;

/**
 * The server with every reference replaced, in one pass: what a variable or a file holds is never read for further
 * references. Throws `unavailable` where one leads nowhere, and `needs_trust` where a workspace has no say; no value
 * stands in a message.
 */
export function expandServer(entry: ServerEntry, options: ExpandOptions): ExpandedServer {
  if (entry.owner === 'workspace' && !options.trusted) {
    throw new ToolError(
      'needs_trust',
      `server ${quoteOutside(entry.name, 60)} is of a workspace that is not trusted`,
      { hint: `wield trust ${options.workdir}`, data: { server: entry.name } },
    );
  }
  const expand: Expand = (field, text, name = field) => {
    const pieces: Expanded['pieces'][number][] = [];
    const follow = (part: ValuePart): string => {
      if (part.kind === 'text') return part.text;
      const value = followReference(part, entry, options, follow);
      if (part.kind === 'variable' && !isSet(options.env[part.name])) return value;
      if (part.kind === 'variable' || part.kind === 'file')
        pieces.push({ value, name: part.kind === 'variable' ? part.name : undefined });
      return value;
    };
    const value = parseServerValue(text, field).map(follow).join('');
    assertCharacters(entry, field, name, value);
    return { value, pieces };
  };
  const secrets = createSecretCollector();
  const server =
    entry.kind === 'stdio'
      ? expandProcess(entry, options, expand, secrets)
      : expandAddress(entry, expand, secrets);
  return { server, secrets: secrets.all() };
}

function expandProcess(
  entry: StdioServer,
  { home, workdir }: ExpandOptions,
  expand: Expand,
  secrets: SecretCollector,
): ResolvedServer {
  const tilde = (path: string): string =>
    home !== undefined && (path === '~' || path.startsWith('~/')) ? join(home, path.slice(1)) : path;
  const command = expand('command', entry.command);
  if (command.value.trim() === '') throw unusable(entry, 'command', 'is empty', 'set what it refers to');
  const args = entry.args.map((arg) => expand('args', arg));
  const cwd = entry.cwd === undefined ? workdir : resolve(workdir, tilde(expand('cwd', entry.cwd).value));
  const env = Object.entries(entry.env).map(([name, text]) => {
    const expanded = expand('env', text, name);
    secrets.addNamed(name, expanded);
    return [name, expanded.value] as const;
  });
  for (const { pieces } of args) secrets.addPieces(pieces);
  secrets.addArguments(args.map(({ value }) => value));
  const path = tilde(command.value);
  return {
    ...entry,
    // As the system would find it from the directory that it is started in.
    command: path.includes('/') && !isAbsolute(path) ? resolve(cwd, path) : path,
    args: args.map(({ value }) => value),
    env: Object.fromEntries(env),
    cwd,
  };
}

function expandAddress(entry: HttpServer, expand: Expand, secrets: SecretCollector): ResolvedServer {
  const url = expand('url', entry.url);
  if (!isWebAddress(url.value))
    throw unusable(entry, 'url', 'is no address of a web server', 'write one that begins with https://');
  secrets.addAddress(url);
  const headers = Object.entries(entry.headers).map(([name, text]) => {
    const expanded = expand('headers', text, name);
    secrets.addNamed(name, expanded);
    return [name, expanded.value] as const;
  });
  const { oauth } = entry;
  if (oauth === undefined) return { ...entry, url: url.value, headers: Object.fromEntries(headers) };
  const clientSecret = oauth.clientSecret === undefined ? undefined : expand('oauth', oauth.clientSecret);
  if (clientSecret !== undefined) secrets.addNamed('clientSecret', clientSecret);
  return {
    ...entry,
    url: url.value,
    headers: Object.fromEntries(headers),
    oauth: {
      clientId: expand('oauth', oauth.clientId).value,
      ...(clientSecret === undefined ? {} : { clientSecret: clientSecret.value }),
      ...(oauth.scope === undefined ? {} : { scope: expand('oauth', oauth.scope).value }),
    },
  };
}

const isSet = (value: string | undefined): value is string => value !== undefined && value !== '';

function followReference(
  part: Exclude<ValuePart, { kind: 'text' }>,
  entry: ServerEntry,
  { env, home, workdir, readFile = readSmallText }: ExpandOptions,
  follow: (part: ValuePart) => string,
): string {
  const missing = (what: string, hint: string, data: Record<string, string> = {}): ToolError =>
    new ToolError(
      'unavailable',
      `server ${quoteOutside(entry.name, 60)} needs ${what} (${entry.place.file})`,
      {
        hint,
        data: { server: entry.name, file: entry.place.file, ...data },
      },
    );
  if (part.kind === 'workdir') return workdir;
  if (part.kind === 'variable') {
    // A person may have said by an empty variable that there is none; a default is for both.
    const value = Object.hasOwn(env, part.name) ? env[part.name] : undefined;
    if (part.fallback !== undefined) return isSet(value) ? value : part.fallback.map(follow).join('');
    if (value !== undefined) return value;
    throw missing(
      `the variable ${part.name}, which is not set`,
      `set ${part.name}, or write \${${part.name}:-default}`,
      { variable: part.name },
    );
  }
  if (part.kind === 'home' || part.path.startsWith('~/')) {
    if (home === undefined) throw missing('a home directory, and there is none', 'set HOME');
    if (part.kind === 'home') return home;
  }
  const path = part.path.startsWith('~/')
    ? join(home!, part.path.slice(2))
    : resolve(dirname(entry.place.file), part.path);
  try {
    return readFile(path).replace(/\r?\n$/, '');
  } catch (error) {
    throw missing(
      `the file ${quoteOutside(path, 200)}, which cannot be used: ${quoteOutside((error as Error).message, 100)}`,
      'write the secret into it, readable by you alone; text that only looks like a reference begins with ${X:-}',
      { path },
    );
  }
}

function readSmallText(path: string): string {
  const reading = readHead(path, MAX_FILE);
  if ('fault' in reading)
    throw new Error(
      reading.fault === 'missing'
        ? 'it is not there'
        : reading.fault === 'not-a-file'
          ? 'it is no file'
          : 'it cannot be read',
    );
  if (!reading.complete) throw new Error('it is larger than 64 KiB');
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(reading.bytes);
  } catch {
    throw new Error('it is no text');
  }
}

// A line break in a header would begin another one, and a NUL ends what the system is told.
function assertCharacters(entry: ServerEntry, field: string, name: string, value: string): void {
  const odd =
    field === 'headers'
      ? /[^\t\u0020-\u007e\u0080-\u00ff]/
      : field === 'url'
        ? /[\u0000-\u0020\u007f]/
        : /\u0000/;
  if (odd.test(value)) {
    const where = name === field ? field : `${field}.${quoteOutside(name, 60)}`;
    throw unusable(
      entry,
      where,
      'has a character that cannot stand there',
      'remove line breaks and the like from what it refers to',
    );
  }
}

function unusable(entry: ServerEntry, where: string, message: string, hint: string): ToolError {
  return new ToolError(
    'invalid_definition',
    `server ${quoteOutside(entry.name, 60)}, ${where}: ${message} (${entry.place.file})`,
    { hint, data: { server: entry.name, file: entry.place.file } },
  );
}
