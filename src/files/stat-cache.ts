// Cache of values computed from files, recomputed when one of the files changed.

import { lstatSync } from 'node:fs';
import type { Boundary } from '../core/format.js';
import type { FileIdentity } from '../core/tool.js';
import { traceBoundary } from './boundary.js';
import { readTextOrFault, sameIdentity, statIdentity, type TextFault, toIdentity } from './read.js';

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

export interface StatCache<T> {
  /**
   * Returns the value of a key, computed from the texts of its files. Returns the same value until a file changed;
   * files modified within the last `STAT_GRANULARITY_MS`, or outside the boundary of the last file, are compared by
   * their text.
   */
  get(key: string, files: readonly string[], compute: (texts: readonly FileText[]) => T, lastWithin?: Boundary): T;
  delete(key: string): void;
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

export function createStatCache<T>({ now, limit, isState }: StatCacheOptions): StatCache<T> {
  const entries = new Map<string, CacheEntry<T>>();
  return {
    get(key, files, compute, lastWithin) {
      const known = entries.get(key);
      const isSame = known !== undefined && isEqualList(known.files, files, Object.is);
      const states = files.map(lookUp);
      if (isSame && known.texts === undefined && isEqualList(known.states, states, sameIdentity)) return known.value;
      const trace = lastWithin && traceBoundary(lastWithin);
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
    delete: (key) => entries.delete(key),
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
