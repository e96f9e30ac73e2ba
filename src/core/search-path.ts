// Search paths as written in the configuration: directories, library directories and ignore globs (RES-5).

import { orNothing, ToolError } from './error.js';
import { compileGlob } from './glob.js';
import { checked, custom, either, list, matches, object, type Shape, text } from './shape.js';

/** A directory, a directory of a library, or a glob of ignored entries. */
export type PathEntry = string | { readonly external: string } | { readonly ignore: string };

/** A directory of a search path; `external` if it belongs to a library instead of the project. */
export interface DirEntry {
  /** The directory. */
  readonly dir: string;
  /** Whether it belongs to a library. */
  readonly external: boolean;
}

/** Placeholder in a list for the default entries. */
export const REST = '...';

/** The default search path (RES-6); relative to the workdir, `~` is the home directory. */
export const DEFAULT_PATHS: readonly PathEntry[] = ['.agents/skills', 'skills', 'tools', '~/.agents/skills'];

/** Entries that are always ignored. */
export const DEFAULT_IGNORE: readonly string[] = ['node_modules', '.git', 'dist', '.cache'];

const NAMED = text('a path', /^[^\x00]+$/);
const GLOB = checked(NAMED, (glob, fail) => {
  if (orNothing(() => compileGlob(glob)) === undefined) fail([], 'must be a glob');
});
const ENTRIES = list(either([NAMED, object({ external: NAMED }), object({ ignore: GLOB })]));

/** A search path, with one fault for all of it. JSON Schema cannot check globs. */
export const searchPath: Shape<readonly PathEntry[]> = custom(
  'an array of directories, { external = "…" } and { ignore = "…" }',
  readPaths,
  ENTRIES.toSchema(),
);

/** Validates a search path; returns undefined if it is invalid. */
export function readPaths(value: unknown): readonly PathEntry[] | undefined {
  return matches(ENTRIES, value) ? value : undefined;
}

/** Returns the directory of an entry, as written. Throws `invalid_definition` for an ignore entry. */
export function pathEntryDir(entry: PathEntry): string {
  if (typeof entry === 'string') return entry;
  if ('external' in entry) return entry.external;
  throw new ToolError('invalid_definition', 'an ignore entry of a search path has no directory', {
    hint: 'use iterPaths, which skips ignore entries',
  });
}

/** Yields the directories of a search path, in order. */
export function* iterPaths(paths: readonly PathEntry[]): Generator<DirEntry> {
  for (const entry of paths) {
    if (!isIgnore(entry)) yield { dir: pathEntryDir(entry), external: typeof entry !== 'string' };
  }
}

/** Returns the globs of the ignore entries. */
export function extractIgnore(paths: readonly PathEntry[]): string[] {
  return paths.filter(isIgnore).map(({ ignore }) => ignore);
}

/** Replaces each directory by the entries that `change` returns. Ignore entries stay. */
export function mapPaths(
  paths: readonly PathEntry[],
  change: (dir: string, external: boolean, entry: PathEntry) => readonly PathEntry[],
): PathEntry[] {
  return paths.flatMap((entry) =>
    isIgnore(entry) ? [entry] : change(pathEntryDir(entry), typeof entry !== 'string', entry),
  );
}

/** Keeps the directories for which `keep` returns true. Ignore entries stay. */
export function filterPaths(
  paths: readonly PathEntry[],
  keep: (dir: string, external: boolean) => boolean,
): PathEntry[] {
  return mapPaths(paths, (dir, external, entry) => (keep(dir, external) ? [entry] : []));
}

/** Replaces the `...` of a list by other entries. */
export function fillRest(paths: readonly PathEntry[], rest: readonly PathEntry[]): PathEntry[] {
  return paths.flatMap((entry) => (entry === REST ? rest : [entry]));
}

function isIgnore(entry: PathEntry): entry is { readonly ignore: string } {
  return typeof entry !== 'string' && 'ignore' in entry;
}
