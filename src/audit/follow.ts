// Reads the audit log from a position on, in pieces of whole lines, for those who send it elsewhere.

import { closeSync, fstatSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileName, listFiles } from './log.js';
import { tryOpen } from './read.js';

export interface LogPosition {
  /** Number of a file. */
  readonly file: number;
  readonly offset: number;
}

export interface LogPiece {
  readonly lines: readonly string[];
  readonly next: LogPosition;
  /** Whether files were removed before they were read. */
  readonly lost: boolean;
}

const MAX_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

/** Returns the next lines; undefined if there are none. Without a position, begins with the newest file. */
export function readPiece(directory: string, from: LogPosition | undefined): LogPiece | undefined {
  const numbers = listFiles(directory);
  const newest = numbers.at(-1);
  if (newest === undefined) return undefined;
  const lost = from !== undefined && !numbers.includes(from.file);
  let position = from === undefined ? { file: newest, offset: 0 } : lost ? { file: numbers[0]!, offset: 0 } : from;
  for (;;) {
    const { bytes, offset } = readBytes(join(directory, fileName(position.file)), position.offset);
    const end = bytes.lastIndexOf(NEWLINE) + 1;
    if (end > 0) {
      const lines = bytes.toString('utf8', 0, end).split('\n');
      return { lines: lines.filter((line) => line !== ''), next: { ...position, offset: offset + end }, lost };
    }
    // What follows the last newline of an older file is a partial line.
    const next = numbers.find((number) => number > position.file);
    if (next === undefined) return lost ? { lines: [], next: position, lost } : undefined;
    position = { file: next, offset: 0 };
  }
}

function readBytes(path: string, from: number): { readonly bytes: Buffer; readonly offset: number } {
  const descriptor = tryOpen(path);
  if (descriptor === undefined) return { bytes: Buffer.alloc(0), offset: from };
  try {
    const { size } = fstatSync(descriptor);
    // A file that was cut is read again from its beginning.
    const offset = from > size ? 0 : from;
    const bytes = Buffer.allocUnsafe(Math.min(MAX_BYTES, size - offset));
    return { bytes: bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, offset)), offset };
  } finally {
    closeSync(descriptor);
  }
}
