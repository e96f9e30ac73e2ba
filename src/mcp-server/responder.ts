// The response to the requests of one HTTP body: JSON, or an event stream if it takes long or there is more to send.

import { randomUUID } from 'node:crypto';
import { EventStream, type EventStreamOptions } from './event-stream.js';
import type { Exchange } from './exchange.js';

// A response that takes longer becomes a stream: it can be resumed, and comments keep the connection open.
const STREAM_AFTER_MS = 1000;

export interface ResponderOptions extends Omit<EventStreamOptions, 'id'> {
  /** How many requests the response answers. */
  readonly requests: number;
  /** Whether the client understands an event without data. */
  readonly isPrimed: boolean;
}

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
      this.#exchange.respond(status, { 'content-type': 'application/json', ...this.#options.headers }, parts);
      return;
    }
    this.#begin().send(parts.join(''));
    if (isLast) this.end();
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
      this.#stream = new EventStream({ headers, ...(log && { log, id: randomUUID() }) });
      this.#stream.begin(this.#exchange, isPrimed);
    }
    return this.#stream;
  }
}
