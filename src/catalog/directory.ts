// One format in one directory, as it is now: names and states are compared, only what changed is read.

import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';
import { join, sep } from 'node:path';
import type { FileState, Format, Place, Reading } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import { compareText } from '../core/text.js';
import { type FileIdentity, sameIdentity, type Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { hasIdentity, statOrNothing, toIdentity } from '../files/read.js';
import { isSettled } from '../files/stat-cache.js';
import { createIgnore } from './ignore.js';
import type { IndexFile } from './index-file.js';

export interface DirectoryOptions {
  readonly place: Place;
  readonly format: Format;
  readonly world: World;
  readonly index: IndexFile;
}

export interface Directory {
  /** Whether its tools give way to those of other formats. */
  readonly yields: boolean;
  list(): DirectoryListing;
  /** The tool of a name, or why its entry gives none; undefined where nothing has it. */
  find(name: string): Tool | Problem | undefined;
  /** The entries that can be the format's, sorted; nothing is read. */
  names(): readonly string[];
  /** What an entry gives as it is now; undefined where it is none of the format's. */
  at(entry: string): Entry['reading'];
  /** Forgets what is known, in memory and in the index; with a name only where it is known here. */
  forget(tool?: string): void;
}

export interface DirectoryListing {
  /** Sorted by name. */
  readonly tools: readonly Tool[];
  readonly skills: readonly Skill[];
  readonly problems: readonly Problem[];
}

/** What is known of one entry of a directory. */
export interface Entry {
  readonly name: string;
  readonly states: readonly FileState[];
  /** The files that the states are of, where their list came with the reading. */
  readonly files?: readonly string[];
  /** False where a file was so young when read that a second change could look the same. */
  readonly settled: boolean;
  /** Undefined: looked at, and nothing of ours. */
  readonly reading: Omit<Reading, 'states'> | undefined;
  /** True where it came from the index on disk: good for a listing, never for a call (RES-13). */
  readonly indexed: boolean;
}

/** What is known of a directory. */
export interface Snapshot {
  readonly identity: FileIdentity;
  readonly settled: boolean;
  /** By name, sorted. */
  readonly entries: Map<string, Entry>;
  /** True where a library's own index told some of it: enough to list, too little to find by (RES-22). */
  readonly shipped: boolean;
}

export function createDirectory({ place, format, world, index }: DirectoryOptions): Directory {
  // Joined by hand below: `join` takes half as long as looking at the file.
  const prefix = join(place.directory, sep);
  const filesOf = format.filesOf?.bind(format);
  const isIgnored = createIgnore(place.ignore ?? [], prefix);
  const isOurs = (entry: string): boolean => format.claims(entry) && !isIgnored(entry);
  let snapshot: Snapshot | undefined;
  let listing: DirectoryListing | undefined;
  // The first entry that declares a tool, by the tool's name.
  let declared: Map<string, string> | undefined;
  // What `find` read before anything was listed.
  const found = new Map<string, Entry>();

  const isUnchanged = (entry: Entry): boolean => {
    if (!entry.settled) return false;
    const files = entry.files ?? filesOf?.(entry.name);
    if (files === undefined) return isInState(prefix + entry.name, entry.states[0]);
    return files.every((file, at) => isInState(prefix + file, entry.states[at], true));
  };

  /** The entry as it is now, `known` itself where nothing changed; undefined where nothing has that name. */
  const lookAt = (name: string, known: Entry | undefined): Entry | undefined => {
    if (known !== undefined && isUnchanged(known)) return known;
    const stats = statOrNothing(prefix + name);
    if (stats === undefined && !isThere(prefix + name)) return undefined;
    return readEntry(name, stats);
  };

  const readEntry = (name: string, stats: Stats | undefined): Entry => {
    const toEntry = (states: readonly FileState[], reading: Entry['reading']): Entry => ({
      name,
      states,
      ...(reading?.files === undefined ? {} : { files: reading.files }),
      settled:
        reading?.pending !== true &&
        states.every((state) => isSettled(state, world.now())) &&
        states.some((state) => state !== undefined),
      reading,
      indexed: false,
    });
    const seen = stats && toIdentity(stats);
    if (stats !== undefined && format.entries === 'files' && !stats.isFile()) {
      world.debug(`${prefix}${name}: passed over, not a regular file`);
      return toEntry([seen], undefined);
    }
    const reading = format.read(name, place);
    if (reading === undefined)
      return toEntry(filesOf ? filesOf(name).map(() => undefined) : [seen], undefined);
    return toEntry(reading.states, reading);
  };

  const scan = (stats: Stats, previous: Snapshot | undefined): Snapshot => {
    const identity = toIdentity(stats);
    const unchanged = previous?.settled && sameIdentity(previous.identity, identity) ? previous : undefined;
    const names = unchanged ? unchanged.entries.keys() : readNames();
    const entries = new Map<string, Entry>();
    let same = unchanged !== undefined;
    for (const name of names) {
      const known = previous?.entries.get(name);
      const entry = lookAt(name, known);
      if (entry === undefined || entry !== known) same = false;
      if (entry !== undefined) entries.set(name, entry);
    }
    if (same && previous !== undefined) return previous;
    return {
      identity,
      settled: isSettled(identity, world.now()),
      entries,
      shipped: previous?.shipped ?? false,
    };
  };

  const readNames = (): string[] => {
    let all: Dirent[];
    try {
      all = readdirSync(place.directory, { withFileTypes: true });
    } catch (error) {
      world.debug(`${place.directory}: cannot be listed: ${(error as Error).message}`);
      return [];
    }
    // A link may lead to either; what it leads to is looked at with the entry.
    const wanted = (entry: Dirent): boolean =>
      entry.isDirectory() === (format.entries === 'directories') || entry.isSymbolicLink();
    const names: string[] = [];
    for (const entry of all) {
      if (wanted(entry) && isOurs(entry.name)) names.push(entry.name);
      else if (world.debugging) world.debug(`${prefix}${entry.name}: passed over, no ${format.name}`);
    }
    return names.sort(compareText);
  };

  const keep = (current: Snapshot | undefined): void => {
    if (current === snapshot) return;
    snapshot = current;
    listing = undefined;
    declared = undefined;
  };

  /** The directory as it is now. To find a tool, what a library's own index says is not enough. */
  const refresh = (toFind = false): Snapshot | undefined => {
    const stats = statOrNothing(place.directory);
    if (!stats?.isDirectory()) {
      keep(undefined);
      return undefined;
    }
    const known = snapshot ?? index.load(place, format);
    const previous = toFind && known?.shipped ? undefined : known;
    const current = scan(stats, previous);
    if (current !== previous) {
      if (!current.shipped) index.save(place, format, current);
    } else if (snapshot === undefined) world.debug(`${place.directory}: listed from the index on disk`);
    keep(current);
    return current;
  };

  /** Everything read again: the index said what is not so (RES-4). */
  const rebuild = (): void => {
    world.debug(`${place.directory}: the index on disk is wrong, and made anew`);
    index.remove(place, format);
    found.clear();
    keep(undefined);
    refresh(true);
  };

  /** An entry that was read in this process, and is still so. */
  const findEntry = (name: string): Entry | undefined => {
    const listed = snapshot?.entries.get(name);
    const known = listed === undefined || listed.indexed ? found.get(name) : listed;
    const entry = lookAt(name, known);
    if (entry === undefined) {
      found.delete(name);
      return undefined;
    }
    if (entry !== known) found.set(name, entry);
    if (listed !== undefined && entry !== listed) {
      snapshot!.entries.set(name, entry);
      listing = undefined;
      declared = undefined;
      found.delete(name);
    }
    return entry;
  };

  /** The entry that declares a tool, where names and entries differ: a listing tells (RES-7). */
  const entryDeclaring = (tool: string): string | undefined => {
    const current = refresh(true);
    if (current === undefined) return undefined;
    declared ??= toDeclared(current);
    return declared.get(tool);
  };

  const toolIn = (entry: string | undefined, tool: string): Tool | undefined =>
    entry === undefined
      ? undefined
      : findEntry(entry)?.reading?.tools.find((candidate) => candidate.name === tool);

  const findDeclared = (name: string): Tool | undefined => {
    const entry = entryDeclaring(name);
    const tool = toolIn(entry, name);
    if (entry === undefined || tool !== undefined) return tool;
    rebuild();
    return toolIn(entryDeclaring(name), name);
  };

  return {
    yields: format.yields ?? false,
    list() {
      const current = refresh();
      listing ??= toListing(current);
      return listing;
    },
    find(name) {
      if (format.entryOf === undefined) return findDeclared(name);
      const entryName = format.entryOf(name);
      if (!isOurs(entryName)) return undefined;
      const reading = findEntry(entryName)?.reading;
      return (
        reading?.tools.find((candidate) => candidate.name === name) ??
        reading?.problems.find((candidate) => candidate.severity === 'error')
      );
    },
    names: readNames,
    at: (entry) => (isOurs(entry) ? findEntry(entry)?.reading : undefined),
    forget(tool) {
      const isKnown = (entries: Iterable<Entry>): boolean =>
        [...entries].some(({ reading }) => reading?.tools.some(({ name }) => name === tool));
      const kept = (snapshot ?? index.load(place, format))?.entries.values() ?? [];
      if (tool !== undefined && !isKnown(found.values()) && !isKnown(kept)) return;
      index.remove(place, format);
      found.clear();
      keep(undefined);
    },
  };
}

function toDeclared({ entries }: Snapshot): Map<string, string> {
  const declared = new Map<string, string>();
  for (const { name, reading } of entries.values()) {
    for (const tool of reading?.tools ?? []) if (!declared.has(tool.name)) declared.set(tool.name, name);
  }
  return declared;
}

function isInState(path: string, state: FileState, mayBeMissing = false): boolean {
  const stats = statOrNothing(path);
  if (stats === undefined || state === undefined) return mayBeMissing && stats === state;
  return hasIdentity(stats, state);
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
  const skills: Skill[] = [];
  const problems: Problem[] = [];
  for (const { reading } of snapshot?.entries.values() ?? []) {
    if (reading === undefined) continue;
    tools.push(...reading.tools);
    skills.push(...(reading.skills ?? []));
    problems.push(...reading.problems);
  }
  tools.sort((a, b) => compareText(a.name, b.name));
  return { tools, skills, problems };
}
