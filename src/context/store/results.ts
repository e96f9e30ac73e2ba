// Results too large to be shown, as files: a payload that grows while a tool writes, and a note beside it.

import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../../core/json.js';
import type { FinishedResult, Handle, ResultStore, ResultWriter, StoredResult } from '../../core/store.js';
import { loadCrypto } from '../../files/crypto.js';
import { digestParts } from '../../files/digest.js';
import { readTextFile } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import { createTextCheck, describeParts, HEAD_BYTES } from './kind.js';

export interface ResultFilesOptions {
  /** The directory of the results; made when the first one is written. */
  readonly directory: () => string;
  readonly limits: () => ResultLimits;
  readonly now: () => number;
}

export interface ResultLimits {
  /** How long a result is kept after it was last read. */
  readonly keepMs: number;
  /** How much all results of a workdir may take together. */
  readonly totalBytes: number;
}

const ID = /^r_[A-Za-z0-9_-]{22}$/;
const NOTE = '.json';
// A result that was read this lately may be read on, and is never removed for room.
const READING_MS = 60_000;
// A payload without its note belongs to a call that still runs, or to one that was killed.
const UNFINISHED_MS = 24 * 3_600_000;
// JSON up to this size is parsed for its shape.
const MAX_PARSED = 64 * 1024 * 1024;

export function createResultFiles({ directory, limits, now }: ResultFilesOptions): ResultStore {
  let cleaned = false;

  const clean: ResultStore['clean'] = ({ dryRun = false } = {}) => {
    const { keepMs, totalBytes } = limits();
    const kept = readEntries(directory()).sort((a, b) => a.usedMs - b.usedMs);
    let total = kept.reduce((sum, entry) => sum + entry.bytes, 0);
    let results = 0;
    let bytes = 0;
    for (const entry of kept) {
      const age = now() - entry.usedMs;
      const old = age > (entry.finished ? keepMs : UNFINISHED_MS);
      if (!old && (total <= totalBytes || age < READING_MS || !entry.finished)) continue;
      if (!dryRun) removeEntry(directory(), entry.id);
      total -= entry.bytes;
      bytes += entry.bytes;
      results++;
    }
    return { results, bytes };
  };

  return {
    create(session) {
      mkdirSync(directory(), { recursive: true, mode: 0o700 });
      const id = `r_${loadCrypto().randomBytes(16).toString('base64url')}`;
      const writer = createWriter(join(directory(), id), id, digestParts(['session', session]));
      const finish = (): FinishedResult => {
        const finished = writer.finish();
        // Once for a process that makes one result; in a server with each that might be one too many.
        if (!cleaned || finished.handle.size > limits().totalBytes / 100) clean();
        cleaned = true;
        return finished;
      };
      return { ...writer, finish };
    },
    open(id, session) {
      if (!ID.test(id)) return undefined;
      const file = join(directory(), id);
      const note = readNote(file + NOTE);
      if (note === undefined || note.session !== digestParts(['session', session])) return undefined;
      return openResult(file, note.handle, now());
    },
    clean,
  };
}

interface Note {
  readonly session: string;
  readonly handle: Handle;
}

function createWriter(file: string, id: string, session: string): ResultWriter {
  const descriptor = openSync(file, 'wx', 0o600);
  const check = createTextCheck();
  const hash = loadCrypto().createHash('sha256');
  let head = Buffer.alloc(0);
  let size = 0;
  let open = true;
  const close = (): void => {
    if (open) closeSync(descriptor);
    open = false;
  };
  const discard = (): void => {
    close();
    unlinkQuietly(file);
  };
  return {
    write(chunk) {
      for (let offset = 0; offset < chunk.length; ) offset += writeSync(descriptor, chunk, offset);
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk]).subarray(0, HEAD_BYTES);
      check.add(chunk);
      hash.update(chunk);
      size += chunk.length;
    },
    finish() {
      close();
      try {
        // JSON is parsed only where that is cheap enough to be worth its shape.
        const text = () => (size > MAX_PARSED ? undefined : readTextFile(file, size + 1));
        const handle: Handle = { id, size, ...describeParts({ isText: check.isText(), head, size, text }) };
        // The note makes it a result: without it nobody can open it, and it is removed in time.
        writeFileAtomic(file + NOTE, JSON.stringify({ session, handle }), { durable: false });
        return { handle, sha256: hash.digest('hex') };
      } catch (error) {
        discard();
        throw error;
      }
    },
    discard,
  };
}

function openResult(file: string, handle: Handle, now: number): StoredResult | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
    // The time of the note is when it was last read; it keeps the result from being removed meanwhile.
    utimesSync(file + NOTE, now / 1000, now / 1000);
  } catch {
    return undefined;
  }
  return {
    handle,
    file,
    size: fstatSync(descriptor).size,
    read(offset, length) {
      const buffer = Buffer.alloc(Math.max(0, Math.min(length, handle.size - offset)));
      const read = buffer.length === 0 ? 0 : readSync(descriptor, buffer, 0, buffer.length, offset);
      return buffer.subarray(0, read);
    },
    close: () => closeSync(descriptor),
  };
}

function readNote(file: string): Note | undefined {
  try {
    const note: unknown = JSON.parse(readTextFile(file) ?? 'null');
    return isRecord(note) && typeof note.session === 'string' && isRecord(note.handle)
      ? (note as unknown as Note)
      : undefined;
  } catch {
    return undefined;
  }
}

interface Entry {
  readonly id: string;
  readonly bytes: number;
  readonly usedMs: number;
  readonly finished: boolean;
}

function readEntries(directory: string): Entry[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch {
    return [];
  }
  const notes = new Set(names.filter((name) => name.endsWith(NOTE)));
  return names
    .filter((name) => ID.test(name))
    .flatMap((id) => {
      const finished = notes.has(id + NOTE);
      const payload = statQuietly(join(directory, id));
      const note = finished ? statQuietly(join(directory, id + NOTE)) : undefined;
      if (payload === undefined) return [];
      return [{ id, bytes: payload.size, usedMs: (note ?? payload).mtimeMs, finished }];
    });
}

function removeEntry(directory: string, id: string): void {
  unlinkQuietly(join(directory, id + NOTE));
  unlinkQuietly(join(directory, id));
}

function statQuietly(path: string) {
  return statSync(path, { throwIfNoEntry: false });
}

// Another process may have removed it first.
function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Gone already.
  }
}
