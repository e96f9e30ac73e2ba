// HTTP sessions of the older protocol version: the lane answers, or an SDK server; limited in number and idle time.

import { randomUUID } from 'node:crypto';
import { type Exchange, respondError, SERVER_ERROR } from './exchange.js';
import {
  ERROR,
  isInitializeParams,
  isRequest,
  type Message,
  OLDER_VERSIONS,
  type RequestMessage,
  toMessage,
} from './message.js';
import type { OfferKind } from './offer-watch.js';
import { toNotification } from './outgoing.js';
import { IDLE_MS, isStored, Session, type SessionsOptions } from './session.js';

export interface Sessions {
  /** Handles a request of the older protocol version; `body` is its parsed body. */
  handle(exchange: Exchange, body: unknown): void;
  /** Notifies clients of a changed list. */
  announce(kind: 'tools' | OfferKind): void;
  close(): void;
}

const MAX_SESSIONS = 256;
const MAX_BATCH = 100;

export function createSessions(options: SessionsOptions): Sessions {
  const { shared } = options;
  const { sessions, drop, makeRoom } = createTable();
  const open = (exchange: Exchange, message: RequestMessage): void => {
    if (!makeRoom()) {
      respondError(exchange, 503, 'too many sessions with running requests; try again later');
      return;
    }
    const session = new Session(options, { id: randomUUID(), owner: `session ${randomUUID()}`, initialize: message });
    sessions.set(session.id, session);
    const saved = shared?.save(session.id, session.stored);
    if (saved === undefined) session.receive(exchange, [message]);
    else saved.then(() => session.receive(exchange, [message]), unavailable(exchange));
  };
  const restore = async (id: string): Promise<Session | undefined> => {
    const stored: unknown = await shared!.load(id);
    // Another request of the session may have been faster.
    const known = sessions.get(id);
    if (known !== undefined || !isStored(stored) || !makeRoom()) return known;
    const session = new Session(options, { ...stored, id });
    sessions.set(id, session);
    return session;
  };
  const begin = (exchange: Exchange, message: Message): void => {
    if (!isAcceptable(exchange)) return;
    if (isRequest(message)) open(exchange, message);
    // A notification gets no response, as in the SDK.
    else exchange.respond(202, {});
  };
  const use = (exchange: Exchange, body: unknown, id: string) => {
    const session = sessions.get(id);
    if (session === undefined) return respondError(exchange, 404, 'session not found; initialize again');
    session.touch();
    if (!isAcceptable(exchange)) return;
    if (exchange.method === 'POST') return receive(exchange, session, body);
    if (!hasKnownVersion(exchange)) return;
    if (exchange.method === 'GET') return session.listen(exchange);
    drop(id);
    const removed = shared?.remove(id);
    if (removed === undefined) exchange.respond(200, {});
    else removed.then(() => exchange.respond(200, {}), unavailable(exchange));
  };
  shared?.onForward((id, message) => {
    const forwarded = toMessage(message);
    if (message === null) drop(id);
    else if (forwarded !== undefined) sessions.get(id)?.take(forwarded, true);
  });

  return {
    handle(exchange, body) {
      const id = exchange.header('mcp-session-id');
      if (id === undefined) {
        const message = toMessage(body);
        return message !== undefined && startsSession(message) ? begin(exchange, message) : rejectStranger(exchange);
      }
      if (shared === undefined || sessions.has(id)) use(exchange, body, id);
      else restore(id).then(() => use(exchange, body, id), unavailable(exchange));
    },
    announce(kind) {
      const text = toNotification(`notifications/${kind}/list_changed`);
      for (const session of sessions.values()) session.notify(text);
    },
    close() {
      for (const id of [...sessions.keys()]) drop(id);
    },
  };
}

/** The sessions that are in memory. */
function createTable() {
  const sessions = new Map<string, Session>();
  const drop = (id: string): void => {
    const session = sessions.get(id);
    sessions.delete(id);
    session?.close();
  };
  // Many clients never end their session: the least recently used one without a running request is dropped, and its
  // client can initialize again.
  const makeRoom = (): boolean => {
    const limit = performance.now() - IDLE_MS;
    for (const [id, session] of sessions) if (session.lastUsed < limit && !session.isBusy) drop(id);
    if (sessions.size < MAX_SESSIONS) return true;
    const idle = [...sessions.values()].filter((session) => !session.isBusy);
    if (idle.length === 0) return false;
    drop(idle.reduce((least, session) => (session.lastUsed < least.lastUsed ? session : least)).id);
    return true;
  };
  return { sessions, drop, makeRoom };
}

function unavailable(exchange: Exchange): () => void {
  return () => respondError(exchange, 503, 'the sessions of the fleet cannot be reached; try again');
}

function receive(exchange: Exchange, session: Session, body: unknown) {
  const bodies = Array.isArray(body) ? body : [body];
  if (bodies.length > MAX_BATCH)
    return respondError(exchange, 400, `Invalid Request: Batch must not exceed ${MAX_BATCH} messages`);
  const messages = bodies.map(toMessage);
  if (!messages.every((message) => message !== undefined))
    return respondError(exchange, 400, 'Parse error: Invalid JSON-RPC message', ERROR.parse);
  // Also without an id, as in the SDK.
  if (messages.some(startsSession)) return respondError(exchange, 400, 'Invalid Request: Server already initialized');
  if (hasKnownVersion(exchange)) session.receive(exchange, messages);
}

const ACCEPTED: Readonly<Record<string, readonly string[]>> = {
  GET: ['text/event-stream'],
  POST: ['application/json', 'text/event-stream'],
};

// Responds with an error if the client does not accept the response.
function isAcceptable(exchange: Exchange): boolean {
  const accept = exchange.header('accept') ?? '';
  const needed = ACCEPTED[exchange.method] ?? [];
  if (needed.every((type) => accept.includes(type))) return true;
  const types = needed.length === 1 ? needed[0] : `both ${needed.join(' and ')}`;
  respondError(exchange, 406, `Not Acceptable: Client must accept ${types}`, SERVER_ERROR);
  return false;
}

// Responds with an error if the client names another protocol version.
function hasKnownVersion(exchange: Exchange): boolean {
  const version = exchange.header('mcp-protocol-version');
  if (version === undefined || OLDER_VERSIONS.includes(version)) return true;
  const known = OLDER_VERSIONS.join(', ');
  const message = `Bad Request: Unsupported protocol version: ${version} (supported versions: ${known})`;
  respondError(exchange, 400, message, SERVER_ERROR);
  return false;
}

function rejectStranger(exchange: Exchange): void {
  respondError(exchange, 400, 'missing Mcp-Session-Id header; initialize first');
}

function startsSession({ method, params }: Message): boolean {
  return method === 'initialize' && isInitializeParams(params);
}
