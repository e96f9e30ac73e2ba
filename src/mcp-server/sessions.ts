// HTTP sessions of the older protocol version, limited in number and idle time.

import { matches } from '../core/shape.js';
import { loadCrypto } from '../files/digest.js';
import { ERROR, OLDER_VERSIONS } from '../net/mcp.js';
import { type Exchange, respondError } from './exchange.js';
import { findMost, identityKey } from './identity.js';
import type { ListChange } from './live-listing.js';
import { isRequest, type Message, PARAM_SHAPES, toMessage } from './message.js';
import { isStored, Session, type SessionsOptions } from './session.js';
import { IDLE_MS } from './shared-sessions.js';

const MAX_SESSIONS = 2048;
const MAX_OF_USER = 256;
const MAX_BATCH = 100;

export function createSessions(options: SessionsOptions) {
  const { shared } = options;
  const { sessions, drop, makeRoom } = createTable();
  const begin = async (exchange: Exchange, message: Message): Promise<void> => {
    if (!isAcceptable(exchange)) return;
    // A notification gets no response, as in the SDK.
    if (!isRequest(message)) return exchange.respond(202, {});
    const user = identityKey(exchange.identity);
    if (!makeRoom(user)) return respondError(exchange, 503, 'too many sessions with running requests; try again later');
    const initialized = message.params!;
    const owner = `session ${loadCrypto().randomUUID()}`;
    const session = new Session(options, loadCrypto().randomUUID(), { owner, user, initialized });
    sessions.set(session.id, session);
    if (shared !== undefined && !(await isReached(exchange, () => shared.save(session.id, session.stored)))) return;
    session.receive(exchange, [message]);
  };
  const restore = async (id: string): Promise<void> => {
    const stored: unknown = await shared!.load(id);
    // Another request of the session may have been faster.
    if (sessions.has(id) || !isStored(stored) || !makeRoom(stored.user)) return;
    sessions.set(id, new Session(options, id, stored));
  };
  const use = async (exchange: Exchange, body: unknown, id: string): Promise<void> => {
    const session = sessions.get(id);
    // That of another user does not exist (IDN-4).
    if (session === undefined || session.user !== identityKey(exchange.identity))
      return respondError(exchange, 404, 'session not found; initialize again');
    session.touch();
    if (!isAcceptable(exchange)) return;
    if (exchange.method === 'POST') return receive(exchange, session, body);
    if (!hasKnownVersion(exchange)) return;
    if (exchange.method === 'GET') return session.listen(exchange);
    drop(id);
    if (shared === undefined || (await isReached(exchange, () => shared.remove(id)))) exchange.respond(200, {});
  };
  shared?.onForward((id, message) => {
    const forwarded = toMessage(message);
    if (message === null) drop(id);
    else if (forwarded !== undefined) sessions.get(id)?.take(forwarded, true);
  });

  return {
    /** Handles a request of the older protocol version; `body` is its parsed body. */
    async handle(exchange: Exchange, body: unknown): Promise<void> {
      const id = exchange.header('mcp-session-id');
      if (id === undefined) {
        const message = toMessage(body);
        if (message !== undefined && startsSession(message)) return begin(exchange, message);
        return respondError(exchange, 400, 'missing Mcp-Session-Id header; initialize first');
      }
      if (shared !== undefined && !sessions.has(id) && !(await isReached(exchange, () => restore(id)))) return;
      return use(exchange, body, id);
    },
    /** Notifies the clients of a user of a changed list. */
    announce(change: ListChange): void {
      const user = identityKey(change.identity);
      for (const session of sessions.values()) if (session.user === user) session.announceChange(change);
    },
    close(): void {
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
  // Many clients never end their session: the least recently used one without a running request is dropped, first one whose
  // client does not listen, and its client can initialize again. A user with many loses one of their own.
  const makeRoom = (user: string | undefined): boolean => {
    const limit = performance.now() - IDLE_MS;
    for (const [id, session] of sessions)
      if (session.lastUsed < limit && !session.isBusy && !session.isConnected) drop(id);
    const of = (one: string | undefined): Session[] => [...sessions.values()].filter((session) => session.user === one);
    const own = of(user);
    if (own.length < MAX_OF_USER && sessions.size < MAX_SESSIONS) return true;
    const crowded =
      own.length < MAX_OF_USER ? of(findMost([...sessions.values()].map((session) => session.user))) : own;
    const idle = crowded.filter((session) => !session.isBusy);
    if (idle.length === 0) return false;
    const left = idle.filter((session) => !session.isConnected);
    const among = left.length > 0 ? left : idle;
    drop(among.reduce((least, session) => (session.lastUsed < least.lastUsed ? session : least)).id);
    return true;
  };
  return { sessions, drop, makeRoom };
}

// Responds with an error if the sessions of the fleet cannot be reached.
async function isReached(exchange: Exchange, act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch {
    respondError(exchange, 503, 'the sessions of the fleet cannot be reached; try again');
    return false;
  }
}

function receive(exchange: Exchange, session: Session, body: unknown) {
  const isBatch = Array.isArray(body);
  if (isBatch && !session.hasBatches)
    return respondError(exchange, 400, 'Invalid Request: this protocol version has no batches', ERROR.invalidRequest);
  const bodies = isBatch ? body : [body];
  if (bodies.length > MAX_BATCH)
    return respondError(exchange, 400, `Invalid Request: Batch must not exceed ${MAX_BATCH} messages`);
  const messages = bodies.map(toMessage);
  if (!messages.every((message) => message !== undefined))
    return respondError(exchange, 400, 'Parse error: Invalid JSON-RPC message', ERROR.parse);
  // Also without an id, as in the SDK.
  if (messages.some(startsSession)) return respondError(exchange, 400, 'Invalid Request: Server already initialized');
  if (hasKnownVersion(exchange)) session.receive(exchange, messages, isBatch);
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
  respondError(exchange, 406, `Not Acceptable: Client must accept ${types}`, ERROR.transport);
  return false;
}

// Responds with an error if the client names another protocol version.
function hasKnownVersion(exchange: Exchange): boolean {
  const version = exchange.header('mcp-protocol-version');
  if (version === undefined || OLDER_VERSIONS.includes(version)) return true;
  const known = OLDER_VERSIONS.join(', ');
  const message = `Bad Request: Unsupported protocol version: ${version} (supported versions: ${known})`;
  respondError(exchange, 400, message, ERROR.transport);
  return false;
}

function startsSession({ method, params }: Message): boolean {
  return method === 'initialize' && matches(PARAM_SHAPES.initialize, params);
}
