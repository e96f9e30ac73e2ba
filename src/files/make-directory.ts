// Creates a directory and its missing parents.

import { lstatSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { orNothing } from '../core/error.js';

/** Unlike the recursive mode of Node, does not report an input/output error as a missing directory. */
export function makeDirectory(directory: string, mode = 0o700): void {
  const missing = tryMake(directory, mode);
  if (missing === undefined) return;
  makeDirectory(dirname(directory), mode);
  const stillMissing = tryMake(directory, mode);
  if (stillMissing !== undefined) throw stillMissing;
}

/** Returns the missing directories up to and including this one, outermost first. */
export function missingAbove(directory: string): string[] {
  const missing: string[] = [];
  for (let at = directory; !isThere(at) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  return missing;
}

function isThere(path: string): boolean {
  return orNothing(() => lstatSync(path, { throwIfNoEntry: false })) !== undefined;
}

// Returns the error if a parent is missing.
function tryMake(directory: string, mode: number): Error | undefined {
  try {
    mkdirSync(directory, mode);
    return undefined;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(directory) !== directory) return error as Error;
    if (code === 'EEXIST' && statSync(directory, { throwIfNoEntry: false })?.isDirectory()) return undefined;
    // Another process removed it in between, as the last holder of a lock does.
    if (code === 'EEXIST' && lstatSync(directory, { throwIfNoEntry: false }) === undefined)
      return tryMake(directory, mode);
    throw error;
  }
}
