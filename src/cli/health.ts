// Pages of a process that serves nothing else: probes for everyone who reaches the address (FLT-90), and metrics (FLT-91).

import type { IncomingMessage } from 'node:http';
import { type AccessOptions, authenticate, checkHost } from '../mcp-server/access.js';
import { PROMETHEUS_TYPE } from '../mcp-server/http.js';
import { limitConnections } from '../net/connections.js';
import { type Address, listen } from './listen.js';

const TIMEOUT_MS = 5000;
const MAX_CONNECTIONS = 64;

export interface PageServer {
  readonly port: number;
  close(): void;
}

interface Page {
  readonly status: number;
  readonly text: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const NOT_FOUND: Page = { status: 404, text: 'not found\n' };

/** Answers probes until it is closed. */
export function openHealth(address: Address, isReady: () => Promise<boolean>): Promise<PageServer> {
  return openPages(address, ['/healthz', '/readyz'], async (path) => {
    const isFine = path === '/healthz' || (await isReady());
    return isFine ? { status: 200, text: 'ok\n' } : { status: 503, text: 'not ready\n' };
  });
}

/** Answers with metrics until it is closed, behind the same checks as `/metrics` of a server. */
export function openMetrics(access: Address & AccessOptions, read: () => Promise<string>): Promise<PageServer> {
  return openPages(access, ['/metrics'], async (_path, { headers, headersDistinct }) => {
    // Node keeps the first of two.
    const header = (name: string): string | undefined =>
      (headersDistinct[name]?.length ?? 0) > 1 ? undefined : (headers[name] as string | undefined);
    const refusal = checkHost(header, access) ?? (await authenticate(header, access)).refusal;
    if (refusal !== undefined) return { ...refusal, text: `${refusal.message}\n` };
    return { status: 200, headers: { 'content-type': PROMETHEUS_TYPE }, text: await read() };
  });
}

async function openPages(
  address: Address,
  paths: readonly string[],
  answer: (path: string, request: IncomingMessage) => Promise<Page>,
): Promise<PageServer> {
  const { createServer } = await import('node:http');
  const limits = { headersTimeout: TIMEOUT_MS, requestTimeout: TIMEOUT_MS, connectionsCheckingInterval: 1000 };
  const find = async (request: IncomingMessage): Promise<Page> => {
    const path = (request.url ?? '').split('?', 1)[0]!;
    if (!paths.includes(path)) return NOT_FOUND;
    if (request.method !== 'GET' && request.method !== 'HEAD') return { status: 405, text: 'method not allowed\n' };
    return answer(path, request).catch(() => ({ status: 500, text: 'internal error\n' }));
  };
  const server = createServer({ ...limits, maxHeaderSize: 8 * 1024 }, async (request, response) => {
    const { status, text, headers } = await find(request);
    response.writeHead(status, { 'content-type': 'text/plain', ...headers, connection: 'close' }).end(text);
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
