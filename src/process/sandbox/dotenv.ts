// Finds the `.env` files of a workdir.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { realPath } from '../../files/within.js';
import { createDirectoryCache } from './directory-cache.js';

// The case of names may not count.
const DOTENV = /^\.env(?:\..+)?$/i;
// Templates without values.
const DOTENV_EXAMPLE = /^\.env\.(?:example|sample|template|dist)$/i;
const SKIPPED = new Set(['node_modules', '.git', 'vendor', 'target', 'dist', 'build']);
// How far `.env` files are looked for in the workdir.
const MAX_DEPTH = 3;
const MAX_DIRECTORIES = 200;

const list = createDirectoryCache((directory) => {
  const files: string[] = [];
  const directories: string[] = [];
  for (const entry of listEntries(directory)) {
    const path = join(directory, entry.name);
    if (DOTENV.test(entry.name) && !DOTENV_EXAMPLE.test(entry.name)) files.push(path);
    else if (entry.isDirectory() && !SKIPPED.has(entry.name)) directories.push(path);
  }
  return { files, directories };
});

/** Returns the canonical paths of `.env` files, three directories deep. */
export function findDotenv(root: string, now: number): string[] {
  const found: string[] = [];
  let directories: readonly string[] = [root];
  let visited = 0;
  for (let depth = 0; depth < MAX_DEPTH && directories.length > 0; depth++) {
    const next: string[] = [];
    for (const directory of directories) {
      if (++visited > MAX_DIRECTORIES) return found;
      const listing = list(directory, now);
      // A link may lead elsewhere by now.
      for (const path of listing?.files ?? []) found.push(realPath(path) ?? path);
      if (depth < MAX_DEPTH - 1) next.push(...(listing?.directories ?? []));
    }
    directories = next;
  }
  return found;
}

function listEntries(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}
