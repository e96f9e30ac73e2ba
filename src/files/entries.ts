// The entries of a directory, read once per snapshot: several formats look at the same one.

import { type Dirent, readdirSync } from 'node:fs';

const known = new WeakMap<object, Map<string, readonly Dirent[]>>();

/** Throws if the directory cannot be read. */
export function entriesOf(directory: string, snapshot: object | undefined): readonly Dirent[] {
  if (snapshot === undefined) return readdirSync(directory, { withFileTypes: true });
  const directories = known.get(snapshot) ?? new Map<string, readonly Dirent[]>();
  known.set(snapshot, directories);
  const entries = directories.get(directory) ?? readdirSync(directory, { withFileTypes: true });
  directories.set(directory, entries);
  return entries;
}
