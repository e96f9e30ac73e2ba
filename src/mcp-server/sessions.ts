// Sessions of the protocol's older era over HTTP: one server object each, bounded in number and in idle time.

import { randomUUID } from 'node:crypto';
import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { refusal } from './refusal.js';

export interface Sessions {
  /** Answers a request of the older era; `body` is its parsed body. */
  handle(request: Request, body: unknown): Promise<Response>;
  tellChanged(): void;
  close(): Promise<void>;
}

interface Session {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  lastUsed: number;
}

const MAX_SESSIONS = 256;
const IDLE_MS = 60 * 60_000;

export function createSessions(createServer: () => Promise<Server>): Sessions {
  const sessions = new Map<string, Session>();
  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    void session?.server.close().catch(() => {});
  };
  const dropIdle = (): void => {
    const limit = performance.now() - IDLE_MS;
    for (const [id, session] of sessions) if (session.lastUsed < limit) drop(id);
  };

  // A session that is used goes to the end of the map.
  const leastRecent = (): string => sessions.keys().next().value!;

  const open = async (request: Request, body: unknown): Promise<Response> => {
    dropIdle();
    // Many clients never say goodbye: the one longest unheard of makes room, and can initialize again.
    if (sessions.size >= MAX_SESSIONS) drop(leastRecent());
    const server = await createServer();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.set(id, { server, transport, lastUsed: performance.now() });
      },
      onsessionclosed: drop,
    });
    await server.connect(transport);
    return transport.handleRequest(request, { parsedBody: body });
  };

  return {
    async handle(request, body) {
      const id = request.headers.get('mcp-session-id');
      if (id === null) {
        if (isInitializeRequest(body)) return open(request, body);
        return refusal(400, 'no session: initialize first, and send its Mcp-Session-Id');
      }
      const session = sessions.get(id);
      if (session === undefined) return refusal(404, 'there is no such session; initialize again');
      session.lastUsed = performance.now();
      sessions.delete(id);
      sessions.set(id, session);
      return session.transport.handleRequest(request, body === undefined ? {} : { parsedBody: body });
    },
    tellChanged() {
      for (const { server } of sessions.values()) server.sendToolListChanged().catch(() => {});
    },
    async close() {
      for (const id of [...sessions.keys()]) drop(id);
    },
  };
}
