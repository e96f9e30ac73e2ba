// Probes of a process that serves nothing else: `/healthz` and `/readyz`, for everyone who reaches the address (FLT-90).

import { limitConnections } from '../net/connections.js';
import { type Address, listen } from './listen.js';

const TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 64;

export interface HealthServer {
  readonly port: number;
  close(): void;
}

/** Answers probes until it is closed. */
export async function openHealth(address: Address, isReady: () => Promise<boolean>): Promise<HealthServer> {
  const { createServer } = await import('node:http');
  const limits = { headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS, connectionsCheckingInterval: 1000 };
  const server = createServer({ ...limits, maxHeaderSize: 8 * 1024 }, async ({ method, url = '' }, response) => {
    const path = url.split('?', 1)[0]!;
    const answer = (status: number, text: string) =>
      response.writeHead(status, { 'content-type': 'text/plain', connection: 'close' }).end(text);
    if (path !== '/healthz' && path !== '/readyz') return answer(404, 'not found\n');
    if (method !== 'GET' && method !== 'HEAD') return answer(405, 'method not allowed\n');
    return path === '/healthz' || (await isReady()) ? answer(200, 'ok\n') : answer(503, 'not ready\n');
  });
  server.maxConnections = MAX_CONNECTIONS;
  limitConnections(server);
  const { port } = await listen(server, address);
  return {
    port,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
