// Reads the audit log: all files in order, whole records only, and records appended later.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { nextTurn } from '../core/async.js';
import { orNothing, ToolError } from '../core/error.js';
import { isAlive } from '../files/process-identity.js';
import { checkParents, findUnsafe, toFileError, unsafeState } from '../files/state.js';
import { type AuditRecord, BEGINNINGS, type StartedRecord } from './line.js';
import { fileName, listFiles } from './log.js';
import { toInterrupted } from './record.js';

interface Position {
  readonly inode: number;
  offset: number;
  /** The start of a line that is not complete yet. */
  rest: Buffer;
}

const CHUNK = 256 * 1024;
const NEWLINE = 0x0a;

export function createAuditReader(directory: string) {
  const positions = new Map<number, Position>();
  let skipped = 0;
  // Calls of which no end was read yet.
  const open = new Map<string, StartedRecord>();

  // Returns false if it is not a whole line.
  const takeWhole = (line: string, take: (record: AuditRecord) => void): boolean => {
    const started = parseStarted(line);
    if (started !== undefined) open.set(keyOf(started), started);
    const record = started === undefined ? parseRecord(line) : undefined;
    if (record !== undefined) {
      open.delete(keyOf(record));
      take(record);
    }
    return started !== undefined || record !== undefined;
  };
  const takeLine = (line: string, take: (record: AuditRecord) => void): void => {
    if (line === '' || takeWhole(line, take)) return;
    skipped++;
    // A partial line followed by a whole one, from two processes.
    const start = Math.max(...BEGINNINGS.map((beginning) => line.lastIndexOf(beginning)));
    if (start > 0) takeWhole(line.slice(start), take);
  };

  // Yields after each piece.
  function* readFile(number: number, take: (record: AuditRecord) => void): Generator<undefined> {
    const path = join(directory, fileName(number));
    const descriptor = tryOpen(path);
    if (descriptor === undefined) return;
    try {
      const { size, ino: inode } = fstatSync(descriptor);
      let position = positions.get(number);
      // Truncated or replaced: everything in it is new.
      if (position === undefined || position.inode !== inode || size < position.offset) {
        position = { inode, offset: 0, rest: Buffer.alloc(0) };
        positions.set(number, position);
      }
      for (;;) {
        const chunk = Buffer.allocUnsafe(CHUNK);
        const length = readSync(descriptor, chunk, 0, CHUNK, position.offset);
        if (length === 0) break;
        position.offset += length;
        let bytes = Buffer.concat([position.rest, chunk.subarray(0, length)]);
        for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE)) {
          takeLine(bytes.toString('utf8', 0, end), take);
          bytes = bytes.subarray(end + 1);
        }
        position.rest = bytes;
        yield;
      }
    } finally {
      closeSync(descriptor);
    }
  }

  function* readAll(take: (record: AuditRecord) => void): Generator<undefined> {
    const numbers = listFiles(directory);
    for (const number of numbers) yield* readFile(number, take);
    for (const number of positions.keys()) if (!numbers.includes(number)) positions.delete(number);
  }

  // Calls whose process is gone. What it wrote last is read first.
  function* readEnded(take: (record: AuditRecord) => void): Generator<undefined> {
    const ended = [...open].filter(([, { pid, since }]) => !isAlive(pid, since));
    if (ended.length === 0) return;
    yield* readAll(take);
    for (const [key, started] of ended) if (open.get(key) === started && open.delete(key)) take(toInterrupted(started));
  }

  return {
    /** Passes on the records that were appended since the last read, in order. */
    read(take: (record: AuditRecord) => void): void {
      for (const _ of readAll(take));
      for (const _ of readEnded(take));
    },
    /** The same, in pieces: other work is done in between. One at a time. */
    async readInTurns(take: (record: AuditRecord) => void): Promise<void> {
      for (const _ of readAll(take)) await nextTurn();
      for (const _ of readEnded(take)) await nextTurn();
    },
    /** Number of lines so far that were not whole records. */
    skipped: (): number => skipped + [...positions.values()].filter(({ rest }) => rest.length > 0).length,
  };
}

/** Parses a line; undefined if it is not a whole record. */
export function parseRecord(line: string): AuditRecord | undefined {
  const value = orNothing(() => JSON.parse(line) as AuditRecord | null);
  return typeof value?.time === 'string' && typeof value.tool === 'string' ? value : undefined;
}

function parseStarted(line: string): StartedRecord | undefined {
  if (!line.startsWith('{"started":"')) return undefined;
  const value = orNothing(() => JSON.parse(line) as StartedRecord);
  return Number.isSafeInteger(value?.pid) && typeof value?.tool === 'string' ? value : undefined;
}

function keyOf({ pid, since, call }: Pick<AuditRecord, 'pid' | 'since' | 'call'>): string {
  return `${pid} ${since} ${call}`;
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
