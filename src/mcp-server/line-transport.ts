// The wire of stdio: a message a line, bounded both ways; what is malformed is answered and skipped.

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

export interface LineTransportOptions {
  readonly input: Readable;
  /** Writes all bytes, in order; rejects where nobody reads any more. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_LINE_BYTES };
// Above this much unwritten output nothing more is read: a slow reader slows its own requests down.
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
const READY_POLL_MS = 20;
// How long requests that came before the end of input may still be answered.
const LAST_ANSWERS_MS = 100;
// How long answers that are ready then may take to be read.
const LAST_WRITES_MS = 500;
// How much of a message that is skipped is kept at either end.
const ID_ROOM = 1024;

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #input: Readable;
  readonly #write: LineTransportOptions['write'];
  readonly #pending = new Set<RequestId>();
  #line: Buffer[] = [];
  #lineBytes = 0;
  #skipping = false;
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

  /** Resolves when there is room for more answers, or nobody waits for them any more. */
  async ready(signal: AbortSignal): Promise<void> {
    while (this.#queuedBytes > MAX_QUEUED_BYTES && !this.#closed && !signal.aborted)
      await sleep(READY_POLL_MS);
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

  // Messages of one turn are written together.
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

  readonly #onData = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length; ) {
      const newline = chunk.indexOf(0x0a, at);
      const piece = chunk.subarray(at, newline === -1 ? chunk.length : newline);
      at += piece.length + 1;
      this.#addToLine(piece);
      if (newline !== -1) this.#endLine();
    }
  };

  #addToLine(piece: Buffer): void {
    this.#lineBytes += piece.length;
    if (this.#lineBytes > MAX_LINE_BYTES) {
      // Only the head, where an id may stand, and the newest bytes, where it may stand as well. Copies, so that
      // what they are parts of can go.
      const [head, tail] = this.#skipping
        ? [this.#line[0]!, Buffer.concat([this.#line[1]!, piece])]
        : [Buffer.from(Buffer.concat(this.#line).subarray(0, ID_ROOM)), piece];
      this.#line = [head, Buffer.from(tail.subarray(-ID_ROOM))];
      this.#skipping = true;
    } else this.#line.push(piece);
  }

  #endLine(): void {
    const pieces = this.#line;
    const skipped = this.#skipping;
    this.#line = [];
    this.#lineBytes = 0;
    this.#skipping = false;
    const text = Buffer.concat(pieces).toString('utf8').trim();
    if (skipped) this.#refuse(INVALID_REQUEST, 'the message is larger than 16 MiB', guessId(text));
    else if (text !== '') this.#receive(text);
  }

  #receive(text: string): void {
    const message = this.#parse(text);
    if (message === undefined) return;
    if (isJSONRPCRequest(message)) {
      if (this.#pending.has(message.id)) {
        this.#refuse(INVALID_REQUEST, 'a request with this id is still running', message.id);
        return;
      }
      this.#pending.add(message.id);
    } else if (isJSONRPCNotification(message) && message.method === 'notifications/cancelled') {
      // A cancelled request is not answered.
      this.#pending.delete(message.params?.requestId as RequestId);
    }
    this.onmessage?.(message);
  }

  // A message, or undefined where it was refused.
  #parse(text: string): JSONRPCMessage | undefined {
    let value: unknown;
    try {
      value = parseJson(text, 'the message', BOUNDS);
    } catch (thrown) {
      const { message, data } = toToolError(thrown);
      this.#refuse(data?.fault === 'syntax' ? PARSE_ERROR : INVALID_REQUEST, message, guessId(text));
      return undefined;
    }
    try {
      return parseJSONRPCMessage(value);
    } catch {
      this.#refuse(INVALID_REQUEST, 'not a JSON-RPC 2.0 message', idOf(value));
      return undefined;
    }
  }

  #refuse(code: number, message: string, id: RequestId | null): void {
    void this.#enqueue({ jsonrpc: '2.0', id, error: { code, message } });
  }

  // A client that goes is not waited for; what it asked just before is still answered if that is quick.
  readonly #onEnd = (): void => {
    const deadline = performance.now() + LAST_ANSWERS_MS;
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

// The id of a message that is not read, from the two places where clients write it; null where it is elsewhere.
function guessId(text: string): RequestId | null {
  const found = ID_AT_START.exec(text.slice(0, 200)) ?? ID_AT_END.exec(text.slice(-200));
  return found ? (JSON.parse(found[1]!) as RequestId) : null;
}
