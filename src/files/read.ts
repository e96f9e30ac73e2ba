// Reading files that someone else may have made: opened first, checked on the descriptor, read bounded.

import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import type { FileIdentity } from '../core/tool.js';

export interface FileReading {
  readonly bytes: Buffer;
  readonly identity: FileIdentity;
  /** Whether `bytes` is the whole file. */
  readonly complete: boolean;
}

export type ReadFault = { readonly fault: 'missing' | 'not-a-file' | 'unreadable'; readonly message: string };

/** The state of a file, links followed; undefined where there is none, or none that may be looked at. */
export function statIdentity(path: string): FileIdentity | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : toIdentity(stats);
  } catch {
    // A circle of links, or a directory that may not be entered: reading it says what is wrong.
    return undefined;
  }
}

export function toIdentity(stats: Stats): FileIdentity {
  return {
    device: stats.dev,
    inode: stats.ino,
    size: stats.size,
    modifiedMs: stats.mtimeMs,
    changedMs: stats.ctimeMs,
    mode: stats.mode,
  };
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
    const length = readFully(descriptor, buffer);
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

function readFully(descriptor: number, buffer: Buffer): number {
  let length = 0;
  while (length < buffer.length) {
    const read = readSync(descriptor, buffer, length, buffer.length - length, null);
    if (read === 0) break;
    length += read;
  }
  return length;
}
