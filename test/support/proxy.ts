// A proxy with CONNECT and whole addresses, which knows names of its own; and tinyproxy.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, request as send } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { sleep } from './processes.js';
import { onEnd } from './share.js';

export interface TestProxy {
  readonly url: string;
  /** What was asked for: `CONNECT host:port`, or the method and the whole address. */
  readonly asked: string[];
  /** Ends it with all connections. */
  kill(): void;
}

export interface TestProxyOptions {
  /** Ports of this machine by the name and port that clients ask for; others are refused. */
  readonly ports?: Readonly<Record<string, number>>;
  /** `user:password`, without which it answers 407. */
  readonly auth?: string;
  /** The status of everything. */
  readonly status?: number;
  /** Clients connect with TLS, and know it as `localhost`. */
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer };
}

/** Starts a proxy on 127.0.0.1. */
export async function startProxy({ ports = {}, auth, status, tls }: TestProxyOptions = {}): Promise<TestProxy> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const refusal = ({ headers }: IncomingMessage): number | undefined => {
    const wanted = auth && `Basic ${Buffer.from(auth).toString('base64')}`;
    return wanted !== undefined && headers['proxy-authorization'] !== wanted ? 407 : status;
  };
  const answer: RequestListener = (request, response) => {
    const url = new URL(request.url!);
    asked.push(`${request.method} ${url.href}`);
    const port = ports[`${url.hostname}:${url.port || '80'}`];
    const refused = refusal(request) ?? (port === undefined ? 403 : undefined);
    if (refused !== undefined) return void response.writeHead(refused).end();
    const { 'proxy-authorization': _, ...headers } = request.headers;
    const options = { port, host: '127.0.0.1', path: url.pathname + url.search, method: request.method, headers };
    request.pipe(send(options, (got) => got.pipe(response.writeHead(got.statusCode!, got.headers))));
  };
  const server = tls === undefined ? createServer(answer) : createSecureServer(tls, answer);
  server.on('connect', (request: IncomingMessage, socket: Socket) => {
    asked.push(`CONNECT ${request.url}`);
    const port = ports[request.url!];
    const refused = refusal(request) ?? (port === undefined ? 403 : undefined);
    if (refused !== undefined)
      return void socket.end(`HTTP/1.1 ${refused} No\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    const target = connect(port!, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(target).pipe(socket);
    });
    sockets.add(target);
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const)
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
  });
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const kill = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  onEnd(kill);
  const { port } = server.address() as AddressInfo;
  return { url: tls === undefined ? `http://127.0.0.1:${port}` : `https://localhost:${port}`, asked, kill };
}

/** Starts tinyproxy with some settings; `directory` gets its file. */
export async function startTinyproxy(directory: string, port: number, settings = ''): Promise<{ kill(): void }> {
  const file = join(directory, `tinyproxy-${port}.conf`);
  writeFileSync(file, `Port ${port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 20\n${settings}\n`);
  const child = spawn('tinyproxy', ['-d', '-c', file], { stdio: 'ignore' });
  const kill = (): void => void child.kill('SIGKILL');
  onEnd(kill);
  for (;;) {
    const isUp = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
      socket.unref();
      socket.on('connect', () => socket.destroy());
    });
    if (isUp) return { kill };
    await sleep(20);
  }
}
