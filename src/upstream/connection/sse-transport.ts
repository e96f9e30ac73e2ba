// The HTTP+SSE transport of protocol version 2024-11-05: one event stream for all answers, messages by POST to its endpoint.

import { setMaxListeners } from 'node:events';
import { isRecord } from '../../core/json.js';
import type { Fetch } from '../../net/fetch.js';
import type { JSONRPCMessage } from '../sdk.js';
import { createEventSplitter, readMessage, type StreamEvent } from './read-message.js';
import type { UpstreamTransport } from './transport.js';

// Events that are not messages, or not expected, before the connection is closed.
const MAX_NOISE_BYTES = 16 * 1024 * 1024;

export class SseTransport implements UpstreamTransport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Returns false if the message was not expected. */
  onmessage?: (message: JSONRPCMessage) => unknown;

  readonly #url: URL;
  readonly #fetch: Fetch;
  readonly #stop = new AbortController();
  #endpoint: URL | undefined;
  #noiseBytes = 0;
  #isClosed = false;

  /** `fetch` refuses other origins, which the server may name as its endpoint, and limits the size of an event. */
  constructor(url: URL, fetch: Fetch) {
    this.#url = url;
    this.#fetch = fetch;
    // Every request listens to it.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Resolves when the server has named its endpoint. */
  async start(): Promise<void> {
    const headers = { accept: 'text/event-stream' };
    const {
      status,
      ok,
      body,
      headers: received,
    } = await this.#fetch(this.#url, { headers, signal: this.#stop.signal });
    if (!ok || body === null || !/^text\/event-stream\b/i.test(received.get('content-type') ?? '')) {
      await body?.cancel();
      throw ok ? new Error('it did not respond with an event stream') : new StatusError(status);
    }
    await new Promise<void>((resolve, reject) => {
      this.#read(body, resolve).then(
        () => {
          reject(new Error('it ended the event stream before naming its endpoint'));
          this.#end();
        },
        (error: Error) => {
          reject(error);
          if (!this.#isClosed) this.onerror?.(error);
          this.#end();
        },
      );
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#endpoint === undefined || this.#isClosed) throw new Error('the connection was closed');
    const response = await this.#fetch(this.#endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      signal: this.#stop.signal,
    });
    // The answer is an event; the body is read so that the connection can be used again.
    response.text().catch(() => {});
    if (!response.ok) throw new StatusError(response.status);
  }

  async close(): Promise<void> {
    this.#end();
  }

  #end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#stop.abort();
    this.onclose?.();
  }

  async #read(body: ReadableStream<Uint8Array>, onEndpoint: () => void): Promise<void> {
    const split = createEventSplitter();
    for await (const chunk of body) {
      for (const event of split(chunk)) {
        if (this.#isClosed) return;
        if (this.#receive(event, onEndpoint)) this.#noiseBytes = 0;
        else this.#noiseBytes += [...event.others, event.data ?? ''].join('\n').length + 2;
        if (this.#noiseBytes > MAX_NOISE_BYTES) throw new Error('it floods its event stream with unexpected events');
      }
    }
  }

  // Returns whether the event was expected.
  #receive({ others, data }: StreamEvent, onEndpoint: () => void): boolean {
    if (data === undefined) return false;
    const type =
      others
        .findLast((line) => line.startsWith('event:'))
        ?.slice('event:'.length)
        .trim() ?? 'message';
    if (type === 'endpoint' && this.#endpoint === undefined) {
      if (!URL.canParse(data, this.#url.href)) throw new Error('its endpoint is not a URL');
      this.#endpoint = new URL(data, this.#url);
      onEndpoint();
      return true;
    }
    if (type !== 'message' || this.#endpoint === undefined) return false;
    try {
      const message = readMessage(data);
      return isRecord(message) && this.onmessage?.(message as unknown as JSONRPCMessage) !== false;
    } catch (error) {
      this.onerror?.(error as Error);
      return false;
    }
  }
}

/** A response with a status that is not a success. */
class StatusError extends Error {
  readonly data: { readonly status: number };

  constructor(status: number) {
    super(`HTTP ${status}`);
    this.data = { status };
  }
}
