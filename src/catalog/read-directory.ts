// Reads a directory with one format. Entries whose files did not change are not read again.

import { type Dirent, readdirSync, type Stats } from 'node:fs';
import { join, sep } from 'node:path';
import type { FileState, Format, FormatSnapshot, Place } from '../core/format.js';
import { compileGlob } from '../core/glob.js';
import { compareText } from '../core/text.js';
import { sameIdentity } from '../core/tool.js';
import type { World } from '../core/world.js';
import { hasIdentity, lstatOrNothing, statOrNothing, toIdentity } from '../files/read.js';
import { isSettled } from '../files/stat-cache.js';
import type { DirectoryState, Entry } from './entry.js';

export interface DirectoryReader {
  /** Whether an entry of this name can belong to the format; reads nothing. */
  claims(entry: string): boolean;
  /** Returns the names of claimed entries, sorted. */
  names(): readonly string[];
  /** Returns an entry as it is now: `known` if it did not change, undefined if it does not exist. */
  readEntry(name: string, known: Entry | undefined, snapshot?: FormatSnapshot): Entry | undefined;
  /** Returns the directory as it is now: `previous` if nothing changed. */
  read(stats: Stats, previous: DirectoryState | undefined, snapshot: FormatSnapshot): DirectoryState;
}

export function createDirectoryReader(place: Place, format: Format, world: World): DirectoryReader {
  // Concatenated below: `join` takes half as long as a stat.
  const prefix = join(place.directory, sep);
  const filesOf = format.filesOf?.bind(format);
  const isIgnored = createIgnore(place.ignore ?? [], prefix);
  const claims = (entry: string): boolean => format.claims(entry) && !isIgnored(entry);

  const isUnchanged = (entry: Entry): boolean => {
    if (!entry.settled) return false;
    const files = entry.files ?? filesOf?.(entry.name);
    if (files === undefined) return isInState(prefix + entry.name, entry.states[0]);
    return files.every((file, at) => isInState(prefix + file, entry.states[at], true));
  };

  const readEntry: DirectoryReader['readEntry'] = (name, known, snapshot) => {
    if (known !== undefined && isUnchanged(known)) return known;
    const stats = statOrNothing(prefix + name);
    // A dangling link is an entry too.
    if (stats === undefined && lstatOrNothing(prefix + name) === undefined) return undefined;
    const state = stats && toIdentity(stats);
    if (stats !== undefined && format.entries === 'files' && !stats.isFile()) {
      world.debug(`${prefix}${name}: ignored, not a regular file`);
      return toEntry(name, [state], undefined, world.now());
    }
    const reading = format.read(name, place, snapshot);
    if (reading !== undefined) return toEntry(name, reading.states, reading, world.now());
    const states = filesOf ? filesOf(name).map(() => undefined) : [state];
    return toEntry(name, states, undefined, world.now());
  };

  const names = (): string[] => {
    let all: Dirent[];
    try {
      all = readdirSync(place.directory, { withFileTypes: true });
    } catch (error) {
      world.debug(`${place.directory}: cannot be listed: ${(error as Error).message}`);
      return [];
    }
    // The target of a link is checked when the entry is read.
    const isKind = (entry: Dirent): boolean =>
      entry.isDirectory() === (format.entries === 'directories') || entry.isSymbolicLink();
    const claimed: string[] = [];
    for (const entry of all) {
      if (isKind(entry) && claims(entry.name)) claimed.push(entry.name);
      else if (world.debugging) world.debug(`${prefix}${entry.name}: ignored, not a ${format.name}`);
    }
    return claimed.sort(compareText);
  };

  return {
    claims,
    names,
    readEntry,
    read(stats, previous, snapshot) {
      const identity = toIdentity(stats);
      const unchanged = previous?.settled && sameIdentity(previous.identity, identity) ? previous : undefined;
      const entries = new Map<string, Entry>();
      let isSame = unchanged !== undefined;
      for (const name of unchanged ? unchanged.entries.keys() : names()) {
        const known = previous?.entries.get(name);
        const entry = readEntry(name, known, snapshot);
        if (entry === undefined || entry !== known) isSame = false;
        if (entry !== undefined) entries.set(name, entry);
      }
      if (isSame && previous !== undefined) return previous;
      const settled = isSettled(identity, world.now());
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

function isInState(path: string, state: FileState, mayBeMissing = false): boolean {
  const stats = statOrNothing(path);
  if (stats === undefined || state === undefined) return mayBeMissing && stats === state;
  return hasIdentity(stats, state);
}

/**
 * Compiles the ignore list of a place: names, globs of names, and globs with a separator, which are matched against the
 * whole path (RES-5).
 */
export function createIgnore(ignore: readonly string[], prefix: string): (entry: string) => boolean {
  // Most are plain names, which need no glob.
  const names = new Set(ignore.filter((pattern) => /^[\w.-]+$/.test(pattern)));
  const globs = ignore
    .filter((pattern) => !names.has(pattern))
    .map((pattern) => ({ ofPath: pattern.includes('/'), glob: compileGlob(pattern) }));
  return (entry) => names.has(entry) || globs.some(({ ofPath, glob }) => glob.matches(ofPath ? prefix + entry : entry));
}
