// Files of a cache: each has a label and a text, and is used only if both are intact and nobody else could write it.

import { sep } from 'node:path';
import { readHead } from './read.js';
import { removeFile } from './remove.js';
import { writeFileAtomic } from './write.js';

export interface CacheFilesOptions {
  readonly directory: string;
  /** With a dot. */
  readonly extension: string;
  readonly debug: (message: string) => void;
}

const MAX_BYTES = 256 * 1024 * 1024;

/** A label is one line of text that contains everything that the stored text depends on. */
export function createCacheFiles({ directory, extension, debug }: CacheFilesOptions) {
  const attempt = <T>(label: string, what: string, work: (file: string) => T): T | undefined => {
    const file = `${directory}${sep}${toName(label)}${extension}`;
    try {
      return work(file);
    } catch (error) {
      debug(`${file}: ${what}: ${(error as Error).message}`);
      return undefined;
    }
  };
  const read = (file: string): Buffer | undefined => {
    const reading = readHead(file, MAX_BYTES, { isState: true });
    return 'fault' in reading ? undefined : reading.bytes;
  };
  return {
    /** Parses the text that was stored with a label; undefined if there is none or it is not usable. */
    read: <T>(label: string, parse: (text: string) => T): T | undefined =>
      attempt(label, 'discarded', (file) => {
        const bytes = read(file);
        return bytes && parse(openSealed(bytes, label));
      }),
    /** Stores a text; a failure is only logged. */
    write: (label: string, text: string): void =>
      attempt(label, 'not written', (file) => {
        const bytes = seal(text, label);
        // Most callers write the same again.
        if (bytes.length > MAX_BYTES || read(file)?.equals(bytes)) return;
        writeFileAtomic(file, bytes, { durable: false });
      }),
    remove: (label: string): void => attempt(label, 'not removed', removeFile),
  };
}

// FNV-1a, twice. Two labels of one name only discard each other's file.
function toName(label: string): string {
  const bytes = Buffer.from(label);
  return [bytes, Buffer.from(bytes.toString('hex'))]
    .map((part) => part.reduce((sum, byte) => Math.imul(sum ^ byte, 0x01000193), part.length) >>> 0)
    .map((sum) => sum.toString(16).padStart(8, '0'))
    .join('');
}

/**
 * Returns a line with a label, then a text twice, so that damage shows: a comparison takes a hundredth of the time of a
 * checksum in a process that has just started, which would have to load node:crypto or compile a loop. Bytes of the second
 * one are swapped, so that an edit of the file does not change both.
 */
export function seal(text: string, label: string): Buffer {
  const line = Buffer.from(`${text}\n`);
  // Swapping needs pairs.
  const body = line.length % 2 === 0 ? line : Buffer.concat([line, Buffer.from('\n')]);
  return Buffer.concat([Buffer.from(`${label}\n`), body, Buffer.from(body).swap16()]);
}

/** Returns the text below such a line. Throws if it is damaged, or has another label. */
export function openSealed(bytes: Buffer, label: string): string {
  const start = bytes.indexOf('\n') + 1;
  const size = (bytes.length - start) / 2;
  const body = bytes.subarray(start, start + size);
  const isIntact = size > 0 && size % 2 === 0 && body.equals(Buffer.from(bytes.subarray(start + size)).swap16());
  if (!isIntact || bytes.toString('utf8', 0, start) !== `${label}\n`)
    throw new Error('altered, or written by another version');
  return body.toString('utf8').trimEnd();
}
