// Sends requests over the transport of an SDK client without the overhead of its validation.

import type { TraceParent } from '../../core/caller.js';
import type { Progress } from '../../core/context.js';
import { isRecord, type Json } from '../../core/json.js';
import { RpcError } from '../../net/mcp.js';
import type { JSONRPCMessage, Transport } from '../sdk.js';
import { toTraceMeta } from './trace.js';
import type { UpstreamTransport } from './transport.js';

/** The connection or the request ended without a response. */
class LostError extends Error {}

/** The response to one request ended before its answer. */
class IncompleteError extends Error {}

// Sent by proxies for a server that is not there.
const UNREACHABLE: readonly unknown[] = [502, 503, 504];

/** Whether an HTTP server responded, although not with an answer: it is still there for other requests (UPS-96). */
export function isBadResponse(error: unknown): boolean {
  const { data } = error as { readonly data?: { readonly status?: unknown } };
  return !(error instanceof LostError || isLostSession(error) || UNREACHABLE.includes(data?.status));
}

/** Whether an HTTP server no longer knows the session of a request, and so did not process it. */
export function isLostSession(error: unknown): boolean {
  const { data } = error as { readonly data?: { readonly status?: unknown } };
  return data?.status === 404;
}

type Fields = Readonly<Record<string, unknown>>;

export interface LaneRequest {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly trace?: TraceParent | undefined;
  /** Replaces the envelope of the lane. */
  readonly envelope?: Fields | undefined;
}

interface Waiter {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: LaneRequest['onProgress'];
}

// Notifications for the SDK client; others are dropped.
const NOTIFICATIONS =
  /^notifications\/(?:(?:tools|resources|prompts)\/list_changed|resources\/updated|message|cancelled|progress|subscriptions\/)/;

// The SDK client uses numbers as ids.
const ID_PREFIX = 'w';
// Ids of the SDK's version probes.
const PROBE_PREFIX = 'server-discover-probe-';

const SENT = Promise.resolve();

function isProbe(id: unknown): boolean {
  return typeof id === 'string' && id.startsWith(PROBE_PREFIX);
}

export class Lane {
  /** The transport for the SDK client: receives every message that is not for this lane. */
  readonly transport: Transport;
  /** The `_meta` of every message, which the newer protocol version requires. */
  envelope: Fields | undefined;
  /**
   * Called with the answer to the version probe if it arrives after `initialize` was sent; undefined if that is an error,
   * or if the connection was closed before.
   */
  onLateDiscover?: ((discover: Json | undefined) => void) | undefined;
  /** Whether the transport stays open if the SDK client closes it, for another client on the same transport. */
  keepsOpen = false;
  #isInitializing = false;
  #openProbe: unknown;
  readonly #upstream: UpstreamTransport;
  readonly #waiters = new Map<string, Waiter>();
  #lastId = 0;
  #closed: Error | undefined;

  constructor(upstream: UpstreamTransport, isStarted = false) {
    this.#upstream = upstream;
    this.transport = this.#toClientTransport(isStarted);
    upstream.onmessage = (message) => this.#receive(message);
    upstream.onerror = (error) => this.transport.onerror?.(error);
    upstream.onclose = () => {
      this.#closed = new LostError('the connection was closed');
      for (const waiter of this.#waiters.values()) waiter.reject(this.#closed);
      this.#waiters.clear();
      if (this.isProbeOpen) this.onLateDiscover?.(undefined);
      this.transport.onclose?.();
    };
  }

  /** Whether the version probe was sent on a shared stream and not answered yet. */
  get isProbeOpen(): boolean {
    return this.#openProbe !== undefined;
  }

  #toClientTransport(isStarted: boolean): Transport {
    const upstream = this.#upstream;
    return {
      start: async () => (isStarted ? undefined : upstream.start()),
      send: (message, options) => {
        // Without a shared stream its response is the answer, or there is none.
        if ('id' in message && isProbe(message.id) && upstream.write !== undefined) this.#openProbe = message.id;
        if ('method' in message && message.method === 'initialize') {
          this.#isInitializing = true;
          this.keepsOpen = this.isProbeOpen;
        }
        return upstream.send(message, options);
      },
      close: async () => (this.keepsOpen ? this.transport.onclose?.() : upstream.close()),
      setProtocolVersion: (version) => upstream.setProtocolVersion?.(version),
      get sessionId() {
        return upstream.sessionId;
      },
      // The SDK detects stdio by these, and by the next whether a single request can be aborted.
      ...('pid' in upstream ? { pid: null, stderr: null } : {}),
      hasPerRequestStream: upstream.hasPerRequestStream,
    };
  }

  /** Sends a request and returns its result. Throws RpcError, LostError, or an error of the transport. */
  request(method: string, params: Fields, given: LaneRequest): Promise<unknown> {
    const { signal, onProgress, trace, envelope = this.envelope } = given;
    const waiters = this.#waiters;
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined) throw this.#closed;
      const id = `${ID_PREFIX}${++this.#lastId}`;
      // On a shared stream a request can only be cancelled by a notification.
      const abort = this.#upstream.write === undefined ? new AbortController() : undefined;
      const fail = (error: Error): void => {
        waiters.delete(id);
        signal.removeEventListener('abort', onAbort);
        reject(error);
      };
      const onAbort = (): void => {
        fail(new LostError('the request was aborted'));
        abort?.abort();
        this.#sendCancellation(id);
      };
      waiters.set(id, {
        resolve: (result) => {
          signal.removeEventListener('abort', onAbort);
          resolve(result);
        },
        reject: fail,
        onProgress,
      });
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) return onAbort();
      const onStreamEnd = (): void => {
        if (waiters.has(id)) fail(new IncompleteError('it ended before the answer'));
      };
      const asked = onProgress === undefined ? envelope : { ...envelope, progressToken: id };
      const _meta = trace === undefined ? asked : { ...asked, ...toTraceMeta(trace) };
      const message = {
        jsonrpc: '2.0',
        id,
        method,
        params: _meta === undefined ? params : { ...params, _meta },
      };
      this.#send(message as unknown as JSONRPCMessage, abort?.signal, onStreamEnd).catch((error: Error) =>
        fail(readErrorBody(error, id) ?? error),
      );
    });
  }

  /** Returns whether the message was expected; unsolicited messages are limited by the transport. */
  #receive(message: JSONRPCMessage): boolean {
    const { id, method, params } = message as Partial<Record<'id' | 'method' | 'params', unknown>>;
    if (method === undefined && typeof id === 'string') {
      const waiter = this.#waiters.get(id);
      if (waiter !== undefined) {
        this.#waiters.delete(id);
        settle(waiter, message);
        return true;
      }
      const { result } = message as { readonly result?: unknown };
      if (id === this.#openProbe) {
        this.#openProbe = undefined;
        if (this.#isInitializing) {
          this.onLateDiscover?.(isRecord(result) ? (result as unknown as Json) : undefined);
          return true;
        }
      }
    }
    if (method === 'notifications/progress') {
      const waiter = isRecord(params) ? this.#waiters.get(String(params.progressToken)) : undefined;
      if (waiter !== undefined) {
        waiter.onProgress?.(toProgress(params as Record<string, unknown>));
        return true;
      }
    }
    if (id === undefined && !(typeof method === 'string' && NOTIFICATIONS.test(method))) return false;
    this.transport.onmessage?.(message);
    return method === undefined;
  }

  #sendCancellation(requestId: string): void {
    // Over HTTP, the newer protocol version cancels a request by closing its stream.
    if (this.#upstream.hasPerRequestStream === true && this.envelope !== undefined) return;
    const params = { requestId, reason: 'cancelled', _meta: this.envelope };
    void Promise.resolve()
      .then(() => this.#send({ jsonrpc: '2.0', method: 'notifications/cancelled', params }))
      .catch(() => {});
  }

  #send(message: JSONRPCMessage, requestSignal?: AbortSignal, onRequestStreamEnd?: () => void): Promise<void> {
    const upstream = this.#upstream;
    if (upstream.write === undefined) return upstream.send(message, { requestSignal, onRequestStreamEnd });
    upstream.write(JSON.stringify(message));
    return SENT;
  }
}

// In the newer version an unknown method is HTTP 404, with the error of the request as its body.
function readErrorBody(error: Error, id: string): RpcError | undefined {
  const { data } = error as { readonly data?: { readonly status?: unknown; readonly text?: unknown } };
  if (data?.status !== 404 || typeof data.text !== 'string') return undefined;
  try {
    const body: unknown = JSON.parse(data.text);
    if (!isRecord(body) || body.id !== id || !isRecord(body.error)) return undefined;
    return new RpcError(Number(body.error.code), String(body.error.message ?? ''), body.error.data);
  } catch {
    return undefined;
  }
}

function settle(waiter: Waiter, message: object): void {
  const { result, error } = message as { readonly result?: unknown; readonly error?: unknown };
  if (isRecord(result)) waiter.resolve(result);
  else if (isRecord(error) && typeof error.code === 'number')
    waiter.reject(new RpcError(error.code, String(error.message ?? ''), error.data));
  else waiter.reject(new RpcError(-32603, 'the response is neither a result nor an error'));
}

function toProgress({ progress, total, message }: Record<string, unknown>): Progress {
  return {
    ...(typeof progress === 'number' ? { done: progress } : {}),
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}
