// Files that `wield remove` took away, in the state of wield, so that they can be brought back.

import { cpSync, existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isToolError, ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import { namesIn } from '../files/list.js';
import { withLock } from '../files/lock.js';
import { makeDirectory } from '../files/make-directory.js';
import { readStateFile } from '../files/read.js';
import { removeTree } from '../files/remove.js';
import { createStateDirectory, refuseNewer } from '../files/state.js';
import { writeFileAtomic } from '../files/write.js';

export interface RemovedFiles {
  readonly name: string;
  /** Where they were. */
  readonly paths: readonly string[];
}

const RECORD = 'record.json';
// Older ones are deleted.
const MAX_KEPT = 50;

/** Copies first, then removes: an interrupted removal loses nothing. */
export function moveToRemoved(wieldHome: string, name: string, paths: readonly string[], now: number): Promise<void> {
  return locked(wieldHome, (root) => {
    for (const directory of [dirname(root), root]) createStateDirectory(directory);
    const gone = paths.find((path) => !existsSync(path));
    if (gone !== undefined)
      throw new ToolError('not_found', `file not found: ${quoteOutside(gone, 200)}`, {
        hint: 'it was removed meanwhile',
      });
    const own = join(root, `${String(now).padStart(15, '0')}-${namesIn(root).length}`);
    makeDirectory(own);
    for (const [at, path] of paths.entries())
      cpSync(path, join(own, `${at}-${basename(path)}`), { recursive: true, verbatimSymlinks: true });
    writeFileAtomic(join(own, RECORD), `${JSON.stringify({ version: 1, name, paths })}\n`);
    for (const path of paths) removeTree(path);
    for (const old of namesIn(root).slice(0, -MAX_KEPT)) removeTree(join(root, old));
  });
}

/** Brings back the files that were removed last. Throws like `findLast`. */
export function restoreLast(wieldHome: string, name: string | undefined): Promise<void> {
  return locked(wieldHome, (root) => {
    const { entry, paths } = findIn(root, name);
    for (const [at, path] of paths.entries()) {
      makeDirectory(dirname(path), 0o777);
      cpSync(join(root, entry, `${at}-${basename(path)}`), path, { recursive: true, verbatimSymlinks: true });
    }
    removeTree(join(root, entry));
  });
}

/** Returns what `restoreLast` brings back. Throws `not_found`, and `conflict` if a file is in the way. */
export function findLast(wieldHome: string, name: string | undefined): RemovedFiles {
  return findIn(join(wieldHome, 'removed'), name);
}

// One process at a time: names are in order of time, and a file that two removed would be copied by one.
function locked<T>(wieldHome: string, work: (root: string) => T): Promise<T> {
  const root = join(wieldHome, 'removed');
  return withLock(`${root}.lock`, { doing: 'removing a tool' }, async () => work(root));
}

function findIn(root: string, name: string | undefined): RemovedFiles & { readonly entry: string } {
  for (const entry of namesIn(root).reverse()) {
    const record = readRecord(join(root, entry, RECORD));
    if (record === undefined || (name !== undefined && record.name !== name)) continue;
    const taken = record.paths.find((path) => existsSync(path));
    if (taken !== undefined)
      throw new ToolError('conflict', `${quoteOutside(taken, 200)} exists again`, { hint: 'move it away first' });
    return { ...record, entry };
  }
  const what = name === undefined ? 'nothing was removed' : `"${quoteOutside(name, 60)}" was not removed`;
  throw new ToolError('not_found', what, { hint: 'wield remove NAME removes a tool' });
}

function readRecord(file: string): RemovedFiles | undefined {
  try {
    const value: unknown = JSON.parse(readStateFile(file) ?? '');
    refuseNewer(value, file);
    return isRecord(value) && Array.isArray(value.paths) ? (value as unknown as RemovedFiles) : undefined;
  } catch (error) {
    if (isToolError(error) && error.code === 'unavailable') throw error;
    return undefined;
  }
}
