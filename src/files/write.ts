// Atomic file writes: a temporary file in the same directory, synced and renamed.

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
import { loadCrypto } from './digest.js';

export interface WriteOptions {
  /** Permission bits of the file; created directories are private. */
  readonly mode?: number;
  /** False for caches: rename without sync. */
  readonly durable?: boolean;
  /** Ignore the umask, to preserve the bits of an existing file. */
  readonly exactMode?: boolean;
}

/** Replaces a file: after a crash it has either the old or the new content. */
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
      // Not created, or already renamed.
    }
    throw error;
  }
  if (durable) syncDirectory(directory);
}

/** Moves a file durably; returns false if it is gone. Of several processes, one succeeds. */
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
