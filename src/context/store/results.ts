// Large results as files: a payload that is written while a tool runs, and a metadata file beside it.

import { closeSync, fstatSync, openSync, readSync, unlinkSync, utimesSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { orNothing } from '../../core/error.js';
import { converted, type Infer, object, optional, string, strings, table } from '../../core/shape.js';
import type { FinishedResult, Handle, ResultStore, ResultWriter, StoredResult } from '../../core/store.js';
import { digestParts, loadCrypto } from '../../files/digest.js';
import { namesIn } from '../../files/list.js';
import { openState, readStateAs, readTextFile, statOrNothing } from '../../files/read.js';
import { createStateDirectory } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';
import { createTextCheck, describeParts, HEAD_BYTES } from './describe-content.js';

export interface ResultFilesOptions {
  /** Created when the first result is written. */
  readonly directory: () => string;
  readonly now: () => number;
}

const ID = /^r_[A-Za-z0-9_-]{22}$/;
const METADATA = '.json';
// A result that was written or read within this time is not removed, unless all take twice the space they may.
const READING_MS = 60_000;
// A payload without metadata belongs to a running call, or to one that was killed.
const UNFINISHED_MS = 24 * 3_600_000;
// Larger JSON is not parsed for its shape.
const MAX_PARSED_BYTES = 64 * 1024 * 1024;

/** Results in files, which may be copies of those of another machine. */
export interface ResultFiles extends ResultStore {
  readonly directory: () => string;
  open(id: string, session: string, keepMs?: number): StoredResult | undefined;
  adopt(id: string, session: string): void;
}

/** Returns what is stored of a session: its hash. */
export function ownerOf(session: string): string {
  return digestParts(['session', session]);
}

export function createResultFiles({ directory, now }: ResultFilesOptions): ResultFiles {
  // Bytes written since the last cleaning; the first result of a process cleans.
  let written = Number.POSITIVE_INFINITY;

  const clean: ResultStore['clean'] = ({ keepMs, totalBytes }, { dryRun = false } = {}) => {
    const entries = readEntries(directory()).sort((a, b) => a.usedMs - b.usedMs);
    let total = entries.reduce((sum, entry) => sum + entry.bytes, 0);
    let results = 0;
    let bytes = 0;
    for (const entry of entries) {
      const age = now() - entry.usedMs;
      const old = age > (entry.finished ? keepMs : UNFINISHED_MS);
      const inUse = !entry.finished || (age < READING_MS && total <= 2 * totalBytes);
      if (!old && (total <= totalBytes || inUse)) continue;
      if (!dryRun) removeEntry(directory(), entry.id);
      total -= entry.bytes;
      bytes += entry.bytes;
      results++;
    }
    return { results, bytes };
  };

  return {
    create(session, limits) {
      createStateDirectory(directory());
      const id = `r_${loadCrypto().randomBytes(16).toString('base64url')}`;
      const writer = createWriter(join(directory(), id), id, ownerOf(session));
      const finish = (labels?: readonly string[]): FinishedResult => {
        const finished = writer.finish(labels);
        written += finished.handle.size;
        if (written > limits.totalBytes / 100) {
          clean(limits);
          written = 0;
        }
        return finished;
      };
      return { ...writer, finish };
    },
    open(id, session, keepMs = Number.POSITIVE_INFINITY) {
      if (!ID.test(id)) return undefined;
      const file = join(directory(), id);
      const metadata = readStateAs(STORED, file + METADATA);
      if (metadata?.session !== ownerOf(session)) return undefined;
      const usedMs = statOrNothing(file + METADATA)?.mtimeMs ?? 0;
      if (now() - usedMs > keepMs) {
        removeEntry(directory(), id);
        return undefined;
      }
      return openResult(file, metadata, now());
    },
    adopt(id, session) {
      const file = join(directory(), id) + METADATA;
      const metadata = ID.test(id) ? readStateAs(STORED, file) : undefined;
      if (metadata === undefined || metadata.session === ownerOf(session)) return;
      writeFileAtomic(file, JSON.stringify({ ...metadata, session: ownerOf(session) }), { durable: false });
    },
    clean,
    directory,
  };
}

/** Starts the copy of a result of another machine; `owner` is what `ownerOf` returns for its session. */
export function copyResult({ directory }: ResultFiles, id: string, owner: string): ResultWriter {
  createStateDirectory(directory());
  const file = join(directory(), id);
  // Of a process that was killed: with its metadata it would have been opened.
  removeQuietly(file);
  return createWriter(file, id, owner);
}

export function isResultId(id: string): boolean {
  return ID.test(id);
}

/** Written by this file only, so that nothing else is checked. */
const STORED = object(
  {
    session: string,
    handle: converted(table, (handle) => handle as unknown as Handle),
    labels: optional(strings),
  },
  { unknown: 'drop' },
);

type Stored = Infer<typeof STORED>;

// Starts a file; `session` is the owner of the result.
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
    removeQuietly(file);
  };
  return {
    write(chunk) {
      for (let offset = 0; offset < chunk.length; ) offset += writeSync(descriptor, chunk, offset);
      if (head.length < HEAD_BYTES) head = Buffer.concat([head, chunk]).subarray(0, HEAD_BYTES);
      check.add(chunk);
      hash.update(chunk);
      size += chunk.length;
    },
    finish(labels = []) {
      close();
      try {
        const text = () => (size > MAX_PARSED_BYTES ? undefined : readTextFile(file, size + 1));
        const handle: Handle = { id, size, ...describeParts({ isText: check.isText(), head, size, text }) };
        // Only with its metadata can the result be opened.
        writeFileAtomic(file + METADATA, JSON.stringify({ session, handle, labels }), { durable: false });
        return { handle, sha256: hash.digest('hex') };
      } catch (error) {
        discard();
        throw error;
      }
    },
    discard,
  };
}

function openResult(file: string, { handle, labels }: Stored, now: number): StoredResult | undefined {
  let descriptor: number;
  try {
    descriptor = openState(file);
    // The metadata's modification time records the last read.
    utimesSync(file + METADATA, now / 1000, now / 1000);
  } catch {
    return undefined;
  }
  return {
    handle,
    labels,
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

interface Entry {
  readonly id: string;
  readonly bytes: number;
  readonly usedMs: number;
  readonly finished: boolean;
}

function readEntries(directory: string): Entry[] {
  return namesIn(directory)
    .filter((name) => ID.test(name))
    .flatMap((id) => {
      const payload = statOrNothing(join(directory, id));
      const metadata = statOrNothing(join(directory, id + METADATA));
      if (payload === undefined) return [];
      return [{ id, bytes: payload.size, usedMs: (metadata ?? payload).mtimeMs, finished: metadata !== undefined }];
    });
}

function removeEntry(directory: string, id: string): void {
  for (const name of [id + METADATA, id]) removeQuietly(join(directory, name));
}

// Another process may remove it, too.
function removeQuietly(path: string): void {
  orNothing(() => unlinkSync(path));
}
