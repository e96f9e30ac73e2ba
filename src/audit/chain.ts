// The chain of the lines that one process appends to one file of the audit log, and what is noted about it beside the file.

import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { loadCrypto } from '../files/digest.js';
import { startTime } from '../files/process-identity.js';
import type { Link } from './line.js';

/** A line of the notes of a log file. */
export type Note =
  /** A chain begins. */
  | { readonly chain: string; readonly pid: number; readonly since: number }
  /** A chain has this many lines so far; `last` is the hash of the last one, `torn` the number of its partial lines. */
  | { readonly chain: string; readonly seq: number; readonly last: string; readonly torn: number; readonly end?: true }
  /** A next file was started. */
  | { readonly next: number };

export type Chain = ReturnType<typeof createChain>;

// After a line, the number of lines is noted in this time.
const NOTED_MS = 500;
const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;

/** `number` is that of the file. */
export function createChain(number: number, notes: string) {
  const chain = `${number}.${loadCrypto().randomBytes(9).toString('base64url')}`;
  let seq = 0;
  let last: string | null = null;
  let torn = 0;
  let timer: NodeJS.Timeout | undefined;

  // If it fails, the chain looks like that of a killed process.
  const noteLength = (end?: true): void => {
    clearTimeout(timer);
    timer = undefined;
    if (last === null) return;
    try {
      addNote(notes, { chain, seq, last, torn, ...(end && { end }) });
    } catch {}
  };

  return {
    /** Returns a line with its link. The first one of a chain is announced before it is written. */
    link(line: string, at: number, marks: Pick<Link, 'fresh' | 'pruned'>): string {
      if (last === null) addNote(notes, { chain, pid: process.pid, since: startTime(process.pid) ?? 0 }, O_CREAT);
      const link: Link = { chain, seq: seq + 1, prev: last, at, ...marks };
      return `${line.slice(0, -2)},${JSON.stringify(link).slice(1)}\n`;
    },
    /** Called with the line once it is in the file. */
    wrote(line: string): void {
      seq++;
      last = hashLine(line.slice(0, -1));
      timer ??= setTimeout(() => noteLength(), NOTED_MS).unref();
    },
    /** Called if only a part of a line is in the file. */
    tore(): void {
      torn++;
    },
    close(): void {
      noteLength(true);
    },
  };
}

/** Throws if notes cannot be added to a file; creates it if it does not exist. */
export function assertNotes(path: string): void {
  closeSync(openNotes(path, O_CREAT));
}

function openNotes(path: string, create: number): number {
  const descriptor = openSync(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | create, 0o600);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new Error(`${path} is not a regular file`);
}

/** Appends a note. Without `O_CREAT`, throws if the file does not exist. */
export function addNote(path: string, note: Note, create = 0): void {
  const descriptor = openNotes(path, create);
  try {
    // On a line of its own, whatever a killed process left before it.
    const bytes = Buffer.from(`\n${JSON.stringify(note)}\n`);
    if (writeSync(descriptor, bytes) < bytes.length) throw new Error(`${path} was not written whole`);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the hash of a line, without its newline. */
export function hashLine(line: string | Buffer): string {
  return loadCrypto().hash('sha256', line, 'base64url');
}
