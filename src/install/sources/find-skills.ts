// Finds the skills of a source that are in none of the usual directories: any SKILL.md below the roots (INS-41).

import { dirname } from 'node:path';
import { compareText } from '../../core/text.js';
import type { SourceItem } from './source-item.js';

/** Parts of a source that are not offered, for one reason. */
export interface SkippedParts {
  /** What they are, such as `skill` or `hook`. */
  readonly what: string;
  readonly reason: string;
  readonly paths: readonly string[];
}

export interface SkillSearch {
  /** Every SKILL.md of the source. */
  readonly skillFiles: readonly string[];
  /** Directories that are searched; an empty path is the source itself. */
  readonly roots: readonly string[];
  /** Directories that were read as skills before. */
  readonly visited: ReadonlySet<string>;
  /** Items that were found before. */
  readonly taken: readonly SourceItem[];
  /** Directories of nested sources, which offer their skills themselves. */
  readonly nested: readonly string[];
  /** The manifest, if it lists the items. */
  readonly manifestFile: string | null;
}

/** Returns the directories of further skills, visible and shallow ones first, and counts the others. */
export function findSkills({ skillFiles, visited, roots, taken, nested, manifestFile }: SkillSearch): {
  readonly paths: readonly string[];
  readonly skipped: readonly SkippedParts[];
} {
  const directories = skillFiles.map((file) => (dirname(file) === '.' ? '' : dirname(file))).sort(compareDirectories);
  const known = new Set(taken.filter(({ kind }) => kind === 'skill').map(({ path }) => path));
  const containers = new Set(taken.filter(({ file }) => !file).map(({ path }) => path));
  const paths: string[] = [];
  const skipped = new Map<string, string[]>();
  const skip = (path: string, reason: string): void => {
    skipped.set(reason, [...(skipped.get(reason) ?? []), path === '' ? '.' : path]);
  };
  for (const path of directories) {
    if (known.has(path) || visited.has(path)) continue;
    if (isInside(path, containers)) skip(path, 'part of another item');
    else if (nested.some((source) => isBelow(path, source))) skip(path, 'offered by a nested source');
    else if (!roots.some((root) => root === '' || isBelow(path, root)))
      skip(path, manifestFile === null ? 'outside of the roots' : `not listed in ${manifestFile}`);
    else {
      paths.push(path);
      containers.add(path);
    }
  }
  return { paths, skipped: [...skipped].map(([reason, all]) => ({ what: 'skill', reason, paths: all })) };
}

function compareDirectories(a: string, b: string): number {
  const isHidden = (path: string): number => Number(path.split('/').some((segment) => segment.startsWith('.')));
  const depth = (path: string): number => (path === '' ? 0 : path.split('/').length);
  return isHidden(a) - isHidden(b) || depth(a) - depth(b) || compareText(a, b);
}

export function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

/** Whether a directory above a path is one of these. The source itself contains everything, and counts for nothing. */
export function isInside(path: string, containers: ReadonlySet<string>): boolean {
  for (let above = dirname(path); above !== '.' && above !== '/'; above = dirname(above))
    if (containers.has(above)) return true;
  return false;
}
