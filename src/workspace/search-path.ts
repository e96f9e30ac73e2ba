// Resolves the search path: its entries become places with owners and ignore patterns.

import { isAbsolute, join } from 'node:path';
import type { Owner, Place } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import { DEFAULT_IGNORE, extractIgnore, iterPaths, type PathEntry } from '../core/search-path.js';
import { toAbsolute } from '../files/home.js';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';

export interface SearchPathOptions {
  readonly entries: readonly PathEntry[];
  /** Directories that need not exist. */
  readonly expected: readonly PathEntry[];
  readonly workdir: string;
  readonly home: string | undefined;
  /** Directories of the workspace: the workdir and where it can be changed to. */
  readonly workspaces: readonly string[];
}

/**
 * Returns the directories to search in order, each once (RES-6), and whether they depend on the options only, and not on
 * symbolic links.
 */
export function findSearchPath(options: SearchPathOptions) {
  const { entries, workdir, home } = options;
  const ignore = [
    ...DEFAULT_IGNORE,
    ...extractIgnore(entries).map((pattern) => (pattern.includes('/') ? anchorGlob(pattern, workdir, home) : pattern)),
  ];
  const places = new Map<string, Place>();
  let isStable = true;
  for (const { dir, external } of iterPaths(entries)) {
    const directory = toAbsolute(dir, workdir, home);
    if (directory === undefined || places.has(directory)) continue;
    const known = ownerByPath(directory, options);
    const owner = known ?? ownerByLinks(directory, external, options);
    isStable &&= known !== undefined;
    places.set(directory, { directory, owner, kind: 'skills', ignore, ...(external ? { external } : {}) });
  }
  return { places: [...places.values()], isStable };
}

/** Returns problems for configured directories that do not exist. */
export function findMissing(options: SearchPathOptions): Problem[] {
  const expected = new Set([...iterPaths(options.expected)].map(({ dir }) => dir));
  return [...iterPaths(options.entries)]
    .filter(({ dir }) => !expected.has(dir))
    .map(({ dir }) => toAbsolute(dir, options.workdir, options.home) ?? dir)
    .filter((directory) => !statOrNothing(directory)?.isDirectory())
    .map((path) => ({
      severity: 'warning',
      path,
      message: 'is on the search path but does not exist',
      hint: 'create it, or remove it from `paths`',
    }));
}

// The owner depends on where a directory is, not on which file names it.
function ownerByPath(directory: string, { home, workspaces }: SearchPathOptions): Owner | undefined {
  if (home !== undefined && isWithin(join(home, '.agents'), directory)) return 'user';
  return workspaces.some((workspace) => isWithin(workspace, directory)) ? 'workspace' : undefined;
}

function ownerByLinks(directory: string, external: boolean, { workspaces }: SearchPathOptions): Owner {
  const real = realPath(directory) ?? directory;
  if (workspaces.some((workspace) => isWithin(realPath(workspace) ?? workspace, real))) return 'workspace';
  return external ? 'library' : 'user';
}

// The directory part of a path glob is literal and made absolute.
function anchorGlob(pattern: string, workdir: string, home: string | undefined): string {
  if (isAbsolute(pattern)) return pattern;
  const below = pattern.startsWith('~/') && home !== undefined ? home : workdir;
  return `${below.replace(/[\\*?[\]{}()!]/g, '\\$&')}/${pattern.replace(/^[.~]\//, '')}`;
}
