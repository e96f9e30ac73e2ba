// HTTP sessions of the older protocol version: the lane answers, or an SDK server; limited in number and idle time.

import { randomUUID } from 'node:crypto';
import { isRecord, type Json } from '../core/json.js';
import type { SharedSessions } from '../core/sessions.js';
import { createCancellations } from './cancellations.js';
import { EventLog, EventStream } from './event-stream.js';
import type { Exchange, Headers } from './exchange.js';
import { SessionPeer } from './http-peer.js';
import type { Lane, LaneRequest } from './lane.js';
import {
  ERROR,
  isCancelParams,
  isInitializeParams,
  isSetLevelParams,
  type Message,
  OLDER_VERSIONS,
  type RequestId,
  type RequestMessage,
  toMessage,
} from './message.js';
import type { OfferKind } from './offer-watch.js';
import { createOutgoing, toNotification } from './outgoing.js';
import { Responder } from './responder.js';
import { isHot } from './routes.js';

export interface Sessions {
  /** Handles a request of the older protocol version; `body` is its parsed body. */
  handle(exchange: Exchange, body: unknown): void;
  /** Notifies clients of a changed list. */
  announce(kind: 'tools' | OfferKind): void;
  close(): void;
}

export interface SessionsOptions {
  readonly lane: Lane;
  /** Creates the SDK server of a session, which knows the `initialize` request. */
  readonly connectSdk: (session: string, initialize: Message, send: SendMessage) => Promise<SdkSession>;
  /** The sessions of a fleet, which any of its servers may continue. */
  readonly shared?: SharedSessions | undefined;
}

/** The SDK server of one session. */
export interface SdkSession {
  deliver(message: Message, exchange?: Exchange): void;
  close(): void;
}

/** Sends a message of the SDK server; `related` is the request that it belongs to. */
export type SendMessage = (message: Message, related: RequestId | undefined) => void;

const MAX_SESSIONS = 256;
const IDLE_MS = 60 * 60_000;
// A shared session expires after the idle time, too.
const RESAVE_MS = IDLE_MS / 6;
const MAX_BATCH = 100;
const OWN_STREAM = 'session';

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
    sessions.delete(id);
    sessions.set(id, session);
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
  // In order of last use.
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
    for (const [id, session] of sessions) {
      if (session.isBusy) continue;
      drop(id);
      return true;
    }
    return false;
  };
  return { sessions, drop, makeRoom };
}

/** One client of the older version. */
class Session {
  readonly id: string;
  lastUsed = performance.now();
  readonly #lane: Lane;
  readonly #connectSdk: SessionsOptions['connectSdk'];
  readonly #shared: SharedSessions | undefined;
  readonly #initialize: RequestMessage;
  readonly #owner: string;
  readonly #headers: Headers;
  readonly #outgoing = createOutgoing();
  readonly #cancellations = createCancellations();
  /** Running calls of the lane, and the responses to all open requests. */
  readonly #running = new Map<RequestId, LaneRequest>();
  readonly #responders = new Map<RequestId, Responder>();
  readonly #events = new EventLog();
  /** For messages that belong to no request. */
  readonly #stream: EventStream;
  #sdk: Promise<SdkSession> | undefined;
  #logLevel: string | undefined;
  #savedAt = performance.now();

  constructor({ lane, connectSdk, shared }: SessionsOptions, { id, owner, initialize, logLevel }: StoredSession) {
    this.id = id;
    this.#lane = lane;
    this.#connectSdk = connectSdk;
    this.#shared = shared;
    this.#initialize = initialize;
    this.#owner = owner;
    this.#logLevel = logLevel;
    this.#headers = { 'mcp-session-id': id };
    this.#stream = new EventStream({ headers: this.#headers, log: this.#events, id: OWN_STREAM });
  }

  /** What another server needs to continue the session. */
  get stored(): Json {
    return { owner: this.#owner, initialize: this.#initialize, logLevel: this.#logLevel } as unknown as Json;
  }

  /** Notes that it is used, also where it is shared. */
  touch(): void {
    this.lastUsed = performance.now();
    if (this.#shared === undefined || this.lastUsed - this.#savedAt < RESAVE_MS) return;
    this.#savedAt = this.lastUsed;
    this.#shared.save(this.id, this.stored).catch(() => {});
  }

  /** Whether a request has no response yet, or a task runs. */
  get isBusy(): boolean {
    return this.#responders.size > 0 || this.#lane.calls.runsTask(this.#owner);
  }

  receive(exchange: Exchange, messages: readonly Message[]): void {
    const requests = messages.filter(isRequest);
    if (requests.length === 0) {
      for (const message of messages) this.take(message);
      exchange.respond(202, {});
      return;
    }
    const responder = new Responder(exchange, {
      headers: this.#headers,
      log: this.#events,
      requests: requests.length,
      isPrimed: exchange.header('mcp-protocol-version') === OLDER_VERSIONS[0],
    });
    for (const message of messages) {
      if (isRequest(message)) this.#answer(message, responder, exchange);
      else this.take(message);
    }
  }

  /** Opens the stream for messages that belong to no request. */
  listen(exchange: Exchange): void {
    const lastEvent = exchange.header('last-event-id');
    if (lastEvent !== undefined) this.#resume(exchange, lastEvent);
    else if (this.#stream.isConnected)
      respondError(exchange, 409, 'Conflict: Only one SSE stream is allowed per session', SERVER_ERROR);
    else this.#stream.begin(exchange, false);
  }

  notify(text: string): void {
    this.#stream.send(text);
  }

  close(): void {
    for (const request of this.#running.values()) request.cancel();
    for (const responder of this.#responders.values()) responder.end();
    this.#outgoing.close();
    this.#stream.end();
    void this.#sdk?.then((sdk) => sdk.close());
    this.#lane.calls.endSession(this.#owner);
  }

  #resume(exchange: Exchange, lastEvent: string): void {
    const id = this.#events.streamOf(lastEvent);
    if (id === undefined) return void respondError(exchange, 400, 'Invalid event ID format', SERVER_ERROR);
    const open = [this.#stream, ...[...this.#responders.values()].flatMap(({ stream }) => stream ?? [])];
    const stream = open.find((candidate) => candidate.id === id);
    if (stream?.isConnected)
      return void respondError(exchange, 409, 'Conflict: Stream already has an active connection', SERVER_ERROR);
    const resumed = stream ?? new EventStream({ headers: this.#headers, log: this.#events, id });
    resumed.resume(exchange, lastEvent);
    // All of its requests were answered.
    if (stream === undefined) resumed.end();
  }

  /** Takes a notification or response; one that nobody here waits for is passed on, unless it was before. */
  take(message: Message, isForwarded = false): void {
    if (message.method === undefined && this.#outgoing.receive(message)) return;
    if (!isForwarded && !this.#isExpected(message)) this.#shared?.forward(this.id, message as unknown as Json);
    if (message.method === 'notifications/cancelled' && isCancelParams(message.params)) {
      const { requestId, reason } = message.params as { requestId: RequestId; reason?: string };
      this.#cancellations.cancelled(requestId);
      this.#running.get(requestId)?.cancel(reason);
      this.#responders.get(requestId)?.end();
      this.#responders.delete(requestId);
    }
    void this.#sdk?.then((sdk) => sdk.deliver(message));
  }

  #isExpected({ method, params }: Message): boolean {
    if (method === undefined) return false;
    return method !== 'notifications/cancelled' || this.#responders.has(params?.requestId as RequestId);
  }

  #answer(message: RequestMessage, responder: Responder, exchange: Exchange): void {
    const isCancelled = this.#cancellations.received(message.id);
    this.#responders.set(message.id, responder);
    if (message.method === 'logging/setLevel' && isSetLevelParams(message.params)) {
      this.#logLevel = message.params!.level as string;
      this.#shared?.save(this.id, this.stored).catch(() => {});
    }
    if (isHot(message, false)) void this.#answerByLane(message, responder, exchange);
    else {
      this.#sdk ??= this.#connectSdk(this.#owner, this.#initialize, (sent, related) => this.#send(sent, related));
      void this.#sdk.then((sdk) => sdk.deliver(message, exchange));
    }
    if (isCancelled)
      this.take({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: message.id } });
  }

  async #answerByLane(message: RequestMessage, responder: Responder, exchange: Exchange): Promise<void> {
    const peer = new SessionPeer({
      session: this.#owner,
      initialized: this.#initialize.params,
      logLevel: this.#logLevel,
      exchange,
      responder,
      outgoing: this.#outgoing,
    });
    const parts = await this.#lane.answer(message, peer, this.#running);
    if (parts !== undefined) this.#respond(message.id, responder, parts);
  }

  #respond(id: RequestId, responder: Responder, parts: readonly (string | Buffer)[]): void {
    if (this.#responders.get(id) === responder) this.#responders.delete(id);
    responder.answer(parts);
  }

  #send(message: Message, related: RequestId | undefined): void {
    const text = JSON.stringify(message);
    const isResponse = message.method === undefined && message.id !== undefined;
    const responder = this.#responders.get((isResponse ? message.id : related)!);
    if (isResponse) {
      if (responder !== undefined) this.#respond(message.id!, responder, [text]);
    } else if (related === undefined) this.notify(text);
    else responder?.send(text);
  }
}

interface StoredSession {
  readonly id: string;
  readonly owner: string;
  readonly initialize: RequestMessage;
  readonly logLevel?: string;
}

function isStored(value: unknown): value is Omit<StoredSession, 'id'> {
  return isRecord(value) && typeof value.owner === 'string' && isRecord(value.initialize);
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

const SERVER_ERROR = -32000;

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

function isRequest(message: Message): message is RequestMessage {
  return message.method !== undefined && message.id !== undefined;
}

function rejectStranger(exchange: Exchange): void {
  respondError(exchange, 400, 'missing Mcp-Session-Id header; initialize first');
}

function startsSession({ method, params }: Message): boolean {
  return method === 'initialize' && isInitializeParams(params);
}

export function respondError(
  exchange: Exchange,
  status: number,
  message: string,
  code: number = ERROR.invalidRequest,
  id: RequestId | null = null,
  data?: object,
): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, data } });
  exchange.respond(status, { 'content-type': 'application/json' }, [body]);
}
