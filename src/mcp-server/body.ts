// Reads the bodies of HTTP requests, and limits the memory that unfinished ones take (SRV-5).

import type { IncomingMessage } from 'node:http';

/** Returns undefined if the body is too large. Rejects if the client disconnects or is cut. */
export type BodyReader = (request: IncomingMessage, maxBytes: number) => Promise<string | undefined>;

/** Creates a reader that cuts the oldest unfinished requests while all of them have sent more than this. */
export function createBodyReader(maxUnfinishedBytes: number): BodyReader {
  // Bytes received; the oldest first.
  const unfinished = new Map<IncomingMessage, number>();
  let total = 0;
  const forget = (request: IncomingMessage): void => {
    total -= unfinished.get(request) ?? 0;
    unfinished.delete(request);
  };
  const count = (request: IncomingMessage, bytes: number): void => {
    total += bytes - (unfinished.get(request) ?? 0);
    unfinished.set(request, bytes);
    while (total > maxUnfinishedBytes) {
      const oldest = unfinished.keys().next().value!;
      forget(oldest);
      oldest.destroy();
    }
  };
  return (request, maxBytes) => {
    const length = request.headers['content-length'];
    if (Number(length ?? 0) > maxBytes) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      let chunks: Buffer[] = [];
      let bytes = 0;
      let hasEnded = false;
      request.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > maxBytes) {
          chunks = [];
          forget(request);
          resolve(undefined);
          return;
        }
        chunks.push(chunk);
        // Most bodies arrive at once, and a Map that each request enters and leaves makes its objects old.
        if (bytes !== Number(length)) count(request, bytes);
      });
      request.once('end', () => {
        hasEnded = true;
        forget(request);
        resolve((chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8'));
      });
      request.once('error', reject);
      request.once('close', () => {
        if (hasEnded) return;
        forget(request);
        reject(new Error('the client was disconnected before its request was complete'));
      });
    });
  };
}
