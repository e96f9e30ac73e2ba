// Lines on the channel between wield and a process that it started.

import { writeSync } from 'node:fs';
import type { Readable } from 'node:stream';

// A tool host keeps working if a module replaces built-ins, so these are captured before modules are loaded.
const { apply } = Reflect;
const { allocUnsafe, from: toBytes } = Buffer;
const { indexOf, subarray, toString: decode, set } = Buffer.prototype;
const { wait } = Atomics;
const write = writeSync;
const exit = process.exit.bind(process);

/** The descriptor of the channel in the process. */
export const CHANNEL = 3;

const clock = new Int32Array(new SharedArrayBuffer(4));

/** In the process: writes a whole line before it returns. */
export function sendLine(text: string): void {
  const bytes = toBytes(`${text}\n`);
  for (let offset = 0; offset < bytes.length; ) {
    try {
      offset += write(CHANNEL, bytes, offset);
    } catch (error) {
      // Without the channel no result can be delivered.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') exit(0);
      // wield is slow to read: wait without spinning.
      wait(clock, 0, 0, 1);
    }
  }
}

/** Chunks of an incomplete line, the last one first. */
interface Pending {
  readonly chunk: Buffer;
  readonly before: Pending | undefined;
}

/** Splits chunks into lines. Throws if a line is longer than the limit. */
export function createLineReader(onLine: (line: string) => void, limitBytes: number): (chunk: Buffer) => void {
  let pending: Pending | undefined;
  let size = 0;
  const take = (chunk: Buffer): string => {
    let line = chunk;
    if (pending !== undefined) {
      line = allocUnsafe(size + chunk.length);
      apply(set, line, [chunk, size]);
      for (let part: Pending | undefined = pending, at = size; part !== undefined; part = part.before) {
        at -= part.chunk.length;
        apply(set, line, [part.chunk, at]);
      }
    }
    pending = undefined;
    size = 0;
    return apply(decode, line, ['utf8']);
  };
  return (chunk) => {
    let from = 0;
    for (let end: number = apply(indexOf, chunk, [0x0a]); end !== -1; end = apply(indexOf, chunk, [0x0a, from])) {
      const line = take(apply(subarray, chunk, [from, end]) as Buffer);
      from = end + 1;
      onLine(line);
    }
    if (from === chunk.length) return;
    pending = { chunk: apply(subarray, chunk, [from]) as Buffer, before: pending };
    size += chunk.length - from;
    if (size > limitBytes) throw new RangeError('longer than the limit');
  };
}

/** In wield: reads the lines of a channel. No line ends this process: what one throws, or its length, is reported. */
export function readLines(
  channel: Readable,
  limitBytes: number,
  onLine: (line: string) => void,
  onInvalid: (reason: string) => void,
): void {
  const read = createLineReader(onLine, limitBytes);
  channel.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      onInvalid(`invalid message: ${(error as Error).message}`);
    }
  });
  channel.on('error', () => {});
}
