// What a command learned from the file system, and whether it is still true.

import { lstatSync, readlinkSync, realpathSync, type Stats, statSync } from 'node:fs';

/** Device, inode, size, time of the last change, mode. */
export type Identity = readonly [number, number, number, number, number];

/** A question about a path: its identity, following links or not, its real path, or the target of a link. */
export type Question = 'stat' | 'lstat' | 'real' | 'link';

/** Null: there is no such file. */
export type Answer = Identity | string | null;

export interface Lookups {
  /** Existing files by directory: names, each followed by the five numbers of its identity. */
  readonly files: readonly (readonly [directory: string, entries: readonly (string | number)[]])[];
  readonly others: readonly (readonly [Question, path: string, Answer])[];
}

export function toTuple({ dev, ino, size, ctimeMs, mode }: Stats): Identity {
  return [dev, ino, size, ctimeMs, mode];
}

const ENTRY_FIELDS = 6;
const MAY_BE_MISSING = { throwIfNoEntry: false } as const;

/** Whether every question has the same answer now: one system call each. */
export function areCurrent({ files, others }: Lookups): boolean {
  try {
    return files.every(([directory, entries]) => areUnchanged(directory, entries)) && others.every(isCurrent);
  } catch {
    return false;
  }
}

function areUnchanged(directory: string, entries: readonly (string | number)[]): boolean {
  for (let at = 0; at < entries.length; at += ENTRY_FIELDS) {
    const stats = statSync(directory + entries[at], MAY_BE_MISSING);
    if (
      stats === undefined ||
      stats.ino !== entries[at + 2] ||
      stats.ctimeMs !== entries[at + 4] ||
      stats.size !== entries[at + 3] ||
      stats.mode !== entries[at + 5] ||
      stats.dev !== entries[at + 1]
    )
      return false;
  }
  return true;
}

function isCurrent([question, path, answer]: Lookups['others'][number]): boolean {
  return isSameAnswer(answer, ask(question, path));
}

function ask(question: Question, path: string): Answer {
  if (question === 'real') return tryFile(() => realpathSync.native(path)) ?? null;
  if (question === 'link') return tryFile(() => readlinkSync(path)) ?? null;
  const look = question === 'stat' ? statSync : lstatSync;
  const stats = tryFile(() => look(path, MAY_BE_MISSING));
  return stats === undefined ? null : toTuple(stats);
}

export function isSameAnswer(a: Answer, b: Answer): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  return a.every((field, at) => field === b[at]);
}

function tryFile<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
