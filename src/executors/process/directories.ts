// Notices that a directory on the way to a file was exchanged, even if it is back in its place.

import { lstatSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { isWithin } from '../../files/within.js';

/**
 * Returns a function that tells whether another directory may have been on the way to a file since. Renaming changes the
 * times of a directory and of the one above. The working directory and those above it are not watched, because their
 * entries change all the time.
 */
export function watchDirectories(file: string, cwd: string): () => boolean {
  const chains = [...new Set([file, realPath(file)])].map((path) => directoriesAbove(path, cwd));
  const before = chains.map((chain) => chain.map(stateOf));
  return () =>
    chains.some((chain, at) => {
      const changed = chain.map((directory, index) => stateOf(directory) !== before[at]![index]);
      return changed.some((isChanged, index) => isChanged && changed[index + 1]);
    });
}

// The nearest first; the last one contains the working directory.
function directoriesAbove(file: string, cwd: string): string[] {
  const chain: string[] = [];
  for (let at = dirname(file); ; at = dirname(at)) {
    chain.push(at);
    if (isWithin(at, cwd) || at === dirname(at)) return chain;
  }
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function stateOf(directory: string): string {
  const stats = lstatSync(directory, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}:${stats.ctimeMs}`;
}
