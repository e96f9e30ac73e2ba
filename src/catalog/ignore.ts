// What is passed over in a directory: names and globs of names, or globs of whole paths (RES-5).

import { compileGlob } from '../core/glob.js';

/** Whether an entry is passed over. A glob with a separator is held against the entry's whole path. */
export function createIgnore(ignore: readonly string[], prefix: string): (entry: string) => boolean {
  // Most are plain names, and a listing compiles nothing for them.
  const names = new Set(ignore.filter((pattern) => /^[\w.-]+$/.test(pattern)));
  const globs = ignore
    .filter((pattern) => !names.has(pattern))
    .map((pattern) => ({ ofPath: pattern.includes('/'), glob: compileGlob(pattern) }));
  return (entry) =>
    names.has(entry) || globs.some(({ ofPath, glob }) => glob.matches(ofPath ? prefix + entry : entry));
}
