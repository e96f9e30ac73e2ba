// Lists of what may be used at all: upstream servers and sources, matched by what they are and never by their name.

import { compileGlob } from './glob.js';
import { checked, type Infer, list, object, optional, strings, text } from './shape.js';

// A URL or a name in the registry, of another one after its address, in which `*` matches any characters; or the whole
// command line.
const SERVER = checked(
  object({
    url: optional(text('a URL such as "https://*.example.com/*"')),
    command: optional(strings),
    registry: optional(text('a name such as "com.example/*"', /^\S*[^/\s]\/[^/\s]+$/)),
  }),
  (given, fail) => {
    const { url, command } = given;
    if (Object.keys(given).length !== 1) fail([], 'must have one of url, command and registry', 'write several tables');
    if (url !== undefined && !isUrlPattern(url))
      fail(['url'], 'must be a URL with a path', 'such as "https://*.example.com/*"');
    if (command?.length === 0 || command?.[0] === '')
      fail(['command'], 'must be a command line', 'such as ["npx", "-y", "x@1.2.3"]');
  },
  { minProperties: 1, maxProperties: 1 },
);

/** One way in which a server is allowed; exactly one field is set. */
export type AllowedServer = Infer<typeof SERVER>;

/** Servers by URL, command line or name in the registry. */
export const allowedServers = list(SERVER, 'an array of tables');

/** Sources by host and path, or by directory. */
export const allowedSources = checked(
  list(text('an address such as "github.com/acme/*"'), 'an array of addresses'),
  (given, fail) => {
    for (const [at, one] of given.entries())
      if (!isSourcePattern(one))
        fail(
          [at],
          'must be a host and a path, or a directory',
          'such as "github.com/acme/*" or "/srv/skills/*", without https://',
        );
  },
);

const SIGNER =
  /^(?:~?\/\S.*|(?:ssh|ecdsa|sk)-[\w@.-]+ [A-Za-z0-9+/]+=*(?: .*)?|(?:0x)?[0-9A-Fa-f]{40}(?:[0-9A-Fa-f]{24})?)$/;

/** Keys of signers, and files of them. */
export const signers = checked(
  list(text('a key or file such as "~/.ssh/allowed_signers"', SIGNER), 'an array of keys and files'),
  (given, fail) => {
    if (given.length === 0) fail([], 'must name a signer', 'such as "~/.ssh/allowed_signers"');
  },
  { minItems: 1 },
);

/** The list of one file. Each list must allow a server or source, so that a lower layer only narrows (POL-41). */
export interface Allowance<T> {
  readonly allow: readonly T[];
  readonly file: string;
  readonly line: number;
}

/** What a server is. */
export interface ServerIdentity {
  /** Resolved. */
  readonly url?: string;
  readonly command?: {
    /** As in its entry, with references. */
    readonly written: readonly string[];
    readonly resolved: readonly string[];
    /** What else in its entry changes what the command runs. */
    readonly steeredBy?: string | undefined;
  };
  /** Where it was found in a registry. */
  readonly registry?: string | undefined;
}

/** Why something is blocked, and by which list. */
export interface Block {
  readonly file: string;
  readonly line: number;
  readonly reason: string;
}

export function findServerBlock(
  identity: ServerIdentity,
  lists: readonly Allowance<AllowedServer>[],
): Block | undefined {
  const list = lists.find(({ allow }) => !allow.some((one) => isServerAllowed(identity, one)));
  if (list === undefined) return undefined;
  const { file, line, allow } = list;
  const { steeredBy } = identity.command ?? {};
  const isSteered = steeredBy !== undefined && allow.some((one) => isServerAllowed(withoutSteering(identity), one));
  const reason = isSteered
    ? `its entry sets ${steeredBy}, which changes what the command runs`
    : 'mcp.allow has no such server';
  return { file, line, reason };
}

function withoutSteering(identity: ServerIdentity): ServerIdentity {
  return identity.command === undefined
    ? identity
    : { ...identity, command: { ...identity.command, steeredBy: undefined } };
}

function isServerAllowed({ url, command, registry }: ServerIdentity, allowed: AllowedServer): boolean {
  if (allowed.url !== undefined) return url !== undefined && isUrlAllowed(url, allowed.url);
  if (command?.steeredBy !== undefined) return false;
  if (allowed.command !== undefined) return command !== undefined && isSameCommand(command, allowed.command);
  return registry !== undefined && isLike(registry, allowed.registry ?? '');
}

// A word with a reference is compared as written: nobody can know its value beforehand.
function isSameCommand(
  { written, resolved }: NonNullable<ServerIdentity['command']>,
  allowed: readonly string[],
): boolean {
  return (
    allowed.length === resolved.length &&
    allowed.every((word, at) => word === resolved[at] || (/\$\{|^~\/|^file:/.test(word) && word === written[at]))
  );
}

// Only `*` is special: addresses contain the other signs of globs.
function isLike(value: string, pattern: string): boolean {
  return compileGlob(pattern.replace(/[\\?[\]{}!,]/g, '\\$&')).matches(value);
}

const URL_PATTERN = /^(https?:)\/\/(\[[0-9A-Fa-f:]+\]|[^/?#@\\\s:[\]]+)(?::(\d+|\*))?(\/[^\s#\\]*)$/;

/** Whether a text is a URL in which `*` may be in the host, the port and the path. */
function isUrlPattern(text: string): boolean {
  return URL_PATTERN.test(text) && toHost(URL_PATTERN.exec(text)![2]!) !== undefined;
}

/** Whether a URL, in any spelling, is one of a pattern. Users and passwords are in none. */
function isUrlAllowed(text: string, pattern: string): boolean {
  const [, protocol, host = '', port = '', path = ''] = URL_PATTERN.exec(pattern) ?? [];
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || url.protocol !== protocol || url.username !== '' || url.password !== '') return false;
  const isDefault = port === (protocol === 'https:' ? '443' : '80');
  if (port !== '*' && url.port !== (isDefault ? '' : port)) return false;
  // Some servers decode a path before they resolve its segments.
  if (/%(?:2e|2f|5c|25)/i.test(url.pathname) && path !== '/*') return false;
  return isLike(url.hostname.replace(/\.+$/, ''), toHost(host) ?? '') && isLike(url.pathname + url.search, path);
}

// As URLs have it: in lower case and punycode. Undefined if it is not a host.
function toHost(pattern: string): string | undefined {
  const plain = (text: string): string | undefined =>
    URL.canParse(`https://${text}`) ? new URL(`https://${text}`).hostname : undefined;
  if (!pattern.includes('*')) return plain(pattern)?.replace(/\.+$/, '');
  const labels = pattern
    .split('.')
    .map((label) => (/[^\0-\x7f]/.test(label) ? plain(label.replaceAll('*', '')) : label));
  return labels.includes(undefined) ? undefined : labels.join('.').toLowerCase();
}

const SOURCE_PATTERN = /^(?:\/|([^/\s:@\\#?]+)(:\d+)?\/)[^\s\\#?]+$/;

/** Whether a text is `host/path` or the absolute path of a directory, in which `*` matches any characters. */
function isSourcePattern(text: string): boolean {
  const [, host] = SOURCE_PATTERN.exec(text) ?? [''];
  return SOURCE_PATTERN.test(text) && (host === undefined || toHost(host) !== undefined);
}

/** `address` is `host/path` or an absolute path; undefined if the location has no one address (POL-42). */
export function findSourceBlock(address: string | undefined, lists: readonly Allowance<string>[]): Block | undefined {
  const list = lists.find(({ allow }) => address === undefined || !allow.some((one) => isLike(address, toSource(one))));
  if (list === undefined) return undefined;
  const reason = address === undefined ? 'it is not written in its usual form' : 'sources.allow has no such source';
  return { file: list.file, line: list.line, reason };
}

// In the form of an address.
function toSource(pattern: string): string {
  const [, host, port = ''] = SOURCE_PATTERN.exec(pattern) ?? [];
  if (host === undefined) return pattern;
  return `${toHost(host)}${port}${pattern.slice(host.length + port.length).replace(/\.git$/, '')}`;
}
