// Files of a cache: each has a label and a checksum, and is used only if both are right and nobody else could write it.

import { join } from 'node:path';
import { readHead } from './read.js';
import { removeFile } from './remove.js';
import { writeFileAtomic } from './write.js';

export interface CacheFiles {
  /** Parses the text that was stored with a label; undefined if there is none or it is not usable. */
  read<T>(label: string, parse: (text: string) => T): T | undefined;
  /** Stores a text; a failure is only logged. */
  write(label: string, text: string): void;
  remove(label: string): void;
}

export interface CacheFilesOptions {
  readonly directory: string;
  /** With a dot. */
  readonly extension: string;
  readonly debug: (message: string) => void;
}

const MAX_BYTES = 256 * 1024 * 1024;

/** A label is one line of text that contains everything that the stored text depends on. */
export function createCacheFiles({ directory, extension, debug }: CacheFilesOptions): CacheFiles {
  // Checksums of what was written: most callers write the same again.
  const written = new Map<string, string>();
  const fileOf = (label: string): string => {
    const bytes = Buffer.from(label);
    return join(directory, `${checksum(bytes)}${checksum(Buffer.from(bytes.toString('hex')))}${extension}`);
  };
  const attempt = <T>(label: string, what: string, work: (file: string) => T): T | undefined => {
    const file = fileOf(label);
    try {
      return work(file);
    } catch (error) {
      debug(`${file}: ${what}: ${(error as Error).message}`);
      return undefined;
    }
  };
  return {
    read: (label, parse) =>
      attempt(label, 'discarded', (file) => {
        const reading = readHead(file, MAX_BYTES, { isState: true });
        return 'fault' in reading ? undefined : parse(openChecked(reading.bytes, label));
      }),
    write: (label, text) =>
      attempt(label, 'not written', (file) => {
        const bytes = sealChecked(text, label);
        const sum = checksum(bytes);
        if (written.get(file) === sum || bytes.length > MAX_BYTES) return;
        writeFileAtomic(file, bytes, { durable: false });
        written.set(file, sum);
      }),
    remove: (label) =>
      attempt(label, 'not removed', (file) => {
        written.delete(file);
        removeFile(file);
      }),
  };
}

/**
 * Returns eight hex digits: FNV-1a, four bytes at a time. Not cryptographic, as the files are private; loading node:crypto
 * or node:zlib takes longer than this does.
 */
export function checksum(bytes: Buffer): string {
  // A copy, because words begin at multiples of four.
  const padded = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  bytes.copy(padded);
  const words = new Int32Array(padded.buffer, padded.byteOffset, padded.length / 4);
  let sum = bytes.length;
  for (let at = 0; at < words.length; at++) sum = Math.imul(sum ^ words[at]!, 0x01000193);
  return (sum >>> 0).toString(16).padStart(8, '0');
}

/** Returns a line with a label and the checksum of a text, then the text. */
export function sealChecked(text: string, label: string): Buffer {
  const body = Buffer.from(`${text}\n`);
  return Buffer.concat([Buffer.from(firstLine(body, label)), body]);
}

/** Returns the text below such a line. Throws if it is damaged, or has another label. */
export function openChecked(bytes: Buffer, label: string): string {
  const body = bytes.subarray(bytes.indexOf(0x0a) + 1);
  if (bytes.toString('utf8', 0, bytes.length - body.length) !== firstLine(body, label))
    throw new Error('altered, or written by another version');
  return body.toString('utf8', 0, body.length - 1);
}

function firstLine(body: Buffer, label: string): string {
  return `${label}\t${checksum(body)}\n`;
}
