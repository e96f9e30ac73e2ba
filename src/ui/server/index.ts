// The server of the page: on 127.0.0.1 only, with a token of its own.

import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ToolError } from '../../core/error.js';
import { createApprovalRoutes } from './approvals.js';
import { loadPageFiles } from './files.js';
import { createListener } from './http.js';
import type { PageParts } from './parts.js';
import { createSessionRoutes } from './session.js';
import { createToolRoutes } from './tools.js';

export type { ListSent, PageParts, SentDefinition } from './parts.js';

export interface PageServer {
  /** With the token in the fragment, which browsers do not send (UI-3). */
  readonly url: string;
  close(): void;
}

// UI-1: not configurable, so that no other machine can reach it.
const ADDRESS = '127.0.0.1';

/** Starts the server of the page; port 0 is any free one. */
export async function servePage(parts: PageParts, port: number): Promise<PageServer> {
  const token = randomBytes(32).toString('base64url');
  const files = loadPageFiles();
  const handlers = { ...createSessionRoutes(parts), ...createToolRoutes(parts), ...createApprovalRoutes(parts) };
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 60_000, maxHeaderSize: 16 * 1024 });
  server.maxConnections = 64;
  const host = `${ADDRESS}:${await listen(server, port)}`;
  const { debug } = parts.toolbox.machine.world;
  server.on('request', createListener({ access: { host, token }, files, handlers, debug }));
  return {
    url: `http://${host}/#${token}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message = error.code === 'EADDRINUSE' ? `port ${port} is in use` : `cannot listen: ${error.message}`;
      reject(new ToolError('unavailable', message, { hint: 'choose another port, or leave out --port' }));
    });
    server.listen(port, ADDRESS, () => resolve((server.address() as AddressInfo).port));
  });
}
