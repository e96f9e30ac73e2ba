// Access control of the HTTP server: Host, Origin and bearer token, checked before the body is read (SRV-5).

import { orNothing, ToolError } from '../core/error.js';
import { formatFault, object, optional, readShape, string, strings } from '../core/shape.js';
import { isSecret } from '../net/bearer.js';
import type { TokenFault } from '../net/claims.js';
import type { Identity } from './identity.js';

/** Who may use a server. */
export interface AccessOptions {
  /** The address that the server is bound to. */
  readonly host: string;
  /** Returns the bearer tokens that are valid now; required unless the address is loopback. */
  readonly tokens?: (() => readonly string[]) | undefined;
  /** The address that clients use, if it is another one: that of a proxy. */
  readonly publicUrl?: URL | undefined;
  /** Returns the addresses of proxies whose headers name the client. */
  readonly trustedProxies?: (() => readonly string[]) | undefined;
  /** Finds the user of another token (IDN-1). */
  readonly users?: ((token: string) => Promise<Identity | TokenFault>) | undefined;
  /** Identity providers that clients may log in at (RFC 9728); without one there is no metadata. */
  readonly resource?: ProtectedResource | undefined;
}

/** What clients need to know to log in. */
export interface ProtectedResource {
  /** The address of this server. */
  readonly url: URL;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[];
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);
const ANY_ADDRESS = new Set(['0.0.0.0', '::', '[::]']);

/** Whether an address can only be reached from this machine. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Reads a header by its name in lower case. */
export type ReadHeader = (name: string) => string | undefined;

/** Why a request is not allowed. */
export interface Refusal {
  readonly status: 401 | 403 | 503;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns why a request is not allowed by its Host or Origin, else undefined. */
export function checkHost(header: ReadHeader, { host, publicUrl }: AccessOptions): Refusal | undefined {
  const hostHeader = header('host') ?? '';
  const requested = parseHost(hostHeader);
  const isPublic = publicUrl !== undefined && parseHost(hostHeader, publicUrl.protocol)?.host === publicUrl.host;
  if (requested === undefined || (!isPublic && !isOwnHost(requested.hostname, host)))
    return forbidden('Host header not allowed');
  const origin = header('origin');
  // Pages of other sites, and of other servers on this machine, must not reach this one.
  if (origin !== undefined && origin !== publicUrl?.origin && !isSameServer(parseUrl(origin), requested))
    return forbidden('Origin header not allowed');
  return undefined;
}

/** Who sent a request, or why it is refused. Without both, one of the shared tokens was sent, or none is needed. */
export interface Authentication {
  readonly identity?: Identity;
  readonly refusal?: Refusal;
}

// Programs without types may return anything, and a rule about a user must not miss one.
const IDENTITY = object(
  { user: string, groups: optional(strings), issuer: optional(string), profile: optional(string) },
  { unknown: 'drop' },
);

/** Finds who sent a request by its bearer token. Throws `usage` if `users` returns something else. */
export async function authenticate(header: ReadHeader, access: AccessOptions): Promise<Authentication> {
  const { tokens, users } = access;
  if (tokens === undefined && users === undefined) return {};
  const token = /^Bearer +(\S+)$/i.exec(header('authorization') ?? '')?.[1];
  if (token === undefined) return { refusal: unauthorized(access) };
  if (tokens?.().some((one) => isSecret(token, one))) return {};
  const found = (await users?.(token)) ?? { error: 'invalid_token' as const, reason: 'it is not known' };
  if ('error' in found) return { refusal: unauthorized(access, found) };
  const [fault] = readShape(IDENTITY, found).faults;
  if (fault === undefined) return { identity: found };
  throw new ToolError('usage', `what access.users returned: ${formatFault(fault)}`, { hint: fault.hint });
}

function unauthorized({ resource }: AccessOptions, fault?: TokenFault): Refusal {
  // IDN-13: nobody is let in, and a client keeps its token.
  if (fault?.error === 'unavailable')
    return { status: 503, message: 'the token cannot be checked now', headers: { 'retry-after': '1' } };
  const terms = [
    'realm="wield"',
    ...(resource === undefined ? [] : [`resource_metadata="${metadataUrl(resource)}"`]),
    ...(resource === undefined || resource.scopes.length === 0 ? [] : [`scope="${resource.scopes.join(' ')}"`]),
    ...(fault === undefined ? [] : [`error="${fault.error}"`]),
  ];
  const headers = { 'www-authenticate': `Bearer ${terms.join(', ')}` };
  if (fault?.error === 'insufficient_scope')
    return { status: 403, message: `the token is refused: ${fault.reason}`, headers };
  return { status: 401, message: 'missing or wrong bearer token', headers };
}

const METADATA_PATH = '/.well-known/oauth-protected-resource';

function metadataUrl({ url }: ProtectedResource): string {
  return `${url.origin}${METADATA_PATH}${url.pathname === '/' ? '' : url.pathname}`;
}

/** Returns the metadata of the server (RFC 9728), if that is what a path names. */
export function findMetadata(path: string, { resource }: AccessOptions): object | undefined {
  if (resource === undefined || !(path === METADATA_PATH || path.startsWith(`${METADATA_PATH}/`))) return undefined;
  const { url, issuers, scopes } = resource;
  return {
    resource: url.href,
    authorization_servers: issuers,
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    resource_name: 'wield',
  };
}

function isOwnHost(requested: string, bound: string): boolean {
  if (isLoopback(bound)) return isLoopback(requested);
  return ANY_ADDRESS.has(bound) || requested === bound;
}

// Behind a proxy with TLS the origin has another scheme, and both have their standard port.
function isSameServer(origin: URL | undefined, requested: URL): boolean {
  if (origin === undefined || origin.port !== requested.port) return false;
  return origin.hostname === requested.hostname || (isLoopback(origin.hostname) && isLoopback(requested.hostname));
}

// A name and a port: a proxy may read anything else differently.
function parseHost(text: string, protocol = 'http:'): URL | undefined {
  return /^[\w.:[\]-]+$/.test(text) ? parseUrl(`${protocol}//${text}`) : undefined;
}

function parseUrl(url: string): URL | undefined {
  return orNothing(() => new URL(url));
}

function forbidden(message: string): Refusal {
  return { status: 403, message, headers: {} };
}
