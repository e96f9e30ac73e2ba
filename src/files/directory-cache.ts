// Keeps what was read in directories until they change.

import type { FileIdentity } from '../core/origin.js';
import { isSettled, sameIdentity, statIdentity } from './read.js';

// A server may work in many workdirs.
const MAX_KEPT = 100_000;
// Some file systems of other machines do not change the time of a directory with its entries.
const KEPT_MS = 60_000;

/** Returns a function that reads a directory, again only if it changed; undefined if it does not exist. */
export function createDirectoryCache<T>(read: (directory: string) => T) {
  const kept = new Map<string, { readonly identity: FileIdentity; readonly at: number; readonly value: T }>();
  return (directory: string): T | undefined => {
    const identity = statIdentity(directory);
    if (identity === undefined) return undefined;
    const now = Date.now();
    const known = kept.get(directory);
    if (known !== undefined && sameIdentity(known.identity, identity) && Math.abs(now - known.at) < KEPT_MS) {
      return known.value;
    }
    const value = read(directory);
    kept.delete(directory);
    if (kept.size >= MAX_KEPT) kept.clear();
    if (isSettled(identity, now)) kept.set(directory, { identity, at: now, value });
    return value;
  };
}
