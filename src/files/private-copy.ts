// Copies bytes to a file that no other process can replace, and returns its descriptor.

import { closeSync, constants, fstatSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Linux: a file without a name. Node does not export the constant.
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;

/** Returns a descriptor for reading the bytes. Nothing is left when it is closed. */
export function openPrivateCopy(bytes: Uint8Array, platform: string): number {
  if (platform === 'linux') {
    try {
      return writeAndReopen(
        openSync(tmpdir(), O_TMPFILE | constants.O_RDWR | constants.O_EXCL, 0o400),
        bytes,
        (descriptor) => `/proc/self/fd/${descriptor}`,
      );
    } catch {
      // The file system has no such files, or /proc is not mounted.
    }
  }
  const directory = mkdtempSync(join(tmpdir(), 'wield-'));
  try {
    const path = join(directory, 'copy');
    return writeAndReopen(openSync(path, 'wx', 0o400), bytes, () => path);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

// The descriptor that a process gets cannot be written to.
function writeAndReopen(writable: number, bytes: Uint8Array, pathOf: (descriptor: number) => string): number {
  try {
    for (let offset = 0; offset < bytes.length; ) offset += writeSync(writable, bytes, offset);
    const readable = openSync(pathOf(writable), 'r');
    if (fstatSync(readable).ino === fstatSync(writable).ino) return readable;
    closeSync(readable);
    throw new Error('a private copy was replaced while it was written');
  } finally {
    closeSync(writable);
  }
}
