// HTTP sessions of the older protocol version: one server object each, limited in number and idle time.

import { randomUUID } from 'node:crypto';
import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { trackCancellations } from './cancellations.js';
import { createEventStore } from './event-store.js';
import { announceOffers } from './offers.js';
import { trackRequests } from './open-requests.js';

export interface Sessions {
  /** Handles a request of the older protocol version; `body` is its parsed body. */
  handle(request: Request, body: unknown): Promise<Response>;
  sendToolListChanged(): void;
  announceOffers(kind: 'resources' | 'prompts'): void;
  close(): Promise<void>;
}

interface Session {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly onReceived: (message: unknown) => void;
  /** Returns whether a request has no response yet. */
  readonly isBusy: () => boolean;
  lastUsed: number;
}

const MAX_SESSIONS = 256;
const IDLE_MS = 60 * 60_000;

export function createSessions(createServer: () => Promise<Server>): Sessions {
  // In order of last use.
  const sessions = new Map<string, Session>();
  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    void session?.server.close().catch(() => {});
  };
  const dropIdle = (): void => {
    const limit = performance.now() - IDLE_MS;
    for (const [id, session] of sessions) if (session.lastUsed < limit && !session.isBusy()) drop(id);
  };
  // Many clients never end their session: the least recently used one without a running request is dropped, and its
  // client can initialize again.
  const makeRoom = (): boolean => {
    if (sessions.size < MAX_SESSIONS) return true;
    for (const [id, session] of sessions) {
      if (session.isBusy()) continue;
      drop(id);
      return true;
    }
    return false;
  };

  const open = async (request: Request, body: unknown): Promise<Response> => {
    dropIdle();
    if (!makeRoom()) return errorResponse(503, 'too many sessions with running requests; try again later');
    const server = await createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      onsessioninitialized: (id) => {
        const onReceived = trackCancellations(transport);
        sessions.set(id, { server, transport, onReceived, isBusy: requests.isBusy, lastUsed: performance.now() });
      },
      onsessionclosed: drop,
    });
    await server.connect(transport);
    const requests = trackRequests(transport);
    return transport.handleRequest(request, { parsedBody: body });
  };

  return {
    async handle(request, body) {
      const id = request.headers.get('mcp-session-id');
      if (id === null) {
        if (isInitializeRequest(body)) return open(request, body);
        return errorResponse(400, 'missing Mcp-Session-Id header; initialize first');
      }
      const session = sessions.get(id);
      if (session === undefined) return errorResponse(404, 'session not found; initialize again');
      session.lastUsed = performance.now();
      sessions.delete(id);
      sessions.set(id, session);
      const response = await session.transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
      session.onReceived(body);
      return response;
    },
    sendToolListChanged() {
      for (const { server } of sessions.values()) server.sendToolListChanged().catch(() => {});
    },
    announceOffers(kind) {
      for (const { server } of sessions.values()) announceOffers(server, kind);
    },
    async close() {
      for (const id of [...sessions.keys()]) drop(id);
    },
  };
}

export function errorResponse(status: number, message: string, code = -32600): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}
