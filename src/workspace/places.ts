// The places of a workdir: where tools and skills are looked for, in which order, whose they are, how far up they reach.

import { join, resolve } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Place } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import { DEFAULT_PATHS, fillRest, type PathEntry, readPaths } from '../core/search-path.js';
import type { Settings } from '../core/settings.js';
import type { Owner } from '../core/tool.js';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';
import { findMissing, findSearchPath, toDirectory } from './search-path.js';

export interface CreatePlacesOptions {
  readonly workdir: () => string;
  /** The workdir that the toolbox began with: what the configuration names is relative to it. */
  readonly firstWorkdir: string;
  readonly home: string | undefined;
  /** The search path that stands over the configuration's, if code names one. */
  readonly paths: readonly PathEntry[] | undefined;
  /** The directory of what is installed. */
  readonly store: string;
  readonly settings: () => Settings;
}

export interface Places {
  /** All places, first to last. */
  list(): readonly Place[];
  /** The directories that the workdir may be moved within. */
  roots(): readonly string[];
  /** Directories that nobody looks above for the skill that governs a tool (RES-16). */
  tops(): Iterable<{ readonly directory: string; readonly owner: Owner }>;
  /** Whose it is what lies in a directory that someone names. */
  ownerOf(directory: string): Owner;
  toAbsolute(path: string): string | undefined;
  problems(): readonly Problem[];
}

export function createPlaces(options: CreatePlacesOptions): Places {
  const { workdir, firstWorkdir, home, settings } = options;
  const named = options.paths === undefined ? undefined : assertPaths(options.paths);
  const store: Place = { directory: options.store, owner: 'package', kind: 'packages' };

  const roots = (): readonly string[] => {
    const configured = settings().roots.map(
      (root) => toDirectory(root, firstWorkdir, home) ?? resolve(firstWorkdir, root),
    );
    return configured.length > 0 ? configured : [firstWorkdir];
  };
  const searchPath = () => ({
    entries: named === undefined ? settings().paths : fillRest(named, settings().paths),
    expected: DEFAULT_PATHS,
    workdir: workdir(),
    home,
    workspaces: [...new Set([workdir(), firstWorkdir, ...roots()])],
  });
  // RES-6, RES-43, SCR-17: the search path first, with what is installed before what is the person's own; then the
  // workdir's scripts, then the person's. Where nothing is installed, nothing is looked for.
  const list = (): readonly Place[] => {
    const path = findSearchPath(searchPath());
    const own = path.findIndex(({ owner }) => owner === 'user');
    const at = own === -1 ? path.length : own;
    return [
      ...path.slice(0, at),
      ...(statOrNothing(store.directory) === undefined ? [] : [store]),
      ...path.slice(at),
      ...findScriptPlaces(workdir(), home),
    ];
  };
  return {
    list,
    roots,
    // Most tools lie below one of the first; the places are asked for only where none of them holds the tool.
    *tops() {
      yield* findTops(workdir(), home);
      yield* list();
    },
    ownerOf: (directory) => findOwner(directory, list()),
    toAbsolute: (path) => toDirectory(path, workdir(), home),
    problems: () => findMissing(searchPath()),
  };
}

function assertPaths(paths: readonly PathEntry[]): readonly PathEntry[] {
  const read = readPaths(paths);
  if (read !== undefined) return read;
  throw new ToolError('invalid_definition', 'paths is no search path', {
    hint: 'give directories as text, { external: "…" } and { ignore: "…" }',
  });
}

// SCR-17, SCR-25: the workdir's scripts before the person's own.
function findScriptPlaces(workdir: string, home: string | undefined): Place[] {
  const own = home === undefined ? undefined : join(home, '.agents', 'tools');
  const local = join(workdir, '.agents', 'tools');
  return [
    ...(local === own ? [] : [{ directory: local, owner: 'workspace', kind: 'tools' } as const]),
    ...(own === undefined ? [] : [{ directory: own, owner: 'user', kind: 'tools' } as const]),
  ];
}

// What is named by its path alone is trusted as a checkout is, unless it lies below what is the person's own.
function findOwner(directory: string, places: readonly Place[]): Owner {
  const real = realPath(directory) ?? directory;
  const holder = places.find((place) => isWithin(realPath(place.directory) ?? place.directory, real));
  return holder?.owner === 'user' ? 'user' : 'workspace';
}

// RES-16: the search for the skill that governs a tool stops at the first of these that holds the tool.
function findTops(workdir: string, home: string | undefined): { directory: string; owner: Owner }[] {
  const own = home === undefined ? undefined : join(home, '.agents');
  return [
    { directory: workdir, owner: workdir === home ? 'user' : 'workspace' },
    ...(own === undefined ? [] : [{ directory: own, owner: 'user' as const }]),
  ];
}
