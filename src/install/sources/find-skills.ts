// Finds the skills of a source that are in none of the usual directories: any SKILL.md below the roots (INS-41).

import { dirname } from 'node:path';
import { compareText } from '../../core/text.js';
import type { ScanNotes } from './notes.js';
import type { SourceItem } from './source-item.js';

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
export function findSkills(
  { skillFiles, visited, roots, taken, nested, manifestFile }: SkillSearch,
  { skip }: ScanNotes,
): readonly string[] {
  const directories = skillFiles.map((file) => (dirname(file) === '.' ? '' : dirname(file))).sort(compareDirectories);
  const known = new Set(taken.filter(({ kind }) => kind === 'skill').map(({ path }) => path));
  const containers = new Set(taken.filter(({ file }) => !file).map(({ path }) => path));
  return directories.filter((path) => {
    if (known.has(path) || visited.has(path)) return false;
    if (isInside(path, containers)) skip('skill', path, 'part of another item');
    else if (nested.some((source) => isBelow(path, source))) skip('skill', path, 'offered by a nested source');
    else if (!roots.some((root) => root === '' || isBelow(path, root)))
      skip('skill', path, manifestFile === null ? 'outside of the roots' : `not listed in ${manifestFile}`);
    else {
      containers.add(path);
      return true;
    }
    return false;
  });
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
