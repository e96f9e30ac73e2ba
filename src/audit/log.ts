// The files of the audit log: numbered, appended by any number of processes, one whole line per write.

import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { SinkSettings } from '../core/settings.js';
import { makeDirectory } from '../files/make-directory.js';
import { checkStateDirectory, findUnsafe, toFileError, unsafeState } from '../files/state.js';
import { addNote, assertNotes, type Chain, createChain } from './chain.js';
import { findSlowest } from './positions.js';
import { MAX_LINE } from './record.js';

export interface AuditLog {
  /** Appends a line, a JSON object, with one write; returns it as it was written. Throws if that fails. */
  append(line: string, sizes: LogSizes): string;
  /** Reserves disk space for one more line. Throws if there is none. */
  reserve(sizes: LogSizes): void;
  close(): void;
}

export interface LogSizes {
  /** Size at which the next file is started. */
  readonly rotateBytes: number;
  /** Number of full files that are kept. */
  readonly keep: number;
  /** Those that must get a file before it is removed. */
  readonly sinks?: readonly SinkSettings[];
}

interface OpenFile {
  readonly descriptor: number;
  readonly number: number;
  readonly path: string;
  readonly inode: number;
  readonly device: number;
  readonly chain: Chain;
  /** Older files that are removed once a line of this one says so (OBS-10). */
  surplus: readonly number[];
}

// Of a line with its link and a note.
const RESERVED = MAX_LINE + 4096;
const NEWLINE = 0x0a;
const ATTEMPTS = 5;
const MAX_READS = 5;
const MAX_OPENED = 100;
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_WRONLY } = constants;

export function createAuditLog(directory: string): AuditLog {
  const reserved = join(directory, 'reserve');
  let file: OpenFile | undefined;
  // The size of the file after our last line: it then ends with that line, unless another process wrote.
  let endOfOurs = -1;

  const close = (): void => {
    if (file !== undefined) {
      file.chain.close();
      closeSync(file.descriptor);
    }
    file = undefined;
    endOfOurs = -1;
  };

  // Rotation opens the next number. Nothing is renamed, so parallel rotations have the same result.
  const openNext = (after: number, sizes: LogSizes): OpenFile => {
    close();
    const numbers = listFiles(directory);
    const newest = numbers.at(-1) ?? 0;
    const number = newest > after ? newest : after + 1;
    file = openFile(directory, number);
    if (number > newest && newest > 0) {
      addNote(join(directory, notesName(newest)), { next: number }, O_CREAT);
      file.surplus = findSurplus(numbers, sizes);
    }
    return file;
  };

  const findSurplus = (numbers: readonly number[], { keep, sinks = [] }: LogSizes): readonly number[] => {
    const needed = findSlowest(directory, sinks)?.file ?? Number.POSITIVE_INFINITY;
    return numbers.slice(0, Math.max(0, numbers.length - keep)).filter((old) => old < needed);
  };
  const removeSurplus = (current: OpenFile): void => {
    for (const name of current.surplus.flatMap((old) => [fileName(old), notesName(old)]))
      tryUnlink(join(directory, name));
    current.surplus = [];
  };

  // Reopens a file that was moved or removed, and rotates a full one.
  const openCurrent = (sizes: LogSizes): { current: OpenFile; size: number } => {
    for (let opened = 0; opened < MAX_OPENED; opened++) {
      const current = file ?? openNext(0, sizes);
      const stats = statSync(current.path, { throwIfNoEntry: false });
      if (stats === undefined || stats.ino !== current.inode || stats.dev !== current.device) close();
      else if (stats.size >= sizes.rotateBytes) openNext(current.number, sizes);
      else return { current, size: stats.size };
    }
    throw new Error('its files are removed or filled as fast as they are created');
  };

  const append = (line: string, sizes: LogSizes): string => {
    for (let attempt = 1; ; attempt++) {
      try {
        const { current, size } = openCurrent(sizes);
        // A process that was killed while writing leaves a partial line; this one starts on its own line.
        const isWhole = size === endOfOurs || endsWhole(current.descriptor, size);
        const pruned = current.surplus.at(-1);
        const linked = current.chain.link(line, size, { ...(!isWhole && { fresh: true }), ...(pruned && { pruned }) });
        const bytes = Buffer.from(isWhole ? linked : `\n${linked}`);
        const written = writeSync(current.descriptor, bytes);
        if (written < bytes.length) {
          current.chain.tore();
          throw new Error(`only ${written} of ${bytes.length} bytes were written`);
        }
        const stats = fstatSync(current.descriptor);
        endOfOurs = stats.size === size + written ? stats.size : -1;
        // Removed while writing: the line is lost with the file.
        if (stats.nlink > 0) {
          current.chain.wrote(linked);
          removeSurplus(current);
          return linked;
        }
        close();
        if (attempt >= ATTEMPTS) throw new Error('its files are removed as fast as they are created');
      } catch (error) {
        if (attempt >= ATTEMPTS || !tryUnlink(reserved)) throw error;
      }
    }
  };

  return {
    append,
    reserve(sizes) {
      const { current } = openCurrent(sizes);
      assertNotes(join(directory, notesName(current.number)));
      if (statSync(reserved, { throwIfNoEntry: false })?.size !== RESERVED) writeReserve(reserved);
    },
    close,
  };
}

/** Returns the numbers of the log files, or of those with their notes, oldest first. */
export function listFiles(directory: string, kind: 'jsonl' | 'chains' = 'jsonl'): number[] {
  try {
    const nameOf = kind === 'jsonl' ? fileName : notesName;
    return readdirSync(directory)
      .map((name) => ({ name, number: Number(/^\d{6,15}/.exec(name)?.[0] ?? 0) }))
      .filter(({ name, number }) => number > 0 && name === nameOf(number))
      .map(({ number }) => number)
      .sort((a, b) => a - b);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw toFileError(error, 'read', directory);
  }
}

export function fileName(number: number): string {
  return `${String(number).padStart(6, '0')}.jsonl`;
}

/** Returns the name of the file with notes about the chains of a log file. */
export function notesName(number: number): string {
  return `${String(number).padStart(6, '0')}.chains`;
}

function openFile(directory: string, number: number): OpenFile {
  const path = join(directory, fileName(number));
  checkStateDirectory(directory);
  // Readable, for its last byte; no links, and no waiting on a pipe.
  const open = (): number => openSync(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  let descriptor: number;
  try {
    descriptor = open();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    makeDirectory(directory);
    descriptor = open();
  }
  const stats = fstatSync(descriptor);
  if (findUnsafe(stats) !== undefined) {
    closeSync(descriptor);
    throw unsafeState(path, stats);
  }
  if (stats.isFile()) {
    const chain = createChain(number, join(directory, notesName(number)));
    return { descriptor, number, path, inode: stats.ino, device: stats.dev, chain, surplus: [] };
  }
  closeSync(descriptor);
  throw new Error(`${path} is not a regular file`);
}

// Whether the file ends with a newline. Reads again a few times, because another process may be writing a line.
function endsWhole(descriptor: number, size: number): boolean {
  const last = Buffer.alloc(1);
  for (let reads = 1, end = size; ; reads++) {
    if (end === 0 || readSync(descriptor, last, 0, 1, end - 1) === 0 || last[0] === NEWLINE) return true;
    if (reads === MAX_READS) return false;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    end = fstatSync(descriptor).size;
  }
}

// Space that is freed when the disk is full, so that a call that ran is still recorded.
function writeReserve(path: string): void {
  const descriptor = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600);
  let complete = false;
  try {
    ftruncateSync(descriptor, 0);
    const written = writeSync(descriptor, Buffer.alloc(RESERVED, 0x20));
    if (written < RESERVED) throw new Error('no space is left for a record');
    complete = true;
  } finally {
    closeSync(descriptor);
    if (!complete) tryUnlink(path);
  }
}

/** Removes a file; returns whether it existed. */
function tryUnlink(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch {
    return false;
  }
}
