// Objects: directories of installed items, one per item and content.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { orNothing } from '../../core/error.js';
import { digestParts, loadCrypto } from '../../files/digest.js';
import { namesIn } from '../../files/list.js';
import { makeDirectory } from '../../files/make-directory.js';
import { removeEmpty, removeTree } from '../../files/remove.js';
import { hashTree } from '../../files/tree.js';
import { isOccupied } from '../directory.js';
import type { InstallPaths } from '../environment.js';
import { type InstalledItem, loadInstalled } from '../state.js';

export type Transaction = ReturnType<typeof beginTransaction>;

const STAGING = '.staging-';

export function createTransactionId(): string {
  return loadCrypto().randomBytes(9).toString('hex');
}

/** Creates the staging directory of a change: on the file system of the objects, because committing renames (F12). */
export function beginTransaction({ objects }: InstallPaths) {
  const id = createTransactionId();
  const staging = join(objects, `${STAGING}${id}`);
  makeDirectory(staging);
  return { id, staging };
}

export function endTransaction({ staging }: Transaction, { objects }: InstallPaths): void {
  removeTree(staging);
  removeEmpty([objects]);
}

/** Removes the staging directories of killed processes. */
export function removeStaging({ objects }: InstallPaths): void {
  for (const name of namesIn(objects)) if (name.startsWith(STAGING)) removeTree(join(objects, name));
}

/** Returns an unused name made of the item's identity and the hash of its content. */
export function objectName({ objects }: InstallPaths, identity: readonly string[], hash: string): string {
  const base = `${digestParts(identity).slice(0, 16)}-${hash.slice(0, 32)}`;
  for (let at = 0; ; at++) {
    const name = at === 0 ? base : `${base}.${at}`;
    if (!isOccupied(join(objects, name))) return name;
  }
}

/** Whether the files of an installed item differ from its recorded hash. */
export function isModified(
  { installedHash, object }: InstalledItem,
  { objects }: Pick<InstallPaths, 'objects'>,
): boolean {
  return orNothing(() => hashTree(join(objects, object)) !== installedHash) ?? true;
}

/** Removes objects that are not installed, unless a running process was started from one (INS-23). */
export function collectGarbage(paths: InstallPaths): void {
  const used = new Set(loadInstalled(paths).items.map(({ object }) => object));
  const unused = namesIn(paths.objects).filter((name) => !name.startsWith(STAGING) && !used.has(name));
  if (unused.length > 0) {
    const lines = runningCommandLines();
    for (const name of unused) {
      const path = join(paths.objects, name);
      if (!lines.includes(path)) removeTree(path);
    }
  }
  removeEmpty(namesIn(paths.store).map((kind) => join(paths.store, kind)));
  removeEmpty([paths.store, paths.objects]);
}

// Empty without /proc: objects are then removed at once, and a running script has been read by its interpreter.
function runningCommandLines(): string {
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => orNothing(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? '')
    .join('\n');
}
