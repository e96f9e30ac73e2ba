// HTTP servers on local addresses, closed after the test.

import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onEnd } from './share.js';

export interface LocalServer {
  readonly port: number;
  /** `http://127.0.0.1:PORT`, or another local address. */
  readonly origin: string;
  /** Every request so far. */
  readonly requests: IncomingMessage[];
  /** The number of connections. */
  connections(): number;
}

/** Starts a server that records its requests. */
export async function listen(listener: RequestListener, host = '127.0.0.1'): Promise<LocalServer> {
  const requests: IncomingMessage[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  // A client must not send on a connection that is being closed, however busy the machine is.
  server.keepAliveTimeout = 0;
  server.on('connection', () => connections++);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    requests,
    connections: () => connections,
  };
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

export function sendJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
