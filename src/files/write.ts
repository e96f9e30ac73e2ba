// Atomic file writes: a temporary file in the same directory, synced and renamed.

import {
  closeSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { orNothing } from '../core/error.js';
import { loadCrypto } from './digest.js';
import { namesIn } from './list.js';
import { makeDirectory } from './make-directory.js';
import { isAlive, startTime } from './process-identity.js';
import { toFileError } from './state.js';

export interface WriteOptions {
  /** Permission bits of the file; created directories are private. */
  readonly mode?: number;
  /** False for caches: rename without sync. */
  readonly durable?: boolean;
  /** Ignore the umask, to preserve the bits of an existing file. */
  readonly exactMode?: boolean;
  /** Keep a file that exists already: of several processes, the first one determines the content. */
  readonly keepExisting?: boolean;
}

/** Replaces a file: after a crash it has either the old or the new content. Throws `io`. */
export function writeFileAtomic(path: string, data: string | Uint8Array, options: WriteOptions = {}): void {
  const { mode = 0o600, durable = true, exactMode = false, keepExisting = false } = options;
  const directory = dirname(path);
  const temporary = join(directory, temporaryName());
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  try {
    makeDirectory(directory);
    removeAbandoned(directory);
    const descriptor = openSync(temporary, 'wx', mode);
    try {
      if (exactMode) fchmodSync(descriptor, mode);
      for (let offset = 0; offset < bytes.length; ) offset += writeSync(descriptor, bytes, offset);
      if (durable) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (keepExisting) linkOnce(temporary, path);
    else renameSync(temporary, path);
  } catch (error) {
    // It may not have been created, or be renamed already.
    orNothing(() => unlinkSync(temporary));
    throw toFileError(error, 'write', path);
  }
  if (durable) syncDirectory(directory);
}

function linkOnce(temporary: string, path: string): void {
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  unlinkSync(temporary);
}

/** Moves a file durably; returns false if it is gone. Of several processes, one succeeds. */
export function moveDurably(from: string, to: string): boolean {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw toFileError(error, 'write', to);
  }
  syncDirectory(dirname(to));
  return true;
}

function syncDirectory(directory: string): void {
  try {
    const descriptor = openSync(directory, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw toFileError(error, 'write', directory);
  }
}

// The process is part of the name, so that the file of a killed one is recognised. Names without one are of older
// versions.
const TEMPORARY = /^\.(?:wield-(\d+)-(\d+)-)?[0-9a-f]{18}\.tmp$/;
const OLD_MS = 3_600_000;
let ownPrefix: string | undefined;

function temporaryName(): string {
  ownPrefix ??= `.wield-${process.pid}-${startTime(process.pid) ?? 0}-`;
  return `${ownPrefix}${loadCrypto().randomBytes(9).toString('hex')}.tmp`;
}

/** Returns the temporary files in a directory whose process was killed while writing (STA-4). */
export function findAbandoned(directory: string): string[] {
  return namesIn(directory)
    .map((name) => join(directory, name))
    .filter(isAbandoned);
}

/** Whether a path is the temporary file of a killed process. */
export function isAbandoned(path: string): boolean {
  const match = TEMPORARY.exec(basename(path));
  if (match === null) return false;
  if (match[1] !== undefined) return !isAlive(Number(match[1]), Number(match[2]));
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && Math.abs(Date.now() - stats.mtimeMs) > OLD_MS;
}

// Once per directory and process, which is enough to recover from a crash.
const visited = new Set<string>();

function removeAbandoned(directory: string): void {
  if (visited.has(directory)) return;
  visited.add(directory);
  // Another process may remove them, too.
  for (const path of findAbandoned(directory)) orNothing(() => unlinkSync(path));
}
