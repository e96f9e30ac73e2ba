// Response bodies as web streams, with backpressure and a size limit.

import type { IncomingMessage } from 'node:http';
import { isToolError, ToolError } from '../core/error.js';
import { formatBytes } from '../core/text.js';
import { showUrl, toNetworkError } from './fault.js';

export interface BodyOptions {
  readonly url: URL;
  readonly maxBytes: number;
  /** Limits a single event of an event stream instead of the body. */
  readonly limitsEvents: boolean;
  readonly signal: AbortSignal | undefined;
}

const BUFFERED = 64 * 1024;

/** Converts a message to a stream that fails with a ToolError or the reason of the signal. */
export function toBody(message: IncomingMessage, options: BodyOptions): ReadableStream<Uint8Array> {
  const { url, maxBytes, limitsEvents, signal } = options;
  const count = limitsEvents && isEventStream(message) ? createEventCounter() : createCounter();
  let done = false;
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const fail = (thrown: unknown): void => {
          if (done) return;
          done = true;
          signal?.removeEventListener('abort', onAbort);
          controller.error(isToolError(thrown) || signal?.aborted ? thrown : toNetworkError(thrown, url));
          message.destroy();
        };
        const onAbort = (): void => fail(signal!.reason);
        message.on('data', (chunk: Buffer) => {
          if (done) return;
          if (count(chunk) > maxBytes) return fail(tooLarge(url, maxBytes));
          controller.enqueue(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength));
          if ((controller.desiredSize ?? 0) <= 0) message.pause();
        });
        message.once('end', () => {
          if (done) return;
          done = true;
          signal?.removeEventListener('abort', onAbort);
          controller.close();
        });
        message.on('error', fail);
        message.once('close', () => fail({ code: 'ECONNRESET' }));
        if (signal?.aborted) onAbort();
        else signal?.addEventListener('abort', onAbort, { once: true });
        message.pause();
      },
      pull() {
        message.resume();
      },
      cancel() {
        done = true;
        message.destroy();
      },
    },
    new ByteLengthQueuingStrategy({ highWaterMark: BUFFERED }),
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

// Returns the size of the largest event so far in a chunk. A blank line ends an event.
function createEventCounter(): (chunk: Uint8Array) => number {
  let size = 0;
  let lineIsEmpty = true;
  let afterReturn = false;
  return (chunk) => {
    let most = 0;
    for (let at = 0; at < chunk.length; ) {
      const byte = chunk[at]!;
      // A line ends with CR, LF or CRLF.
      if (byte === 10 && afterReturn) {
        afterReturn = false;
        at++;
        continue;
      }
      afterReturn = byte === 13;
      if (byte === 10 || byte === 13) {
        most = Math.max(most, size);
        if (lineIsEmpty) size = 0;
        lineIsEmpty = true;
        at++;
        continue;
      }
      const end = findLineEnd(chunk, at);
      size += end - at;
      lineIsEmpty = false;
      at = end;
    }
    return Math.max(most, size);
  };
}

function findLineEnd(chunk: Uint8Array, from: number): number {
  const feed = chunk.indexOf(10, from);
  const until = feed === -1 ? chunk.length : feed;
  const carriage = chunk.subarray(from, until).indexOf(13);
  return carriage === -1 ? until : from + carriage;
}
