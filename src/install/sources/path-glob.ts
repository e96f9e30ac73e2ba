// Path globs: `*` matches within a segment, `**` any number of segments.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compileGlob, type Glob } from '../../core/glob.js';
import { compareText } from '../../core/text.js';

type Segment = Glob | '**';

function compilePathGlob(pattern: string): (path: string) => boolean {
  const segments = pattern
    .replace(/^\.\//, '')
    .replace(/\/+$/, '')
    .split('/')
    .map((segment): Segment => (segment === '**' ? '**' : compileGlob(segment)));
  return (path) => matches(segments, path.split('/'));
}

// Tracks all reachable segments at once, so that several `**` do not backtrack.
function matches(segments: readonly Segment[], parts: readonly string[]): boolean {
  let reached = new Set<number>([0]);
  const skip = (states: Set<number>): Set<number> => {
    for (const at of states) if (segments[at] === '**') states.add(at + 1);
    return states;
  };
  reached = skip(reached);
  for (const part of parts) {
    const next = new Set<number>();
    for (const at of reached) {
      const segment = segments[at];
      if (segment === '**') next.add(at);
      else if (segment?.matches(part)) next.add(at + 1);
    }
    reached = skip(next);
  }
  return reached.has(segments.length);
}

/** Returns the files and directories that match. Does not follow links; skips `.git`. */
export function findPaths(
  root: string,
  include: readonly string[],
  exclude: readonly string[],
): { readonly path: string; readonly directory: boolean }[] {
  const wanted = include.map(compilePathGlob);
  const unwanted = exclude.map(compilePathGlob);
  const found: { path: string; directory: boolean }[] = [];
  const walk = (prefix: string, depth: number): void => {
    const entries = readdirSync(join(root, prefix), { withFileTypes: true });
    for (const entry of entries.sort((a, b) => compareText(a.name, b.name))) {
      if (entry.name === '.git' || depth > 128) continue;
      const path = prefix + entry.name;
      if (wanted.some((glob) => glob(path)) && !unwanted.some((glob) => glob(path)))
        found.push({ path, directory: entry.isDirectory() });
      if (entry.isDirectory()) walk(`${path}/`, depth + 1);
    }
  };
  walk('', 1);
  return found;
}
