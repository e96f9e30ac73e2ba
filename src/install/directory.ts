// Directory helpers in which a missing directory counts as empty.

import { lstatSync, readdirSync, rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { compareText } from '../core/text.js';
import { statOrNothing } from '../files/read.js';

/** Returns the names in a directory, sorted. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).sort(compareText);
  } catch {
    return [];
  }
}

export function isDirectory(path: string): boolean {
  return statOrNothing(path)?.isDirectory() ?? false;
}

/** Whether anything exists at a path, a dangling link included. */
export function isOccupied(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Returns the missing directories up to and including this one, outermost first. */
export function missingAbove(directory: string): string[] {
  const missing: string[] = [];
  for (let at = directory; !isOccupied(at) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  return missing;
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
