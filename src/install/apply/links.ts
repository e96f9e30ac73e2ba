// Symbolic links to installed items: replaced by one rename, removed only if they still have the recorded target.

import { readlinkSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadCrypto } from '../../files/crypto.js';

export interface Link {
  readonly path: string;
  readonly target: string;
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
    rmSync(temporary, { force: true });
    throw error;
  }
}

/** Returns the target of a link; undefined if the path is not a link. */
export function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** Removes a link if it has this target. */
export function removeLink({ path, target }: Link): void {
  if (readLink(path) === target) unlinkSync(path);
}
