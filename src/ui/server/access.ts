// Who may use the page: whose process is connected, Host, Origin, login or token, and type.

import type { IncomingHttpHeaders, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { hasToken } from '../../net/bearer.js';
import { isOwn, isOwnPeer, isPersonsPeer, readConnections } from '../../net/peer.js';
import type { Logins } from './logins.js';

export interface AccessOptions {
  /** `127.0.0.1:PORT`. */
  readonly host: string;
  /** For programs. */
  readonly token: string;
  /** For browsers. */
  readonly logins: Pick<Logins, 'has'>;
}

interface Refusal {
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

interface ApiRequest {
  readonly headers: IncomingHttpHeaders;
  readonly isWrite: boolean;
  /** Whether it is the request that logs in. */
  readonly isLogin: boolean;
}

/** Returns why a request to the API is refused, if it is (UI-3, UI-4). */
export function checkApi({ headers, isWrite, isLogin }: ApiRequest, options: AccessOptions): Refusal | undefined {
  const { origin, 'sec-fetch-site': site, 'content-type': type = '' } = headers;
  const own = `http://${options.host}`;
  if (isWrite ? origin !== own : origin !== undefined && origin !== own)
    return { status: 403, message: 'Origin header not allowed' };
  if (isWrite ? site !== 'same-origin' : site !== undefined && site !== 'same-origin')
    return { status: 403, message: 'Sec-Fetch-Site header not allowed' };
  // A browser says where a request comes from; a page of another port is `same-site`, and has our cookie.
  const isLoggedIn = site === 'same-origin' && options.logins.has(headers);
  if (!isLogin && !isLoggedIn && !hasToken(headers.authorization, options.token))
    return { status: 401, message: 'missing or wrong token' };
  if (isWrite && !/^application\/json(?:; ?charset=utf-8)?$/i.test(type))
    return { status: 415, message: 'the content type must be application/json' };
  return undefined;
}

/** Answers a connection before or instead of its request, and closes it. */
export function refuse(socket: Duplex, status: string): void {
  if (!socket.writable) return void socket.destroy();
  const headers = Object.entries({ ...HEADERS, connection: 'close', 'content-length': '0' });
  socket.end(`HTTP/1.1 ${status}\r\n${headers.map((pair) => `${pair.join(': ')}\r\n`).join('')}\r\n`);
  // Later: what was not read would reset the connection, and with it the answer.
  setTimeout(() => socket.destroy(), 1000).unref();
}

const known = new WeakMap<Socket, Refusal | 'own'>();
const OTHER: Refusal = { status: 403, message: 'this page belongs to another user' };

/** Returns why a connection is refused: its process is another user's. Not known on other systems than Linux. */
export function checkPeer(socket: Socket): Refusal | undefined {
  let found = known.get(socket);
  if (found === undefined) {
    found = isOwnPeer(socket) ? 'own' : OTHER;
    known.set(socket, found);
  }
  return found === 'own' ? undefined : found;
}

/** Returns why a connection may change nothing: a tool started its process, so no person is behind it (A44). */
export async function checkPerson(socket: Socket): Promise<Refusal | undefined> {
  return (await isPersonsPeer(socket))
    ? undefined
    : { status: 403, message: 'a process that a tool started, or that cannot be found, can only read this page' };
}

// Connections that arrive within this time are looked up together.
const LOOKUP_MS = 10;
// Refused connections that may stay open for a moment, so that their clients can read the answer.
const MAX_REFUSED = 32;

/** Closes connections of other users before they send anything, so that they take no place of the page's user (UI-29). */
export function refuseOthers(server: Server): void {
  let waiting: Socket[] = [];
  let refused = 0;
  const cut = (socket: Socket): void => {
    if (refused >= MAX_REFUSED) {
      socket.destroy();
      return;
    }
    refused++;
    socket.once('close', () => refused--);
    refuse(socket, '403 Forbidden');
  };
  const lookUp = (): void => {
    const sockets = waiting.filter((socket) => !socket.destroyed && !known.has(socket));
    waiting = [];
    if (sockets.length === 0) return;
    const connections = readConnections();
    for (const socket of sockets) {
      const owned = isOwn(socket, connections);
      // One that is not found is looked up with its request.
      if (owned === undefined) continue;
      known.set(socket, owned ? 'own' : OTHER);
      if (!owned) cut(socket);
    }
  };
  server.on('connection', (socket: Socket) => {
    if (waiting.length === 0) setTimeout(lookUp, LOOKUP_MS).unref();
    waiting.push(socket);
  });
}
