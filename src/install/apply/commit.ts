// Commits a change of what is installed: journal, links, record. A kill at any moment leaves the old or the new state.

import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isToolError, ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { loadCrypto } from '../../files/crypto.js';
import { writeFileAtomic } from '../../files/write.js';
import type { Paths } from '../environment.js';
import type { Installed } from '../manifest/installed.js';
import { loadInstalled, saveInstalled } from '../state.js';
import {
  isOccupied,
  type Link,
  missingAbove,
  putLink,
  readLink,
  removeEmpty,
  removeLink,
  TEMPORARY,
} from './links.js';

/** What happens to one path of the store, and to the links that lead to it. */
export interface Change {
  readonly store: string;
  /** The names of the objects; null where there is none. */
  readonly before: string | null;
  readonly after: string | null;
  readonly linksBefore: readonly Link[];
  readonly linksAfter: readonly Link[];
  /** Files of the user that are moved out of the way of a link. */
  readonly aside: readonly { readonly path: string; readonly to: string }[];
}

interface Journal {
  readonly id: string;
  readonly changes: readonly Change[];
  /** Objects that are new with this transaction. */
  readonly objects: readonly string[];
  /** Directories that are made for links. */
  readonly made: readonly string[];
}

export interface Transaction {
  readonly id: string;
  /** Where items are staged: on the file system of the objects, since a rename commits (F12). */
  readonly staging: string;
}

const STAGING = '.staging-';

export function beginTransaction(paths: Paths): Transaction {
  const id = loadCrypto().randomBytes(9).toString('hex');
  const staging = join(paths.objects, `${STAGING}${id}`);
  mkdirSync(staging, { recursive: true, mode: 0o700 });
  return { id, staging };
}

export function endTransaction({ staging }: Transaction, paths: Paths): void {
  rmSync(staging, { recursive: true, force: true });
  removeEmpty([paths.objects]);
}

export interface CommitOptions {
  readonly paths: Paths;
  readonly transaction: Transaction;
  readonly changes: readonly Change[];
  /** Staged directories and the objects that they become. */
  readonly staged: readonly { readonly directory: string; readonly object: string }[];
  /** Runs when all links lead to the new state; where it throws, everything is restored (HOOK-3). */
  readonly beforeRecord: () => Promise<void>;
  /** The state to record, asked for after that. */
  readonly next: (made: readonly string[]) => Omit<Installed, 'transaction'>;
}

/** Carries out a transaction; any failure restores what was there, byte for byte (INS-23). */
export async function commit(options: CommitOptions): Promise<void> {
  const { paths, transaction, changes, staged, beforeRecord, next } = options;
  const made = changes.flatMap(({ linksAfter }) =>
    linksAfter.flatMap(({ path }) => missingAbove(dirname(path))),
  );
  const journal: Journal = {
    id: transaction.id,
    changes,
    objects: staged.map(({ object }) => object),
    made: [...new Set(made)],
  };
  writeFileAtomic(paths.journal, `${JSON.stringify({ version: 1, ...journal })}\n`);
  try {
    for (const { directory, object } of staged) renameSync(directory, join(paths.objects, object));
    for (const change of changes) apply(change, paths);
    await beforeRecord();
    saveInstalled(paths, { ...next(journal.made), transaction: transaction.id });
  } catch (error) {
    // The record decides: where it is the new one already, only the sync of its directory failed. The journal stays,
    // and the next command looks again (INS-31).
    if (isRecorded(journal, paths))
      throw toIoError(error, paths, 'the change is made, but the disk did not confirm it');
    rollBack(journal, paths);
    throw toIoError(error, paths);
  }
  rmSync(paths.journal, { force: true });
}

function apply({ store, after, linksBefore, linksAfter, aside }: Change, paths: Paths): void {
  mkdirSync(dirname(store), { recursive: true, mode: 0o700 });
  for (const { path, to } of aside) renameSync(path, to);
  // The one rename that exchanges what the stable path leads to.
  if (after === null) rmSync(store, { force: true });
  else putLink({ path: store, target: join(paths.objects, after) });
  for (const link of linksAfter) {
    mkdirSync(dirname(link.path), { recursive: true });
    if (readLink(link.path) !== link.target) putLink(link);
  }
  for (const link of linksBefore) if (!linksAfter.some(({ path }) => path === link.path)) removeLink(link);
}

// Every step can be taken again after a kill in the midst of it (F02).
function rollBack({ changes, objects, made }: Journal, paths: Paths): void {
  for (const change of [...changes].reverse()) {
    const { store, before, after, linksBefore, linksAfter, aside } = change;
    for (const link of linksAfter)
      if (!linksBefore.some(({ path, target }) => path === link.path && target === link.target))
        removeLink(link);
    if (before !== null) {
      mkdirSync(dirname(store), { recursive: true, mode: 0o700 });
      putLink({ path: store, target: join(paths.objects, before) });
    } else if (after !== null) removeLink({ path: store, target: join(paths.objects, after) });
    for (const { path, to } of aside) if (isOccupied(to) && !isOccupied(path)) renameSync(to, path);
    for (const link of linksBefore)
      if (!isOccupied(link.path)) {
        mkdirSync(dirname(link.path), { recursive: true });
        putLink(link);
      }
  }
  for (const object of objects) rmSync(join(paths.objects, object), { recursive: true, force: true });
  for (const directory of new Set(
    changes.flatMap(({ linksAfter }) => linksAfter.map(({ path }) => dirname(path))),
  ))
    for (const name of namesIn(directory))
      if (name.startsWith(TEMPORARY)) rmSync(join(directory, name), { force: true });
  removeEmpty(made);
  rmSync(paths.journal, { force: true });
}

/** Finishes or undoes what a killed process left, and removes what nothing needs. Needs the lock; can be repeated. */
export function recover(paths: Paths): 'nothing' | 'finished' | 'undone' {
  let outcome: 'nothing' | 'finished' | 'undone' = 'nothing';
  const journal = readJournal(paths);
  if (journal !== undefined) {
    const finished = isRecorded(journal, paths);
    if (finished) rmSync(paths.journal, { force: true });
    else rollBack(journal, paths);
    outcome = finished ? 'finished' : 'undone';
  }
  for (const name of namesIn(paths.objects))
    if (name.startsWith(STAGING)) rmSync(join(paths.objects, name), { recursive: true, force: true });
  for (const kind of namesIn(paths.store))
    for (const name of namesIn(join(paths.store, kind)))
      if (name.startsWith(TEMPORARY)) rmSync(join(paths.store, kind, name), { force: true });
  collectGarbage(paths);
  return outcome;
}

function isRecorded({ id }: Journal, paths: Paths): boolean {
  return loadInstalled(paths).transaction === id;
}

/** Whether a process was killed in the midst of a change. */
export function isInterrupted(paths: Paths): boolean {
  return existsSync(paths.journal);
}

// A journal is written whole or not at all; one that is neither was not ours.
function readJournal(paths: Paths): Journal | undefined {
  let text: string;
  try {
    text = readFileSync(paths.journal, 'utf8');
  } catch {
    return undefined;
  }
  try {
    const journal: unknown = JSON.parse(text);
    if (isRecord(journal) && Array.isArray(journal.changes) && Array.isArray(journal.objects))
      return journal as unknown as Journal;
  } catch {
    // Told of below.
  }
  throw new ToolError('io', `${paths.journal} is altered, so an interrupted change cannot be undone`, {
    hint: 'move it away; wield doctor then says what is wrong',
  });
}

/** Removes objects that nothing installed leads to and no running process was started from (INS-23). */
export function collectGarbage(paths: Paths): void {
  const names = namesIn(paths.objects).filter((name) => !name.startsWith(STAGING));
  const used = new Set(loadInstalled(paths).items.map(({ object }) => object));
  const unused = names.filter((name) => !used.has(name));
  if (unused.length > 0) {
    const lines = runningCommandLines();
    for (const name of unused) {
      const path = join(paths.objects, name);
      if (!lines.includes(path)) rmSync(path, { recursive: true, force: true });
    }
  }
  removeEmpty([...namesIn(paths.store).map((kind) => join(paths.store, kind))]);
  removeEmpty([paths.store, paths.objects]);
}

// Where the system does not show other processes, an object goes at once; a script that runs has been read by then.
function runningCommandLines(): string {
  return namesIn('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    })
    .join('\n');
}

/** A name for an object: whose it is and what is in it; another where that one is taken. */
export function objectName(paths: Paths, key: string, hash: string): string {
  const base = `${key.slice(0, 16)}-${hash.slice(0, 32)}`;
  for (let at = 0; ; at++) {
    const name = at === 0 ? base : `${base}.${at}`;
    if (!isOccupied(join(paths.objects, name))) return name;
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** What the system refused, as an error that says what to look at; anything else as it is. */
export function toIoError(error: unknown, paths: Paths, state = 'nothing was changed'): unknown {
  if (isToolError(error)) return error;
  const { message, code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  return new ToolError('io', `${state}: ${message}`, {
    hint: `check the room and the permissions of ${dirname(paths.store)} and of the agent homes`,
    cause: error,
  });
}
