// Lists and hashes directory trees. Links and special files are rejected.

import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import { compareText, quoteOutside } from '../core/text.js';
import { loadCrypto } from './crypto.js';

export interface TreeFile {
  /** Relative to the root, with slashes. */
  readonly path: string;
  readonly executable: boolean;
}

const MAX_DEPTH = 128;
const MAX_FILES = 50_000;
const MAX_FILE_BYTES = 512 * 1024 * 1024;

/** Returns the regular files of a tree, sorted, without `.git`. Throws `invalid_definition` (INS-24). */
export function listTree(root: string): TreeFile[] {
  const files: TreeFile[] = [];
  const walk = (directory: string, prefix: string, depth: number): void => {
    if (depth > MAX_DEPTH)
      throw refuse(root, prefix, `is deeper than ${MAX_DEPTH} directories`, 'flatten it');
    for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
      const path = prefix + entry.name;
      if (entry.name === '.git') continue;
      if (entry.isDirectory()) walk(path, `${path}/`, depth + 1);
      else if (entry.isFile()) {
        const { mode } = lstatSync(join(root, path));
        files.push({ path, executable: (mode & 0o111) !== 0 });
        if (files.length > MAX_FILES)
          throw refuse(root, path, `is one of more than ${MAX_FILES} files`, 'split the item');
      } else {
        const what = entry.isSymbolicLink() ? 'is a link' : 'is neither a file nor a directory';
        throw refuse(root, path, what, 'replace it by the file itself');
      }
    }
  };
  walk('', '', 1);
  return files.sort((a, b) => compareText(a.path, b.path));
}

/** Reads a file of a tree. Does not follow links or block on pipes. */
export function readTreeFile(root: string, path: string): Buffer {
  const file = join(root, path);
  let descriptor: number;
  try {
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw new ToolError('io', `${quoteOutside(file, 300)} cannot be read: ${(error as Error).message}`, {
      hint: 'check its permissions',
      cause: error,
    });
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw refuse(root, path, 'is not a regular file', 'replace it by a regular file');
    if (stats.size > MAX_FILE_BYTES)
      throw refuse(root, path, 'is larger than 512 MiB', 'create or download it in a build step');
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the SHA-256 of all paths, modes and contents in sorted order, framed by length (INS-26). */
export function hashTree(root: string, files: readonly TreeFile[] = listTree(root)): string {
  const hash = loadCrypto().createHash('sha256');
  for (const { path, executable } of files) {
    const bytes = readTreeFile(root, path);
    hash.update(`${Buffer.byteLength(path)}:${path}${executable ? 'x' : '-'}${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex');
}

function refuse(root: string, path: string, what: string, hint: string): ToolError {
  return new ToolError('invalid_definition', `${quoteOutside(join(root, path), 300)} ${what}`, {
    hint,
    data: { path: join(root, path) },
  });
}
