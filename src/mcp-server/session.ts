// One HTTP session of the older protocol version: its requests and its streams.

import type { Json } from '../core/json.js';
import { type Infer, matches, object, oneOf, optional, string, table } from '../core/shape.js';
import { ERROR, OLDER_VERSIONS } from '../net/mcp.js';
import { type Exchange, type Headers, respondError } from './exchange.js';
import type { ListChange } from './live-listing.js';
import {
  isRequest,
  type Message,
  PARAM_SHAPES,
  type RequestId,
  type RequestMessage,
  toNotification,
} from './message.js';
import { Client } from './request.js';
import type { McpServer } from './server.js';
import { IDLE_MS, type SharedSessions } from './shared-sessions.js';
import { EventLog, EventStream, Responder } from './sse.js';

export interface SessionsOptions {
  readonly server: McpServer;
  readonly onError?: ((error: Error) => void) | undefined;
  /** The sessions of a fleet, which any of its servers may continue. */
  readonly shared?: SharedSessions | undefined;
}

// A shared session expires after the idle time, too.
const RESAVE_MS = IDLE_MS / 6;
const OWN_STREAM = 'session';
const BATCH_VERSION = '2025-03-26';
// Requests and cancellations that are remembered of a session.
const MAX_IDS = 1000;

const STORED = object(
  {
    owner: string,
    /** The user whom it belongs to, if there is a login. */
    user: optional(string),
    /** Parameters of `initialize`. */
    initialized: table,
    logLevel: optional(string),
    /** What mode `auto` is for it. */
    autoMode: optional(oneOf('all', 'search')),
  },
  { unknown: 'drop' },
);

type StoredSession = Infer<typeof STORED>;

/** Whether a value of the fleet is a session. */
export function isStored(value: unknown): value is StoredSession {
  return matches(STORED, value);
}

/** One client of the older version. */
export class Session {
  readonly id: string;
  readonly user: string | undefined;
  lastUsed = performance.now();
  readonly #options: SessionsOptions;
  readonly #client: Client;
  readonly #headers: Headers;
  /** The responses to open requests. */
  readonly #responders = new Map<RequestId, Responder>();
  readonly #events = new EventLog();
  /** For messages that belong to no request. */
  readonly #stream: EventStream;
  // Messages of a session can overtake each other (SRV-16).
  readonly #received = new Set<RequestId>();
  readonly #cancelled = new Set<RequestId>();
  #savedAt = performance.now();

  constructor(options: SessionsOptions, id: string, { owner, user, initialized, logLevel, autoMode }: StoredSession) {
    this.id = id;
    this.user = user;
    this.#options = options;
    this.#headers = { 'mcp-session-id': id };
    this.#stream = new EventStream({ headers: this.#headers, log: this.#events, id: OWN_STREAM });
    this.#client = new Client(owner, (text) => this.#stream.send(text));
    this.#client.initialized = initialized;
    this.#client.logLevel = logLevel;
    this.#client.autoMode = autoMode;
  }

  /** What another server needs to continue the session. */
  get stored(): Json {
    const { session: owner, initialized, logLevel, autoMode } = this.#client;
    return { owner, user: this.user, initialized, logLevel, autoMode } as unknown as Json;
  }

  /** Notes that it is used, also where it is shared. */
  touch(): void {
    this.lastUsed = performance.now();
    if (this.lastUsed - this.#savedAt >= RESAVE_MS) this.#save();
  }

  #save(): void {
    this.#savedAt = performance.now();
    this.#options.shared?.save(this.id, this.stored).catch(() => {});
  }

  /** Whether a request has no response yet, or a task runs. */
  get isBusy(): boolean {
    return this.#responders.size > 0 || this.#options.server.tasks?.isRunning(this.#client.session) === true;
  }

  /** Whether the client listens to messages that belong to no request. */
  get isConnected(): boolean {
    return this.#stream.isConnected;
  }

  /** Whether the protocol version of the session has batches, as only one has. */
  get hasBatches(): boolean {
    return this.#client.initialized?.protocolVersion === BATCH_VERSION;
  }

  receive(exchange: Exchange, messages: readonly Message[], isBatch = false): void {
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
      isBatch,
    });
    for (const message of messages) {
      if (isRequest(message))
        this.#answer(message, responder, exchange).catch((error: Error) => this.#options.onError?.(error));
      else this.take(message);
    }
  }

  /** Opens the stream for messages that belong to no request, or resumes one. */
  listen(exchange: Exchange): void {
    const lastEvent = exchange.header('last-event-id');
    if (lastEvent !== undefined) this.#resume(exchange, lastEvent);
    else if (this.#stream.isConnected) conflict(exchange, 'Only one SSE stream is allowed per session');
    else this.#stream.begin(exchange, false);
  }

  announceChange({ kind, concerns }: ListChange): void {
    const { announce, autoMode } = this.#client;
    if (!concerns(autoMode)) return;
    this.#client.announceChange(kind, () => announce(toNotification(`notifications/${kind}/list_changed`)));
  }

  close(): void {
    this.#client.close();
    for (const responder of this.#responders.values()) responder.end();
    this.#stream.end();
    this.#options.server.tasks?.endSession(this.#client.session);
  }

  #resume(exchange: Exchange, lastEvent: string) {
    const id = this.#events.streamOf(lastEvent);
    if (id === undefined) return respondError(exchange, 400, 'Invalid event ID format', ERROR.transport);
    const open = [this.#stream, ...[...this.#responders.values()].flatMap(({ stream }) => stream ?? [])];
    const stream = open.find((candidate) => candidate.id === id);
    if (stream?.isConnected) return conflict(exchange, 'Stream already has an active connection');
    const resumed = stream ?? new EventStream({ headers: this.#headers, log: this.#events, id });
    resumed.resume(exchange, lastEvent);
    // All of its requests were answered.
    if (stream === undefined) resumed.end();
  }

  /** Takes a notification or response; one that nobody here waits for is passed on, unless it was before. */
  take(message: Message, isForwarded = false): void {
    const { method, params } = message;
    if (method === undefined && this.#client.requests.receive(message)) return;
    const id =
      method === 'notifications/cancelled' && matches(PARAM_SHAPES.cancelled, params) ? params.requestId : undefined;
    const isExpected = method !== undefined && (id === undefined || this.#responders.has(id));
    if (!isForwarded && !isExpected) this.#options.shared?.forward(this.id, message as unknown as Json);
    if (id === undefined) return;
    if (!this.#received.has(id)) remember(this.#cancelled, id);
    this.#client.cancel(id, params?.reason as string | undefined);
    this.#responders.get(id)?.skip();
    this.#responders.delete(id);
  }

  async #answer(message: RequestMessage, responder: Responder, exchange: Exchange): Promise<void> {
    const { id } = message;
    const { autoMode } = this.#client;
    remember(this.#received, id);
    this.#responders.set(id, responder);
    const answering = this.#options.server.answer(message, {
      client: this.#client,
      exchange,
      isNewer: false,
      send: (text) => responder.send(text),
    });
    if (this.#cancelled.delete(id))
      this.take({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
    const answer = await answering;
    if (message.method === 'logging/setLevel' || this.#client.autoMode !== autoMode) this.#save();
    if (answer === undefined) return;
    if (this.#responders.get(id) === responder) this.#responders.delete(id);
    responder.answer(answer.parts);
  }
}

function remember(ids: Set<RequestId>, id: RequestId): void {
  ids.add(id);
  if (ids.size > MAX_IDS) ids.delete(ids.values().next().value!);
}

function conflict(exchange: Exchange, problem: string): void {
  respondError(exchange, 409, `Conflict: ${problem}`, ERROR.transport);
}
