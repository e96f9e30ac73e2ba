// Search paths as written in the configuration: directories, library directories and ignore globs (RES-5).

import { orNothing, ToolError } from './error.js';
import { compileGlob } from './glob.js';
import { isRecord } from './json.js';

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

const TEXT_SCHEMA = { type: 'string', pattern: '^[^\\x00]+$' };
const entrySchema = (key: string) => ({
  type: 'object',
  required: [key],
  properties: { [key]: TEXT_SCHEMA },
  additionalProperties: false,
});
/** `readPaths` as JSON Schema, which cannot check globs. */
export const PATHS_SCHEMA = {
  type: 'array',
  items: { anyOf: [TEXT_SCHEMA, entrySchema('external'), entrySchema('ignore')] },
};

/** Validates a search path; returns undefined if it is invalid. */
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
  return orNothing(() => compileGlob(value)) !== undefined;
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
