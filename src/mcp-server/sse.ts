// Responses over HTTP as JSON or event streams; a client of a session whose stream was cut can resume it (SRV-17).

import { loadCrypto } from '../files/digest.js';
import type { Exchange, Headers } from './exchange.js';

const HEADERS: Headers = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  connection: 'keep-alive',
  'x-accel-buffering': 'no',
};
const KEEP_ALIVE_MS = 15_000;
const MAX_EVENTS = 200;
const MAX_BYTES = 1024 * 1024;
// A response that takes longer becomes a stream: it can be resumed, and comments keep the connection open.
const STREAM_AFTER_MS = 1000;

interface StoredEvent {
  readonly id: string;
  readonly stream: string;
  readonly text: string;
}

/** Recent events of a session; the oldest are dropped. */
export class EventLog {
  readonly #events: StoredEvent[] = [];
  #last = 0;
  #bytes = 0;

  /** Stores a message and returns the id of its event. */
  add(stream: string, text: string): string {
    const id = `${stream}_${++this.#last}`;
    this.#events.push({ id, stream, text });
    this.#bytes += text.length;
    while (this.#events.length > MAX_EVENTS || (this.#bytes > MAX_BYTES && this.#events.length > 1))
      this.#bytes -= this.#events.shift()!.text.length;
    return id;
  }

  streamOf(id: string): string | undefined {
    return this.#events.find((event) => event.id === id)?.stream;
  }

  /** Returns the events of the same stream after this one. */
  after(id: string): readonly StoredEvent[] {
    const at = this.#events.findIndex((event) => event.id === id);
    return this.#events.slice(at + 1).filter(({ stream }) => stream === this.#events[at]!.stream);
  }
}

export interface EventStreamOptions {
  readonly headers: Headers;
  /** Where events are stored; undefined if the stream cannot be resumed. */
  readonly log?: EventLog | undefined;
  /** Identifies the stream in its log. */
  readonly id?: string;
}

export class EventStream {
  readonly #options: EventStreamOptions;
  #exchange: Exchange | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  get id(): string | undefined {
    return this.#options.id;
  }

  get isConnected(): boolean {
    return this.#exchange !== undefined;
  }

  /** Begins to write. The client gets an event id at once if `isPrimed`, so that it can resume before the first message. */
  begin(exchange: Exchange, isPrimed: boolean): void {
    this.#connect(exchange);
    const { log, id = '' } = this.#options;
    if (isPrimed && log !== undefined) exchange.write(`id: ${log.add(id, '')}\ndata: \n\n`);
  }

  /** Continues after an event that the client received. */
  resume(exchange: Exchange, lastEvent: string): void {
    this.#connect(exchange);
    for (const { id, text } of this.#options.log!.after(lastEvent)) if (text !== '') exchange.write(toEvent(text, id));
  }

  send(text: string): void {
    const { log, id = '' } = this.#options;
    const event = toEvent(text, log?.add(id, text));
    this.#exchange?.write(event);
  }

  end(): void {
    const exchange = this.#exchange;
    this.#disconnect();
    exchange?.end();
  }

  #connect(exchange: Exchange): void {
    exchange.begin({ ...HEADERS, ...this.#options.headers });
    this.#exchange = exchange;
    this.#timer = setInterval(() => exchange.write(': keepalive\n\n'), KEEP_ALIVE_MS);
    this.#timer.unref();
    exchange.onDisconnect(() => {
      if (this.#exchange === exchange) this.#disconnect();
    });
  }

  #disconnect(): void {
    clearInterval(this.#timer);
    this.#exchange = undefined;
  }
}

function toEvent(text: string, id: string | undefined): string {
  return `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${text}\n\n`;
}

export interface ResponderOptions extends Omit<EventStreamOptions, 'id'> {
  /** How many requests the response answers. */
  readonly requests: number;
  /** Whether the client understands an event without data. */
  readonly isPrimed: boolean;
  /** Whether a JSON response is a list. */
  readonly isBatch?: boolean;
}

/** The response to the requests of one body: JSON, or an event stream if it takes long or there is more to send. */
export class Responder {
  readonly #exchange: Exchange;
  readonly #options: ResponderOptions;
  readonly #timer: NodeJS.Timeout;
  #unanswered: number;
  #stream: EventStream | undefined;
  #isEnded = false;

  constructor(exchange: Exchange, options: ResponderOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.#unanswered = options.requests;
    this.#timer = setTimeout(() => this.#begin(), STREAM_AFTER_MS);
    this.#timer.unref();
  }

  /** The stream, if the response is one. */
  get stream(): EventStream | undefined {
    return this.#stream;
  }

  /** Sends a notification or request of the server. */
  send(text: string): void {
    if (!this.#isEnded) this.#begin().send(text);
  }

  /** Sends the response to one of the requests; the status is used unless a stream has begun. */
  answer(parts: readonly (string | Buffer)[], status = 200): void {
    if (this.#isEnded) return;
    const isLast = --this.#unanswered === 0;
    if (isLast && this.#stream === undefined) {
      this.#isEnded = true;
      clearTimeout(this.#timer);
      const { headers, isBatch } = this.#options;
      const body = isBatch === true ? ['[', ...parts, ']'] : parts;
      this.#exchange.respond(status, { 'content-type': 'application/json', ...headers }, body);
      return;
    }
    this.#begin().send(parts.join(''));
    if (isLast) this.end();
  }

  /** Sends no response to one of the requests, which was cancelled. */
  skip(): void {
    if (--this.#unanswered === 0) this.end();
  }

  /** Ends the response; requests without a response get none. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#begin(false).end();
  }

  #begin(isPrimed = this.#options.isPrimed): EventStream {
    if (this.#stream === undefined) {
      clearTimeout(this.#timer);
      const { headers, log } = this.#options;
      this.#stream = new EventStream({ headers, ...(log && { log, id: loadCrypto().randomUUID() }) });
      this.#stream.begin(this.#exchange, isPrimed);
    }
    return this.#stream;
  }
}
