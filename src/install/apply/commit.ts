// Commits a change of the installed items, by a journal: if the process is killed, the old or the new state remains.

import { existsSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isToolError, systemReason, ToolError } from '../../core/error.js';
import { anything, type Infer, list, object, type Shape, string, strings } from '../../core/shape.js';
import { changedMeanwhile } from '../../files/change.js';
import { namesIn } from '../../files/list.js';
import { isLocked } from '../../files/lock.js';
import { makeDirectory, missingAbove } from '../../files/make-directory.js';
import { readStateFile, statOrNothing } from '../../files/read.js';
import { removeEmpty, removeFile, removeTree } from '../../files/remove.js';
import { readState, toFileError } from '../../files/state.js';
import { writeFileAtomic } from '../../files/write.js';
import { isOccupied, type Link, linkKey, putLink, readLink, removeLink, TEMPORARY_LINK } from '../directory.js';
import type { InstallEnvironment, InstallPaths } from '../environment.js';
import { ownLock, writeLock } from '../lock-file.js';
import { itemKey } from '../manifest/item-name.js';
import { writeServers } from '../servers.js';
import { type Installed, loadInstalled, saveInstalled } from '../state.js';
import { collectGarbage, removeStaging, type Transaction } from './objects.js';

interface CommitOptions {
  readonly environment: InstallEnvironment;
  readonly transaction: Pick<Transaction, 'id'>;
  readonly changes: readonly StoreChange[];
  /** Staged directories and the names of the objects they become. */
  readonly staged: readonly { readonly directory: string; readonly object: string }[];
  /** Keys of the items whose tools are pinned at the end. */
  readonly pinned: readonly string[];
  /** Files that are written with the change. */
  readonly files?: readonly FileEdit[];
  /** Runs after all links are changed; if it throws, everything is restored (HOOK-3). */
  readonly beforeRecord?: () => Promise<void>;
  /** Returns the state to record; called last. */
  readonly next: (made: readonly string[]) => Omit<Installed, 'transaction'>;
}

/** Restores the previous state on any failure (INS-23). */
export async function commit(options: CommitOptions): Promise<void> {
  const { environment, transaction, changes, staged, pinned, files = [], beforeRecord, next } = options;
  const { paths } = environment;
  const made = changes.flatMap(({ linksAfter }) => linksAfter.flatMap(({ path }) => missingAbove(dirname(path))));
  const journal: Journal = {
    id: transaction.id,
    changes,
    objects: staged.map(({ object }) => object),
    made: [...new Set(made)],
    pinned,
    files,
    lockFile: environment.lockFile,
  };
  writeJournal(journal, paths);
  try {
    for (const { directory, object } of staged) renameSync(directory, join(paths.objects, object));
    for (const change of changes) applyChange(change, paths);
    for (const { path, before, after } of files) replaceText(path, before, after);
    await beforeRecord?.();
    saveInstalled(paths, { ...next(journal.made), transaction: transaction.id });
  } catch (error) {
    // If the record is already the new one, only the sync of its directory failed. The journal stays, and the next
    // command checks again (INS-31).
    if (isRecorded(journal, paths))
      throw toIoError(error, paths, 'the change was made, but could not be synced to disk');
    rollBack(journal, paths);
    removeJournal(paths);
    throw toIoError(error, paths);
  }
  try {
    await finishRecorded(journal, environment);
    // While the journal is there, the next command repeats what failed.
    collectGarbage(paths);
    removeJournal(paths);
  } catch (error) {
    // The journal stays, and the next command finishes the change.
    throw toIoError(error, paths, 'the change was made, but not all that follows from it; repeat the command');
  }
}

/** A text file, before and after a change; null if there is none. */
export interface FileEdit {
  readonly path: string;
  readonly before: string | null;
  readonly after: string;
}

// Throws `conflict` if the file has another text than the expected one.
function replaceText(path: string, expected: string | null, text: string | null): void {
  if ((readStateFile(path) ?? null) !== expected) throw changedMeanwhile(path);
  const mode = statOrNothing(path)?.mode;
  if (text === null) removeFile(path);
  else writeFileAtomic(path, text, mode === undefined ? {} : { mode: mode & 0o777, exactMode: true });
}

function applyChange({ store, after, linksBefore, linksAfter, aside }: StoreChange, { objects }: InstallPaths): void {
  makeDirectory(dirname(store));
  for (const { path, to } of aside) renameSync(path, to);
  if (after === null) removeFile(store);
  else putLink({ path: store, target: join(objects, after) });
  for (const link of linksAfter) {
    makeDirectory(dirname(link.path), 0o777);
    if (readLink(link.path) !== link.target) putLink(link);
  }
  for (const link of linksBefore)
    if (!linksAfter.some(({ path }) => linkKey(path) === linkKey(link.path))) removeLink(link);
}

/** Converts a system error to a ToolError; returns any other error unchanged. */
export function toIoError(error: unknown, paths: InstallPaths, state = 'nothing was changed'): unknown {
  if (isToolError(error)) return error;
  const { message, code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  return new ToolError('io', `${state}: ${message}`, {
    hint: `check free space and permissions of ${dirname(paths.store)} and of the agent homes`,
    cause: error,
  });
}

/** The change of one store path and of the links to it. */
export interface StoreChange {
  readonly store: string;
  /** Object names; null if there is none. */
  readonly before: string | null;
  readonly after: string | null;
  readonly linksBefore: readonly Link[];
  readonly linksAfter: readonly Link[];
  /** Files of the user that are moved to make way for a link. */
  readonly aside: readonly { readonly path: string; readonly to: string }[];
}

// What is in its lists was checked before it was written.
const trusted = <T>(): Shape<T> => anything as Shape<T>;
const JOURNAL = object(
  {
    id: string,
    changes: list(trusted<StoreChange>()),
    /** Objects created by this transaction. */
    objects: strings,
    /** Directories created for links. */
    made: strings,
    /** Keys of the items whose tools are pinned at the end. */
    pinned: strings,
    files: list(trusted<FileEdit>()),
    /** Where the lock is written at the end. */
    lockFile: string,
  },
  { unknown: 'keep' },
);
type Journal = Infer<typeof JOURNAL>;

function writeJournal(journal: Journal, paths: InstallPaths): void {
  writeFileAtomic(paths.journal, `${JSON.stringify({ version: 1, ...journal })}\n`);
}

/** Undoes a change. Can be repeated if it is killed itself (F02). */
function rollBack({ changes, objects, made, files }: Journal, paths: InstallPaths): void {
  // A file that someone changed since stays.
  for (const { path, before, after } of files) if (readStateFile(path) === after) replaceText(path, after, before);
  for (const change of [...changes].reverse()) {
    const { store, before, after, linksBefore, linksAfter, aside } = change;
    for (const link of linksAfter)
      if (!linksBefore.some(({ path, target }) => path === link.path && target === link.target)) removeLink(link);
    if (before !== null) {
      makeDirectory(dirname(store));
      putLink({ path: store, target: join(paths.objects, before) });
    } else if (after !== null) removeLink({ path: store, target: join(paths.objects, after) });
    for (const { path, to } of aside) if (isOccupied(to) && !isOccupied(path)) renameSync(to, path);
    for (const link of linksBefore)
      if (!isOccupied(link.path)) {
        makeDirectory(dirname(link.path), 0o777);
        putLink(link);
      }
  }
  for (const object of objects) removeTree(join(paths.objects, object));
  const links = changes.flatMap(({ linksBefore, linksAfter }) => [...linksBefore, ...linksAfter]);
  removeTemporaryLinks(links.map(({ path }) => dirname(path)));
  removeEmpty(made);
}

function removeJournal({ journal }: InstallPaths): void {
  removeFile(journal);
}

function removeTemporaryLinks(directories: readonly string[]): void {
  for (const directory of new Set(directories))
    for (const name of namesIn(directory)) if (name.startsWith(TEMPORARY_LINK)) removeFile(join(directory, name));
}

/** Writes what follows from a change whose items are recorded: servers, the lock, pins of its tools. Can be repeated. */
async function finishRecorded({ pinned, lockFile }: Journal, environment: InstallEnvironment): Promise<void> {
  const { paths, pinTools, world } = environment;
  writeServers(paths, world.platform);
  // That of a project is as of the last change made there.
  const own = ownLock(paths);
  writeLock(paths, own);
  if (lockFile !== own) writeLockOfProject(environment, lockFile);
  await pinTools(loadInstalled(paths).items.filter((item) => pinned.includes(itemKey(item))));
}

// A checkout that cannot be written does not keep anyone from installing.
function writeLockOfProject({ paths, report }: InstallEnvironment, file: string): void {
  try {
    writeLock(paths, file);
  } catch (error) {
    report({ kind: 'warning', text: `could not write ${file}: ${systemReason(error)}` });
  }
}

/** Finishes or undoes an interrupted change and removes its leftovers. Requires the lock; can be repeated. */
export async function recover(environment: InstallEnvironment): Promise<'nothing' | 'finished' | 'undone'> {
  const { paths } = environment;
  let outcome: 'nothing' | 'finished' | 'undone' = 'nothing';
  const journal = readJournal(paths);
  if (journal !== undefined) {
    outcome = isRecorded(journal, paths) ? 'finished' : 'undone';
    if (outcome === 'finished') await finishRecorded(journal, environment);
    else rollBack(journal, paths);
  }
  removeStaging(paths);
  removeTemporaryLinks(namesIn(paths.store).map((kind) => join(paths.store, kind)));
  collectGarbage(paths);
  // Last: if anything before it fails, the next command tries again.
  removeJournal(paths);
  return outcome;
}

/** Whether the record of installed items was written by this transaction. */
function isRecorded({ id }: Journal, paths: InstallPaths): boolean {
  return loadInstalled(paths).transaction === id;
}

/** Whether a process was killed during a change: its lock is still there, without a holder. */
export function isInterrupted(paths: InstallPaths): boolean {
  return (existsSync(paths.journal) || existsSync(paths.lock)) && !isBusy(paths);
}

/** Whether another process is installing. */
export function isBusy({ lock }: InstallPaths): boolean {
  try {
    return isLocked(lock);
  } catch (error) {
    throw toFileError(error, 'write', lock);
  }
}

const MAX_BYTES = 64 * 1024 * 1024;

// Journals are written atomically, so an invalid one was edited or damaged later.
function readJournal(paths: InstallPaths): Journal | undefined {
  const text = readStateFile(paths.journal, MAX_BYTES);
  if (text === undefined) return undefined;
  return readState(JOURNAL, text, paths.journal, () => {
    const hint = 'remove it, then run wield doctor';
    return new ToolError('io', `${paths.journal} is corrupted, so an interrupted change cannot be undone`, { hint });
  });
}
