// Checkpoints of the audit log: what its files contained at a time, to be kept or signed where nobody can change them.

import { closeSync, fstatSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { type Infer, integer, list, object, oneOf, string, text } from '../core/shape.js';
import { loadCrypto } from '../files/digest.js';
import { tryOpen } from './file.js';
import { fileName, listFiles } from './log.js';
import type { AuditProblem } from './verify.js';

export const CHECKPOINT = object(
  {
    checkpoint: oneOf(1),
    time: string,
    /** The hash is that of the first bytes: files are only appended to. */
    files: list(object({ number: integer(1), bytes: integer(), sha256: text() })),
  },
  { unknown: 'drop' },
);
export type Checkpoint = Infer<typeof CHECKPOINT>;

const CHUNK = 256 * 1024;

export function createCheckpoint(directory: string, now: number): Checkpoint {
  const files = listFiles(directory).flatMap((number) => {
    const found = hashStart(join(directory, fileName(number)));
    return found === undefined ? [] : { number, ...found };
  });
  return { checkpoint: 1, time: new Date(now).toISOString(), files };
}

/** Finds files of a checkpoint that do not begin with the same bytes any more; `pruned` and older ones may be gone. */
export function findChangesSince({ files }: Checkpoint, directory: string, pruned: number): AuditProblem[] {
  return files.flatMap(({ number, bytes, sha256 }): AuditProblem[] => {
    const file = fileName(number);
    const found = hashStart(join(directory, file), bytes);
    const problem = (kind: AuditProblem['kind'], message: string): AuditProblem[] => [
      { file, line: null, kind, message: `${message} since the checkpoint` },
    ];
    if (found === undefined) return number <= pruned ? [] : problem('removed', 'the file was removed');
    if (found.bytes < bytes) return problem('truncated', `${bytes - found.bytes} bytes were cut off`);
    return found.sha256 === sha256 ? [] : problem('changed', 'the file was changed');
  });
}

// Of the whole file, unless it is longer than the limit.
function hashStart(path: string, limit?: number): { readonly bytes: number; readonly sha256: string } | undefined {
  const descriptor = tryOpen(path);
  if (descriptor === undefined) return undefined;
  try {
    const end = Math.min(limit ?? Number.POSITIVE_INFINITY, fstatSync(descriptor).size);
    const hash = loadCrypto().createHash('sha256');
    const chunk = Buffer.allocUnsafe(CHUNK);
    let bytes = 0;
    while (bytes < end) {
      const length = readSync(descriptor, chunk, 0, Math.min(CHUNK, end - bytes), bytes);
      if (length === 0) break;
      hash.update(chunk.subarray(0, length));
      bytes += length;
    }
    return { bytes, sha256: hash.digest('hex') };
  } finally {
    closeSync(descriptor);
  }
}
