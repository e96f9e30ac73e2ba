// The search path as it is written: directories, libraries' directories, and what is passed over in them (RES-5).

import { ToolError } from './error.js';
import { compileGlob } from './glob.js';
import { isRecord } from './json.js';

/** A directory, a library's directory, or a glob of entries that are passed over. */
export type PathEntry = string | { readonly external: string } | { readonly ignore: string };

/** A directory of a search path; `external` where it is a library's and not the project's. */
export interface DirEntry {
  readonly dir: string;
  readonly external: boolean;
}

/** In a list: everything that would stand there without it. */
export const REST = '...';

/** Where tools are looked for where nothing else is said (RES-6); relative to the workdir, `~` is home. */
export const DEFAULT_PATHS: readonly PathEntry[] = ['.agents/skills', 'skills', 'tools', '~/.agents/skills'];

/** Always passed over. */
export const DEFAULT_IGNORE: readonly string[] = ['node_modules', '.git', 'dist', '.cache'];

/** A search path from anywhere; undefined where it is none. */
export function readPaths(value: unknown): readonly PathEntry[] | undefined {
  return Array.isArray(value) && value.every(isPathEntry) ? value : undefined;
}

function isPathEntry(value: unknown): value is PathEntry {
  if (!isRecord(value)) return isText(value);
  const [key, ...others] = Object.keys(value);
  if (others.length > 0) return false;
  return key === 'external' ? isText(value.external) : key === 'ignore' && isGlob(value.ignore);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !value.includes('\0');
}

function isGlob(value: unknown): boolean {
  if (!isText(value)) return false;
  try {
    compileGlob(value);
    return true;
  } catch {
    return false;
  }
}

/** The directory of an entry, as written. Throws `invalid_definition` for one that is no directory. */
export function pathEntryDir(entry: PathEntry): string {
  if (typeof entry === 'string') return entry;
  if ('external' in entry) return entry.external;
  throw new ToolError('invalid_definition', 'an ignore entry of a search path has no directory', {
    hint: 'walk the directories with iterPaths, which passes over such entries',
  });
}

/** The directories of a search path, in order. */
export function* iterPaths(paths: readonly PathEntry[]): Generator<DirEntry> {
  for (const entry of paths) {
    if (!isIgnore(entry)) yield { dir: pathEntryDir(entry), external: typeof entry !== 'string' };
  }
}

/** The globs of its ignore entries. */
export function extractIgnore(paths: readonly PathEntry[]): string[] {
  return paths.filter(isIgnore).map(({ ignore }) => ignore);
}

/** Each directory replaced by what `change` gives for it: none, itself, or several. Ignore entries stay. */
export function mapPaths(
  paths: readonly PathEntry[],
  change: (dir: string, external: boolean, entry: PathEntry) => readonly PathEntry[],
): PathEntry[] {
  return paths.flatMap((entry) =>
    isIgnore(entry) ? [entry] : change(pathEntryDir(entry), typeof entry !== 'string', entry),
  );
}

/** The directories that `keep` is true for. Ignore entries stay. */
export function filterPaths(
  paths: readonly PathEntry[],
  keep: (dir: string, external: boolean) => boolean,
): PathEntry[] {
  return mapPaths(paths, (dir, external, entry) => (keep(dir, external) ? [entry] : []));
}

/** A list with what stands for the rest filled in. */
export function fillRest(paths: readonly PathEntry[], rest: readonly PathEntry[]): PathEntry[] {
  return paths.flatMap((entry) => (entry === REST ? rest : [entry]));
}

function isIgnore(entry: PathEntry): entry is { readonly ignore: string } {
  return typeof entry !== 'string' && 'ignore' in entry;
}
