// The JSON-RPC client of a connection: requests, subscriptions, and what the server sends by itself.

import { type Deferred, deferred, onAbort } from '../../core/async.js';
import type { TraceParent } from '../../core/caller.js';
import type { Progress } from '../../core/context.js';
import { orNothing, toToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { settlesWithin } from '../../core/time-limit.js';
import { ERROR, META, RpcError, UnreadError } from '../../net/mcp.js';
import type { JSONRPCMessage } from '../sdk.js';
import { UNREAD } from './read-message.js';
import type { UpstreamTransport } from './transport.js';

/** The connection or the request ended without a response. */
class LostError extends Error {}

/** The response to one request ended before its answer. */
class IncompleteError extends Error {}

// Sent by proxies for a server that is not there.
const UNREACHABLE: readonly unknown[] = [502, 503, 504];

/** Returns the HTTP status of an error of the transport. */
export function statusOf(error: unknown): number | undefined {
  const { data } = Object(error) as { readonly data?: unknown };
  return isRecord(data) && typeof data.status === 'number' ? data.status : undefined;
}

/** Whether an HTTP server responded, although not with an answer: it is still there for other requests (UPS-96). */
export function isBadResponse(error: unknown): boolean {
  return !(error instanceof LostError || isLostSession(error) || UNREACHABLE.includes(statusOf(error)));
}

/** Whether an HTTP server no longer knows the session of a request, and so did not process it. */
export function isLostSession(error: unknown): boolean {
  return statusOf(error) === 404;
}

export type Fields = Readonly<Record<string, unknown>>;

export interface RequestOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly trace?: TraceParent | undefined;
  /** Called with the id of the request. */
  readonly onSent?: ((id: string) => void) | undefined;
  /** Replaces the envelope of the client. */
  readonly envelope?: Fields | undefined;
  /** HTTP headers of this request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Called when the server has accepted a subscription. */
  readonly onAccepted?: ((accepted: Fields) => void) | undefined;
}

/** A stream of notifications (newer protocol version). */
export interface Subscription {
  /** What the server accepted. */
  readonly accepted: Fields;
  /** Resolves when the stream has ended. */
  readonly closed: Promise<void>;
  close(): void;
}

interface Waiter
  extends Pick<RequestOptions, 'onProgress' | 'onAccepted'>,
    Pick<Deferred<unknown>, 'resolve' | 'reject'> {}

const SUBSCRIBE_TIMEOUT_MS = 10_000;

export class Client {
  readonly transport: UpstreamTransport;
  /** The `_meta` of every message, which the newer protocol version requires. */
  envelope: Fields | undefined;
  /** Handlers of notifications, by method. */
  readonly listeners = new Map<string, (params: Fields) => void>();
  /** Answers a request of the server. Throws RpcError. */
  onRequest: (method: string, params: JsonObject, signal: AbortSignal) => Promise<Fields> = (method) => {
    throw new RpcError(ERROR.methodNotFound, `Method not found: ${method}`);
  };
  /** Called with other notifications than those of requests. */
  onNotification: (method: string, params: Fields) => void = (method, params) => this.listeners.get(method)?.(params);
  onError: (error: Error) => void = () => {};
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;
  isOpen = true;
  readonly #waiters = new Map<unknown, Waiter>();
  // Requests of the server that are being answered.
  readonly #answering = new Map<unknown, AbortController>();
  #lastId = 0;

  constructor(transport: UpstreamTransport) {
    this.transport = transport;
    transport.onmessage = (message) => this.#receive(message as Fields);
    transport.onerror = (error) => this.onError(error);
    this.closed = new Promise((resolve) => {
      transport.onclose = () => {
        this.isOpen = false;
        for (const waiter of this.#waiters.values()) waiter.reject(connectionClosed());
        for (const answer of this.#answering.values()) answer.abort();
        resolve();
      };
    });
  }

  /** Whether the newer protocol version was negotiated. */
  get isModern(): boolean {
    return this.envelope !== undefined;
  }

  async notify(method: string, params: Fields = {}): Promise<void> {
    const fields = this.envelope === undefined ? params : { ...params, _meta: this.envelope };
    await this.#send({ method, ...(Object.keys(fields).length === 0 ? {} : { params: fields }) });
  }

  /** Opens a stream of notifications (newer protocol version). Throws if the server does not accept it in time. */
  async subscribe(notifications: Fields): Promise<Subscription> {
    const stop = new AbortController();
    let accepted: Fields = {};
    let ended: Promise<unknown> | undefined;
    const opened = new Promise<void>((resolve, reject) => {
      const onAccepted = (given: Fields): void => {
        accepted = given;
        resolve();
      };
      ended = this.request('subscriptions/listen', { notifications }, { signal: stop.signal, onAccepted });
      ended.then(() => reject(new LostError('the server ended the subscription')), reject);
    });
    if (!(await settlesWithin(opened, SUBSCRIBE_TIMEOUT_MS))) {
      stop.abort();
      throw new LostError('the server did not accept the subscription in time');
    }
    const closed = ended!.then(
      () => {},
      () => {},
    );
    return { accepted, closed, close: () => stop.abort() };
  }

  /** Sends a request and returns its result. Throws RpcError, LostError, or an error of the transport. */
  async request(
    method: string,
    params: Fields,
    { signal, onProgress, trace, onSent, envelope = this.envelope, headers, onAccepted }: RequestOptions,
  ): Promise<unknown> {
    if (!this.isOpen) throw connectionClosed();
    const id = `w${++this.#lastId}`;
    onSent?.(id);
    if (signal.aborted) throw new LostError('the request was aborted');
    // On a shared stream a request can only be cancelled by a notification.
    const stop = this.transport.hasPerRequestStream === true ? new AbortController() : undefined;
    const { promise, resolve, reject } = deferred<unknown>();
    this.#waiters.set(id, { resolve, reject, onProgress, onAccepted });
    const unlisten = onAbort(signal, () => {
      reject(new LostError('the request was aborted'));
      stop?.abort();
      // Over HTTP, the newer protocol version cancels a request by closing its stream.
      if (stop === undefined || !this.isModern)
        this.notify('notifications/cancelled', { requestId: id, reason: 'cancelled' }).catch(() => {});
    });
    const meta = {
      ...envelope,
      ...(onProgress === undefined ? {} : { progressToken: id }),
      ...(trace === undefined ? {} : toTraceMeta(trace)),
    };
    const fields = Object.keys(meta).length === 0 ? params : { ...params, _meta: meta };
    const onRequestStreamEnd = (): void => reject(new IncompleteError('it ended before the answer'));
    this.#send({ id, method, params: fields }, { requestSignal: stop?.signal, onRequestStreamEnd, headers }).catch(
      (error: Error) => reject(readErrorBody(error, id) ?? error),
    );
    try {
      return await promise;
    } finally {
      this.#waiters.delete(id);
      unlisten();
    }
  }

  async #send(message: Fields, options?: Parameters<UpstreamTransport['send']>[1]): Promise<void> {
    await this.transport.send({ jsonrpc: '2.0', ...message } as JSONRPCMessage, options);
  }

  /** Returns whether the message was expected; unsolicited messages are limited by the transport. */
  #receive(message: Fields): boolean {
    const { id, method } = message;
    const params: Fields = isRecord(message.params) ? message.params : {};
    if (typeof method !== 'string') {
      const waiter = this.#waiters.get(id);
      this.#waiters.delete(id);
      if (waiter !== undefined) settleWith(message, waiter);
      return waiter !== undefined;
    }
    if (id !== undefined) void this.#answer(id, method, params as JsonObject);
    else if (method === 'notifications/progress') {
      const waiter = this.#waiters.get(params.progressToken);
      waiter?.onProgress?.(toProgress(params));
      return waiter !== undefined;
    } else if (method === 'notifications/subscriptions/acknowledged') {
      const { [META.subscription]: of } = isRecord(params._meta) ? params._meta : {};
      this.#waiters.get(of)?.onAccepted?.(isRecord(params.notifications) ? params.notifications : {});
    } else if (method === 'notifications/cancelled') {
      this.#answering.get(params.requestId)?.abort();
      const waiter = this.#waiters.get(params.requestId);
      if (waiter?.onAccepted !== undefined) waiter.reject(new LostError('the server ended the subscription'));
    } else this.onNotification(method, params);
    return false;
  }

  async #answer(id: unknown, method: string, params: JsonObject): Promise<void> {
    const stop = new AbortController();
    this.#answering.set(id, stop);
    try {
      const answer = await this.onRequest(method, params, stop.signal);
      if (!stop.signal.aborted) await this.#send({ id, result: answer });
    } catch (error) {
      if (stop.signal.aborted) return;
      const { code, message, data } =
        error instanceof RpcError ? error : new RpcError(ERROR.internal, toToolError(error).message);
      await this.#send({ id, error: { code, message, data } }).catch(this.onError);
    } finally {
      this.#answering.delete(id);
    }
  }
}

function connectionClosed(): LostError {
  return new LostError('the connection was closed');
}

// In the newer version an unknown method is HTTP 404, with the error of the request as its body.
function readErrorBody(error: Error, id: string): RpcError | undefined {
  const { data } = error as { readonly data?: { readonly text?: unknown } };
  if (statusOf(error) !== 404 || typeof data?.text !== 'string') return undefined;
  const { text } = data;
  const body = orNothing(() => JSON.parse(text) as unknown);
  return isRecord(body) && body.id === id && isRecord(body.error) ? toRpcError(body.error) : undefined;
}

function settleWith({ result, error }: Fields, waiter: Waiter): void {
  if (isRecord(result)) waiter.resolve(result);
  else if (isRecord(error) && typeof error.code === 'number') waiter.reject(toRpcError(error));
  else waiter.reject(new UnreadError(ERROR.internal, 'the response is neither a result nor an error'));
}

/** Converts an error of a message; it may lack anything. */
export function toRpcError({ code, message, data }: Fields): RpcError {
  const Kind = data === UNREAD ? UnreadError : RpcError;
  return new Kind(typeof code === 'number' ? code : ERROR.internal, String(message ?? ''), data);
}

function toProgress({ progress, total, message }: Fields): Progress {
  return {
    ...(typeof progress === 'number' ? { done: progress } : {}),
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;
// The limits of W3C Trace Context and Baggage.
const MAX_STATE = 512;
const MAX_BAGGAGE = 8192;
const PRINTABLE = /^[\u0020-\u007e]*$/;

// What is not valid is omitted, all of it without a valid `traceparent`.
function toTraceMeta({ traceparent, tracestate, baggage }: TraceParent): Fields {
  if (!TRACEPARENT.test(traceparent)) return {};
  const isValid = (text: string | undefined, limit: number): boolean =>
    text !== undefined && text.length <= limit && PRINTABLE.test(text);
  return {
    traceparent,
    ...(isValid(tracestate, MAX_STATE) ? { tracestate } : {}),
    ...(isValid(baggage, MAX_BAGGAGE) ? { baggage } : {}),
  };
}
