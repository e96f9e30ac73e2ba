// The search path as it is here: entries become places, each with whose it is and what is passed over in it.

import { isAbsolute, join, resolve } from 'node:path';
import type { Place } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import { DEFAULT_IGNORE, extractIgnore, iterPaths, type PathEntry } from '../core/search-path.js';
import type { Owner } from '../core/tool.js';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';

export interface SearchPathOptions {
  readonly entries: readonly PathEntry[];
  /** Those that need not exist. */
  readonly expected: readonly PathEntry[];
  readonly workdir: string;
  readonly home: string | undefined;
  /** Directories whose tools are a checkout's: the workdir, and where it can be moved to. */
  readonly workspaces: readonly string[];
}

/** The directories to search, first to last, each once (RES-6). */
export function findSearchPath(options: SearchPathOptions): readonly Place[] {
  const { entries, workdir, home } = options;
  const ignore = [
    ...DEFAULT_IGNORE,
    ...extractIgnore(entries).map((pattern) =>
      pattern.includes('/') ? anchorGlob(pattern, workdir, home) : pattern,
    ),
  ];
  const places = new Map<string, Place>();
  for (const { dir, external } of iterPaths(entries)) {
    const directory = toDirectory(dir, workdir, home);
    if (directory === undefined || places.has(directory)) continue;
    const owner = ownerOf(directory, external, options);
    places.set(directory, { directory, owner, kind: 'skills', ignore, ...(external ? { external } : {}) });
  }
  return [...places.values()];
}

/** Directories that someone named and that are not there: never passed over in silence. */
export function findMissing(options: SearchPathOptions): Problem[] {
  const expected = new Set([...iterPaths(options.expected)].map(({ dir }) => dir));
  return [...iterPaths(options.entries)]
    .filter(({ dir }) => !expected.has(dir))
    .map(({ dir }) => toDirectory(dir, options.workdir, options.home) ?? dir)
    .filter((directory) => !statOrNothing(directory)?.isDirectory())
    .map((path) => ({
      severity: 'warning',
      path,
      message: 'is on the search path, and there is no such directory',
      hint: 'make it, or take it out of `paths`',
    }));
}

/** `~` and what is relative, made absolute; undefined where there is no home to begin from. */
export function toDirectory(path: string, workdir: string, home: string | undefined): string | undefined {
  if (!/^~(?=\/|$)/.test(path)) return resolve(workdir, path);
  return home === undefined ? undefined : join(home, path.slice(1));
}

/**
 * Whose files a directory holds, decided by where it lies: what is the user's own is theirs, what a workspace holds
 * or leads to is the workspace's, whoever named it.
 */
function ownerOf(
  directory: string,
  external: boolean,
  { home, workspaces }: Pick<SearchPathOptions, 'home' | 'workspaces'>,
): Owner {
  if (home !== undefined && isWithin(join(home, '.agents'), directory)) return 'user';
  if (workspaces.some((workspace) => isWithin(workspace, directory))) return 'workspace';
  const real = realPath(directory) ?? directory;
  if (workspaces.some((workspace) => isWithin(realPath(workspace) ?? workspace, real))) return 'workspace';
  return external ? 'library' : 'user';
}

// A glob of paths is anchored as a directory would be; what stands before it is no pattern.
function anchorGlob(pattern: string, workdir: string, home: string | undefined): string {
  if (isAbsolute(pattern)) return pattern;
  const below = pattern.startsWith('~/') && home !== undefined ? home : workdir;
  return `${below.replace(/[\\*?[\]{}()!]/g, '\\$&')}/${pattern.replace(/^[.~]\//, '')}`;
}
