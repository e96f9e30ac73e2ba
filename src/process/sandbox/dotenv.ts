// Finds the `.env` files of a workdir. Directories are listed again only if they changed.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FileIdentity } from '../../core/tool.js';
import { isSettled, sameIdentity, statIdentity } from '../../files/read.js';
import { realPath } from '../../files/within.js';

const DOTENV = /^\.env(?:\..+)?$/;
// Templates without values.
const DOTENV_EXAMPLE = /^\.env\.(?:example|sample|template|dist)$/;
const SKIPPED = new Set(['node_modules', '.git', 'vendor', 'target', 'dist', 'build']);
// How far `.env` files are looked for in the workdir.
const MAX_DEPTH = 3;
const MAX_DIRECTORIES = 200;
// A server may work in many workdirs.
const MAX_KEPT = 10 * MAX_DIRECTORIES;

interface Listing {
  readonly identity: FileIdentity;
  readonly files: readonly string[];
  readonly directories: readonly string[];
}

const kept = new Map<string, Listing>();

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
      found.push(...(listing?.files ?? []).map((path) => realPath(path) ?? path));
      next.push(...(listing?.directories ?? []));
    }
    directories = next;
  }
  return found;
}

function list(directory: string, now: number): Listing | undefined {
  const identity = statIdentity(directory);
  if (identity === undefined) return undefined;
  const known = kept.get(directory);
  if (known !== undefined && sameIdentity(known.identity, identity)) return known;
  const listing = { identity, ...read(directory) };
  kept.delete(directory);
  if (kept.size >= MAX_KEPT) kept.clear();
  if (isSettled(identity, now)) kept.set(directory, listing);
  return listing;
}

function read(directory: string): Omit<Listing, 'identity'> {
  const files: string[] = [];
  const directories: string[] = [];
  for (const entry of listEntries(directory)) {
    const path = join(directory, entry.name);
    if (DOTENV.test(entry.name) && !DOTENV_EXAMPLE.test(entry.name)) files.push(path);
    else if (entry.isDirectory() && !SKIPPED.has(entry.name)) directories.push(path);
  }
  return { files, directories };
}

function listEntries(directory: string) {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}
