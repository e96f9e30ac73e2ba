// A copy of a result that another machine stored.

import { join } from 'node:path';
import type { ResultWriter } from '../../core/store.js';
import { createStateDirectory } from '../../files/state.js';
import { createWriter, ID, type ResultFiles, unlinkQuietly } from './results.js';

/** Starts the copy of a result; `owner` is what `ownerOf` returns for its session. */
export function copyResult({ directory }: ResultFiles, id: string, owner: string): ResultWriter {
  createStateDirectory(directory());
  const file = join(directory(), id);
  // Of a process that was killed: with its metadata it would have been opened.
  unlinkQuietly(file);
  return createWriter(file, id, owner);
}

export function isResultId(id: string): boolean {
  return ID.test(id);
}
