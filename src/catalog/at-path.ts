// Finds tools at a path, on the search path or elsewhere: each format reads what is there (RES-2).

import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ToolError } from '../core/error.js';
import type { Format } from '../core/format.js';
import type { Owner } from '../core/origin.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import { statOrNothing } from '../files/read.js';
import { isWithin } from '../files/within.js';
import type { Views } from './directory.js';
import type { Entry } from './entry.js';
import { type AtPath, ambiguous, nothingAt, notUsable } from './refusals.js';

export interface FindOptions {
  readonly snapshot: Snapshot;
  /** Finds listed tools only, by any reference: for models. */
  readonly visibleOnly?: boolean;
  /** With `visibleOnly`: finds tools for MCP Apps too. */
  readonly apps?: boolean;
  /** Finds hidden tools too, but not built-in tools that are not offered. */
  readonly offeredOnly?: boolean;
  /** Built-in tools, or groups of them, that are visible as well. */
  readonly offer?: readonly string[];
  /** Whether a hint may name a tool (POL-8); `skills` are all that are listed. */
  readonly mayName?: (tool: Tool, skills: readonly Skill[]) => boolean;
  /** The name of the tool in errors, if the reference is one that the caller does not know (RES-48). */
  readonly shownAs?: string;
  /** Does not find tools that may not be named. */
  readonly namedOnly?: boolean;
}

/** A tool found by path or URI; one that yields gives way to the others found there. */
export interface FoundTool {
  readonly tool: Tool;
  readonly yields: boolean;
}

export interface PathFinderOptions {
  readonly formats: readonly Format[];
  /** The owner of a directory outside the search path. */
  readonly ownerOf: (directory: string, snapshot: Snapshot) => Owner;
  /** Makes a path of a reference absolute; undefined if that is not possible. */
  readonly toAbsolute: (path: string, snapshot: Snapshot) => string | undefined;
  readonly views: Pick<Views, 'of'>;
  readonly clean: (tool: Tool) => Tool;
}

/** `mayReach`: whether a tool found by path is visible under the options. */
export function createPathFinder(options: PathFinderOptions, mayReach: (tool: Tool, options: FindOptions) => boolean) {
  const { formats, ownerOf, toAbsolute, views, clean } = options;

  // An entry on the search path is read as part of its place.
  const readEntry = (
    path: string,
    format: Format,
    { snapshot, visibleOnly = false }: FindOptions,
  ): Entry['reading'] => {
    const at = entryAt(path, format);
    if (at === undefined) return undefined;
    const { directory, entry } = at;
    const known = snapshot.places.find(
      (place) =>
        place.directory === directory &&
        format.places.includes(place.kind) &&
        (place.only === undefined || place.only === entry),
    );
    if (visibleOnly) return known && views.of(known, format).at(entry, snapshot);
    const owner = known?.owner ?? ownerOf(directory, snapshot);
    const boundary = known?.boundary ?? snapshot.boundaryOf({ directory, owner });
    const place = { directory, owner, kind: known?.kind ?? format.places[0]!, boundary, named: true };
    return views.of(place, format).at(entry, snapshot);
  };

  // Returns the tools at a path that may be found, and the first error if a file there is broken.
  const read = (
    given: string,
    reach: FindOptions,
  ): { readonly tools: readonly FoundTool[]; readonly problem?: Problem } => {
    const { snapshot, visibleOnly = false } = reach;
    const path = toAbsolute(given, snapshot);
    if (path === undefined) return { tools: [] };
    // For a model, nothing outside the search path is read.
    if (visibleOnly && !snapshot.places.some((place) => isWithin(place.directory, path))) return { tools: [] };
    const readings = formats.flatMap((format) => {
      const reading = readEntry(path, format, reach);
      return reading === undefined ? [] : [{ reading, yields: format.yields === true }];
    });
    const tools = readings.flatMap(({ reading, yields }) =>
      reading.tools.map((tool): FoundTool => ({ tool: clean(tool), yields })),
    );
    const problems = visibleOnly ? [] : readings.flatMap(({ reading }) => reading.problems);
    return {
      tools: tools.filter(({ tool }) => mayReach(tool, reach)),
      problem: problems.find(({ severity }) => severity === 'error'),
    };
  };

  const whatIsAt = (given: string, { snapshot }: FindOptions): AtPath => {
    const found = statOrNothing(toAbsolute(given, snapshot) ?? '');
    return found === undefined ? 'nothing' : found.isDirectory() ? 'directory' : 'file';
  };

  return {
    read,
    /** Returns the one tool at a path. Throws `not_found` or `ambiguous`. */
    find(ref: string, path: string, fragment: string | undefined, reach: FindOptions): Tool {
      const { tools, problem } = read(path, reach);
      const tool = pickTool(ref, tools, fragment);
      if (tool !== undefined) return tool;
      if (problem !== undefined) throw notUsable(reach.offeredOnly ? ref : path, problem, reach);
      throw nothingAt(ref, [], reach.offeredOnly || reach.visibleOnly ? undefined : whatIsAt(path, reach));
    },
  };
}

/** Returns the one tool, or the one that a fragment names. Throws `not_found` or `ambiguous`. */
export function pickTool(ref: string, found: readonly FoundTool[], fragment: string | undefined): Tool | undefined {
  const names = (some: readonly FoundTool[]): string[] => [...new Set(some.map(({ tool }) => tool.name))];
  if (fragment !== undefined) {
    const picked = found.find(({ tool }) => tool.name === fragment);
    if (picked === undefined && found.length > 0) throw nothingAt(ref, names(found));
    return picked?.tool;
  }
  // A skill gives way to the tools of its directory, as it does by name.
  const first = found.filter(({ yields }) => !yields);
  const candidates = first.length > 0 ? first : found;
  if (names(candidates).length > 1) throw ambiguous(ref, names(candidates));
  return candidates[0]?.tool;
}

/** Returns the path of a `file:` URI. Throws `invalid_ref` if it has none. */
export function toFilePath(uri: string): string {
  let path: string | undefined;
  try {
    // Relative ones are rejected: they would be resolved against the root.
    path = /^file:\//.test(uri) ? fileURLToPath(uri) : undefined;
  } catch {
    // Reported below.
  }
  if (path !== undefined && !path.includes('\0')) return path;
  throw new ToolError('invalid_ref', `"${uri}" is not a URI of a local file`, {
    hint: 'write file:///path/to/file, or the path itself',
  });
}

// The entry of a format at an absolute path.
function entryAt(path: string, format: Format): { readonly directory: string; readonly entry: string } | undefined {
  const stats = statOrNothing(path);
  const entry = basename(path);
  const directory = dirname(path);
  if (stats === undefined || entry === '') return undefined;
  if (format.entries === 'files') return stats.isFile() ? { directory, entry } : undefined;
  if (stats.isDirectory()) return { directory, entry };
  // The main file of a directory refers to the directory.
  const parent = basename(directory);
  return parent !== '' && format.filesOf?.(parent)[0] === join(parent, entry)
    ? { directory: dirname(directory), entry: parent }
    : undefined;
}
