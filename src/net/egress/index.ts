// The proxy of a sandboxed process that may reach some hosts: checks each request, and connects only to what is listed (EXE-85).

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { formatHost, type HostAddress, parseHostAddress } from '../../core/hosts.js';
import { quoteOutside } from '../../core/text.js';
import type { Egress } from '../../process/sandbox/egress.js';
import { PROXY_REPORT, type RefusedHost } from '../../process/sandbox/refusal.js';
import type { Lookup } from '../exchange.js';
import type { FindRoute } from '../route.js';
import { MAX_HELLO_BYTES, readHello } from './client-hello.js';
import { assertListed, type DestinationOptions, openDestination, RefusedHostError } from './destination.js';
import { forward } from './forward.js';

export interface EgressOptions {
  /** The list of the sandbox. */
  readonly hosts: readonly string[];
  /** Returns what to do to allow a host. */
  readonly explain: (host: string) => string;
  /** Called with each host that was refused. */
  readonly onRefused: (refused: RefusedHost) => void;
  readonly findRoute: FindRoute;
  /** That of Node if absent. */
  readonly lookup?: Lookup;
}

/** Of a client that sends nothing, or slowly. */
const HEAD_MS = 10_000;
const MAX_CONNECTIONS = 256;
const MAX_HEAD_BYTES = 32 * 1024;

export function createEgress({ explain, onRefused, ...given }: EgressOptions): Egress {
  const options: DestinationOptions = { lookup: process.getBuiltinModule('node:dns').lookup, ...given };
  const sockets = new Set<Duplex>();
  let proxy: Server | undefined;
  const track = <S extends Duplex>(socket: S): S => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    // One that was opened when the process had ended.
    if (proxy === undefined) socket.destroy();
    return socket;
  };
  // Of connections in which a client sends HTTP after CONNECT.
  const targets = new WeakMap<Duplex, HostAddress>();

  const refuse = (error: unknown): Reply => {
    if (error instanceof BadRequestError) return { status: 400, text: error.message };
    if (!(error instanceof RefusedHostError)) return { status: 502, text: `not reached: ${(error as Error).message}` };
    const { message, allow } = error;
    onRefused({ message, allow });
    const next = allow === undefined ? 'no profile allows it' : explain(allow);
    return { status: 403, text: `refused by the sandbox: ${message}; ${next}` };
  };
  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const { target, path } = readRequest(request, targets.get(request.socket));
      assertListed(target, options);
      await forward({ request, response, target, path, options, track });
    } catch (error) {
      const { status, text } = refuse(error);
      if (response.headersSent) return void response.destroy();
      // The rest of a body is not read.
      response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' });
      response.end(`${PROXY_REPORT}${text}\n`);
    }
  };
  const onConnect = async (request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> => {
    track(client);
    try {
      const target = readTunnel(request);
      assertListed(target, options);
      const server = track(await openDestination(target, options));
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      await tunnel(target, client, server, head);
    } catch (error) {
      const { status, text } = refuse(error);
      const body = `${PROXY_REPORT}${text}\n`;
      const headers = `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
      // Many clients show the first line only.
      client.end(`HTTP/1.1 ${status} ${quoteOutside(PROXY_REPORT + text, 400)}\r\n${headers}\r\n\r\n${body}`);
    }
  };
  // TLS is passed on if it names the same server, and HTTP is read request by request. Nothing else can be checked.
  const tunnel = async (target: HostAddress, client: Duplex, server: Duplex, head: Buffer): Promise<void> => {
    const first = await readFirst(client, head);
    if (client.destroyed) return void server.destroy();
    client.unshift(first.bytes);
    if (first.hello === 'other') {
      server.destroy();
      targets.set(client, target);
      plain.emit('connection', client);
      client.resume();
      return;
    }
    const { server: named } = first.hello;
    const isAddress = /^\[|^[\d.]+$/.test(target.host);
    const isSame =
      named === null ? isAddress : !named.includes(':') && parseHostAddress(named, 0)?.host === target.host;
    if (!isSame) {
      const shown = named === null ? 'no server' : quoteOutside(named, 100);
      onRefused({ message: `TLS for ${shown} in a connection to ${formatHost(target)}`, allow: undefined });
      client.destroy();
      server.destroy();
      return;
    }
    client.pipe(server).pipe(client);
    client.once('close', () => server.destroy());
    server.once('close', () => client.destroy());
  };
  const create = (): Server => {
    const created = createServer({ maxHeaderSize: MAX_HEAD_BYTES, headersTimeout: HEAD_MS }, onRequest);
    created.maxConnections = MAX_CONNECTIONS;
    created.on('clientError', (_, socket) => {
      const target = targets.get(socket);
      socket.destroy();
      if (target === undefined) return;
      const message = `a protocol other than TLS and HTTP in a connection to ${formatHost(target)}`;
      onRefused({ message, allow: undefined });
    });
    return created;
  };
  // Reads what clients send in cleartext after CONNECT.
  const plain = create();

  return {
    serve(listener) {
      proxy = create();
      proxy.on('connection', (socket: Socket) => track(socket));
      proxy.on('connect', onConnect);
      proxy.on('error', () => {});
      proxy.listen(listener).unref();
    },
    close() {
      proxy?.close();
      proxy = undefined;
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface Reply {
  readonly status: number;
  readonly text: string;
}

class BadRequestError extends Error {}

// CONNECT must name a host and a port, and a header `Host` the same.
function readTunnel({ url = '', rawHeaders }: IncomingMessage): HostAddress {
  const target = parseHostAddress(url);
  const hosts = hostsOf(rawHeaders);
  const isSame = hosts.every((host) => sameHost(target, parseHostAddress(host, target?.port)));
  if (target === undefined || !isSame) throw new BadRequestError('CONNECT must name one host and its port');
  return target;
}

/** Returns where a request goes. Its address and its header `Host` must name the same host, and only one. */
function readRequest(
  { url = '', rawHeaders }: IncomingMessage,
  tunnelled: HostAddress | undefined,
): { readonly target: HostAddress; readonly path: string } {
  const [, authority, rest = url] = /^http:\/\/([^/?#]*)(.*)$/is.exec(url) ?? [];
  const port = tunnelled?.port ?? 80;
  const named = authority === undefined ? tunnelled : parseHostAddress(authority, port);
  if (named === undefined) throw new BadRequestError('a proxy needs the whole address of an http request');
  const hosts = hostsOf(rawHeaders);
  const all = [...hosts.map((host) => parseHostAddress(host, port)), tunnelled ?? named];
  if (hosts.length !== 1 || !all.every((one) => sameHost(one, named)))
    throw new RefusedHostError(
      `a request to ${formatHost(named)} for ${quoteOutside(hosts.join(', '), 100) || 'no host'}`,
    );
  const path = rest.startsWith('/') ? rest : `/${rest}`;
  if (path.includes('#')) throw new BadRequestError('invalid path');
  return { target: named, path };
}

function hostsOf(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]!.toLowerCase() === 'host');
}

function sameHost(a: HostAddress | undefined, b: HostAddress | undefined): boolean {
  return a !== undefined && b !== undefined && a.host === b.host && a.port === b.port;
}

// Waits for the first message of a client, as long as it may take.
function readFirst(client: Duplex, head: Buffer) {
  return new Promise<{ bytes: Buffer; hello: Exclude<ReturnType<typeof readHello>, 'more'> }>((resolve) => {
    let bytes = head;
    const timer = setTimeout(() => client.destroy(), HEAD_MS).unref();
    const settle = (hello: Exclude<ReturnType<typeof readHello>, 'more'>): void => {
      clearTimeout(timer);
      client.off('data', read);
      client.off('close', end);
      client.pause();
      resolve({ bytes, hello });
    };
    const check = (): void => {
      const hello = readHello(bytes);
      if (hello !== 'more') settle(hello);
      else if (bytes.length > MAX_HELLO_BYTES + 5) settle('other');
    };
    const read = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      check();
    };
    const end = (): void => settle('other');
    client.on('data', read);
    client.once('close', end);
    check();
  });
}
