// One HTTP session of the older protocol version: its requests, its streams, and the SDK server that it may have.

import { isRecord, type Json } from '../core/json.js';
import { OpenMap } from '../core/open-map.js';
import { createCancellations } from './cancellations.js';
import { EventLog, EventStream } from './event-stream.js';
import { type Exchange, type Headers, respondError, SERVER_ERROR } from './exchange.js';
import { SessionPeer } from './http-peer.js';
import { failed, type Lane, type LaneOptions, type LaneRequest } from './lane.js';
import {
  isCancelParams,
  isRequest,
  isSetLevelParams,
  type Message,
  OLDER_VERSIONS,
  type RequestId,
  type RequestMessage,
} from './message.js';
import { createOutgoing } from './outgoing.js';
import { Responder } from './responder.js';
import { isHot } from './routes.js';
import type { SharedSessions } from './shared-sessions.js';

export interface SessionsOptions extends Pick<LaneOptions, 'onError'> {
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

export const IDLE_MS = 60 * 60_000;
// A shared session expires after the idle time, too.
const RESAVE_MS = IDLE_MS / 6;
const OWN_STREAM = 'session';

export interface StoredSession {
  readonly id: string;
  readonly owner: string;
  readonly initialize: RequestMessage;
  readonly logLevel?: string;
}

/** One client of the older version. */
export class Session {
  readonly id: string;
  lastUsed = performance.now();
  readonly #lane: Lane;
  readonly #connectSdk: SessionsOptions['connectSdk'];
  readonly #reportError: SessionsOptions['onError'];
  readonly #shared: SharedSessions | undefined;
  readonly #initialize: RequestMessage;
  readonly #owner: string;
  readonly #headers: Headers;
  readonly #outgoing = createOutgoing();
  readonly #cancellations = createCancellations();
  /** Running calls of the lane, and the responses to all open requests. */
  readonly #running = new OpenMap<RequestId, LaneRequest>();
  readonly #responders = new OpenMap<RequestId, Responder>();
  readonly #events = new EventLog();
  /** For messages that belong to no request. */
  readonly #stream: EventStream;
  #sdk: Promise<SdkSession> | undefined;
  #logLevel: string | undefined;
  #savedAt = performance.now();

  constructor(
    { lane, connectSdk, shared, onError }: SessionsOptions,
    { id, owner, initialize, logLevel }: StoredSession,
  ) {
    this.id = id;
    this.#lane = lane;
    this.#connectSdk = connectSdk;
    this.#reportError = onError;
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
    this.#sdk?.then((sdk) => sdk.close()).catch(this.#onError);
    this.#lane.calls.endSession(this.#owner);
  }

  #resume(exchange: Exchange, lastEvent: string): void {
    const id = this.#events.streamOf(lastEvent);
    if (id === undefined) return void respondError(exchange, 400, 'Invalid event ID format', SERVER_ERROR);
    const open = [this.#stream, ...this.#responders.values().flatMap(({ stream }) => stream ?? [])];
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
    this.#sdk?.then((sdk) => sdk.deliver(message)).catch(this.#onError);
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
    const answering = isHot(message, false)
      ? this.#answerByLane(message, responder, exchange)
      : this.#answerBySdk(message, exchange);
    // SRV-84: also what should not happen is answered.
    answering.catch((error: unknown) => {
      this.#onError(error);
      this.#respond(message.id, responder, failed(message.id, error));
    });
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

  async #answerBySdk(message: RequestMessage, exchange: Exchange): Promise<void> {
    this.#sdk ??= this.#connectSdk(this.#owner, this.#initialize, (sent, related) => this.#send(sent, related));
    (await this.#sdk).deliver(message, exchange);
  }

  readonly #onError = (error: unknown): void => this.#reportError?.(error as Error);

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

export function isStored(value: unknown): value is Omit<StoredSession, 'id'> {
  return isRecord(value) && typeof value.owner === 'string' && isRecord(value.initialize);
}
