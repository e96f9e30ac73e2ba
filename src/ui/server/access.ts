// Who may use the page: Host, token, Origin and type are checked before a request is routed or its body is read.

import type { IncomingHttpHeaders } from 'node:http';
import { hasToken } from '../../net/bearer.js';

export interface AccessOptions {
  /** `127.0.0.1:PORT`. */
  readonly host: string;
  readonly token: string;
}

export interface Refusal {
  readonly status: 401 | 403 | 415;
  readonly message: string;
}

/** The headers of every response, the page's included. */
export const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/** Returns why the Host is not this server's, whatever is asked for: a name that resolves to 127.0.0.1 is another site (UI-2). */
export function checkHost(given: readonly string[] | undefined, { host }: AccessOptions): Refusal | undefined {
  const isOwn = given?.length === 1 && given[0] === host;
  return isOwn ? undefined : { status: 403, message: 'Host header not allowed' };
}

/** Returns why a request to the API is refused, if it is (UI-3, UI-4). */
export function checkApi(headers: IncomingHttpHeaders, isWrite: boolean, options: AccessOptions): Refusal | undefined {
  const { origin, 'sec-fetch-site': site, 'content-type': type = '' } = headers;
  const own = `http://${options.host}`;
  if (isWrite ? origin !== own : origin !== undefined && origin !== own)
    return { status: 403, message: 'Origin header not allowed' };
  if (isWrite ? site !== 'same-origin' : site !== undefined && site !== 'same-origin')
    return { status: 403, message: 'Sec-Fetch-Site header not allowed' };
  if (!hasToken(headers.authorization, options.token)) return { status: 401, message: 'missing or wrong token' };
  if (isWrite && !/^application\/json(?:; ?charset=utf-8)?$/i.test(type))
    return { status: 415, message: 'the content type must be application/json' };
  return undefined;
}
