// Access control of the HTTP server: Host, Origin and bearer token, checked before the body is read (SRV-5).

import { hasToken } from '../net/bearer.js';

/** Who may use a server. */
export interface AccessOptions {
  /** The address that the server is bound to. */
  readonly host: string;
  /** Returns the bearer tokens that are valid now; required unless the address is loopback. */
  readonly tokens?: (() => readonly string[]) | undefined;
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
  readonly status: 401 | 403;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Returns why a request is not allowed, else undefined. */
export function checkAccess(header: ReadHeader, { host, tokens }: AccessOptions): Refusal | undefined {
  const requested = parseHost(header('host') ?? '');
  if (requested === undefined || !isOwnHost(requested.hostname, host)) return forbidden('Host header not allowed');
  const origin = header('origin');
  // Pages of other sites, and of other servers on this machine, must not reach this one.
  if (origin !== undefined && !isSameServer(parseUrl(origin), requested)) return forbidden('Origin header not allowed');
  const authorization = header('authorization');
  if (tokens !== undefined && !tokens().some((token) => hasToken(authorization, token))) {
    const headers = { 'www-authenticate': 'Bearer realm="wield"' };
    return { status: 401, message: 'missing or wrong bearer token', headers };
  }
  return undefined;
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
function parseHost(text: string): URL | undefined {
  return /^[\w.:[\]-]+$/.test(text) ? parseUrl(`http://${text}`) : undefined;
}

function parseUrl(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function forbidden(message: string): Refusal {
  return { status: 403, message, headers: {} };
}
