// Notifies listeners when the catalog may have changed; the files decide what did (SCR-15).

import { existsSync, type FSWatcher, readdirSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Place } from '../core/origin.js';
import type { World } from '../core/snapshot.js';
import { admittedPath } from '../files/boundary.js';
import { statOrNothing } from '../files/read.js';
import { createIgnore } from './directory.js';

// Editors write a file in several steps; they cause one notification.
const DEBOUNCE_MS = 1;
// How often newly watched directories are reported without an event: a watcher may fail again and again.
const MAX_REPEATED = 3;

/** Watches only while there are listeners. */
export function createWatch(directories: () => readonly string[], world: World) {
  const listeners = new Set<() => void>();
  const watchers = new Map<string, { readonly watcher: FSWatcher; readonly inode: number }>();
  let isWaking = false;
  let repeated = 0;

  /** Notifies the listeners of a change that is not in a watched directory. */
  const wake = (): void => {
    if (isWaking) return;
    isWaking = true;
    setTimeout(() => {
      isWaking = false;
      for (const listener of listeners) listener();
      // After the listeners, which need not wait for it. What changed in a directory before it was watched is reported now.
      if (refresh() && ++repeated <= MAX_REPEATED) wake();
    }, DEBOUNCE_MS);
  };

  const onEvent = (): void => {
    repeated = 0;
    wake();
  };

  // Returns whether it was not watched before.
  const open = (directory: string): boolean => {
    // A directory that was removed and recreated needs a new watcher.
    const inode = statOrNothing(directory)?.ino ?? 0;
    if (watchers.get(directory)?.inode === inode) return false;
    drop(directory);
    try {
      const watcher = watch(directory, { persistent: false }, onEvent);
      watcher.on('error', () => drop(directory));
      watchers.set(directory, { watcher, inode });
      return true;
    } catch (error) {
      world.debug(`${directory}: not watched: ${(error as Error).message}`);
      return false;
    }
  };
  const drop = (directory: string): void => {
    watchers.get(directory)?.watcher.close();
    watchers.delete(directory);
  };

  // Updates the watched directories. For a missing one, the nearest existing parent is watched. Returns whether any is new.
  const refresh = (): boolean => {
    const wanted = new Set(listeners.size === 0 ? [] : directories().flatMap(chain));
    for (const directory of [...watchers.keys()]) if (!wanted.has(directory)) drop(directory);
    return [...wanted].filter(open).length > 0;
  };

  return {
    add(listener: () => void): () => void {
      listeners.add(listener);
      refresh();
      return () => {
        listeners.delete(listener);
        refresh();
      };
    },
    wake,
    /** Updates the watched directories after a change of workdir. */
    refresh: () => void refresh(),
  };
}

/** Returns the directories to watch for a place: files of skills are one level below. */
export function watchedDirectories(place: Place): string[] {
  const { directory, kind, boundary } = place;
  // RES-46: a directory behind a link out is not watched, but the link is.
  if (admittedPath(directory, boundary) === undefined)
    return watchedDirectories({ directory: dirname(directory), owner: 'workspace', kind: 'tools', boundary });
  if (kind !== 'skills' && kind !== 'packages') return [directory];
  const isIgnored = createIgnore(place);
  try {
    const below = readdirSync(directory, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !isIgnored(entry.name),
    );
    return [directory, ...below.map((entry) => join(directory, entry.name))];
  } catch {
    return [directory];
  }
}

// A directory and its parent, which shows when it is created or removed.
function chain(directory: string): string[] {
  if (existsSync(directory)) return [directory, dirname(directory)];
  const parent = dirname(directory);
  return parent === directory ? [] : chain(parent).slice(0, 1);
}
