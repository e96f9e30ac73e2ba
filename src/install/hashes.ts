// Hashes of the installed form of an item: of its tree, here and wherever the store is, and of each file.

import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orNothing } from '../core/error.js';
import { compareText } from '../core/text.js';
import { loadCrypto } from '../files/digest.js';
import { createTreeHash, listTree, readTreeFile } from '../files/tree.js';
import { isWithin } from '../files/within.js';
import type { InstalledItem } from './state.js';
import type { Rendering } from './tokens/targets.js';

const DIGITS = 16;

export type InstalledHashes = Pick<InstalledItem, 'installedHash' | 'portable' | 'digests'>;

/** Hashes the files of an item. `installed` is their portable hash before hooks, if any ran. */
export function hashInstalled(directory: string, rendering: Rendering, installed?: string): InstalledHashes {
  const hash = createTreeHash();
  const portable = createPortableHash(rendering);
  const digests = new Map<string, string>();
  for (const file of listTree(directory)) {
    const bytes = readTreeFile(directory, file.path);
    hash.add(file, bytes);
    portable.add(file, bytes);
    digests.set(file.path, digestFile(bytes, file.executable));
  }
  const now = portable.digest();
  return {
    installedHash: hash.digest(),
    portable: installed === undefined ? { installed: now, built: null } : { installed, built: now },
    digests: Object.fromEntries(digests),
  };
}

function digestFile(bytes: Buffer, executable: boolean): string {
  return (executable ? 'x' : '-') + loadCrypto().createHash('sha256').update(bytes).digest('hex').slice(0, DIGITS);
}

/**
 * Names what is different in the directory of an item. Contents are compared if they are known to differ; hooks may
 * leave empty directories and any permissions.
 */
export function nameChanges({ digests, hooks }: InstalledItem, directory: string, isModified: boolean): string[] {
  const changes: string[] = [];
  const seen = new Set<string>();
  const isOwn = hooks.build === null && hooks.install === null;
  const lookAt = (path: string, entry: Dirent): void => {
    const mode = lstatSync(join(directory, path)).mode & 0o7777;
    if (entry.isDirectory()) {
      const names = walk(`${path}/`);
      if (names === 0 && isOwn) changes.push(`added ${path}/`);
      if ((mode & 0o7022) !== 0 && isOwn) changes.push(`mode of ${path}/`);
      return;
    }
    seen.add(path);
    const known = Object.hasOwn(digests, path) ? digests[path] : undefined;
    if (!entry.isFile()) changes.push(`${path} is ${entry.isSymbolicLink() ? 'a link' : 'not a file'}`);
    else if (known === undefined) changes.push(`added ${path}`);
    else if (isModified && isChanged(path, known, (mode & 0o111) !== 0)) changes.push(`changed ${path}`);
    else if (isOwn && mode !== (known.startsWith('x') ? 0o755 : 0o644)) changes.push(`mode of ${path}`);
  };
  // The mode is named by itself.
  const isChanged = (path: string, known: string, executable: boolean): boolean => {
    return orNothing(() => digestFile(readTreeFile(directory, path), executable).slice(1) !== known.slice(1)) ?? true;
  };
  const walk = (prefix: string): number => {
    const entries = readdirSync(join(directory, prefix), { withFileTypes: true });
    for (const entry of entries) lookAt(prefix + entry.name, entry);
    return entries.length;
  };
  walk('');
  for (const path of Object.keys(digests)) if (!seen.has(path)) changes.push(`removed ${path}`);
  return changes.sort(compareText);
}

/** Returns the hash of a tree in which paths of the store, absolute or with `~`, count as the same wherever it is. */
export function portableHash(directory: string, rendering: Rendering): string {
  const hash = createPortableHash(rendering);
  for (const file of listTree(directory)) hash.add(file, readTreeFile(directory, file.path));
  return hash.digest();
}

function createPortableHash({ store, home }: Rendering): ReturnType<typeof createTreeHash> {
  const roots = [store, join(dirname(store), 'plugin-data')].map((path) => [
    path,
    ...(home !== undefined && isWithin(home, path) ? [`~${path.slice(home.replace(/\/$/, '').length)}`] : []),
  ]);
  const hash = createTreeHash();
  return {
    add(file, bytes) {
      const framed = frame(bytes, roots);
      // No file has a NUL in its name, so that a file cannot imitate the framing of another one.
      if (framed === undefined) hash.add(file, bytes);
      else hash.add({ ...file, path: `${file.path}\0` }, framed);
    },
    digest: hash.digest,
  };
}

// The text between the paths, each part with its length, and which place each path is. Undefined without any.
function frame(bytes: Buffer, roots: readonly (readonly string[])[]): Buffer | undefined {
  const names = roots.flatMap((forms, at) => forms.map((text) => ({ text: Buffer.from(`${text}/`), at })));
  const parts: Buffer[] = [];
  let from = 0;
  for (;;) {
    const next = names
      .map(({ text, at }) => ({ start: bytes.indexOf(text, from), length: text.length, at }))
      .filter(({ start }) => start !== -1)
      .sort((a, b) => a.start - b.start || b.length - a.length)[0];
    if (next === undefined) break;
    parts.push(Buffer.from(`${next.start - from}:`), bytes.subarray(from, next.start), Buffer.from(`@${next.at};`));
    from = next.start + next.length;
  }
  if (parts.length === 0) return undefined;
  return Buffer.concat([...parts, Buffer.from(`${bytes.length - from}:`), bytes.subarray(from)]);
}
