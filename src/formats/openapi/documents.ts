// Keeps documents that were read, one per file and settings, and reads large ones in a thread.

import type { FileIdentity } from '../../core/origin.js';
import { sameIdentity, statIdentity } from '../../files/read.js';
import { DocumentFault } from './document.js';
import type { KeptDocuments } from './kept.js';
import { type Prepared, unpack } from './packed.js';
import { keyOf, type PrepareOptions, packInThread, prepareHere } from './prepare.js';

interface Known {
  readonly key: string;
  readonly identity: FileIdentity;
  readonly document: Prepared | DocumentFault;
}

// What they offer is in the catalog as well.
const MAX_KEPT = 500;

/** Documents that wait for a thread are in `pending`, by their file, until `settle` has read them. */
export function createDocuments(pending: Set<string>, cache: KeptDocuments | undefined) {
  const kept = new Map<string, Known>();
  const waiting = new Map<string, PrepareOptions>();
  let reading: Promise<void> | undefined;

  const keep = (file: string, known: Known): void => {
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(file, known);
  };

  /** Returns a document, or undefined if it waits for a thread. */
  const open = (file: string, options: PrepareOptions): Prepared | DocumentFault | undefined => {
    const key = keyOf(options);
    const identity = statIdentity(file);
    const known = kept.get(file);
    if (known?.key === key && isCurrent(known, identity)) return known.document;
    const document = attempt(() => prepareHere(file, options));
    if (document === undefined) {
      // It may be in the thread already.
      const other = waiting.get(file);
      if (other === undefined || keyOf(other) !== key) waiting.set(file, options);
      pending.add(file);
    } else if (identity !== undefined) keep(file, { key, identity, document });
    return document;
  };

  const readLarge = async (file: string, options: PrepareOptions): Promise<Prepared> => {
    const known = await cache?.load(file, options);
    if (known !== undefined) return known;
    const packed = await packInThread(file, options);
    cache?.save(file, options, packed);
    await endTurn();
    return unpack(packed);
  };

  const readWaiting = async (): Promise<void> => {
    for (const [file, options] of [...waiting]) {
      const identity = statIdentity(file);
      const document = await readLarge(file, options).catch(toFault);
      await endTurn();
      if (identity !== undefined) keep(file, { key: keyOf(options), identity, document });
      if (waiting.get(file) === options) waiting.delete(file);
      if (!waiting.has(file)) pending.delete(file);
    }
  };

  return {
    open,
    async settle(): Promise<void> {
      reading ??= readWaiting().finally(() => {
        reading = undefined;
      });
      await reading;
    },
  };
}

// Each step takes some milliseconds.
function endTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function isCurrent({ document, identity }: Known, now: FileIdentity | undefined): boolean {
  // The name of the file may lead to another one.
  if (document instanceof DocumentFault || !sameIdentity(now, identity)) return sameIdentity(now, identity);
  return document.files.every(([path, state]) => state !== undefined && sameIdentity(statIdentity(path), state));
}

function attempt(read: () => Prepared | undefined): Prepared | DocumentFault | undefined {
  try {
    return read();
  } catch (error) {
    return toFault(error);
  }
}

function toFault(error: unknown): DocumentFault {
  if (error instanceof DocumentFault) return error;
  throw error;
}
