// Compares two trees file by file, for the preview of a change.

import { isUtf8 } from 'node:buffer';
import { lineDiff } from '../../core/diff.js';
import { compareText, revealHidden } from '../../core/text.js';
import { listTree, readTreeFile } from '../../files/tree.js';

export interface FileChange {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  /** Lines prefixed with `+`, `-` or two spaces; empty for binary and very large files. */
  readonly lines: readonly string[];
}

const MAX_DIFF_BYTES = 1024 * 1024;

/** Returns no changes without a tree before. Only files in `known` count as removed; others were created locally. */
export function diffTrees(before: string | undefined, after: string, known: readonly string[]): FileChange[] {
  const oldPaths = before === undefined ? undefined : pathsIn(before);
  if (before === undefined || oldPaths === undefined) return [];
  const newPaths = new Set(listTree(after).map(({ path }) => path));
  const removed = known.filter((path) => oldPaths.has(path) && !newPaths.has(path));
  return [...newPaths, ...removed].sort(compareText).flatMap((path) => {
    const read = (tree: string, exists: boolean): Buffer =>
      exists ? readTreeFile(tree, path) : Buffer.alloc(0);
    const [old, now] = [read(before, oldPaths.has(path)), read(after, newPaths.has(path))];
    if (old.equals(now) && oldPaths.has(path) === newPaths.has(path)) return [];
    if (![old, now].every((side) => side.length <= MAX_DIFF_BYTES && !side.includes(0) && isUtf8(side)))
      return [{ path, added: 0, removed: 0, lines: [] }];
    const lines = lineDiff(old.toString('utf8'), now.toString('utf8')).map(revealHidden);
    const count = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
    return [{ path, added: count('+'), removed: count('-'), lines }];
  });
}

// Undefined if the tree cannot be listed: it was changed or removed locally.
function pathsIn(tree: string): ReadonlySet<string> | undefined {
  try {
    return new Set(listTree(tree).map(({ path }) => path));
  } catch {
    return undefined;
  }
}
