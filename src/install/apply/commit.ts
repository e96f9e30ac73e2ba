// Commits a change of the installed items. If the process is killed, the old or the new state remains.

import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isToolError, ToolError } from '../../core/error.js';
import { makeDirectory } from '../../files/make-directory.js';
import { removeFile } from '../../files/remove.js';
import { missingAbove, putLink, readLink, removeLink } from '../directory.js';
import type { InstallEnvironment, InstallPaths } from '../environment.js';
import type { Installed } from '../manifest/installed.js';
import { saveInstalled } from '../state.js';
import {
  finishRecorded,
  isRecorded,
  type Journal,
  removeJournal,
  rollBack,
  type StoreChange,
  writeJournal,
} from './journal.js';
import type { Transaction } from './objects.js';

export interface CommitOptions {
  readonly environment: InstallEnvironment;
  readonly transaction: Pick<Transaction, 'id'>;
  readonly changes: readonly StoreChange[];
  /** Staged directories and the names of the objects they become. */
  readonly staged: readonly { readonly directory: string; readonly object: string }[];
  /** Keys of the items whose tools are pinned at the end. */
  readonly pinned: readonly string[];
  /** Runs after all links are changed; if it throws, everything is restored (HOOK-3). */
  readonly beforeRecord?: () => Promise<void>;
  /** Returns the state to record; called last. */
  readonly next: (made: readonly string[]) => Omit<Installed, 'transaction'>;
}

/** Restores the previous state on any failure (INS-23). */
export async function commit(options: CommitOptions): Promise<void> {
  const { environment, transaction, changes, staged, pinned, beforeRecord, next } = options;
  const { paths } = environment;
  const made = changes.flatMap(({ linksAfter }) => linksAfter.flatMap(({ path }) => missingAbove(dirname(path))));
  const journal: Journal = {
    id: transaction.id,
    changes,
    objects: staged.map(({ object }) => object),
    made: [...new Set(made)],
    pinned,
    lockFile: environment.lockFile,
  };
  writeJournal(journal, paths);
  try {
    for (const { directory, object } of staged) renameSync(directory, join(paths.objects, object));
    for (const change of changes) applyChange(change, paths);
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
    removeJournal(paths);
  } catch (error) {
    // The journal stays, and the next command finishes the change.
    throw toIoError(error, paths, 'the change was made, but not all that follows from it; repeat the command');
  }
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
  for (const link of linksBefore) if (!linksAfter.some(({ path }) => path === link.path)) removeLink(link);
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
