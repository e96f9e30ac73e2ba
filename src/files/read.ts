// Reading files that someone else may have made: opened first, checked on the descriptor, read bounded.

import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import type { FileIdentity } from '../core/tool.js';

export interface FileReading {
  readonly bytes: Buffer;
  readonly identity: FileIdentity;
  /** Whether `bytes` is the whole file. */
  readonly complete: boolean;
}

export type ReadFault = { readonly fault: 'missing' | 'not-a-file' | 'unreadable'; readonly message: string };

/** The state of a file, links followed; undefined where there is none, or none that can be reached. */
export function statIdentity(path: string): FileIdentity | undefined {
  const stats = statOrNothing(path);
  return stats === undefined ? undefined : toIdentity(stats);
}

/** A circle of links, or a directory that may not be entered, is as good as nothing there. */
export function statOrNothing(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Whether something is there, be it a link that leads nowhere. */
export function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

export function toIdentity(stats: Stats): FileIdentity {
  return {
    device: stats.dev,
    inode: stats.ino,
    size: stats.size,
    changedMs: stats.ctimeMs,
    mode: stats.mode,
  };
}

/** Whether a file is in that very state; the same as comparing identities, without making one for each look. */
export function hasIdentity(stats: Stats, identity: FileIdentity): boolean {
  return (
    stats.ino === identity.inode &&
    stats.size === identity.size &&
    stats.ctimeMs === identity.changedMs &&
    stats.mode === identity.mode &&
    stats.dev === identity.device
  );
}

/**
 * Opens a regular file (or a link to one) without ever blocking on a FIFO or device, and hands the descriptor
 * to `use`. The check is made on the descriptor, so that nothing can be exchanged between look and read.
 */
export function withFile<T>(
  path: string,
  use: (descriptor: number, identity: FileIdentity) => T,
): T | ReadFault {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const missing = code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP';
    return { fault: missing ? 'missing' : code === 'ENXIO' ? 'not-a-file' : 'unreadable', message };
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) return { fault: 'not-a-file', message: 'not a regular file' };
    return use(descriptor, toIdentity(stats));
  } catch (error) {
    return { fault: 'unreadable', message: (error as Error).message };
  } finally {
    closeSync(descriptor);
  }
}

/** At most `limit` bytes from the beginning of a file. */
export function readHead(path: string, limit: number): FileReading | ReadFault {
  return withFile(path, (descriptor, identity) => {
    const buffer = Buffer.allocUnsafe(Math.min(limit, identity.size + 1));
    const length = readFully(descriptor, buffer, identity.size);
    return { bytes: buffer.subarray(0, length), identity, complete: length >= identity.size };
  });
}

/** The whole of a small text file; undefined where there is none. Throws on anything else that is wrong. */
export function readTextFile(path: string, limit = 4 * 1024 * 1024): string | undefined {
  const reading = readHead(path, limit);
  if ('fault' in reading) {
    if (reading.fault === 'missing') return undefined;
    throw new Error(reading.message);
  }
  if (!reading.complete) throw new Error(`larger than ${limit} bytes`);
  return reading.bytes.toString('utf8');
}

/** Why the text of a file could not be read. */
export interface TextFault {
  readonly fault: 'dangling-link' | 'not-a-file' | 'unreadable' | 'too-large';
  readonly message: string;
}

/** Returns the text of a file, undefined if it does not exist, or why it could not be read. */
export function readTextOrFault(file: string, limit = 4 * 1024 * 1024): string | undefined | TextFault {
  const reading = readHead(file, limit);
  if (!('fault' in reading))
    return reading.complete
      ? reading.bytes.toString('utf8')
      : { fault: 'too-large', message: `larger than ${limit} bytes` };
  const { fault, message } = reading;
  if (fault !== 'missing') return { fault, message };
  // A dangling link means that the file was meant to exist (POL-9).
  return isThere(file) ? { fault: 'dangling-link', message: 'a symbolic link to a missing file' } : undefined;
}

// Until the buffer is full or the file ends; a file that gave its whole size is not asked once more.
function readFully(descriptor: number, buffer: Buffer, size: number): number {
  let length = 0;
  while (length < buffer.length && (length < size || size === 0)) {
    const read = readSync(descriptor, buffer, length, buffer.length - length, null);
    if (read === 0) break;
    length += read;
  }
  return length;
}
