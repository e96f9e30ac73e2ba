// Compiles the ignore list of a place: names, globs of names, and globs of whole paths (RES-5).

import { compileGlob } from '../core/glob.js';

/** Returns a test for ignored entries. A glob with a separator is matched against the whole path. */
export function createIgnore(ignore: readonly string[], prefix: string): (entry: string) => boolean {
  // Most are plain names, which need no glob.
  const names = new Set(ignore.filter((pattern) => /^[\w.-]+$/.test(pattern)));
  const globs = ignore
    .filter((pattern) => !names.has(pattern))
    .map((pattern) => ({ ofPath: pattern.includes('/'), glob: compileGlob(pattern) }));
  return (entry) =>
    names.has(entry) || globs.some(({ ofPath, glob }) => glob.matches(ofPath ? prefix + entry : entry));
}
