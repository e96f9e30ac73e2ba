// Who may speak to the HTTP server: host, origin and token, looked at before anything is parsed (SRV-5).

import { timingSafeEqual } from 'node:crypto';

export interface AccessOptions {
  /** The address it is bound to. */
  readonly host: string;
  /** The bearer token; required for any address that is not loopback. */
  readonly token?: string;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]', '::1']);
const ANY_ADDRESS = new Set(['0.0.0.0', '::', '[::]']);

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host) || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** The answer to a request that may not be served; undefined where it may. */
export function refuseRequest(request: Request, { host, token }: AccessOptions): Response | undefined {
  const asked = hostnameOf(`http://${request.headers.get('host') ?? ''}`);
  if (asked === undefined || !isOwnHost(asked, host)) return forbidden('this Host is not ours');
  const origin = request.headers.get('origin');
  // A page of another site may not speak to a server on the reader's machine.
  if (origin !== null && hostnameOf(origin) !== asked && !isLoopback(hostnameOf(origin) ?? '')) {
    return forbidden('this Origin may not ask');
  }
  if (token !== undefined && !hasToken(request, token)) {
    return Response.json(
      { error: 'a bearer token is needed' },
      { status: 401, headers: { 'www-authenticate': 'Bearer realm="wield"' } },
    );
  }
  return undefined;
}

function isOwnHost(asked: string, bound: string): boolean {
  if (isLoopback(bound)) return isLoopback(asked);
  return ANY_ADDRESS.has(bound) || asked === bound;
}

function hostnameOf(url: string): string | undefined {
  try {
    return new URL(url).hostname;
  } catch {
    return undefined;
  }
}

// In constant time over equal lengths; the length of a token is no secret.
function hasToken(request: Request, token: string): boolean {
  const given = /^Bearer (.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? '';
  const wanted = Buffer.from(token);
  const offered = Buffer.from(given);
  return wanted.length === offered.length && timingSafeEqual(wanted, offered);
}

function forbidden(message: string): Response {
  return Response.json({ error: message }, { status: 403 });
}
