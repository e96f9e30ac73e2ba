// Finds the `.env` files of a workdir, and other names of known secrets in it.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { lstatOrNothing } from '../../files/read.js';
import { realPath } from '../../files/within.js';
import { createDirectoryCache } from './directory-cache.js';

// The case of names may not count.
const DOTENV = /^\.(?:env|dev\.vars)(?:\..+)?$|^\.envrc$/i;
// Templates without values.
const DOTENV_EXAMPLE = /^\.(?:env|dev\.vars)\.(?:example|sample|template|dist)$/i;
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
  return { directory, files, directories };
});

/** Returns the canonical paths of `.env` files, three directories deep, and of hard links to `secrets` and to them. */
export function findDotenv(root: string, now: number, secrets: readonly string[] = []): string[] {
  const listings = listAll(root, now);
  // A link may lead elsewhere by now.
  const found = listings.flatMap(({ files }) => files.map((path) => realPath(path) ?? path));
  return [...found, ...findLinked([...secrets, ...found], listings)];
}

function listAll(root: string, now: number) {
  const listings: NonNullable<ReturnType<typeof list>>[] = [];
  let directories: readonly string[] = [root];
  for (let depth = 0; depth < MAX_DEPTH && directories.length > 0; depth++) {
    const visited = directories.slice(0, MAX_DIRECTORIES - listings.length);
    const level = visited.flatMap((directory) => list(directory, now) ?? []);
    listings.push(...level);
    directories = level.flatMap((listing) => listing.directories);
  }
  return listings;
}

// Other files are looked at only if a secret has several names, which is rare.
function findLinked(secrets: readonly string[], listings: readonly { readonly directory: string }[]): string[] {
  const linked = new Set<string>();
  for (const path of secrets) {
    const stats = lstatOrNothing(path);
    if (stats?.isFile() && stats.nlink > 1) linked.add(`${stats.dev} ${stats.ino}`);
  }
  if (linked.size === 0) return [];
  const files = listings.flatMap(({ directory }) =>
    listEntries(directory).flatMap((entry) => (entry.isFile() ? [join(directory, entry.name)] : [])),
  );
  return files.filter((path) => {
    const stats = lstatOrNothing(path);
    return stats !== undefined && linked.has(`${stats.dev} ${stats.ino}`);
  });
}

function listEntries(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}
