// Waits for tools that are not known yet: modules that must be loaded, servers that must be started.

import type { Catalog } from '../catalog/catalog.js';
import type { Snapshot } from '../core/snapshot.js';

const MAX_ATTEMPTS = 3;

/**
 * Returns what `read` returns, read again after pending tools were loaded: all of them, or those that a reference
 * could name. Synchronous if nothing is pending, which is the usual case.
 */
export function readSettled<T>(
  catalog: Catalog,
  snapshot: Snapshot,
  read: () => T,
  ref?: string,
  attempt = 1,
): T | Promise<T> {
  const retry = (): Promise<T> | undefined =>
    attempt < MAX_ATTEMPTS
      ? catalog.settle(snapshot, ref)?.then(() => readSettled(catalog, snapshot, read, ref, attempt + 1))
      : undefined;
  let value: T;
  try {
    value = read();
  } catch (error) {
    const later = retry();
    if (later === undefined) throw error;
    return later;
  }
  return retry() ?? value;
}
