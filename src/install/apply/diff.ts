// What differs between two trees, file by file, for people who decide whether a change is all right.

import { isUtf8 } from 'node:buffer';
import { lineDiff } from '../../core/diff.js';
import { compareText, revealHidden } from '../../core/text.js';
import { listTree, readTreeFile } from '../../files/tree.js';

export interface FileChange {
  readonly path: string;
  readonly added: number;
  readonly removed: number;
  /** Lines with `+`, `-` or two spaces before them; empty for what is no text. */
  readonly lines: readonly string[];
}

const MAX_DIFF_BYTES = 1024 * 1024;

/** The files that change from one tree to another. Of the first, only those that `known` names can be missing later. */
export function diffTrees(before: string | undefined, after: string, known: readonly string[]): FileChange[] {
  const from = before === undefined ? undefined : safely(() => listTree(before));
  if (before === undefined || from === undefined) return [];
  const old = new Set(from.map(({ path }) => path));
  const now = new Set(listTree(after).map(({ path }) => path));
  const gone = known.filter((path) => old.has(path) && !now.has(path));
  return [...now, ...gone].sort(compareText).flatMap((path) => {
    const bytes = (tree: string, there: boolean): Buffer =>
      there ? readTreeFile(tree, path) : Buffer.alloc(0);
    const [one, other] = [bytes(before, old.has(path)), bytes(after, now.has(path))];
    if (one.equals(other) && old.has(path) === now.has(path)) return [];
    if (![one, other].every((side) => side.length <= MAX_DIFF_BYTES && !side.includes(0) && isUtf8(side)))
      return [{ path, added: 0, removed: 0, lines: [] }];
    const lines = lineDiff(one.toString('utf8'), other.toString('utf8')).map(revealHidden);
    const count = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
    return [{ path, added: count('+'), removed: count('-'), lines }];
  });
}

function safely<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
