// Reads a file of the audit log: opened safely, and line by line.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { ToolError } from '../core/error.js';
import { checkParents, findUnsafe, toFileError, unsafeState } from '../files/state.js';

export interface LogLine {
  /** Without its newline. */
  readonly bytes: Buffer;
  /** Where it begins, and where the next one does. */
  readonly offset: number;
  readonly end: number;
  /** False for what follows the last newline of a file. */
  readonly isWhole: boolean;
}

const CHUNK = 256 * 1024;
const NEWLINE = 0x0a;

/** Yields the lines of a file from an offset on; none if there is no file, all if it is shorter than that. */
export function* readLines(path: string, from = 0): Generator<LogLine> {
  const descriptor = tryOpen(path);
  if (descriptor === undefined) return;
  try {
    let offset = from > fstatSync(descriptor).size ? 0 : from;
    let rest = Buffer.alloc(0);
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const length = readSync(descriptor, chunk, 0, CHUNK, offset + rest.length);
      if (length === 0) break;
      rest = Buffer.concat([rest, chunk.subarray(0, length)]);
      let start = 0;
      for (let end = rest.indexOf(NEWLINE); end !== -1; end = rest.indexOf(NEWLINE, start)) {
        yield { bytes: rest.subarray(start, end), offset: offset + start, end: offset + end + 1, isWhole: true };
        start = end + 1;
      }
      rest = rest.subarray(start);
      offset += start;
    }
    if (rest.length > 0) yield { bytes: rest, offset, end: offset + rest.length, isWhole: false };
  } finally {
    closeSync(descriptor);
  }
}

/** Opens a file of the log; undefined if there is none. Throws if another user could have written it. */
export function tryOpen(path: string): number | undefined {
  try {
    checkParents(path);
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(descriptor);
    if (findUnsafe(stats) === undefined && stats.isFile()) return descriptor;
    closeSync(descriptor);
    if (findUnsafe(stats) !== undefined) throw unsafeState(path, stats);
    throw new ToolError('io', `cannot read ${path}: it is not a regular file`, {
      hint: 'move it away',
      data: { path },
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Removed since it was listed, or a link or socket.
    if (code === 'ENOENT' || code === 'ELOOP' || code === 'ENXIO') return undefined;
    throw toFileError(error, 'read', path);
  }
}
