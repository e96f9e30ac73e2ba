// One end of the socket between a session and the broker: a JSON message per line, requests and events in both directions.

import type { Socket } from 'node:net';
import { type Deferred, deferred, onAbort } from '../../core/async.js';
import { type ErrorValue, isToolError, reviveError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { RpcError, UnreadError } from '../../net/mcp.js';
import { readLines } from '../../process/lines.js';
import type { ServerExit } from '../connection/transport.js';

export type Params = Readonly<Record<string, unknown>>;

export interface PeerHandlers {
  /** Answers a request of the other end; the signal is aborted if it is cancelled or the other end is gone. */
  request(method: string, params: Params, signal: AbortSignal): Promise<unknown>;
  event(method: string, params: Params): void;
}

export interface Peer {
  /** Sends a request and returns its result. Throws what the other end threw, or PeerClosedError. */
  request(method: string, params: Params, signal?: AbortSignal): Promise<unknown>;
  notify(method: string, params: Params): void;
  /** Resolves when the socket is closed. */
  readonly closed: Promise<void>;
  close(): void;
}

/** The other end is gone; whether it handled the request is unknown. */
export class PeerClosedError extends Error {}

/** The server was lost during a request. */
export class ServerLostError extends Error {
  readonly exit: ServerExit | undefined;

  constructor(message: string, exit: ServerExit | undefined) {
    super(message);
    this.exit = exit;
  }
}

// More than the longest message of a server, which is 16 MiB, with everything around it.
const MAX_LINE_BYTES = 64 * 1024 * 1024;
// What one end may leave unread before it is given up.
const MAX_UNREAD_BYTES = 256 * 1024 * 1024;

/** `holds`: requests that wait keep the process alive, and nothing else does. */
export function createPeer(socket: Socket, handlers: PeerHandlers, holds = false): Peer {
  const waiters = new Map<unknown, Deferred<unknown>>();
  const answering = new Map<unknown, AbortController>();
  let lastId = 0;
  const hold = (): void => {
    if (holds) socket[waiters.size > 0 ? 'ref' : 'unref']();
  };
  const send = (message: Params): void => {
    if (!socket.writable) return;
    socket.write(`${JSON.stringify(message)}\n`);
    if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
  };
  const answer = async (id: unknown, method: string, params: Params): Promise<void> => {
    const stop = new AbortController();
    answering.set(id, stop);
    try {
      send({ id, result: (await handlers.request(method, params, stop.signal)) ?? null });
    } catch (error) {
      send({ id, error: toWire(error) });
    } finally {
      answering.delete(id);
    }
  };
  const receive = (line: string): void => {
    const message: unknown = JSON.parse(line);
    if (!isRecord(message)) throw new SyntaxError('not a message');
    const { id, method, cancel } = message;
    const params: Params = isRecord(message.params) ? message.params : {};
    if (cancel !== undefined) answering.get(cancel)?.abort();
    else if (typeof method !== 'string') {
      const waiter = waiters.get(id);
      if (message.error === undefined) waiter?.resolve(message.result);
      else waiter?.reject(fromWire(message.error));
    } else if (id === undefined) handlers.event(method, params);
    else void answer(id, method, params);
  };
  readLines(socket, MAX_LINE_BYTES, receive, () => socket.destroy());
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      for (const waiter of waiters.values()) waiter.reject(new PeerClosedError('the broker ended'));
      for (const stop of answering.values()) stop.abort();
      resolve();
    });
  });
  hold();
  return {
    closed,
    notify: (method, params) => send({ method, params }),
    close: () => socket.destroy(),
    async request(method, params, signal) {
      if (!socket.writable) throw new PeerClosedError('the broker ended');
      const id = ++lastId;
      const waiter = deferred<unknown>();
      waiters.set(id, waiter);
      hold();
      send({ id, method, params });
      const cancel = (): void => {
        send({ cancel: id });
        waiter.reject(new Error('the request was aborted'));
      };
      const unlisten = signal && onAbort(signal, cancel);
      try {
        return await waiter.promise;
      } finally {
        unlisten?.();
        waiters.delete(id);
        hold();
      }
    },
  };
}

function toWire(error: unknown): Params {
  if (isToolError(error)) return { tool: error.toJSON() };
  const { message } = error as Error;
  if (error instanceof RpcError) {
    const { code, data } = error;
    return { rpc: { code, message, data, isUnread: error instanceof UnreadError } };
  }
  return { lost: message, exit: error instanceof ServerLostError ? error.exit : undefined };
}

function fromWire(value: unknown): Error {
  const { tool, rpc, lost, exit } = value as {
    readonly tool?: ErrorValue;
    readonly rpc?: { code: number; message: string; data: unknown; isUnread: boolean };
    readonly lost?: string;
    readonly exit?: ServerExit;
  };
  if (tool !== undefined) return reviveError(tool);
  if (rpc === undefined) return new ServerLostError(String(lost), exit);
  const Kind = rpc.isUnread ? UnreadError : RpcError;
  return new Kind(rpc.code, rpc.message, rpc.data);
}
