// Serves a toolbox over stdio, for both protocol versions.

import { randomUUID } from 'node:crypto';
import type { Server } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Toolbox } from '../core/toolbox.js';
import { LineTransport, type LineTransportOptions } from './line-transport.js';
import { announceOffers } from './offers.js';
import { createMcpServers, type McpServerOptions } from './server.js';

export interface StdioOptions extends McpServerOptions, LineTransportOptions {}

export interface StdioServing {
  /** Resolves when the client has disconnected. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export function serveMcpStdio(toolbox: Toolbox, options: StdioOptions): StdioServing {
  const transport = new LineTransport(options);
  const servers = createMcpServers(toolbox, { ...options, ready: (signal) => transport.ready(signal) });
  const connected = new Set<Server>();
  const session = `stdio ${randomUUID()}`;
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const handle = serveStdio(
    async () => {
      const server = await servers.create(session);
      connected.add(server);
      return server;
    },
    { transport, onerror: options.onError },
  );
  // The SDK has set its own listener.
  const closeConnection = transport.onclose;
  transport.onclose = () => {
    closeConnection?.();
    servers.close();
    end();
  };
  servers.onChange(() => {
    for (const server of connected) server.sendToolListChanged().catch(() => {});
  });
  servers.onOffersChange((kind) => {
    for (const server of connected) announceOffers(server, kind);
  });
  return { ended, close: () => handle.close() };
}
