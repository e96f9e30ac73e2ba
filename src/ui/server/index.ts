// The server of the page: on 127.0.0.1 only, with logins and a token of its own.

import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ToolError } from '../../core/error.js';
import { limitConnections } from '../../net/connections.js';
import { refuseOthers } from './access.js';
import { createApprovalRoutes } from './approvals.js';
import { callerOf, readCatalog } from './catalog.js';
import { createListener, loadPageFiles, refuseMalformed } from './http.js';
import { createLiveRoutes } from './live.js';
import { createLogins } from './logins.js';
import type { PageOptions } from './parts.js';
import { createRecordingRoutes, createSessionRecording } from './recording.js';
import type { Handlers } from './route.js';
import { createServerRoutes } from './servers.js';
import { createSessionRoutes } from './session.js';
import { createToolRoutes } from './tools.js';

export interface PageServer {
  /** With a code in the fragment that works once (UI-3). */
  readonly url: string;
  /** For programs: the API takes it as a bearer token. */
  readonly token: string;
  close(): void;
}

// UI-1: not configurable, so that no other machine can reach it.
const ADDRESS = '127.0.0.1';

// Few browsers have more than one; a new connection takes the place of one that is silent or idle (UI-29).
const CONNECTIONS = { connections: 256, receiving: 128, receivingPerPeer: 128 };

/** Starts the server of the page; port 0 is any free one. */
export async function servePage(options: PageOptions, port: number): Promise<PageServer> {
  const token = randomBytes(32).toString('base64url');
  const files = loadPageFiles();
  const { toolbox } = options;
  const recording = createSessionRecording(toolbox);
  const parts = { ...options, recording };
  const routes: Omit<Handlers, 'POST /api/login'> = {
    ...createSessionRoutes(parts),
    ...createToolRoutes(parts),
    ...createApprovalRoutes(parts),
    ...createLiveRoutes(parts),
    ...createRecordingRoutes(parts),
    ...createServerRoutes(parts),
  };
  const limits = { headersTimeout: 10_000, requestTimeout: 60_000, maxHeaderSize: 16 * 1024 };
  // A request without a Host is refused like one with another.
  const server = createServer({ ...limits, requireHostHeader: false });
  limitConnections(server, CONNECTIONS);
  refuseOthers(server);
  const actual = await listen(server, port);
  const host = `${ADDRESS}:${actual}`;
  const { debug, monotonic } = toolbox.machine.world;
  const toUrl = (): string => `http://${host}/#${logins.issue()}`;
  const logins = createLogins({ port: actual, monotonic, onRefused: () => options.onAddress(toUrl()) });
  const handlers: Handlers = { ...routes, ...logins.routes };
  // Read while the browser starts, so that the page need not wait for it.
  readCatalog(parts, callerOf('model')).catch((error: unknown) => debug(`page: ${String(error)}`));
  const listener = createListener({ access: { host, token, logins }, files, handlers, debug });
  server.on('request', listener).on('checkExpectation', listener).on('clientError', refuseMalformed);
  return {
    url: toUrl(),
    token,
    close() {
      recording.close();
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
