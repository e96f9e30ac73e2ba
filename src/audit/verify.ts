// Verifies the audit log: finds lines that were changed, dropped, moved, inserted or cut off (OBS-10).

import { join } from 'node:path';
import { orNothing } from '../core/error.js';
import { either, type Infer, integer, nullable, object, oneOf, optional, readShape, text } from '../core/shape.js';
import { isAlive } from '../files/process-identity.js';
import { hashLine } from './chain.js';
import { readLines } from './file.js';
import { BEGINNINGS } from './line.js';
import { fileName, listFiles, notesName } from './log.js';

export interface AuditProblem {
  /** Name of the file, and the number of the line in it; null if it is about the whole file. */
  readonly file: string;
  readonly line: number | null;
  readonly kind: 'changed' | 'missing' | 'moved' | 'inserted' | 'truncated' | 'removed';
  readonly message: string;
}

/** A process that did not end its chain: it runs, was killed, or did not close its toolbox. */
export interface OpenChain {
  readonly file: string;
  readonly pid: number;
  readonly state: 'running' | 'gone';
  readonly lines: number;
}

export interface Verification {
  readonly files: number;
  readonly lines: number;
  /** Lines that a process could not write to their end. */
  readonly partial: number;
  /** Number of the last file that was removed because enough others are kept, or 0. */
  readonly pruned: number;
  readonly open: readonly OpenChain[];
  /** By file and line; the first one is where to look. */
  readonly problems: readonly AuditProblem[];
}

const CHAIN = /^([1-9]\d{0,14})\.\S+$/;
const LINK = object(
  {
    chain: text('the number of a file, a dot and letters', CHAIN),
    seq: integer(1),
    prev: nullable(text()),
    at: integer(),
    fresh: optional(oneOf(true)),
    pruned: optional(integer(1)),
  },
  { unknown: 'drop' },
);
const BEGIN = object({ chain: text(), pid: integer(1), since: integer() });
const LENGTH = object({ chain: text(), seq: integer(1), last: text(), torn: integer(), end: optional(oneOf(true)) });
const NEXT = object({ next: integer(1) });
const NOTE = either([BEGIN, LENGTH, NEXT], 'a note');

interface Entry extends Infer<typeof LINK> {
  readonly line: number;
  readonly hash: string;
}

type Report = (line: number | null, kind: AuditProblem['kind'], message: string) => void;

const BRACE = 0x7d;

/** Verifies the files of a log. Other processes may be writing to it. */
export function verifyLog(directory: string): Verification {
  const numbers = listFiles(directory);
  const files = numbers.map((number) => ({ number, ...verifyFile(directory, number) }));
  const pruned = Math.max(0, ...files.map((file) => file.pruned));
  const problems = [...files.flatMap((file) => file.problems), ...findRemoved(directory, files, pruned)];
  problems.sort((a, b) => (a.file === b.file ? (a.line ?? 0) - (b.line ?? 0) : a.file < b.file ? -1 : 1));
  const sum = (of: (file: (typeof files)[number]) => number): number =>
    files.reduce((total, file) => total + of(file), 0);
  return {
    files: files.length,
    lines: sum(({ lines }) => lines),
    partial: sum(({ partial }) => partial),
    pruned,
    open: files.flatMap(({ open }) => open),
    problems,
  };
}

// Files whose successors, predecessors or notes are there, and that were not removed because enough others are kept.
function findRemoved(
  directory: string,
  files: readonly { readonly number: number; readonly next: readonly number[] }[],
  pruned: number,
): AuditProblem[] {
  const present = new Set(listFiles(directory));
  const noted = listFiles(directory, 'chains');
  const newest = Math.max(0, ...noted, ...files.flatMap(({ number, next }) => [number, ...next]));
  const removed: AuditProblem[] = [];
  for (let number = pruned + 1; number <= newest; number++)
    if (!present.has(number))
      removed.push({ file: fileName(number), line: null, kind: 'removed', message: 'the file is missing' });
  return removed;
}

function verifyFile(directory: string, number: number) {
  const file = fileName(number);
  const problems: AuditProblem[] = [];
  const reported = new Set<number | null>();
  const report: Report = (line, kind, message) => {
    if (!reported.has(line)) problems.push({ file, line, kind, message });
    reported.add(line);
  };
  // Lines are added meanwhile: lengths must be those from before reading them, beginnings those from after it.
  const { lengths } = readNotes(join(directory, notesName(number)));
  const read = readEntries(join(directory, file));
  const notes = readNotes(join(directory, notesName(number)));
  for (const line of notes.damaged)
    problems.push({ file: notesName(number), line, kind: 'changed', message: 'is not a note of wield' });

  const begun = new Map(notes.begins.map((begin) => [begin.chain, begin]));
  const ended = new Set(notes.lengths.flatMap(({ chain, end }) => (end ? [chain] : [])));
  const lengthsOf = new Map<string, Infer<typeof LENGTH>[]>();
  for (const length of lengths) add(lengthsOf, length.chain, length);
  for (const chain of new Set([...read.chains.keys(), ...lengthsOf.keys()])) {
    const entries = read.chains.get(chain) ?? [];
    const home = Number(CHAIN.exec(chain)?.[1] ?? number);
    if (home !== number) report(entries[0]?.line ?? read.end, 'moved', `is of ${fileName(home)}`);
    else if (begun.has(chain)) judgeChain(entries, lengthsOf.get(chain) ?? [], read.end, report);
    else report(entries[0]?.line ?? read.end, 'inserted', 'is of no process that wrote to this file');
  }
  for (const line of read.strange) report(line, 'inserted', 'is not a whole line of wield: it was changed or inserted');
  const early = read.firstEarly;
  if (early !== undefined) report(early, 'missing', 'lines before it were dropped or moved');
  // Each interrupted process left one partial line at most.
  const torn = new Map(notes.lengths.map((length) => [length.chain, length.torn]));
  const open = notes.begins.filter(({ chain }) => !ended.has(chain));
  const explained = open.length + [...torn.values()].reduce((total, lines) => total + lines, 0);
  if (read.partial.length > explained)
    report(read.partial.at(-1)!, 'truncated', 'is not whole, although no process was interrupted');
  return {
    next: notes.next,
    pruned: read.pruned,
    problems,
    lines: read.lines,
    partial: read.partial.length,
    open: open.map(({ chain, pid, since }): OpenChain => {
      const state = isAlive(pid, since) ? 'running' : 'gone';
      return { file, pid, state, lines: read.chains.get(chain)?.length ?? 0 };
    }),
  };
}

// Lines of one chain, in the order of the file.
function judgeChain(
  entries: readonly Entry[],
  lengths: readonly Infer<typeof LENGTH>[],
  end: number,
  report: Report,
): void {
  const noted = new Map(lengths.map(({ seq, last }) => [seq, last]));
  let before: Entry | undefined;
  for (const [at, entry] of entries.entries()) {
    const expected = (before?.seq ?? 0) + 1;
    if (entry.seq < expected) {
      report(entry.line, 'moved', 'comes after later lines of its process: it was moved or inserted');
      continue;
    }
    const isNoted = noted.get(entry.seq) === entry.hash;
    if (entry.seq > expected)
      report(entry.line, 'missing', `${entry.seq - expected} lines of its process are missing before it`);
    else if (entry.prev !== (before?.hash ?? null)) {
      // One of the two was changed; what follows knows which.
      const isGenuine = isNoted || entries[at + 1]?.prev === entry.hash;
      report((isGenuine ? before?.line : undefined) ?? entry.line, 'changed', 'was changed');
    }
    if (noted.has(entry.seq) && !isNoted) report(entry.line, 'changed', 'was changed');
    before = entry;
  }
  const last = before?.seq ?? 0;
  const length = lengths.reduce((longest, { seq }) => Math.max(longest, seq), 0);
  if (length > last) report(end, 'truncated', `${length - last} lines of a process are missing at the end of the file`);
  else if (last > length && lengths.some((one) => one.end))
    report(before!.line, 'inserted', 'is later than the end of its process');
}

function readEntries(path: string) {
  const chains = new Map<string, Entry[]>();
  const partial: number[] = [];
  const strange: number[] = [];
  let waiting: number[] = [];
  let isEmpty = false;
  let lines = 0;
  let end = 1;
  let firstEarly: number | undefined;
  let pruned = 0;
  for (const { offset, bytes, isWhole } of readLines(path)) {
    const number = end++;
    const found = isWhole ? parseLine(bytes) : undefined;
    if (found === undefined) {
      waiting.push(number);
      isEmpty = bytes.length === 0;
      continue;
    }
    const { link, hash, skipped } = found;
    // A line after a partial one says so, and begins with a newline; that one may have been completed after it was looked at.
    const wasCompleted = link.fresh && waiting.length === 1 && isEmpty;
    if (!wasCompleted) (link.fresh ? partial : strange).push(...waiting);
    waiting = [];
    if (skipped > 0) partial.push(number);
    lines++;
    pruned = Math.max(pruned, link.pruned ?? 0);
    if (offset + skipped < link.at) firstEarly ??= number;
    add(chains, link.chain, { ...link, line: number, hash });
  }
  partial.push(...waiting.slice(-1));
  strange.push(...waiting.slice(0, -1));
  return { chains, partial, strange, lines, end, firstEarly, pruned };
}

// A process that was killed can leave the beginning of a line before that of another process.
function parseLine(bytes: Buffer): { link: Infer<typeof LINK>; hash: string; skipped: number } | undefined {
  const starts = new Set([0, ...BEGINNINGS.map((beginning) => bytes.lastIndexOf(beginning))]);
  for (const skipped of starts) {
    if (skipped < 0) continue;
    const line = bytes.subarray(skipped);
    const { value, faults } = readShape(
      LINK,
      orNothing(() => JSON.parse(line.toString('utf8'))),
    );
    if (value !== undefined && faults.length === 0) return { link: value, hash: hashLine(line), skipped };
  }
  return undefined;
}

function add<V>(lists: Map<string, V[]>, key: string, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function readNotes(path: string) {
  const begins: Infer<typeof BEGIN>[] = [];
  const lengths: Infer<typeof LENGTH>[] = [];
  const next: number[] = [];
  const damaged: number[] = [];
  let number = 0;
  for (const { bytes } of readLines(path)) {
    number++;
    if (bytes.length === 0) continue;
    const { value } = readShape(
      NOTE,
      orNothing(() => JSON.parse(bytes.toString('utf8'))),
    );
    // What a process could not write to its end has no closing brace.
    if (value === undefined) bytes.at(-1) === BRACE && damaged.push(number);
    else if ('next' in value) next.push(value.next);
    else if ('pid' in value) begins.push(value);
    else lengths.push(value);
  }
  return { begins, lengths, next, damaged };
}
