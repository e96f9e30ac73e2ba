// The location of a source, `owner/repo`, a URL or a directory, and whether the configuration allows it (POL-42).

import { basename, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findSourceBlock } from '../../core/allowance.js';
import { orNothing, ToolError } from '../../core/error.js';
import { quoteOutside, quoteWord } from '../../core/text.js';
import { expandHome } from '../../files/home.js';
import { statOrNothing } from '../../files/read.js';
import { realPath } from '../../files/within.js';
import { classifyHost } from '../../net/address.js';
import { isDirectory } from '../directory.js';
import type { InstallEnvironment } from '../environment.js';

export interface SourceLocation {
  readonly kind: 'git' | 'local' | 'bundle';
  /** The URL, or the absolute path of the directory or bundle. */
  readonly location: string;
  /** The preferred id of the source. */
  readonly name: string;
}

const SCHEMES = ['https:', 'ssh:', 'file:'];
const BUNDLE = /([^/]*)\.(?:mcpb|dxt)$/i;
const GITHUB_SHORTHAND = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9_][\w.-]*$/;

const HINT = 'use owner/repo, an https://, ssh:// or file:// URL, a directory, or a bundle (.mcpb)';

/** Throws `usage` for an invalid location, and for everything that git could take for a command (INS-1, A27). */
export function parseLocation(text: string, cwd: string, home: string | undefined): SourceLocation {
  const refuse = (why: string, hint = HINT): ToolError =>
    new ToolError('usage', `"${quoteOutside(hideUser(text), 120)}" ${why}`, { hint });
  if (text === '' || text.startsWith('-') || /[\0-\x1f\x7f]/.test(text.trim())) throw refuse('is not a valid source');
  const path = expandHome(text, home);
  const directory = resolve(cwd, path);
  const bundle = toBundle(path, directory);
  if (bundle !== undefined) return bundle;
  const isPath = isAbsolute(path) || /^\.{1,2}(?:\/|$)/.test(path);
  if (isPath || (!path.includes('::') && !/^[\w+.-]+:/.test(path) && isDirectory(directory))) {
    if (!isDirectory(directory)) throw refuse('is not a directory');
    const name = basename(directory).replaceAll(' ', '-');
    return { kind: 'local', location: realPath(directory) ?? directory, name };
  }
  if (text.trim().includes(' ')) throw refuse('is not a valid source');
  const repository = text.replace(/^github:/, '');
  if (GITHUB_SHORTHAND.test(repository))
    return {
      kind: 'git',
      location: `https://github.com/${repository.replace(/\.git$/, '')}`,
      name: toName(repository),
    };
  const { class: found, label } = classifyHost(hostOf(text) ?? '');
  // Nobody has a repository at such an address, but others name it (INS-77).
  if (hostOf(text) !== undefined && found === 'forbidden') throw refuse(`is at ${label}`);
  // scp-like ssh syntax: user@host:path.
  if (/^[\w.-]+@[\w.-]+:[^:]+$/.test(text) && !text.includes('::'))
    return { kind: 'git', location: text, name: toName(text.slice(text.indexOf(':') + 1)) };
  if (!URL.canParse(text)) throw refuse(BUNDLE.test(text) ? 'was not found' : 'is not a valid source');
  const url = new URL(text);
  if (!SCHEMES.includes(url.protocol) || text.includes('::')) throw refuse('has an unsupported protocol');
  if (url.hostname.startsWith('-') || url.username.startsWith('-')) throw refuse('is not a valid source');
  if (url.password !== '') throw refuse('contains a password, which would be stored in a file');
  const page = toPage(url);
  if (page !== undefined) throw refuse('is a page of a repository', page);
  return { kind: 'git', location: text, name: toName(url.pathname) };
}

// INS-91: people copy the address of a skill from a browser. Returns the commands that install it.
function toPage({ hostname, origin, pathname }: URL): string | undefined {
  const pattern =
    hostname === 'github.com'
      ? /^(\/[^/]+\/[^/]+)\/(?:tree|blob)\/([^/]+)(.*)$/
      : /^(.+)\/-\/(?:tree|blob)\/([^/]+)(.*)$/;
  const [, repository, branch, path = ''] = pattern.exec(pathname) ?? [];
  if (repository === undefined || branch === undefined) return undefined;
  const name = basename(path.replace(/\/(?:SKILL\.md)?$/, '').replace(/\/SKILL\.md$/, ''));
  const add = `wield add ${quoteWord(origin + repository)} --pin ${quoteWord(`branch=${branch}`)} --register-only`;
  return `run: ${add}, then wield install ${name === '' ? '--all' : quoteWord(name.replace(/\.md$/, ''))}`;
}

// An archive with a server: a file, or an address that leads to one.
function toBundle(text: string, path: string): SourceLocation | undefined {
  const isWeb = isWebLocation(text) && URL.canParse(text) && classifyHost(new URL(text).hostname).class !== 'forbidden';
  const [, name] = BUNDLE.exec(isWeb ? new URL(text).pathname : text) ?? [];
  if (name === undefined || (!isWeb && statOrNothing(path)?.isFile() !== true)) return undefined;
  return { kind: 'bundle', location: isWeb ? text : (realPath(path) ?? path), name: toName(name) };
}

/** Whether a location is fetched over HTTP; only from this machine without TLS. */
export function isWebLocation(location: string): boolean {
  return /^https:\/\/|^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]/i.test(location);
}

export type Protocol = 'https' | 'ssh' | 'file' | 'none';

/** Returns the protocol of a git location; none if it is not one that a source can have. */
export function protocolOf(location: string): Protocol {
  if (location.includes('::')) return 'none';
  if (!URL.canParse(location)) return 'ssh';
  const { protocol } = new URL(location);
  return SCHEMES.includes(protocol) ? (protocol.slice(0, -1) as Protocol) : 'none';
}

/** Whether a text names the repository of a location. */
export function isSameRepository(text: string, location: string): boolean {
  const toKey = (url: string): string => url.replace(/\/+$/, '').replace(/\.git$/, '');
  const repository = text.replace(/^github:/, '');
  const url = GITHUB_SHORTHAND.test(repository) ? `https://github.com/${repository}` : text;
  return toKey(url) === toKey(location);
}

/** Returns the host of a location; undefined for a directory. */
export function hostOf(location: string): string | undefined {
  const [, host] = /^[\w.-]+@([\w.-]+):/.exec(location) ?? [];
  if (host !== undefined) return host;
  const { hostname } = URL.canParse(location) ? new URL(location) : { hostname: '' };
  return hostname === '' ? undefined : hostname;
}

/** Removes user and password from the URLs in a text. */
export function hideUser(text: string): string {
  return text.replace(/(\w+:\/\/)[^/@\s]*@/g, '$1');
}

// The last two segments of a path, such as owner/repo.
function toName(path: string): string {
  const segments = path
    .replace(/\.git\/?$/, '')
    .split('/')
    .filter((segment) => segment !== '');
  return segments
    .slice(-2)
    .join('/')
    .replace(/[^\w./-]/g, '-');
}

type Located = Pick<SourceLocation, 'kind' | 'location'>;

/** Throws `denied` if no list allows a source. */
export function assertSourceAllowed(
  source: Located,
  { allowedSources }: Pick<InstallEnvironment, 'allowedSources'>,
): void {
  if (allowedSources.length === 0) return;
  const block = findSourceBlock(toAddress(source), allowedSources);
  if (block === undefined) return;
  const shown = quoteOutside(hideUser(source.location), 200);
  throw new ToolError('denied', `the source ${shown} is blocked: ${block.reason}`, {
    hint: `${block.file}:${block.line} has the list of allowed sources`,
    data: { file: block.file, line: block.line },
  });
}

/**
 * Returns `host/path`, or the real path of a directory or file. User names, `.git`, default ports and the case of the host
 * make no difference. Undefined if programs could read the location in different ways.
 */
function toAddress({ kind, location }: Located): string | undefined {
  if (kind === 'local' || (kind === 'bundle' && !isWebLocation(location))) return realPath(location) ?? location;
  const [, host, path] = /^[\w.-]+@([\w.-]+):([^:]+)$/.exec(location) ?? [];
  if (host !== undefined) return joinAddress(host, '', path!);
  // Git and URLs disagree about these characters.
  if (!/^[\x21-\x7e]+$/.test(location.replace(/^\w+:\/\/[^/]*/, '')) || /[\\#?%]/.test(location)) return undefined;
  if (!URL.canParse(location)) return undefined;
  const { protocol } = new URL(location);
  if (protocol === 'file:') return orNothing(() => realPath(fileURLToPath(location)));
  // Of `ssh:`, the host would be left as it is.
  const url = new URL(location.replace(/^\w+:/, 'https:'));
  const isDefault = url.port === '' || (protocol === 'ssh:' && url.port === '22');
  // What is resolved here is sent as it is written.
  const written = location.replace(/^\w+:\/\/[^/]*/, '');
  return joinAddress(url.hostname, isDefault ? '' : `:${url.port}`, written);
}

function joinAddress(host: string, port: string, path: string): string | undefined {
  const segments = path
    .replace(/^\//, '')
    .replace(/\/$/, '')
    .replace(/\.git$/, '')
    .split('/');
  const isPlain = segments.every((segment) => /^[\w.~+@-]+$/.test(segment) && !/^\.{1,2}$/.test(segment));
  return isPlain ? `${host.toLowerCase().replace(/\.+$/, '')}${port}/${segments.join('/')}` : undefined;
}
