// Documents that were read, one per file and settings; large ones are read in a thread.

import { nextTurn } from '../../core/async.js';
import type { FileIdentity } from '../../core/origin.js';
import { sameIdentity, statIdentity } from '../../files/read.js';
import { type DocumentCache, unpack } from './cache.js';
import { keyOf, type Prepared, type PrepareOptions, packInThread, prepareHere } from './prepare.js';

interface Known {
  readonly identity: FileIdentity;
  readonly document: Prepared;
}

// What they offer is in the catalog as well.
const MAX_KNOWN = 500;

export function createDocuments(cache: DocumentCache | undefined) {
  const all = new Map<string, Known>();
  // Documents that wait for a thread.
  const pending = new Map<string, { readonly file: string; readonly options: PrepareOptions }>();
  let reading: Promise<void> | undefined;

  const add = (key: string, identity: FileIdentity | undefined, document: Prepared): void => {
    if (identity === undefined) return;
    if (all.size >= MAX_KNOWN) all.clear();
    all.set(key, { identity, document });
  };

  const readPending = async (): Promise<void> => {
    for (const [key, { file, options }] of [...pending]) {
      const identity = statIdentity(file);
      add(key, identity, await readLarge(file, options, cache));
      pending.delete(key);
    }
  };

  return {
    pending,
    /** Returns a document, or undefined if it waits for a thread. */
    open(file: string, options: PrepareOptions): Prepared | undefined {
      const key = keyOf(file, options);
      const identity = statIdentity(file);
      const known = all.get(key);
      if (known !== undefined && isCurrent(known, identity)) return known.document;
      const document = prepareHere(file, options);
      if (document === undefined) pending.set(key, { file, options });
      else add(key, identity, document);
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

/** Reads a document of any size. */
export async function prepareDocument(file: string, options: PrepareOptions): Promise<Prepared> {
  return prepareHere(file, options) ?? (await readLarge(file, options));
}

// With pauses, because each step takes some milliseconds.
async function readLarge(file: string, options: PrepareOptions, cache?: DocumentCache): Promise<Prepared> {
  const known = await cache?.load(file, options);
  if (known !== undefined) return known;
  const packed = await packInThread(file, options);
  if (typeof packed !== 'string') return packed;
  await nextTurn();
  cache?.save(file, options, packed);
  await nextTurn();
  return unpack(packed);
}

function isCurrent({ document, identity }: Known, now: FileIdentity | undefined): boolean {
  // The name of a file may lead to another one.
  const isSame = ([path, state]: Prepared['files'][number]): boolean =>
    state !== undefined && sameIdentity(statIdentity(path), state);
  return sameIdentity(now, identity) && document.files.every(isSame);
}
