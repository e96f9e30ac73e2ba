// Reads the catalog again after modules were loaded and servers were started.

import type { Catalog } from '../catalog/catalog.js';
import type { Snapshot } from '../core/snapshot.js';

const MAX_READS = 3;

/**
 * Returns what `read` returns, read again after modules were loaded and servers were started that may have the tool of
 * a reference, or any tool. Synchronous if nothing is pending, which is the usual case.
 */
export function readSettled<T>(
  catalog: Catalog,
  snapshot: Snapshot,
  read: () => T,
  ref?: string,
  attempt = 1,
): T | Promise<T> {
  const retry = (): Promise<T> | undefined =>
    attempt < MAX_READS
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
