// Reads the audit log: all files in order, whole records only, and records appended later.

import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { nextTurn } from '../core/async.js';
import { orNothing } from '../core/error.js';
import { isAlive } from '../files/process-identity.js';
import { readLines } from './file.js';
import { type AuditRecord, BEGINNINGS, type StartedRecord } from './line.js';
import { fileName, listFiles } from './log.js';
import { toInterrupted } from './record.js';

interface Position {
  readonly inode: number;
  /** Where the next line begins. */
  offset: number;
  /** Whether a line that is not complete yet begins there. */
  isPartial: boolean;
}

// What is read at once by those who do other work in between.
const PIECE = 256 * 1024;

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
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return;
    let position = positions.get(number);
    // Truncated or replaced: everything in it is new.
    if (position?.inode !== stats.ino || stats.size < position.offset)
      position = { inode: stats.ino, offset: 0, isPartial: false };
    positions.set(number, position);
    position.isPartial = false;
    let piece = position.offset;
    for (const { bytes, offset, end, isWhole } of readLines(path, position.offset)) {
      position.offset = isWhole ? end : offset;
      position.isPartial = !isWhole;
      if (isWhole) takeLine(bytes.toString('utf8'), take);
      if (Math.abs(offset - piece) < PIECE) continue;
      piece = offset;
      yield;
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
    skipped: (): number => skipped + [...positions.values()].filter(({ isPartial }) => isPartial).length,
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
