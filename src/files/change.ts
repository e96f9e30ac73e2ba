// Read-change-write: a file is read, changed and replaced while no other process does the same (STA-6).

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import { digestParts } from './digest.js';
import { type LockContext, withLock } from './lock.js';
import { readStateFile } from './read.js';
import { writeFileAtomic } from './write.js';

const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Changes a state file: `change` gets its text, or undefined if it does not exist, and returns the new text, or undefined
 * to leave the file as it is.
 */
export function changeFile(
  file: string,
  context: LockContext,
  change: (text: string | undefined) => string | undefined | Promise<string | undefined>,
): Promise<void> {
  return withLock(`${file}.lock`, context, async () => {
    const text = await change(readStateFile(file, MAX_BYTES));
    if (text !== undefined) writeFileAtomic(file, text);
  });
}

/**
 * Runs work while no other process changes a file outside the wield home. The lock is in the wield home: a checkout could
 * contain a forged one.
 */
export function withFileLock<T>(
  file: string,
  context: LockContext & { readonly wieldHome: string },
  work: () => Promise<T>,
): Promise<T> {
  return withLock(join(context.wieldHome, 'locks', digestParts([file]).slice(0, 32)), context, work);
}

/** The error for a file that is not the one that was read before. */
export function changedMeanwhile(path: string): ToolError {
  return new ToolError('conflict', `${path} changed meanwhile and was not written`, { hint: 'run the command again' });
}
