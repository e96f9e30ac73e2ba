// Sends requests over the transport of an SDK client without the overhead of its validation.

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Progress } from '../../core/context.js';
import { isRecord } from '../../core/json.js';
import type { UpstreamTransport } from './transport.js';

/** A JSON-RPC error response. */
export class RemoteError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The connection or the request ended without a response. */
class LostError extends Error {}

/** Whether an HTTP server no longer knows the session of a request, and so did not process it. */
export function isLostSession(error: unknown): boolean {
  const { data } = error as { readonly data?: { readonly status?: unknown } };
  return data?.status === 404;
}

type Fields = Readonly<Record<string, unknown>>;

export interface LaneRequest {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface Lane {
  /** The transport for the SDK client: receives every message that is not for this lane. */
  readonly transport: Transport;
  /** Sends a request and returns its result. Throws RemoteError, LostError, or an error of the transport. */
  request(method: string, params: Fields, options: LaneRequest): Promise<unknown>;
  /** Sets the `_meta` of every later message, which the newer protocol version requires. */
  setEnvelope(envelope: Fields): void;
}

interface Waiter {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: LaneRequest['onProgress'];
}

interface LaneState {
  readonly upstream: UpstreamTransport;
  readonly transport: Transport;
  readonly waiters: Map<string, Waiter>;
  lastId: number;
  envelope: Fields | undefined;
  closed: Error | undefined;
}

// Notifications for the SDK client; others are dropped.
const NOTIFICATIONS = /^notifications\/(?:tools\/list_changed|cancelled|progress|subscriptions\/)/;

// The SDK client uses numbers as ids.
const ID_PREFIX = 'w';

export function createLane(upstream: UpstreamTransport): Lane {
  const transport = toClientTransport(upstream);
  const lane: LaneState = {
    upstream,
    transport,
    waiters: new Map(),
    lastId: 0,
    envelope: undefined,
    closed: undefined,
  };
  upstream.onmessage = (message) => receive(lane, message);
  upstream.onerror = (error) => transport.onerror?.(error);
  upstream.onclose = () => {
    lane.closed = new LostError('the connection was closed');
    for (const waiter of lane.waiters.values()) waiter.reject(lane.closed);
    lane.waiters.clear();
    transport.onclose?.();
  };
  return {
    transport,
    setEnvelope(envelope) {
      lane.envelope = envelope;
    },
    request: (method, params, options) => sendRequest(lane, method, params, options),
  };
}

function toClientTransport(upstream: UpstreamTransport): Transport {
  return {
    start: () => upstream.start(),
    send: (message, options) => upstream.send(message, options),
    close: () => upstream.close(),
    setProtocolVersion: (version) => upstream.setProtocolVersion?.(version),
    get sessionId() {
      return upstream.sessionId;
    },
    // The SDK detects stdio by these, and by the next whether a single request can be aborted.
    ...('pid' in upstream ? { pid: null, stderr: null } : {}),
    hasPerRequestStream: upstream.hasPerRequestStream,
  };
}

/** Returns whether the message was expected; unsolicited messages are limited by the transport. */
function receive({ waiters, transport }: LaneState, message: JSONRPCMessage): boolean {
  const { id, method, params } = message as {
    readonly id?: unknown;
    readonly method?: unknown;
    readonly params?: unknown;
  };
  if (method === undefined && typeof id === 'string') {
    const waiter = waiters.get(id);
    if (waiter !== undefined) {
      waiters.delete(id);
      settle(waiter, message);
      return true;
    }
  }
  if (method === 'notifications/progress') {
    const waiter = isRecord(params) ? waiters.get(String(params.progressToken)) : undefined;
    if (waiter !== undefined) {
      waiter.onProgress?.(toProgress(params as Record<string, unknown>));
      return true;
    }
  }
  if (id === undefined && !(typeof method === 'string' && NOTIFICATIONS.test(method))) return false;
  transport.onmessage?.(message);
  return method === undefined;
}

function sendRequest(
  lane: LaneState,
  method: string,
  params: Fields,
  { signal, onProgress }: LaneRequest,
): Promise<unknown> {
  const { upstream, waiters, envelope } = lane;
  return new Promise((resolve, reject) => {
    if (lane.closed !== undefined) throw lane.closed;
    const id = `${ID_PREFIX}${++lane.lastId}`;
    // On a shared stream a request can only be cancelled by a notification.
    const abort = upstream.write === undefined ? new AbortController() : undefined;
    const fail = (error: Error): void => {
      waiters.delete(id);
      signal.removeEventListener('abort', onAbort);
      reject(error);
    };
    const onAbort = (): void => {
      fail(new LostError('the request was aborted'));
      abort?.abort();
      sendCancellation(lane, id);
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
    if (signal.aborted) {
      onAbort();
      return;
    }
    const onStreamEnd = (): void => {
      if (waiters.has(id)) fail(new LostError('the response was incomplete'));
    };
    const _meta = onProgress === undefined ? envelope : { ...envelope, progressToken: id };
    const message = {
      jsonrpc: '2.0',
      id,
      method,
      params: _meta === undefined ? params : { ...params, _meta },
    };
    send(upstream, message as unknown as JSONRPCMessage, abort?.signal, onStreamEnd).catch(fail);
  });
}

function sendCancellation({ upstream, envelope }: LaneState, requestId: string): void {
  // Over HTTP, the newer protocol version cancels a request by closing its stream.
  if (upstream.hasPerRequestStream === true && envelope !== undefined) return;
  const params = { requestId, reason: 'cancelled', _meta: envelope };
  void Promise.resolve()
    .then(() => send(upstream, { jsonrpc: '2.0', method: 'notifications/cancelled', params }))
    .catch(() => {});
}

const SENT = Promise.resolve();

function send(
  upstream: UpstreamTransport,
  message: JSONRPCMessage,
  requestSignal?: AbortSignal,
  onRequestStreamEnd?: () => void,
): Promise<void> {
  if (upstream.write === undefined) return upstream.send(message, { requestSignal, onRequestStreamEnd });
  upstream.write(JSON.stringify(message));
  return SENT;
}

function settle(waiter: Waiter, message: object): void {
  const { result, error } = message as { readonly result?: unknown; readonly error?: unknown };
  if (isRecord(result)) waiter.resolve(result);
  else if (isRecord(error) && typeof error.code === 'number')
    waiter.reject(new RemoteError(error.code, String(error.message ?? ''), error.data));
  else waiter.reject(new RemoteError(-32603, 'the response is neither a result nor an error'));
}

function toProgress({ progress, total, message }: Record<string, unknown>): Progress {
  return {
    ...(typeof progress === 'number' ? { done: progress } : {}),
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}
