// Symbolic links that are ours: made and exchanged by one rename, removed only where they are still what we made.

import { lstatSync, readlinkSync, renameSync, rmdirSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadCrypto } from '../../files/crypto.js';

export interface Link {
  readonly path: string;
  readonly target: string;
}

export const TEMPORARY = '.wield-link-';

/** Makes a link, or lets one lead elsewhere, in one step. */
export function putLink({ path, target }: Link): void {
  const temporary = join(dirname(path), `${TEMPORARY}${loadCrypto().randomBytes(6).toString('hex')}`);
  symlinkSync(target, temporary);
  try {
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Where a link leads; undefined where there is none. */
export function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Removes a link that leads there; whatever else lies at its place stays. */
export function removeLink({ path, target }: Link): void {
  if (readLink(path) === target) unlinkSync(path);
}

export function isOccupied(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Which directories are not there, up to and with this one; the outermost first. */
export function missingAbove(directory: string): string[] {
  const missing: string[] = [];
  for (let at = directory; !isOccupied(at) && dirname(at) !== at; at = dirname(at)) missing.unshift(at);
  return missing;
}

/** Removes directories that are empty; gives those that are not. */
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
