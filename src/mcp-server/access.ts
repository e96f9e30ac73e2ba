// Access control of the HTTP server: Host, Origin and bearer token, checked before the body is read (SRV-5).

import { timingSafeEqual } from 'node:crypto';

export interface AccessOptions {
  /** The address that the server is bound to. */
  readonly host: string;
  /** The bearer token; required unless the address is loopback. */
  readonly token?: string;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);
const ANY_ADDRESS = new Set(['0.0.0.0', '::', '[::]']);

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Returns the error response for a request that is not allowed, else undefined. */
export function checkAccess(request: Request, { host, token }: AccessOptions): Response | undefined {
  const requested = hostnameOf(`http://${request.headers.get('host') ?? ''}`);
  if (requested === undefined || !isOwnHost(requested, host)) return forbidden('Host header not allowed');
  const origin = request.headers.get('origin');
  // Web pages of other sites must not reach a server on the visitor's machine.
  if (origin !== null && hostnameOf(origin) !== requested && !isLoopback(hostnameOf(origin) ?? '')) {
    return forbidden('Origin header not allowed');
  }
  if (token !== undefined && !hasToken(request, token)) {
    return Response.json(
      { error: 'missing or wrong bearer token' },
      { status: 401, headers: { 'www-authenticate': 'Bearer realm="wield"' } },
    );
  }
  return undefined;
}

function isOwnHost(requested: string, bound: string): boolean {
  if (isLoopback(bound)) return isLoopback(requested);
  return ANY_ADDRESS.has(bound) || requested === bound;
}

function hostnameOf(url: string): string | undefined {
  try {
    return new URL(url).hostname;
  } catch {
    return undefined;
  }
}

// Constant time for tokens of equal length; the length is not secret.
function hasToken(request: Request, token: string): boolean {
  const sent = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
  const expectedBytes = Buffer.from(token);
  const sentBytes = Buffer.from(sent);
  return expectedBytes.length === sentBytes.length && timingSafeEqual(expectedBytes, sentBytes);
}

function forbidden(message: string): Response {
  return Response.json({ error: message }, { status: 403 });
}
