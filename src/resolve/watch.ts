// Wakes listeners when what decides the catalog may have changed; what is true is still decided by looking (SCR-15).

import { existsSync, type FSWatcher, watch } from 'node:fs';
import { dirname } from 'node:path';
import type { World } from '../core/world.js';

export interface Watch {
  add(listener: () => void): () => void;
  /** Looks at the directories again, after a change of workdir. */
  refresh(): void;
  close(): void;
}

// Editors write a file in several steps: one waking for all of them.
const SETTLE_MS = 10;

/** Watches while someone listens. */
export function createWatch(directories: () => readonly string[], world: World): Watch {
  const listeners = new Set<() => void>();
  const watchers = new Map<string, FSWatcher>();
  let timer: NodeJS.Timeout | undefined;

  const wake = (): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      refresh();
      for (const listener of listeners) listener();
    }, SETTLE_MS);
  };

  const open = (directory: string): void => {
    if (watchers.has(directory)) return;
    try {
      const watcher = watch(directory, { persistent: false }, wake);
      watcher.on('error', () => drop(directory));
      watchers.set(directory, watcher);
    } catch (error) {
      world.debug(`${directory}: not watched: ${(error as Error).message}`);
    }
  };
  const drop = (directory: string): void => {
    watchers.get(directory)?.close();
    watchers.delete(directory);
  };

  // A directory that is not there yet is awaited in the nearest directory above it that is.
  const refresh = (): void => {
    const wanted = new Set(listeners.size === 0 ? [] : directories().flatMap(chain));
    for (const directory of [...watchers.keys()]) if (!wanted.has(directory)) drop(directory);
    for (const directory of wanted) open(directory);
  };

  return {
    add(listener) {
      listeners.add(listener);
      refresh();
      return () => {
        listeners.delete(listener);
        refresh();
      };
    },
    refresh,
    close() {
      clearTimeout(timer);
      listeners.clear();
      refresh();
    },
  };
}

// A directory, and the one above it, in which its coming and going is seen.
function chain(directory: string): string[] {
  if (existsSync(directory)) return [directory, dirname(directory)];
  const parent = dirname(directory);
  return parent === directory ? [] : chain(parent).slice(0, 1);
}
