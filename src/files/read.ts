// Reads files that may be untrusted: opened first, checked on the descriptor, with a size limit.

import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { ToolError } from '../core/error.js';
import type { Boundary } from '../core/format.js';
import type { FileIdentity } from '../core/tool.js';
import { isDescriptorAdmitted, toDeparture } from './boundary.js';
import { explainUnsafe, findUnsafe, toFileError, unsafeState } from './state.js';

export interface FileReading {
  readonly bytes: Buffer;
  readonly identity: FileIdentity;
  /** Whether `bytes` is the whole file. */
  readonly complete: boolean;
}

export interface ReadFault {
  /** `unsafe`: another user could have written a state file. `outside`: a link leads out of the boundary. */
  readonly fault: 'missing' | 'not-a-file' | 'unreadable' | 'unsafe' | 'outside';
  readonly message: string;
  readonly hint?: string;
  readonly error?: unknown;
}

export interface ReadOptions {
  /** The file is state: refused if another user could have written it (STA-2). */
  readonly isState?: boolean | undefined;
  /** Where the file must be, whatever links lead to (RES-46). */
  readonly within?: Boundary | undefined;
}

/** Returns the identity of a file, following links; undefined if it does not exist or cannot be reached. */
export function statIdentity(path: string): FileIdentity | undefined {
  const stats = statOrNothing(path);
  return stats === undefined ? undefined : toIdentity(stats);
}

/** Returns the stats of a file; undefined if it does not exist, also for link cycles and unreachable directories. */
export function statOrNothing(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Like `statOrNothing`, without following links. */
export function lstatOrNothing(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Whether a path exists, dangling links included; true if that cannot be determined. */
function isThere(path: string): boolean {
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

/** Whether two identities are equal; two missing files are. */
export function sameIdentity(a: FileIdentity | undefined, b: FileIdentity | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.inode === b.inode &&
    a.size === b.size &&
    a.changedMs === b.changedMs &&
    a.mode === b.mode &&
    a.device === b.device
  );
}

/** Compares stats with an identity without allocating one. */
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
 * Opens a regular file (or a link to one) without blocking on a FIFO or device, and passes the descriptor to `use`.
 * Checks the descriptor, so that the file cannot be replaced between check and read.
 */
export function withFile<T>(
  path: string,
  use: (descriptor: number, identity: FileIdentity) => T,
  { isState = false, within }: ReadOptions = {},
): T | ReadFault {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const missing = code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP';
    return { fault: missing ? 'missing' : code === 'ENXIO' ? 'not-a-file' : 'unreadable', message, error };
  }
  try {
    const stats = fstatSync(descriptor);
    if (within !== undefined && !isDescriptorAdmitted(descriptor, path, stats, within)) {
      const { message, hint } = toDeparture(path, within);
      return { fault: 'outside', message, hint };
    }
    if (!stats.isFile()) return { fault: 'not-a-file', message: 'not a regular file' };
    if (isState && findUnsafe(stats) !== undefined) {
      const error = unsafeState(path, stats);
      return { fault: 'unsafe', message: explainUnsafe(path, stats), error };
    }
    return use(descriptor, toIdentity(stats));
  } catch (error) {
    return { fault: 'unreadable', message: (error as Error).message, error };
  } finally {
    closeSync(descriptor);
  }
}

/** Reads at most `limit` bytes from the beginning of a file. */
export function readHead(path: string, limit: number, options?: ReadOptions): FileReading | ReadFault {
  const read = (descriptor: number, identity: FileIdentity): FileReading => {
    const buffer = Buffer.allocUnsafe(Math.min(limit, identity.size + 1));
    const length = readFully(descriptor, buffer, identity.size);
    return { bytes: buffer.subarray(0, length), identity, complete: length >= identity.size };
  };
  return withFile(path, read, options);
}

/** Reads a small text file; returns undefined if it does not exist and throws a ToolError on any other fault. */
export function readTextFile(path: string, limit = 4 * 1024 * 1024, options?: ReadOptions): string | undefined {
  const reading = readHead(path, limit, options);
  if ('fault' in reading) {
    if (reading.fault === 'missing') return undefined;
    throw toFileError(reading.error ?? new Error(reading.message), 'read', path);
  }
  if (!reading.complete) {
    throw new ToolError('too_large', `${path} is larger than ${limit} bytes`, {
      hint: 'move it away, or make it smaller',
    });
  }
  return reading.bytes.toString('utf8');
}

/** Like `readTextFile`, for a file that decides what may run: refused if another user could have written it. */
export function readStateFile(path: string, limit?: number): string | undefined {
  return readTextFile(path, limit, { isState: true });
}

/** Why the text of a file could not be read. */
export interface TextFault {
  readonly fault: 'dangling-link' | 'not-a-file' | 'unreadable' | 'too-large' | 'unsafe' | 'outside';
  readonly message: string;
  readonly hint?: string;
}

/** Returns the text of a file, undefined if it does not exist, or why it could not be read. */
export function readTextOrFault(
  file: string,
  limit = 4 * 1024 * 1024,
  options?: ReadOptions,
): string | undefined | TextFault {
  const reading = readHead(file, limit, options);
  if (!('fault' in reading))
    return reading.complete
      ? reading.bytes.toString('utf8')
      : { fault: 'too-large', message: `larger than ${limit} bytes` };
  const { fault, message, hint } = reading;
  if (fault !== 'missing') return { fault, message, hint };
  // A dangling link means that the file was meant to exist (POL-9).
  return isThere(file) ? { fault: 'dangling-link', message: 'a symbolic link to a missing file' } : undefined;
}

// Reads until the buffer is full or the file ends, without a final read if the whole size was read.
function readFully(descriptor: number, buffer: Buffer, size: number): number {
  let length = 0;
  while (length < buffer.length && (length < size || size === 0)) {
    const read = readSync(descriptor, buffer, length, buffer.length - length, null);
    if (read === 0) break;
    length += read;
  }
  return length;
}
