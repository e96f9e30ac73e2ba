// The stdio transport: one JSON-RPC message per line, with limits in both directions.

import type { Readable } from 'node:stream';
import { pause } from '../core/async.js';
import { toToolError } from '../core/error.js';
import { isRecord, type Json, parseJson } from '../core/json.js';
import { formatBytes } from '../core/text.js';
import { ERROR } from '../net/mcp.js';
import { assertExactCall, isRequest, isRequestId, type Message, type RequestId, toMessage } from './message.js';

export interface LineTransportOptions {
  readonly input: Readable;
  /** Writes all bytes in order; undefined if that is done at once. Throws or rejects when the reader is gone. */
  readonly write: (bytes: Uint8Array) => Promise<void> | undefined;
}

export interface LineTransportListeners {
  /** Whether no request is being answered. */
  isIdle(): boolean;
  onMessage(message: Message): void;
  onError(error: Error): void;
  onClose(): void;
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_LINE_BYTES, isReadAtOnce: true };
// Clients of the SDK end the connection if they have more than 10 MiB to read, other messages included.
const MAX_ANSWER_BYTES = 9.5 * 1024 * 1024;
// Input is paused while more output than this is unwritten.
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
const READY_POLL_MS = 20;
// After the end of input: how long pending requests may still be answered, and how long writing may take.
const LAST_RESPONSES_MS = 1000;
const LAST_WRITES_MS = 500;

export class LineTransport {
  readonly #input: Readable;
  readonly #write: LineTransportOptions['write'];
  readonly #listeners: LineTransportListeners;
  readonly #onData = createLineReader((text, isOversized) => {
    if (isOversized) this.reject(ERROR.invalidRequest, 'the message is larger than 16 MiB', guessId(text));
    else if (text !== '') this.#receive(text);
  });
  #queue: (string | Buffer)[] = [];
  #queuedBytes = 0;
  #isFlushing = false;
  readonly #whenFlushed: (() => void)[] = [];
  #closed = false;

  constructor({ input, write }: LineTransportOptions, listeners: LineTransportListeners) {
    this.#input = input;
    this.#write = write;
    this.#listeners = listeners;
  }

  start(): void {
    this.#input.on('data', this.#onData);
    this.#input.once('end', this.#onEnd);
    this.#input.once('close', this.#onEnd);
    this.#input.on('error', this.#onEnd);
  }

  /** Sends the response to a request. */
  answer(id: RequestId, parts: readonly (string | Buffer)[]): void {
    const size = parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
    if (size <= MAX_ANSWER_BYTES) for (const part of parts) this.#enqueue(part);
    else this.#enqueue(JSON.stringify(tooLarge(id, size)));
    this.#enqueue('\n');
    this.#flushSoon();
  }

  /** Reports a failure, and answers the request that it is about with an internal error. */
  fail(message: Message | undefined, thrown: unknown): void {
    const error = toToolError(thrown);
    this.#listeners.onError(error);
    if (message !== undefined && isRequest(message)) this.reject(ERROR.internal, error.message, message.id);
  }

  /** Answers what is not handled. */
  reject(code: number, message: string, id: RequestId | null): void {
    this.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));
  }

  /** Sends a message. */
  send(text: string): void {
    this.#enqueue(text);
    this.#enqueue('\n');
    this.#flushSoon();
  }

  /** Resolves when all messages so far are written. */
  flushed(): Promise<void> {
    if (!this.#isFlushing) return Promise.resolve();
    return new Promise((resolve) => this.#whenFlushed.push(resolve));
  }

  /** Waits until the client has read enough of its responses. */
  async ready(call: { readonly signal: AbortSignal }): Promise<void> {
    while (this.#queuedBytes > MAX_QUEUED_BYTES && !this.#closed && !call.signal.aborted) await pause(READY_POLL_MS);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#input.off('data', this.#onData);
    this.#input.pause();
    this.#listeners.onClose();
  }

  #enqueue(part: string | Buffer): void {
    if (this.#closed) return;
    this.#queue.push(part);
    this.#queuedBytes += part.length;
    if (this.#queuedBytes > MAX_QUEUED_BYTES) this.#input.pause();
  }

  // The answers of one turn of the event loop are written together, unless none is outstanding: at 32 calls in flight, a
  // write for each of them is a third of the CPU time of a call.
  #flushSoon(): void {
    if (this.#isFlushing || this.#queue.length === 0) return;
    this.#isFlushing = true;
    if (this.#listeners.isIdle()) void this.#flush();
    else setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        const [bytes, units] = [join(this.#queue), this.#queuedBytes];
        this.#queue = [];
        await this.#write(bytes);
        this.#queuedBytes -= units;
        if (this.#queuedBytes <= MAX_QUEUED_BYTES && !this.#closed && this.#input.isPaused()) this.#input.resume();
      }
    } catch (error) {
      this.#listeners.onError(error as Error);
      this.close();
    }
    this.#isFlushing = false;
    for (const resolve of this.#whenFlushed.splice(0)) resolve();
  }

  // Whatever a line leads to, the process goes on and the request gets an answer (SRV-84).
  #receive(text: string): void {
    let message: Message | undefined;
    try {
      message = this.#parse(text);
      if (message !== undefined) this.#listeners.onMessage(message);
    } catch (thrown) {
      this.fail(message, thrown);
    }
  }

  // Returns undefined after sending an error response.
  #parse(text: string): Message | undefined {
    let value: Json;
    try {
      value = parseJson(text, 'the message', BOUNDS);
      assertExactCall(value, text);
    } catch (thrown) {
      const { message, data } = toToolError(thrown);
      this.reject(data?.fault === 'syntax' ? ERROR.parse : ERROR.invalidRequest, message, guessId(text));
      return undefined;
    }
    const message = toMessage(value);
    if (message === undefined) this.reject(ERROR.invalidRequest, 'not a JSON-RPC 2.0 message', idOf(value));
    return message;
  }

  // Requests sent just before the end of input still get their response if that is quick.
  readonly #onEnd = (): void => {
    const deadline = performance.now() + LAST_RESPONSES_MS;
    const finish = (): void => {
      if (!this.#listeners.isIdle() && performance.now() < deadline) setTimeout(finish, 5);
      else void Promise.race([this.flushed(), pause(LAST_WRITES_MS)]).then(() => this.close());
    };
    finish();
  };
}

// The bytes of both ends of an oversized line that remain.
const END_BYTES = 1024;
const NEWLINE = 0x0a;

// Returns a function that takes the next chunk of a byte stream, and passes on its lines.
function createLineReader(onLine: (text: string, isOversized: boolean) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = [];
  let bytes = 0;
  let isOversized = false;
  const add = (piece: Buffer): void => {
    bytes += piece.length;
    if (bytes <= MAX_LINE_BYTES) {
      pieces.push(piece);
      return;
    }
    // Copies, so that the chunks they are part of can be freed.
    const [head, tail] = isOversized
      ? [pieces[0]!, Buffer.concat([pieces[1]!, piece])]
      : [Buffer.from(Buffer.concat(pieces).subarray(0, END_BYTES)), piece];
    pieces = [head, Buffer.from(tail.subarray(-END_BYTES))];
    isOversized = true;
  };
  const end = (): void => {
    const whole = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
    const line = [whole.toString('utf8').trim(), isOversized] as const;
    pieces = [];
    bytes = 0;
    isOversized = false;
    onLine(...line);
  };
  return (chunk) => {
    let at = 0;
    for (let newline = chunk.indexOf(NEWLINE); newline !== -1; newline = chunk.indexOf(NEWLINE, at)) {
      add(chunk.subarray(at, newline));
      end();
      at = newline + 1;
    }
    if (at < chunk.length) add(chunk.subarray(at));
  };
}

function join(parts: readonly (string | Buffer)[]): Buffer {
  if (parts.every((part) => typeof part === 'string')) return Buffer.from(parts.join(''));
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

function idOf(value: unknown): RequestId | null {
  const id = isRecord(value) ? value.id : undefined;
  return isRequestId(id) || typeof id === 'number' ? id : null;
}

// Whole numbers as JSON writes them, and strings without escapes: nothing is parsed that may be malformed (SRV-84).
const ID_AT_START = /^\{"jsonrpc":"2\.0","id":(?:(0|-?[1-9]\d{0,14})|"([^"\\]{1,100})"),/;
const ID_AT_END = /,"jsonrpc":"2\.0","id":(?:(0|-?[1-9]\d{0,14})|"([^"\\]{1,100})")\}$/;

// Finds the id of an unparsed message in the two positions where clients usually write it.
function guessId(text: string): RequestId | null {
  const found = ID_AT_START.exec(text.slice(0, 200)) ?? ID_AT_END.exec(text.slice(-200));
  if (found === null) return null;
  const [, number, string] = found;
  return string ?? Number(number);
}

function tooLarge(id: RequestId, size: number): object {
  const message = `the response has ${formatBytes(size)}, and clients read at most ${formatBytes(MAX_ANSWER_BYTES)} over stdio`;
  const hint = 'ask for less, or connect over HTTP: wield serve --http PORT';
  return { jsonrpc: '2.0', id, error: { code: ERROR.internal, message: `${message}\nhint: ${hint}` } };
}
