// Reads a directory with one format; cached, and compared with the files on every use.

import { type Dirent, readdirSync, type Stats } from 'node:fs';
import { join, sep } from 'node:path';
import { systemReason, toToolError } from '../core/error.js';
import type { FileState, Format, FormatSnapshot, ModuleOffer } from '../core/format.js';
import { compileGlob, type Glob } from '../core/glob.js';
import { type FileIdentity, type Origin, type Place, toOrigin } from '../core/origin.js';
import { type Problem, toProblem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import type { World } from '../core/snapshot.js';
import { compareText } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { admittedPath, readWithin, toDeparture, traceBoundary } from '../files/boundary.js';
import { isSettled, lstatOrNothing, sameIdentity, statOrNothing, toIdentity } from '../files/read.js';
import { toFileUri } from '../files/within.js';
import type { DirectoryListing, DirectoryState, Entry } from './entry.js';
import type { IndexFile } from './index-file.js';

export interface DirectoryOptions {
  readonly place: Place;
  readonly format: Format;
  readonly world: World;
  readonly index: IndexFile;
  /** All formats of the place: an entry of none of them is reported once, if debugging. */
  readonly formats?: readonly Format[];
}

// A place need not exist, and a link that leads nowhere is not one.
const MISSING = new Set(['ENOENT', 'ENOTDIR', 'ELOOP']);

// ERR-6: what it contains is unknown, so it is not taken for empty.
function toUnlisted(directory: string, error: unknown): Problem {
  const { hint = 'check its permissions' } = toToolError(error);
  return toProblem(directory, 'error', { message: `cannot be listed: ${systemReason(error)}`, hint });
}

export interface Views {
  of(place: Place, format: Format): Directory;
  /** Returns the views of the search path; formats that yield come last, whatever their place (SKL-3). */
  inOrder(places: readonly Place[]): readonly Directory[];
  /** Clears everything cached, or what contains a tool of this name (RES-14). */
  forget(places: readonly Place[], name?: string): void;
}

export type Directory = ReturnType<typeof createDirectory>;

/** Creates a directory as seen by one format: cached, and compared with the files on every use. */
export function createDirectory(options: DirectoryOptions) {
  const { place, format, world, index } = options;
  const reader = createDirectoryReader(options);
  let state: DirectoryState | undefined;
  let listing: DirectoryListing | undefined;
  // The first entry that declares a tool, by the name of the tool.
  let declared: Map<string, string> | undefined;
  // Entries that were read to find a tool before anything was listed.
  const found = new Map<string, Entry>();

  const setState = (current: DirectoryState | undefined): void => {
    if (current === state) return;
    state = current;
    listing = undefined;
    declared = undefined;
  };

  // `toFind`: a library's own index is not enough.
  const refresh = (snapshot: FormatSnapshot, toFind = false): DirectoryState | undefined => {
    const stats = statOrNothing(place.directory);
    if (!stats?.isDirectory()) {
      setState(undefined);
      return undefined;
    }
    const known = state ?? index.load(place, format);
    const previous = toFind && known?.shipped ? undefined : known;
    const current = reader.read(stats, previous, snapshot);
    if (current !== previous) {
      // Writing takes most of the time of listing a small directory. One that has just changed is read again anyway, and
      // the index of before spares reading the other files.
      const isDue = previous === undefined || isSettled(current.identity, world.now());
      if (isDue && !current.shipped && !hasDepartures(current)) index.save(place, format, current);
    } else if (state === undefined) world.debug(`${place.directory}: listed from the index on disk`);
    setState(current);
    return current;
  };

  // Returns what an entry has; it was read in this process and did not change since.
  const readingOf = (name: string, snapshot?: FormatSnapshot): Entry['reading'] => {
    const listed = state?.entries.get(name);
    const known = listed === undefined || listed.indexed ? found.get(name) : listed;
    const entry = reader.readEntry(name, known, snapshot);
    if (entry === undefined) {
      found.delete(name);
      return undefined;
    }
    if (entry !== known) found.set(name, entry);
    if (listed !== undefined && entry !== listed) {
      state!.entries.set(name, entry);
      listing = undefined;
      declared = undefined;
      found.delete(name);
    }
    return entry.reading;
  };

  const clear = (): void => {
    index.remove(place, format);
    found.clear();
    setState(undefined);
  };

  // For formats whose tool names differ from their entries (RES-7).
  const findDeclared = (name: string, snapshot: FormatSnapshot, mayRetry = true): Tool | undefined => {
    const current = refresh(snapshot, true);
    if (current === undefined) return undefined;
    declared ??= toDeclared(current);
    const entry = declared.get(name);
    if (entry === undefined) return undefined;
    const tool = readingOf(entry, snapshot)?.tools.find((candidate) => candidate.name === name);
    if (tool !== undefined || !mayRetry) return tool;
    // The index was wrong (RES-4).
    world.debug(`${place.directory}: the index on disk is wrong, rebuilding it`);
    clear();
    return findDeclared(name, snapshot, false);
  };

  return {
    /** Whether its tools give way to those of other formats. */
    yields: format.yields ?? false,
    list(snapshot: FormatSnapshot): DirectoryListing {
      const current = refresh(snapshot);
      listing ??= toListing(current, place, format);
      return listing;
    },
    /** Returns the tool of a name, the problem of the entry that has the name, or undefined. */
    find(name: string, snapshot: FormatSnapshot): Tool | Problem | undefined {
      if (format.entryOf === undefined) return findDeclared(name, snapshot);
      const entry = format.entryOf(name);
      if (!reader.claims(entry)) return undefined;
      const reading = readingOf(entry, snapshot);
      return (
        reading?.tools.find((candidate) => candidate.name === name) ??
        reading?.problems.find((candidate) => candidate.severity === 'error')
      );
    },
    names: reader.names,
    /** Reads an entry; undefined if it does not belong to the format. */
    at: (entry: string, snapshot?: FormatSnapshot): Entry['reading'] =>
      reader.claims(entry) ? readingOf(entry, snapshot) : undefined,
    /** Clears what is cached in memory and in the index; with a name, only if a tool of that name is cached here. */
    forget(tool?: string): void {
      const indexed = tool === undefined ? [] : ((state ?? index.load(place, format))?.entries.values() ?? []);
      const has = ({ reading }: Entry): boolean => reading?.tools.some(({ name }) => name === tool) === true;
      if (tool === undefined || [...found.values(), ...indexed].some(has)) clear();
    },
  };
}

function hasDepartures({ entries }: DirectoryState): boolean {
  for (const { leaves } of entries.values()) if (leaves) return true;
  return false;
}

function toDeclared({ entries }: DirectoryState): Map<string, string> {
  const declared = new Map<string, string>();
  for (const { name, reading } of entries.values()) {
    for (const tool of reading?.tools ?? []) if (!declared.has(tool.name)) declared.set(tool.name, name);
  }
  return declared;
}

function toListing(state: DirectoryState | undefined, place: Place, format: Format): DirectoryListing {
  const tools: Tool[] = [];
  const skills: Skill[] = [];
  const offers: ModuleOffer[] = [];
  const problems: Problem[] = [];
  const otherFiles: Origin[] = [];
  for (const { name, reading } of state?.entries.values() ?? []) {
    if (reading === undefined) continue;
    tools.push(...reading.tools);
    skills.push(...(reading.skills ?? []));
    offers.push(...(reading.offers ?? []));
    problems.push(...reading.problems);
    if (reading.tools.length === 0 && (reading.unread || (reading.offers ?? []).length > 0))
      otherFiles.push(toOrigin(format.shownAs ?? format.name, toFileUri(join(place.directory, name)), place));
  }
  tools.sort((a, b) => compareText(a.name, b.name));
  return { tools, skills, offers, problems, otherFiles };
}

function createDirectoryReader({ place, format, world, formats = [] }: DirectoryOptions) {
  // Concatenated, because `join` is slow for many files and directories.
  const prefix = place.directory.endsWith(sep) ? place.directory : place.directory + sep;
  const pathOf = (file: string): string => prefix + file;
  const filesOf = format.filesOf?.bind(format);
  const isIgnored = createIgnore(place);
  /** Whether an entry of this name can belong to the format; reads nothing. */
  const claims = (entry: string): boolean =>
    format.claims(entry) && !isIgnored(entry) && (place.only === undefined || entry === place.only);

  const isUnchanged = (entry: Entry): boolean => {
    if (!entry.settled) return false;
    const files = entry.files ?? filesOf?.(entry.name);
    if (files === undefined) return isInState(pathOf(entry.name), entry.states[0]);
    return files.every((file, at) => isInState(pathOf(file), entry.states[at], true));
  };

  /** Returns an entry as it is now: `known` if it did not change, undefined if it does not exist. */
  const readEntry = (name: string, known: Entry | undefined, snapshot?: FormatSnapshot): Entry | undefined => {
    if (known !== undefined && isUnchanged(known)) return known;
    const stats = statOrNothing(pathOf(name));
    // A dangling link is an entry too.
    if (stats === undefined && lstatOrNothing(pathOf(name)) === undefined) return undefined;
    const state = stats && toIdentity(stats);
    if (stats !== undefined && format.entries === 'files' && !stats.isFile()) {
      world.debug(`${pathOf(name)}: ignored, not a regular file`);
      return toEntry(name, [state], undefined, world.now());
    }
    const { reading, leaves } = readWithin(format, name, place, snapshot);
    const states = reading?.states ?? (filesOf ? filesOf(name).map(() => undefined) : [state]);
    const entry = toEntry(name, states, reading, world.now());
    return leaves ? { ...entry, settled: false, leaves } : entry;
  };

  const readNames = (): string[] | Problem => {
    let all: readonly Dirent[];
    try {
      // Empty if it may not be read.
      all = readdirSync(admittedPath(place.directory, place.boundary) ?? '', { withFileTypes: true });
    } catch (error) {
      world.debug(`${place.directory}: cannot be listed: ${(error as Error).message}`);
      return MISSING.has(`${(error as NodeJS.ErrnoException).code}`) ? [] : toUnlisted(place.directory, error);
    }
    // The target of a link is checked when the entry is read.
    const isKind = (entry: Dirent, { entries }: Format): boolean =>
      entry.isDirectory() === (entries === 'directories') || entry.isSymbolicLink();
    const isOfNone = (entry: Dirent): boolean =>
      !isIgnored(entry.name) && !formats.some((one) => isKind(entry, one) && one.claims(entry.name));
    if (world.debugging && formats[0] === format)
      for (const entry of all.filter(isOfNone)) world.debug(`${pathOf(entry.name)}: ignored, no format has this name`);
    return all
      .filter((entry) => isKind(entry, format) && claims(entry.name))
      .map(({ name }) => name)
      .sort(compareText);
  };

  return {
    claims,
    /** Returns the names of claimed entries, sorted. */
    names(): readonly string[] {
      const names = readNames();
      return Array.isArray(names) ? names : [];
    },
    readEntry,
    /** Returns the directory as it is now: `previous` if nothing changed. */
    read(stats: Stats, previous: DirectoryState | undefined, snapshot: FormatSnapshot): DirectoryState {
      const identity = toIdentity(stats);
      const unchanged = previous?.settled && sameIdentity(previous.identity, identity) ? previous : undefined;
      const trace = unchanged === undefined && place.boundary ? traceBoundary(place.boundary) : undefined;
      if (admittedPath(place.directory, trace?.boundary) === undefined)
        return toRefused(identity, toDeparture(place.directory, place.boundary!));
      const entries = new Map<string, Entry>();
      let isSame = unchanged !== undefined;
      const present = unchanged?.entries.keys() ?? readNames();
      if ('severity' in present) return toRefused(identity, present);
      for (const name of present) {
        const known = previous?.entries.get(name);
        const entry = readEntry(name, known, snapshot);
        if (entry === undefined || entry !== known) isSame = false;
        if (entry !== undefined) entries.set(name, entry);
      }
      if (isSame && previous !== undefined) return previous;
      const settled = trace?.leaves !== true && isSettled(identity, world.now());
      return { identity, settled, entries, shipped: previous?.shipped ?? false };
    },
  };
}

function toEntry(name: string, states: readonly FileState[], reading: Entry['reading'], now: number): Entry {
  const settled =
    reading?.pending !== true &&
    states.every((state) => isSettled(state, now)) &&
    states.some((state) => state !== undefined);
  return { name, states, files: reading?.files, settled, reading, indexed: false };
}

// The problem of a directory is listed as if it were its only entry.
function toRefused(identity: FileIdentity, problem: Problem): DirectoryState {
  const entry: Entry = {
    name: '.',
    states: [undefined],
    settled: false,
    reading: { tools: [], problems: [problem], unread: true },
    indexed: false,
    leaves: true,
  };
  return { identity, settled: false, entries: new Map([[entry.name, entry]]), shipped: false };
}

function isInState(path: string, state: FileState, mayBeMissing = false): boolean {
  const stats = statOrNothing(path);
  if (stats === undefined || state === undefined) return mayBeMissing && stats === state;
  return sameIdentity(toIdentity(stats), state);
}

/**
 * Compiles the ignore list of a place: globs of names, and globs with a separator, which are matched against the whole
 * path (RES-5).
 */
export function createIgnore({
  directory,
  ignore = [],
}: Pick<Place, 'directory' | 'ignore'>): (entry: string) => boolean {
  // Compiled on first use: most places of the search path do not exist.
  let globs: readonly { readonly ofPath: boolean; readonly glob: Glob }[] | undefined;
  return (entry) => {
    globs ??= ignore.map((pattern) => ({ ofPath: pattern.includes('/'), glob: compileGlob(pattern) }));
    return globs.some(({ ofPath, glob }) => glob.matches(ofPath ? join(directory, entry) : entry));
  };
}
