// A lane of our own beside the protocol's client: requests and their answers over one transport, without its checks.

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { Progress } from '../../core/context.js';
import { isRecord } from '../../core/json.js';

/** A refusal in the protocol's words. */
export class RemoteError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The connection went, or the request with it, before there was an answer. */
class LostError extends Error {}

/** Whether a server over HTTP has forgotten the session that a request was of: it was not taken on then. */
export function isLostSession(error: unknown): boolean {
  const { data } = error as { readonly data?: { readonly status?: unknown } };
  return data?.status === 404;
}

export interface LaneRequest {
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface Lane {
  /** What the protocol's client is connected to: it gets all that is not ours. */
  readonly transport: Transport;
  /** Sends a request and waits for its answer. Throws RemoteError, LostError, or what the transport throws. */
  request(method: string, params: Readonly<Record<string, unknown>>, options: LaneRequest): Promise<unknown>;
  /** What every message carries from now on: so the newer era wants it. */
  setEnvelope(envelope: Readonly<Record<string, unknown>>): void;
  /** Requests that wait for their answers. */
  readonly waiting: number;
}

interface Waiter {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress: LaneRequest['onProgress'];
}

// What the client has a use for; anything else that is told and not asked is dropped unread.
const WANTED = /^notifications\/(?:tools\/list_changed|cancelled|progress|subscriptions\/)/;

// The client counts its own requests with numbers.
const PREFIX = 'w';

export function createLane(wire: Transport & { write?(message: string): void }): Lane {
  const waiters = new Map<string, Waiter>();
  let ids = 0;
  let envelope: Readonly<Record<string, unknown>> | undefined;
  let closed: Error | undefined;

  const transport: Transport = {
    start: () => wire.start(),
    send: (message, options) => wire.send(message, options),
    close: () => wire.close(),
    setProtocolVersion: (version) => wire.setProtocolVersion?.(version),
    get sessionId() {
      return wire.sessionId;
    },
    // By these the client tells a process from an address, and by the last whether a request can be dropped alone.
    ...('pid' in wire ? { pid: null, stderr: null } : {}),
    ...(wire.hasPerRequestStream === undefined ? {} : { hasPerRequestStream: wire.hasPerRequestStream }),
  };

  /** Whether a message was for someone. */
  const hear = (message: JSONRPCMessage): boolean => {
    const { id, method } = message as { readonly id?: unknown; readonly method?: unknown };
    if (method === undefined && typeof id === 'string') {
      const waiter = waiters.get(id);
      if (waiter !== undefined) {
        waiters.delete(id);
        answer(waiter, message);
        return true;
      }
    }
    if (method === 'notifications/progress') {
      const { params } = message as { readonly params?: unknown };
      const waiter = isRecord(params) ? waiters.get(String(params.progressToken)) : undefined;
      if (waiter !== undefined) {
        waiter.onProgress?.(toProgress(params as Record<string, unknown>));
        return true;
      }
    }
    if (id === undefined && !(typeof method === 'string' && WANTED.test(method))) return false;
    transport.onmessage?.(message);
    // What is answered to the client is wanted; what a server asks or tells on its own is so only in bounds.
    return method === undefined;
  };

  wire.onmessage = hear;
  wire.onerror = (error) => transport.onerror?.(error);
  wire.onclose = () => {
    closed = new LostError('the connection was closed');
    for (const waiter of waiters.values()) waiter.reject(closed);
    waiters.clear();
    transport.onclose?.();
  };

  const send = (message: JSONRPCMessage, signal?: AbortSignal, onEnd?: () => void): Promise<void> => {
    if (wire.write === undefined)
      return wire.send(message, {
        ...(signal === undefined ? {} : { requestSignal: signal }),
        ...(onEnd === undefined ? {} : { onRequestStreamEnd: onEnd }),
      });
    wire.write(JSON.stringify(message));
    return SENT;
  };

  return {
    transport,
    get waiting() {
      return waiters.size;
    },
    setEnvelope(next) {
      envelope = next;
    },
    request: (method, params, { signal, onProgress }) =>
      new Promise((resolve, reject) => {
        if (closed !== undefined) throw closed;
        const id = `${PREFIX}${++ids}`;
        const meta = onProgress === undefined ? envelope : { ...envelope, progressToken: id };
        // Over one channel for all a request cannot be dropped, only cancelled.
        const stop = wire.write === undefined ? new AbortController() : undefined;
        const done = (): void => {
          waiters.delete(id);
          signal.removeEventListener('abort', onAbort);
        };
        const fail = (error: Error): void => {
          done();
          reject(error);
        };
        const onAbort = (): void => {
          fail(new LostError('the request was given up'));
          stop?.abort();
          // Over HTTP in the newer era the end of the request says it; elsewhere it has to be told.
          if (wire.hasPerRequestStream === true && envelope !== undefined) return;
          const told = {
            requestId: id,
            reason: 'cancelled',
            ...(envelope === undefined ? {} : { _meta: envelope }),
          };
          void Promise.resolve()
            .then(() => send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: told }))
            .catch(() => {});
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
        const lost = (): void => {
          if (waiters.has(id)) fail(new LostError('the server ended its answer before it was whole'));
        };
        const whole = meta === undefined ? params : { ...params, _meta: meta };
        const message = { jsonrpc: '2.0', id, method, params: whole } as const;
        send(message as unknown as JSONRPCMessage, stop?.signal, lost).catch(fail);
      }),
  };
}

const SENT = Promise.resolve();

function answer(waiter: Waiter, message: object): void {
  const { result, error } = message as { readonly result?: unknown; readonly error?: unknown };
  if (isRecord(result)) waiter.resolve(result);
  else if (isRecord(error) && typeof error.code === 'number')
    waiter.reject(new RemoteError(error.code, String(error.message ?? ''), error.data));
  else waiter.reject(new RemoteError(-32603, 'the answer is neither a result nor an error'));
}

function toProgress({ progress, total, message }: Record<string, unknown>): Progress {
  return {
    ...(typeof progress === 'number' ? { done: progress } : {}),
    ...(typeof total === 'number' ? { total } : {}),
    ...(typeof message === 'string' ? { message } : {}),
  };
}
