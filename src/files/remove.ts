// Removes files and directories. Not with `rmSync`, which in Node 24 hides the code of most errors.

import { lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';

const MAX_ATTEMPTS = 100;

/** Removes a file, if it exists. */
export function removeFile(path: string): void {
  ifPresent(() => unlinkSync(path));
}

/** Removes a file, or a directory with everything in it, if it exists. */
export function removeTree(path: string): void {
  ifPresent(() => {
    if (!lstatSync(path).isDirectory()) return removeFile(path);
    for (let attempt = 1; ; attempt++) {
      for (const name of readdirSync(path)) removeTree(join(path, name));
      try {
        return rmdirSync(path);
      } catch (error) {
        // A process that was just killed may still write files.
        if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  });
}

/** Removes empty directories and returns those that are still there. */
export function removeEmpty(directories: readonly string[]): string[] {
  return [...directories]
    .sort((a, b) => b.length - a.length)
    .filter((directory) => {
      try {
        rmdirSync(directory);
        return false;
      } catch (error) {
        return (error as NodeJS.ErrnoException).code !== 'ENOENT';
      }
    });
}

function ifPresent(remove: () => void): void {
  try {
    remove();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
