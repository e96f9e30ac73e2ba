// Reads files that may be untrusted, with a size limit, and caches what is computed from them.

import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { orNothing, systemReason, ToolError } from '../core/error.js';
import type { Boundary, FileIdentity } from '../core/origin.js';
import { matches, type Shape } from '../core/shape.js';
import { isDescriptorAdmitted, toDeparture, traceBoundary } from './boundary.js';
import { checkParents, explainUnsafe, findUnsafe, toFileError, unsafeState } from './state.js';

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
  return orNothing(() => statSync(path, { throwIfNoEntry: false }));
}

/** Like `statOrNothing`, without following links. */
export function lstatOrNothing(path: string): Stats | undefined {
  return orNothing(() => lstatSync(path, { throwIfNoEntry: false }));
}

/** Whether a path exists, dangling links included; true if that cannot be determined. */
function isThere(path: string): boolean {
  return orNothing(() => lstatSync(path, { throwIfNoEntry: false }) !== undefined) ?? true;
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
    const { code } = error as NodeJS.ErrnoException;
    const message = systemReason(error);
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
    const unsafe = isState ? findUnsafeParent(path) : undefined;
    if (unsafe !== undefined) return { fault: 'unsafe', message: unsafe.message, error: unsafe };
    return use(descriptor, toIdentity(stats));
  } catch (error) {
    return { fault: 'unreadable', message: systemReason(error), error };
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a state file for reading. Throws if it does not exist, or another user could have written it. */
export function openState(path: string): number {
  checkParents(path);
  const descriptor = openSync(path, constants.O_NONBLOCK | constants.O_RDONLY);
  const stats = fstatSync(descriptor);
  if (stats.isFile() && findUnsafe(stats) === undefined) return descriptor;
  closeSync(descriptor);
  throw unsafeState(path, stats);
}

function findUnsafeParent(path: string): Error | undefined {
  try {
    checkParents(path);
    return undefined;
  } catch (error) {
    return error as Error;
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

/** Reads a JSON file that another process may remove or damage; undefined if it is not there, not safe or of another shape. */
export function readStateAs<T>(shape: Shape<T>, path: string, limit?: number): T | undefined {
  const value = orNothing(() => JSON.parse(readStateFile(path, limit) ?? 'null') as unknown);
  return matches(shape, value) ? value : undefined;
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

/** Resolution of the coarsest file system clock in use: two changes within it can have the same timestamp. */
const STAT_GRANULARITY_MS = 2000;

/** The text of a file, undefined if the file does not exist, or why it could not be read. */
export type FileText = string | undefined | TextFault;

export interface StatCacheOptions {
  readonly now: () => number;
  /** Maximum size of a file in bytes. */
  readonly limit?: number;
  /** Which files are state, and refused if another user could have written them. */
  readonly isState?: (file: string) => boolean;
}

interface CacheEntry<T> {
  readonly files: readonly string[];
  readonly states: readonly (FileIdentity | undefined)[];
  /** Kept only while a file is too young for its timestamp to be trusted. */
  readonly texts: readonly FileText[] | undefined;
  readonly value: T;
}

// A file behind a directory that cannot be searched: read again every time, to learn what is wrong.
const UNREACHABLE: FileIdentity = {
  device: 0,
  inode: 0,
  size: 0,
  changedMs: Number.POSITIVE_INFINITY,
  mode: 0,
};

/** Returns whether a file is old enough that any later change will alter its identity. */
export function isSettled(state: FileIdentity | undefined, now: number): boolean {
  return state === undefined || now - state.changedMs > STAT_GRANULARITY_MS;
}

export function createStatCache<T>({ now, limit, isState }: StatCacheOptions) {
  const entries = new Map<string, CacheEntry<T>>();
  return {
    /**
     * Returns the value of a key, computed from the texts of its files. Returns the same value until a file changed;
     * files modified within the last `STAT_GRANULARITY_MS`, or outside the boundary of the last file, are compared by
     * their text.
     */
    get(
      key: string,
      files: readonly string[],
      compute: (texts: readonly FileText[]) => T,
      lastWithin?: () => Boundary | undefined,
    ): T {
      const known = entries.get(key);
      const isSame = known !== undefined && isEqualList(known.files, files, Object.is);
      const states = files.map(lookUp);
      if (isSame && known.texts === undefined && isEqualList(known.states, states, sameIdentity)) return known.value;
      const boundary = lastWithin?.();
      const trace = boundary && traceBoundary(boundary);
      const within = (at: number): Boundary | undefined => (at === files.length - 1 ? trace?.boundary : undefined);
      const texts = files.map(
        (file, at) => states[at] && readTextOrFault(file, limit, { isState: isState?.(file), within: within(at) }),
      );
      const value = isSame && known.texts && isEqualList(known.texts, texts, isSameText) ? known.value : compute(texts);
      const time = now();
      const settled = trace?.leaves !== true && states.every((state) => isSettled(state, time));
      entries.set(key, { files, states, texts: settled ? undefined : texts, value });
      return value;
    },
  };
}

// One system call unless the file is a symbolic link. A dangling link has the identity of the link itself.
function lookUp(file: string): FileIdentity | undefined {
  try {
    const stats = lstatSync(file, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    return (stats.isSymbolicLink() ? statIdentity(file) : undefined) ?? toIdentity(stats);
  } catch {
    return UNREACHABLE;
  }
}

function isEqualList<E>(a: readonly E[], b: readonly E[], isEqual: (a: E, b: E) => boolean): boolean {
  return a.length === b.length && a.every((one, at) => isEqual(one, b[at]!));
}

function isSameText(a: FileText, b: FileText): boolean {
  if (typeof a === 'object' && typeof b === 'object') return a.fault === b.fault && a.message === b.message;
  return a === b;
}
