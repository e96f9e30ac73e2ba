// Documents that were read, one per file and settings; large ones are read in a thread.

import { nextTurn } from '../../core/async.js';
import { isToolError, type ToolError } from '../../core/error.js';
import type { FileIdentity } from '../../core/origin.js';
import { sameIdentity, statIdentity } from '../../files/read.js';
import { type DocumentCache, unpack } from './cache.js';
import { keyOf, type Prepared, type PrepareOptions, packInThread, prepareHere } from './prepare.js';

interface Known {
  readonly key: string;
  readonly identity: FileIdentity;
  readonly document: Prepared | ToolError;
}

// What they offer is in the catalog as well.
const MAX_KNOWN = 500;

export function createDocuments(cache: DocumentCache | undefined) {
  const all = new Map<string, Known>();
  // Documents that wait for a thread.
  const pending = new Map<string, PrepareOptions>();
  let reading: Promise<void> | undefined;

  const add = (file: string, known: Known): void => {
    if (all.size >= MAX_KNOWN) all.clear();
    all.set(file, known);
  };

  const readPending = async (): Promise<void> => {
    for (const [file, options] of [...pending]) {
      const identity = statIdentity(file);
      const document = await readLarge(file, options, cache).catch(toFault);
      if (identity !== undefined) add(file, { key: keyOf(options), identity, document });
      // Other settings may be waiting by now.
      if (pending.get(file) === options) pending.delete(file);
    }
  };

  return {
    pending,
    /** Returns a document, or undefined if it waits for a thread. */
    open(file: string, options: PrepareOptions): Prepared | ToolError | undefined {
      const key = keyOf(options);
      const identity = statIdentity(file);
      const known = all.get(file);
      if (known?.key === key && isCurrent(known, identity)) return known.document;
      const document = attempt(() => prepareHere(file, options));
      if (document === undefined) {
        const other = pending.get(file);
        if (other === undefined || keyOf(other) !== key) pending.set(file, options);
      } else if (identity !== undefined) add(file, { key, identity, document });
      return document;
    },
    /** Reads the documents that wait. */
    async settle(): Promise<void> {
      reading ??= readPending().finally(() => {
        reading = undefined;
      });
      await reading;
    },
  };
}

/** Reads a document of any size. Throws `invalid_definition`. */
export async function prepareDocument(file: string, options: PrepareOptions): Promise<Prepared> {
  return prepareHere(file, options) ?? (await readLarge(file, options));
}

// With pauses, because each step takes some milliseconds.
async function readLarge(file: string, options: PrepareOptions, cache?: DocumentCache): Promise<Prepared> {
  const known = await cache?.load(file, options);
  if (known !== undefined) return known;
  const packed = await packInThread(file, options);
  await nextTurn();
  cache?.save(file, options, packed);
  await nextTurn();
  return unpack(packed);
}

function isCurrent({ document, identity }: Known, now: FileIdentity | undefined): boolean {
  if (!sameIdentity(now, identity)) return false;
  // The name of a file may lead to another one.
  return (
    isToolError(document) ||
    document.files.every(([path, state]) => state !== undefined && sameIdentity(statIdentity(path), state))
  );
}

function attempt(read: () => Prepared | undefined): Prepared | ToolError | undefined {
  try {
    return read();
  } catch (error) {
    return toFault(error);
  }
}

function toFault(error: unknown): ToolError {
  if (isToolError(error)) return error;
  throw error;
}
