// Finds items of a source in the usual directories, by globs, and skills anywhere; reads one entry.

import { lstatSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { compileGlob, type Glob } from '../../core/glob.js';
import { compareText, quoteOutside } from '../../core/text.js';
import { namesIn } from '../../files/list.js';
import { statOrNothing } from '../../files/read.js';
import { isDirectory } from '../directory.js';
import { findNameFault, type ItemKind, isDirectoryKind, isSafePath } from '../manifest/item-name.js';
import type { ItemGlobs } from '../manifest/source-manifest.js';
import { assertInside, pathEscape } from './load-manifest.js';
import type { ScanNotes, ScanWarning } from './notes.js';
import { readSourceItem, readSourceName, type SourceItem } from './source-item.js';

/** The files and directories of a source. */
export type Entries = readonly { readonly path: string; readonly directory: boolean }[];

/** Lists the entries of `skills`, `agents`, `rules` or `tools` below a root (INS-2). */
export function conventionalPaths(tree: string, root: string, kind: ItemKind): string[] {
  const folder = join(root, `${kind}s`);
  return namesIn(join(tree, folder)).map((name) => join(folder, name));
}

interface GlobMatch {
  readonly path: string;
  /** Undefined: that of the directory or file. */
  readonly name: string | undefined;
}

/**
 * Globs match the directory of a tool; for a skill the directory or its SKILL.md (INS-36). A glob that ends in a fixed
 * name, such as `packages/<any>/tool`, names each match by its parent directory.
 */
export function matchGlobs(entries: Entries, kind: ItemKind, globs: ItemGlobs | undefined): GlobMatch[] {
  if (globs === undefined) return [];
  const matches = globs.include.flatMap((glob) =>
    findPaths(entries, glob, globs.exclude).flatMap(({ path, directory }): GlobMatch[] => {
      if (directory === isDirectoryKind(kind)) return [{ path, name: nameByParent(glob, path) }];
      if (kind !== 'skill' || !path.endsWith('/SKILL.md')) return [];
      return [{ path: dirname(path), name: nameByParent(dirname(glob), dirname(path)) }];
    }),
  );
  return [...new Map(matches.map((match) => [match.path, match])).values()];
}

const WILDCARD = /[*?[{]/;

function nameByParent(glob: string, path: string): string | undefined {
  const segments = glob.replace(/\/+$/, '').split('/');
  const last = segments.pop()!;
  const parent = basename(dirname(path));
  return WILDCARD.test(last) ||
    !segments.some((segment) => WILDCARD.test(segment)) ||
    parent === '.' ||
    last.endsWith('.md')
    ? undefined
    : parent;
}

/** Returns the directories of roots, which may be globs. A missing one is a warning, or an error without `warnings`. */
export function expandRoots(
  tree: string,
  entries: Entries,
  roots: readonly string[],
  warnings: ScanWarning[] | undefined,
): string[] {
  return roots.flatMap((root) => {
    if (WILDCARD.test(root))
      return findPaths(entries, root).flatMap(({ path, directory }) => (directory ? [path] : []));
    if (!isSafePath(root)) throw pathEscape(root, `the root "${root}"`);
    assertInside(tree, root, `the root "${root}"`);
    if (isDirectory(join(tree, root))) return [join(root, '.') === '.' ? '' : root.replace(/\/+$/, '')];
    const message = `the source has no directory "${quoteOutside(root, 120)}"`;
    if (warnings === undefined)
      throw new ToolError('not_found', message, { hint: 'pass an existing directory with --root' });
    warnings.push({ path: root, kind: 'missing-root', message, hint: 'fix the roots' });
    return [];
  });
}

/** Undefined: not an item. Adds a warning if it looks like one. `given` overrides the name of the entry. */
export function readEntry(
  tree: string,
  kind: ItemKind,
  path: string,
  warnings: ScanWarning[],
  given?: string,
): SourceItem | undefined {
  const entry = given ?? basename(path);
  const stats = statOrNothing(join(tree, path));
  if (stats === undefined || entry.startsWith('.') || stats.isDirectory() !== isDirectoryKind(kind)) return undefined;
  const skip = (skipKind: string, message: string, hint: string): undefined => {
    warnings.push({ path: path === '' ? '.' : path, kind: skipKind, message: `skipped: ${message}`, hint });
  };
  if (kind === 'skill' && !hasSkillFile(join(tree, path), skip)) return undefined;
  if (!isDirectoryKind(kind)) {
    if (!basename(path).endsWith('.md')) return undefined;
    if (/^readme\.md$/i.test(entry))
      return skip('readme', `a README is not a${kind === 'agent' ? 'n' : ''} ${kind}`, 'no action needed');
  }
  // A skill that is the source itself has no directory to be named after.
  const own = path === '' ? readSourceName(tree) : undefined;
  const name = own ?? (isDirectoryKind(kind) || given !== undefined ? entry : entry.slice(0, -'.md'.length));
  const fault = findNameFault(name);
  if (fault !== undefined) return skip('invalid-name', `the name "${quoteOutside(name, 60)}" ${fault}`, 'rename it');
  return readSourceItem(tree, kind, name, path);
}

// Whether a directory has a SKILL.md; one that has something like it is skipped.
function hasSkillFile(directory: string, skip: (kind: string, message: string, hint: string) => void): boolean {
  const names = namesIn(directory);
  const other = names.find((name) => name.toLowerCase() === 'skill.md');
  if (other === undefined) return false;
  const file = join(directory, 'SKILL.md');
  if (!names.includes('SKILL.md')) skip('skill-file-name', `the file is named ${other}`, 'rename it to SKILL.md');
  else if (lstatSync(file).isSymbolicLink() && statOrNothing(file) === undefined)
    skip('dangling-link', 'its SKILL.md is a link that leads to nothing', 'fix the link');
  else return true;
  return false;
}

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

function findPaths(entries: Entries, include: string, exclude: readonly string[] = []): Entries {
  const isWanted = compilePathGlob(include);
  const unwanted = exclude.map(compilePathGlob);
  return entries.filter(({ path }) => isWanted(path) && !unwanted.some((glob) => glob(path)));
}

interface SkillSearch {
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

/**
 * Returns the directories of skills that are in none of the usual directories, any SKILL.md below the roots (INS-41),
 * visible and shallow ones first; counts the others.
 */
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
