// Response bodies as web streams, with backpressure and a size limit.

import type { IncomingMessage } from 'node:http';
import { isToolError, ToolError } from '../core/error.js';
import { formatBytes } from '../core/text.js';
import { showUrl, toRequestError } from './fault.js';

export interface BodyOptions {
  readonly url: URL;
  readonly maxBytes: number;
  /** Limits a single event of an event stream instead of the body. */
  readonly limitsEvents: boolean;
  readonly signal: AbortSignal | undefined;
  /** The proxy that it comes through. */
  readonly proxy: URL | undefined;
}

/** Converts a message to a stream that fails with a ToolError or the reason of the signal. */
export function toBody(message: IncomingMessage, options: BodyOptions): ReadableStream<Uint8Array> {
  const { url, maxBytes, limitsEvents, signal, proxy } = options;
  const count = limitsEvents && isEventStream(message) ? createEventCounter() : createCounter();
  const chunks = message[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done) return controller.close();
          if (count(value) > maxBytes) throw tooLarge(url, maxBytes);
          controller.enqueue(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
        } catch (thrown) {
          message.destroy();
          throw signal?.aborted ? signal.reason : isToolError(thrown) ? thrown : toRequestError(thrown, url, proxy);
        }
      },
      cancel() {
        message.destroy();
      },
    },
    { highWaterMark: 0 },
  );
}

function isEventStream(message: IncomingMessage): boolean {
  return /^text\/event-stream\s*(?:;|$)/i.test(message.headers['content-type'] ?? '');
}

function tooLarge(url: URL, maxBytes: number): ToolError {
  return new ToolError('unavailable', `${showUrl(url)} sent a response of more than ${formatBytes(maxBytes)}`, {
    hint: 'request less data',
    data: { url: showUrl(url), maxBytes },
  });
}

function createCounter(): (chunk: Buffer) => number {
  let total = 0;
  return (chunk) => {
    total += chunk.length;
    return total;
  };
}

// A blank line ends an event; a line ends with CR, LF or CRLF.
const BLANK_LINE = /(?:\r\n|\n|\r(?!\n)){2}/;

// Returns the size of the largest event so far in a chunk.
function createEventCounter(): (chunk: Buffer) => number {
  let size = 0;
  // The end of the last line, which may be that of an event together with the next chunk.
  let ending = '';
  return (chunk) => {
    const [first, ...others] = (ending + chunk.toString('latin1')).split(BLANK_LINE);
    const sizes = [size + first!.length - ending.length, ...others.map(({ length }) => length)];
    const last = others.at(-1) ?? first!;
    ending = /[\r\n]{0,2}$/.exec(last)![0];
    size = sizes.at(-1)!;
    return Math.max(...sizes);
  };
}
