// The stdio transport: one JSON-RPC message per line, with limits in both directions.

import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  parseJSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import { toToolError } from '../core/error.js';
import { isRecord, parseJson } from '../core/json.js';
import { createLineReader } from './line-reader.js';

export interface LineTransportOptions {
  readonly input: Readable;
  /** Writes all bytes in order. Rejects when the reader is gone. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_LINE_BYTES };
// Input is paused while more output than this is unwritten.
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
const READY_POLL_MS = 20;
// After the end of input: how long pending requests may still be answered, and how long writing may take.
const LAST_RESPONSES_MS = 100;
const LAST_WRITES_MS = 500;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #input: Readable;
  readonly #write: LineTransportOptions['write'];
  readonly #pending = new Set<RequestId>();
  readonly #onData = createLineReader({
    maxBytes: MAX_LINE_BYTES,
    onLine: (text) => {
      if (text !== '') this.#receive(text);
    },
    onOversizedLine: (ends) => this.#reject(INVALID_REQUEST, 'the message is larger than 16 MiB', guessId(ends)),
  });
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #flushing: Promise<void> | undefined;
  #closed = false;

  constructor({ input, write }: LineTransportOptions) {
    this.#input = input;
    this.#write = write;
  }

  async start(): Promise<void> {
    this.#input.on('data', this.#onData);
    this.#input.once('end', this.#onEnd);
    this.#input.once('close', this.#onEnd);
    this.#input.on('error', this.#onEnd);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (isJSONRPCResponse(message) && message.id !== undefined) this.#pending.delete(message.id);
    return this.#enqueue(message);
  }

  /** Waits until the client has read enough of its responses. */
  async ready(signal: AbortSignal): Promise<void> {
    while (this.#queuedBytes > MAX_QUEUED_BYTES && !this.#closed && !signal.aborted) await sleep(READY_POLL_MS);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#input.off('data', this.#onData);
    this.#input.pause();
    this.onclose?.();
  }

  #enqueue(message: object): Promise<void> {
    if (this.#closed) return Promise.resolve();
    const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
    this.#queue.push(bytes);
    this.#queuedBytes += bytes.length;
    if (this.#queuedBytes > MAX_QUEUED_BYTES) this.#input.pause();
    this.#flushing ??= this.#flush();
    return this.#flushing;
  }

  // Messages of the same tick are written together.
  async #flush(): Promise<void> {
    await Promise.resolve();
    try {
      while (this.#queue.length > 0) {
        const bytes = Buffer.concat(this.#queue);
        this.#queue = [];
        await this.#write(bytes);
        this.#queuedBytes -= bytes.length;
        if (this.#queuedBytes <= MAX_QUEUED_BYTES && !this.#closed) this.#input.resume();
      }
    } catch (error) {
      this.onerror?.(error as Error);
      await this.close();
    } finally {
      this.#flushing = undefined;
    }
  }

  #receive(text: string): void {
    const message = this.#parse(text);
    if (message === undefined) return;
    if (isJSONRPCRequest(message)) {
      if (this.#pending.has(message.id)) {
        this.#reject(INVALID_REQUEST, 'a request with this id is already running', message.id);
        return;
      }
      this.#pending.add(message.id);
    } else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      // A cancelled request gets no response.
      this.#pending.delete(message.params?.requestId as RequestId);
    }
    this.onmessage?.(message);
  }

  // Returns undefined after sending an error response.
  #parse(text: string): JSONRPCMessage | undefined {
    let value: unknown;
    try {
      value = parseJson(text, 'the message', BOUNDS);
    } catch (thrown) {
      const { message, data } = toToolError(thrown);
      this.#reject(data?.fault === 'syntax' ? PARSE_ERROR : INVALID_REQUEST, message, guessId(text));
      return undefined;
    }
    try {
      return parseJSONRPCMessage(value);
    } catch {
      this.#reject(INVALID_REQUEST, 'not a JSON-RPC 2.0 message', idOf(value));
      return undefined;
    }
  }

  #reject(code: number, message: string, id: RequestId | null): void {
    void this.#enqueue({ jsonrpc: '2.0', id, error: { code, message } });
  }

  // Requests sent just before the end of input still get their response if that is quick.
  readonly #onEnd = (): void => {
    const deadline = performance.now() + LAST_RESPONSES_MS;
    const finish = (): void => {
      if (this.#pending.size > 0 && performance.now() < deadline) setTimeout(finish, 5);
      else void Promise.race([this.#flushing, sleep(LAST_WRITES_MS)]).then(() => this.close());
    };
    finish();
  };
}

function idOf(value: unknown): RequestId | null {
  const id = isRecord(value) ? value.id : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

const ID_AT_START = /^\{"jsonrpc":"2\.0","id":(-?\d{1,15}|"[^"\\]{1,100}"),/;
const ID_AT_END = /,"jsonrpc":"2\.0","id":(-?\d{1,15}|"[^"\\]{1,100}")\}$/;

// Finds the id of an unparsed message in the two positions where clients usually write it.
function guessId(text: string): RequestId | null {
  const found = ID_AT_START.exec(text.slice(0, 200)) ?? ID_AT_END.exec(text.slice(-200));
  return found ? (JSON.parse(found[1]!) as RequestId) : null;
}
