// The output of a process in the background: the newest part of it, in files that other processes can read too.

import { closeSync, openSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { namesIn } from '../files/list.js';
import { readHead } from '../files/read.js';
import { removeFile } from '../files/remove.js';

/** A file is followed by another at this size, and the two newest are kept (BGR-3). */
const FILE_BYTES = 256 * 1024;

/** Creates the files of an output: `base`, a dot, the offset of the first byte, `.log`. */
export function createOutputFiles(base: string) {
  const starts: number[] = [];
  let size = 0;
  let descriptor: number | undefined;
  let fault: string | undefined;
  const close = (): void => {
    try {
      if (descriptor !== undefined) closeSync(descriptor);
    } catch (error) {
      fault = (error as Error).message;
    }
    descriptor = undefined;
  };
  const open = (): number => {
    close();
    descriptor = openSync(pathOf(base, size), 'ax', 0o600);
    starts.push(size);
    if (starts.length > 2) removeFile(pathOf(base, starts.shift()!));
    return descriptor;
  };
  return {
    /** Bytes that were written, also those that are no longer kept. */
    get size() {
      return size;
    },
    /** Why output could not be stored, if it could not. */
    get fault() {
      return fault;
    },
    append(text: string): void {
      if (fault !== undefined || text === '') return;
      try {
        const bytes = Buffer.from(text);
        const isFull = descriptor === undefined || size - starts.at(-1)! >= FILE_BYTES;
        const to = isFull ? open() : descriptor!;
        for (let at = 0; at < bytes.length; ) at += writeSync(to, bytes, at);
        size += bytes.length;
      } catch (error) {
        // Nothing more is stored: offsets would be wrong.
        fault = (error as Error).message;
      }
    },
    close,
  };
}

export interface OutputPart {
  readonly text: string;
  readonly from: number;
  /** Whether output from the given offset on is no longer kept. */
  readonly isGap: boolean;
  /** Where the next part begins. */
  readonly next: number;
  /** The end of what is kept. */
  readonly end: number;
}

/** Reads at most `most` bytes from an offset, in whole characters. */
export function readOutput(base: string, from: number, most: number): OutputPart {
  // The older one may have been removed since it was listed.
  const files = outputFiles(base).flatMap(({ path, start }) => {
    const reading = readHead(path, 2 * FILE_BYTES);
    return 'fault' in reading ? [] : [{ start, bytes: reading.bytes }];
  });
  const bytes = Buffer.concat(files.map((file) => file.bytes));
  const first = files[0]?.start ?? 0;
  const end = first + bytes.length;
  const start = toCharacter(bytes, Math.min(Math.max(from, first), end) - first, 1);
  const wanted = Math.min(start + Math.max(most, MOST_CHARACTER), bytes.length);
  const stop = wanted === bytes.length ? wanted : toCharacter(bytes, wanted, -1);
  const text = bytes.toString('utf8', start, stop);
  return { text, from: first + start, next: first + stop, end, isGap: from < first };
}

export function removeOutput(base: string): void {
  for (const { path } of outputFiles(base)) removeFile(path);
}

// Bytes of the longest character.
const MOST_CHARACTER = 4;
const NAME = /\.(\d{1,15})\.log$/;

// In order.
function outputFiles(base: string): { readonly path: string; readonly start: number }[] {
  const prefix = `${basename(base)}.`;
  return namesIn(dirname(base))
    .filter((name) => name.startsWith(prefix) && NAME.test(name))
    .map((name) => ({ path: join(dirname(base), name), start: Number(NAME.exec(name)![1]) }))
    .sort((one, other) => one.start - other.start);
}

function pathOf(base: string, start: number): string {
  return `${base}.${start}.log`;
}

// Moves to the next or last beginning of a character.
function toCharacter(bytes: Buffer, at: number, step: 1 | -1): number {
  let to = at;
  while (to > 0 && to < bytes.length && (bytes[to]! & 0xc0) === 0x80) to += step;
  return to;
}
