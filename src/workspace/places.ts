// The places of a workspace: what is searched for tools and skills, in order, with the owner and boundary of each.

import { basename, dirname, join, relative, resolve } from 'node:path';
import { ToolError } from '../core/error.js';
import type { Boundary, Owner, Place, PlaceKind } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import { DEFAULT_IGNORE, DEFAULT_PATHS, fillRest, type PathEntry, readPaths } from '../core/search-path.js';
import type { FilesOf, Snapshot } from '../core/snapshot.js';
import { compareText } from '../core/text.js';
import { admittedPath } from '../files/boundary.js';
import { createDirectoryCache } from '../files/directory-cache.js';
import { toAbsolute } from '../files/home.js';
import { entriesOf } from '../files/list.js';
import { statOrNothing } from '../files/read.js';
import { isWithin, realPath } from '../files/within.js';
import { findMissing, findSearchPath } from './search-path.js';

export interface PlacesOptions {
  /** The workdir that the toolbox was created with: paths in the configuration are relative to it. */
  readonly firstWorkdir: string;
  readonly home: string | undefined;
  /** The search path given by code, which overrides the configuration. */
  readonly paths: readonly PathEntry[] | undefined;
  /** The directories of installed items. */
  readonly stores: readonly string[];
  /** Whether a format reads files of the workdir's root. */
  readonly hasRootFiles: boolean;
  /** Whether a format reads the file or directory of this name in places of a kind. */
  readonly isRead: IsRead;
  readonly boundaryOf: BoundaryOf;
}

type IsRead = (kind: PlaceKind, name: string) => boolean;

/** Returns the boundary of a workspace; undefined if links may lead out of it (RES-46). */
export type BoundaryOf = (workspace: string) => Boundary | undefined;

export function createBoundaries(home: string | undefined, isTrusted: (workspace: string) => boolean): BoundaryOf {
  return (directory) =>
    // In the home directory, links are the user's own.
    directory === home ? undefined : { directory, admits: () => isTrusted(directory) };
}

export type Located = Pick<Snapshot, 'workdir' | 'settings'>;

export type PlacesOf = ReturnType<typeof createPlaces>;

/** Creates what computes the places of a snapshot. */
export function createPlaces({ firstWorkdir, home, paths, stores, ...options }: PlacesOptions) {
  const named = paths === undefined ? undefined : assertPaths(paths);
  const installed = stores.map((directory): Place => ({ directory, owner: 'package', kind: 'packages' }));

  const roots = ({ settings }: Located): readonly string[] => {
    const configured = settings.roots.map(
      (root) => toAbsolute(root, firstWorkdir, home) ?? resolve(firstWorkdir, root),
    );
    return configured.length > 0 ? configured : [firstWorkdir];
  };
  // Cached for the last settings and workdir, unless an owner depends on where links lead.
  let known: { readonly at: Located; readonly path: readonly Place[] } | undefined;
  const readPath = (at: Located): readonly Place[] => {
    if (known?.at.settings === at.settings && known.at.workdir === at.workdir) return known.path;
    const { places, isStable } = findSearchPath(searchPath(at));
    const path = places.map((place) => withBoundary(place, at));
    known = isStable ? { at: { settings: at.settings, workdir: at.workdir }, path } : undefined;
    return path;
  };
  const workspacesOf = (at: Located): string[] => [...new Set([at.workdir, firstWorkdir, ...roots(at)])];
  const boundaryOf = (at: Located, files: FilesOf): Boundary | undefined => {
    const directory = findWorkspace(files, workspacesOf(at));
    return directory === undefined ? undefined : options.boundaryOf(directory);
  };
  const withBoundary = (place: Place, at: Located): Place => {
    const boundary = boundaryOf(at, place);
    return boundary === undefined ? place : { ...place, boundary };
  };
  const searchPath = (at: Located) => ({
    entries: named === undefined ? at.settings.paths : fillRest(named, at.settings.paths),
    expected: DEFAULT_PATHS,
    workdir: at.workdir,
    home,
    workspaces: workspacesOf(at),
  });
  return {
    /** Returns the directories that the workdir may be moved within. */
    roots,
    /**
     * Returns all places in order of precedence (RES-6, RES-43, SCR-17): the search path with installed tools before the
     * user's own, then the scripts of the workdir, then those of the user.
     */
    list(at: Located): readonly Place[] {
      const path = readPath(at);
      const own = path.findIndex(({ owner }) => owner === 'user');
      const before = own === -1 ? path.length : own;
      return [
        ...path.slice(0, before),
        ...installed.filter(({ directory }) => statOrNothing(directory) !== undefined),
        ...path.slice(before),
        ...findScriptPlaces(at.workdir, home)
          .map((place) => withBoundary(place, at))
          .flatMap((place) => [place, ...findGroups(place)]),
        ...findDocuments(at, home, workspacesOf(at)).map((place) => withBoundary(place, at)),
        ...findTaskFiles(at, home).map((place) => withBoundary(place, at)),
        ...(options.hasRootFiles ? [withBoundary(rootOf(at.workdir, home), at)] : []),
      ];
    },
    /** Returns the places that are libraries. */
    libraries: (at: Located) => readPath(at).filter(({ external }) => external === true),
    problems: (at: Located): readonly Problem[] => [
      ...findMissing(searchPath(at)),
      ...findTaskProblems(at, options.isRead),
      ...findDocumentProblems(at, home, options.isRead),
    ],
    /** Returns the workspace that the files of a directory must stay inside (RES-46). */
    boundaryOf,
  };
}

// The workspace that contains a directory, the workdir first. A path from elsewhere may lead into one by a link.
function findWorkspace({ directory, owner }: FilesOf, workspaces: readonly string[]): string | undefined {
  if (owner !== 'workspace') return undefined;
  const named = workspaces.find((workspace) => isWithin(workspace, directory));
  if (named !== undefined) return named;
  const reals = workspaces.map((workspace) => realPath(workspace) ?? workspace);
  for (let here = directory; here !== dirname(here); here = dirname(here)) {
    const real = realPath(here);
    const at = real === undefined ? -1 : reals.findIndex((workspace) => isWithin(workspace, real));
    if (at !== -1) return workspaces[at];
  }
  return undefined;
}

function assertPaths(paths: readonly PathEntry[]): readonly PathEntry[] {
  const read = readPaths(paths);
  if (read !== undefined) return read;
  throw new ToolError('invalid_definition', 'paths is not a search path', {
    hint: 'give directories as text, { external: "…" } and { ignore: "…" }',
  });
}

// SCR-17, SCR-25: scripts of the workdir before those of the user.
function findScriptPlaces(workdir: string, home: string | undefined): Place[] {
  const own = home === undefined ? undefined : join(home, '.agents', 'tools');
  const local = join(workdir, '.agents', 'tools');
  return [
    ...(local === own ? [] : [{ directory: local, owner: 'workspace', kind: 'tools' } as const]),
    ...(own === undefined ? [] : [{ directory: own, owner: 'user', kind: 'tools' } as const]),
  ];
}

// MOD-32: directories below `.agents/tools`, which hold modules. RES-46: those behind a link out are not listed.
function findGroups(place: Place): Place[] {
  const path = admittedPath(place.directory, place.boundary);
  const names = path === undefined ? [] : (listDirectories(path) ?? []);
  return names.map((name): Place => ({ ...place, directory: join(place.directory, name), kind: 'groups' }));
}

// Links are not followed: a checkout could name any directory.
const listDirectories = createDirectoryCache((directory) =>
  entriesOf(directory)
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.') && !DEFAULT_IGNORE.includes(entry.name))
    .map(({ name }) => name)
    .sort(compareText),
);

function rootOf(workdir: string, home: string | undefined): Place {
  return { directory: workdir, owner: workdir === home ? 'user' : 'workspace', kind: 'root' };
}

// TSK-1: the files of tasks that the configuration names.
function findTaskFiles({ settings: { tasks }, workdir }: Located, home: string | undefined): Place[] {
  const { from, ...filter } = tasks;
  return from.map((path): Place => {
    const file = resolve(workdir, path);
    const owner = workdir === home ? 'user' : 'workspace';
    const label = relative(workdir, dirname(file));
    return { directory: dirname(file), owner, kind: 'tasks', only: basename(file), label, filter };
  });
}

const TASK_FILES_HINT =
  'name a package.json, Makefile, justfile, Taskfile.yml, deno.json, composer.json, pyproject.toml or mise.toml';

function findTaskProblems({ settings, workdir }: Located, isRead: IsRead): Problem[] {
  return settings.tasks.from.flatMap((path): Problem[] => {
    const file = resolve(workdir, path);
    const report = (message: string, hint: string): Problem[] => [{ severity: 'error', path: file, message, hint }];
    if (!isRead('tasks', basename(file)))
      return report('is in tasks.from, but is not a file of tasks', TASK_FILES_HINT);
    if (statOrNothing(file) !== undefined) return [];
    return report('is in tasks.from, but does not exist', 'create it, or remove it from tasks.from');
  });
}

// Documents that the user's configuration names. One in a workspace can be changed by others, so it needs trust.
function findDocuments(
  { settings, workdir }: Located,
  home: string | undefined,
  workspaces: readonly string[],
): Place[] {
  return [...settings.openapi].flatMap(([label, { spec }]): Place[] => {
    const file = spec === undefined ? undefined : toAbsolute(spec, workdir, home);
    if (file === undefined) return [];
    const directory = dirname(file);
    const owner = findWorkspace({ directory, owner: 'workspace' }, workspaces) === undefined ? 'user' : 'workspace';
    return [{ directory, owner, kind: 'documents', only: basename(file), label }];
  });
}

// OAS-6: a document that no place lists would be missing without a word.
function findDocumentProblems({ settings, workdir }: Located, home: string | undefined, isRead: IsRead): Problem[] {
  return [...settings.openapi].flatMap(([label, { spec, position }]): Problem[] => {
    if (spec === undefined) return [];
    const path = toAbsolute(spec, workdir, home) ?? spec;
    const stats = statOrNothing(path);
    const why =
      stats === undefined
        ? 'does not exist'
        : !stats.isFile()
          ? 'is not a file'
          : !isRead('documents', basename(path))
            ? 'does not end in .json, .yaml or .yml'
            : undefined;
    if (why === undefined) return [];
    const where = position === undefined ? '' : ` in ${position.file}:${position.line}`;
    const message = `is the spec of [openapi.${label}]${where}, but ${why}`;
    return [{ severity: 'error', path, message, hint: 'fix the path; a relative one starts at the workdir' }];
  });
}

/** Returns the owner of a directory outside the search path: the user below their own places, else the workspace. */
export function findOwner(directory: string, places: readonly Place[]): Owner {
  const real = realPath(directory) ?? directory;
  const holder = places.find(
    // What is below the root is not part of it: in a home directory there may be checkouts.
    ({ kind, directory: place }) => kind !== 'root' && isWithin(realPath(place) ?? place, real),
  );
  return holder?.owner === 'user' ? 'user' : 'workspace';
}

/**
 * Returns a generator of the directories at which the search for the skill that governs a tool stops (RES-16). Most
 * tools are below one of the first two, so the places are read only if needed.
 */
export function findTops(home: string | undefined) {
  return function* (
    snapshot: Pick<Snapshot, 'workdir' | 'places'>,
  ): Generator<{ readonly directory: string; readonly owner: Owner }> {
    const { workdir } = snapshot;
    yield { directory: workdir, owner: workdir === home ? 'user' : 'workspace' };
    if (home !== undefined) yield { directory: join(home, '.agents'), owner: 'user' };
    yield* snapshot.places;
  };
}
