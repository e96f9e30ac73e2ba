// Directories and symbolic links.

import { readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { orNothing } from '../core/error.js';
import { canonicalPath } from '../files/contained-path.js';
import { loadCrypto } from '../files/digest.js';
import { lstatOrNothing, statOrNothing } from '../files/read.js';
import { removeFile } from '../files/remove.js';

export function isDirectory(path: string): boolean {
  return statOrNothing(path)?.isDirectory() ?? false;
}

/** Whether anything exists at a path, a dangling link included. */
export function isOccupied(path: string): boolean {
  return lstatOrNothing(path) !== undefined;
}

export interface Link {
  readonly path: string;
  readonly target: string;
}

/** Returns the path of a link with its directory resolved: equal for all spellings (INS-83). */
export function linkKey(path: string): string {
  return join(canonicalPath(dirname(path), '/') ?? dirname(path), basename(path));
}

/** Prefix of links that are not renamed yet. */
export const TEMPORARY_LINK = '.wield-link-';

/** Creates or replaces a link atomically. */
export function putLink({ path, target }: Link): void {
  const temporary = join(dirname(path), `${TEMPORARY_LINK}${loadCrypto().randomBytes(6).toString('hex')}`);
  symlinkSync(target, temporary);
  try {
    renameSync(temporary, path);
  } catch (error) {
    removeFile(temporary);
    throw error;
  }
}

/** Returns the target of a link; undefined if the path is not a link. */
export function readLink(path: string): string | undefined {
  return orNothing(() => readlinkSync(path));
}

export function removeLink({ path, target }: Link): void {
  if (readLink(path) === target) unlinkSync(path);
}
