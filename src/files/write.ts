// The one atomic write: a temporary file in the same directory, synced, renamed, the directory synced.

import {
  closeSync,
  fchmodSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { loadCrypto } from './crypto.js';

export interface WriteOptions {
  /** Permission bits of the file; its directories are made private. */
  readonly mode?: number;
  /** False for caches that can be made again: no sync, only the rename. */
  readonly durable?: boolean;
  /** Exactly the bits of `mode`, whatever the umask leaves of them: for a file that had them before. */
  readonly exactMode?: boolean;
}

/** Replaces a file as a whole: after a crash the old or the new bytes are there, never a mixture. */
export function writeFileAtomic(path: string, data: string | Uint8Array, options: WriteOptions = {}): void {
  const { mode = 0o600, durable = true, exactMode = false } = options;
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const temporary = join(directory, `.${loadCrypto().randomBytes(9).toString('hex')}.tmp`);
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  try {
    const descriptor = openSync(temporary, 'wx', mode);
    try {
      if (exactMode) fchmodSync(descriptor, mode);
      for (let offset = 0; offset < bytes.length; ) offset += writeSync(descriptor, bytes, offset);
      if (durable) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(temporary, path);
  } catch (error) {
    try {
      unlinkSync(temporary);
    } catch {
      // It was never made, or is renamed already.
    }
    throw error;
  }
  if (durable) syncDirectory(directory);
}

/** Moves a file within a directory for good: false where it was gone already. Of several who try, one succeeds. */
export function moveDurably(from: string, to: string): boolean {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  syncDirectory(dirname(to));
  return true;
}

function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
