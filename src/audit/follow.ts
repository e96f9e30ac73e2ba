// Reads the audit log from a position on, in pieces of whole lines, for those who send it elsewhere.

import { join } from 'node:path';
import { readLines } from './file.js';
import { fileName, listFiles } from './log.js';

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

/** Returns the next lines; undefined if there are none. Without a position, begins with the newest file. */
export function readPiece(directory: string, from: LogPosition | undefined): LogPiece | undefined {
  const numbers = listFiles(directory);
  const newest = numbers.at(-1);
  if (newest === undefined) return undefined;
  const lost = from !== undefined && !numbers.includes(from.file);
  let position = from === undefined ? { file: newest, offset: 0 } : lost ? { file: numbers[0]!, offset: 0 } : from;
  for (;;) {
    const { file } = position;
    let next: LogPosition | undefined;
    let bytes = 0;
    const lines: string[] = [];
    for (const line of readLines(join(directory, fileName(file)), position.offset)) {
      bytes += line.end - line.offset;
      if (!line.isWhole || bytes > MAX_BYTES) break;
      if (line.bytes.length > 0) lines.push(line.bytes.toString('utf8'));
      next = { file, offset: line.end };
    }
    if (next !== undefined) return { lines, next, lost };
    // What follows the last newline of an older file is a partial line.
    const newer = numbers.find((number) => number > file);
    if (newer === undefined) return lost ? { lines, next: position, lost } : undefined;
    position = { file: newer, offset: 0 };
  }
}
