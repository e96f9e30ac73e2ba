// One end of the socket between a session and the broker: a JSON-RPC message per line, in both directions.

import type { Socket } from 'node:net';
import { type ErrorValue, isToolError, reviveError } from '../../core/error.js';
import { ERROR, RpcError, UnreadError } from '../../net/mcp.js';
import { readLines } from '../../process/lines.js';
import { Client } from '../connection/client.js';
import type { ServerExit, UpstreamTransport } from '../connection/transport.js';

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

const NEVER = new AbortController().signal;

/** `holds`: requests that wait keep the process alive, and nothing else does. */
export function createPeer(socket: Socket, handlers: PeerHandlers, holds = false): Peer {
  const client = new Client(toTransport(socket));
  client.onRequest = async (method, params, signal) => {
    try {
      return { value: await handlers.request(method, params, signal) };
    } catch (error) {
      throw new RpcError(ERROR.internal, 'refused', toWire(error));
    }
  };
  client.onNotification = handlers.event;
  let waiting = 0;
  const hold = (more: number): void => {
    waiting += more;
    if (holds) socket[waiting > 0 ? 'ref' : 'unref']();
  };
  hold(0);
  return {
    closed: client.closed,
    notify: (method, params) => void client.notify(method, params).catch(() => {}),
    close: () => socket.destroy(),
    async request(method, params, signal = NEVER) {
      hold(1);
      try {
        return ((await client.request(method, params, { signal })) as { readonly value: unknown }).value;
      } catch (error) {
        if (error instanceof RpcError) throw fromWire(error.data);
        throw client.isOpen ? error : new PeerClosedError('the broker ended');
      } finally {
        hold(-1);
      }
    },
  };
}

function toTransport(socket: Socket): UpstreamTransport {
  const transport: UpstreamTransport = {
    async start() {},
    async send(message) {
      if (!socket.writable) throw new PeerClosedError('the broker ended');
      socket.write(`${JSON.stringify(message)}\n`);
      if (socket.writableLength > MAX_UNREAD_BYTES) socket.destroy();
    },
    async close() {
      socket.destroy();
    },
  };
  readLines(
    socket,
    MAX_LINE_BYTES,
    (line) => transport.onmessage?.(JSON.parse(line)),
    () => socket.destroy(),
  );
  socket.once('close', () => transport.onclose?.());
  return transport;
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
  const { tool, rpc, lost, exit } = Object(value) as {
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
