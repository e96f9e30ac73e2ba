// In-memory cache of a directory, compared with the files on every use and saved in the index on disk.

import type { Format, FormatSnapshot, Place } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import { compareText } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { statOrNothing } from '../files/read.js';
import type { DirectoryListing, DirectoryState, Entry } from './entry.js';
import type { IndexFile } from './index-file.js';
import type { DirectoryReader } from './read-directory.js';

export interface DirectoryOptions {
  readonly place: Place;
  readonly format: Format;
  readonly world: World;
  readonly index: IndexFile;
}

export interface DirectoryCache {
  list(snapshot: FormatSnapshot): DirectoryListing;
  /** Returns an entry that was read in this process and did not change since. */
  findEntry(name: string, snapshot?: FormatSnapshot): Entry | undefined;
  /** Returns the name of the entry that declares a tool. */
  entryDeclaring(tool: string, snapshot: FormatSnapshot): string | undefined;
  /** Whether a cached entry has a tool of this name. */
  contains(tool: string): boolean;
  clear(): void;
}

export function createDirectoryCache(
  { place, format, world, index }: DirectoryOptions,
  reader: DirectoryReader,
): DirectoryCache {
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
      if (!current.shipped) index.save(place, format, current);
    } else if (state === undefined) world.debug(`${place.directory}: listed from the index on disk`);
    setState(current);
    return current;
  };

  return {
    list(snapshot) {
      const current = refresh(snapshot);
      listing ??= toListing(current);
      return listing;
    },
    findEntry(name, snapshot) {
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
      return entry;
    },
    entryDeclaring(tool, snapshot) {
      const current = refresh(snapshot, true);
      if (current === undefined) return undefined;
      declared ??= toDeclared(current);
      return declared.get(tool);
    },
    contains(tool) {
      const indexed = (state ?? index.load(place, format))?.entries.values() ?? [];
      return [...found.values(), ...indexed].some(({ reading }) =>
        reading?.tools.some(({ name }) => name === tool),
      );
    },
    clear() {
      index.remove(place, format);
      found.clear();
      setState(undefined);
    },
  };
}

function toDeclared({ entries }: DirectoryState): Map<string, string> {
  const declared = new Map<string, string>();
  for (const { name, reading } of entries.values()) {
    for (const tool of reading?.tools ?? []) if (!declared.has(tool.name)) declared.set(tool.name, name);
  }
  return declared;
}

function toListing(state: DirectoryState | undefined): DirectoryListing {
  const tools: Tool[] = [];
  const skills: Skill[] = [];
  const problems: Problem[] = [];
  for (const { reading } of state?.entries.values() ?? []) {
    if (reading === undefined) continue;
    tools.push(...reading.tools);
    skills.push(...(reading.skills ?? []));
    problems.push(...reading.problems);
  }
  tools.sort((a, b) => compareText(a.name, b.name));
  return { tools, skills, problems };
}
