// One directory of tool files, as it is now: names and states are compared, only what changed is read.

import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join, sep } from 'node:path';
import type { Format, Place, Reading } from '../core/format.js';
import { compareText } from '../core/text.js';
import { type FileIdentity, type Problem, sameIdentity, type Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { hasIdentity, statOrNothing, toIdentity } from '../files/read.js';
import type { IndexFile } from './index-file.js';

export interface DirectoryOptions {
  readonly place: Place;
  readonly formats: readonly Format[];
  readonly world: World;
  readonly index: IndexFile;
}

export interface Directory {
  readonly place: Place;
  list(): DirectoryListing;
  /** The tool of a name, or why its file gives none; undefined where no file has it. */
  find(name: string): Tool | Problem | undefined;
  /** Forgets everything that was read. */
  clear(): void;
}

export interface DirectoryListing {
  /** Sorted by name. */
  readonly tools: readonly Tool[];
  readonly problems: readonly Problem[];
}

/** What is known of one directory entry. */
export interface Entry {
  readonly file: string;
  readonly format: string;
  readonly identity: FileIdentity | undefined;
  /** False where the file was so young when read that a second change could look the same. */
  readonly settled: boolean;
  /** Undefined: looked at, and no tool file. */
  readonly reading: Omit<Reading, 'identity'> | undefined;
  /** True where it came from the index on disk: good for a listing, never for a call (RES-13). */
  readonly indexed: boolean;
}

/** What is known of a directory. */
export interface Snapshot {
  readonly identity: FileIdentity;
  readonly settled: boolean;
  /** By file name, sorted. */
  readonly entries: Map<string, Entry>;
}

// Two changes within a tick of the file system's clock look alike; the coarsest in use counts 2 s.
const SETTLE_MS = 2000;

export function createDirectory(options: DirectoryOptions): Directory {
  const { place, formats, world, index } = options;
  // Joined by hand below: `join` takes half as long as looking at the file.
  const prefix = join(place.directory, sep);
  let snapshot: Snapshot | undefined;
  let listing: DirectoryListing | undefined;
  // What `find` read before anything was listed.
  const found = new Map<string, Entry>();

  const isSettled = (identity: FileIdentity): boolean => world.now() - identity.changedMs > SETTLE_MS;

  /** The entry as it is now, `known` itself where nothing changed; undefined where nothing has that name. */
  const lookAt = (file: string, known: Entry | undefined, format?: Format): Entry | undefined => {
    const path = prefix + file;
    const stats = statOrNothing(path);
    if (known?.settled && stats && known.identity && hasIdentity(stats, known.identity)) return known;
    if (stats === undefined && !isThere(path)) return undefined;
    return readEntry(file, format ?? formatOf(file)!, stats);
  };

  const readEntry = (file: string, format: Format, stats: Stats | undefined): Entry => {
    const path = prefix + file;
    const identity = stats && toIdentity(stats);
    const toEntry = (seen: FileIdentity | undefined, reading: Entry['reading']): Entry => ({
      file,
      format: format.name,
      identity: seen,
      settled: seen !== undefined && isSettled(seen),
      reading,
      indexed: false,
    });
    if (stats !== undefined && !stats.isFile()) {
      world.debug(`${path}: passed over, not a regular file`);
      return toEntry(identity, undefined);
    }
    const reading = format.read(file, place);
    return toEntry(reading === undefined ? identity : reading.identity, reading);
  };

  const formatOf = (file: string): Format | undefined => formats.find((format) => format.claims(file));

  const scan = (previous: Snapshot | undefined): Snapshot | undefined => {
    const stats = statOrNothing(place.directory);
    if (!stats?.isDirectory()) return undefined;
    const identity = toIdentity(stats);
    const unchanged = previous?.settled && sameIdentity(previous.identity, identity) ? previous : undefined;
    const files = unchanged ? unchanged.entries.keys() : readNames();
    const entries = new Map<string, Entry>();
    let same = unchanged !== undefined;
    for (const file of files) {
      const known = previous?.entries.get(file);
      const entry = lookAt(file, known);
      if (entry === undefined || entry !== known) same = false;
      if (entry !== undefined) entries.set(file, entry);
    }
    return same ? previous : { identity, settled: isSettled(identity), entries };
  };

  const readNames = (): string[] => {
    let found: Dirent[];
    try {
      found = readdirSync(place.directory, { withFileTypes: true });
    } catch (error) {
      world.debug(`${place.directory}: cannot be listed: ${(error as Error).message}`);
      return [];
    }
    const names: string[] = [];
    for (const entry of found) {
      if (entry.isDirectory() || formatOf(entry.name) === undefined) {
        if (world.debugging) world.debug(`${prefix}${entry.name}: passed over, not a tool file`);
      } else names.push(entry.name);
    }
    return names.sort(compareText);
  };

  const refresh = (): Snapshot | undefined => {
    const previous = snapshot ?? index.load(place);
    const current = scan(previous);
    if (current !== snapshot) listing = undefined;
    if (current !== undefined && current !== previous) index.save(place, current);
    else if (current !== undefined && snapshot === undefined)
      world.debug(`${place.directory}: listed from the index on disk`);
    snapshot = current;
    return current;
  };

  return {
    place,
    list() {
      const current = refresh();
      listing ??= toListing(current);
      return listing;
    },
    find(name) {
      for (const format of formats) {
        const file = format.fileOf?.(name);
        if (file === undefined || !format.claims(file)) continue;
        const listed = snapshot?.entries.get(file);
        const known = listed === undefined || listed.indexed ? found.get(file) : listed;
        const entry = lookAt(file, known, format);
        if (entry === undefined) {
          found.delete(file);
          continue;
        }
        if (entry !== known) found.set(file, entry);
        if (listed !== undefined && entry !== listed) {
          snapshot!.entries.set(file, entry);
          listing = undefined;
          found.delete(file);
        }
        const tool = entry.reading?.tools.find((candidate) => candidate.name === name);
        if (tool) return tool;
        const problem = entry.reading?.problems.find((candidate) => candidate.severity === 'error');
        if (problem) return problem;
      }
      return undefined;
    },
    clear() {
      snapshot = undefined;
      listing = undefined;
      found.clear();
    },
  };
}

// A link that leads nowhere is there.
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

function toListing(snapshot: Snapshot | undefined): DirectoryListing {
  const tools: Tool[] = [];
  const problems: Problem[] = [];
  for (const entry of snapshot?.entries.values() ?? []) {
    if (entry.reading === undefined) continue;
    tools.push(...entry.reading.tools);
    problems.push(...entry.reading.problems);
  }
  tools.sort((a, b) => compareText(a.name, b.name));
  return { tools, problems };
}
