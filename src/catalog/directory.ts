// Views of directories, one per place and format: cached, and compared with the files on every use.

import type { Format, FormatSnapshot, Place } from '../core/format.js';
import type { Problem } from '../core/problem.js';
import type { Skill } from '../core/skill.js';
import { compareText } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { statOrNothing } from '../files/read.js';
import type { DirectoryListing, DirectoryState, Entry } from './entry.js';
import type { IndexFile } from './index-file.js';
import { createDirectoryReader, type DirectoryReader } from './read-directory.js';

export interface DirectoryOptions {
  readonly place: Place;
  readonly format: Format;
  readonly world: World;
  readonly index: IndexFile;
}

export interface Directory {
  /** Whether its tools give way to those of other formats. */
  readonly yields: boolean;
  list(snapshot: FormatSnapshot): DirectoryListing;
  /** Returns the tool of a name, the problem of the entry that has the name, or undefined. */
  find(name: string, snapshot: FormatSnapshot): Tool | Problem | undefined;
  /** Returns the names of entries that can belong to the format, sorted; reads no entry. */
  names(): readonly string[];
  /** Reads an entry; undefined if it does not belong to the format. */
  at(entry: string, snapshot?: FormatSnapshot): Entry['reading'];
  /** Clears what is cached in memory and in the index; with a name, only if a tool of that name is cached here. */
  forget(tool?: string): void;
}

export interface Views {
  of(place: Place, format: Format): Directory;
  /** Returns the views of the search path; formats that yield come last, whatever their place (SKL-3). */
  inOrder(places: readonly Place[]): readonly Directory[];
  /** Clears everything cached, or what contains a tool of this name (RES-14). */
  forget(places: readonly Place[], name?: string): void;
}

// Includes views of directories outside the search path, for programs that refer to tools by path.
const MAX_VIEWS = 256;

export function createViews(
  options: Omit<DirectoryOptions, 'place' | 'format'> & { readonly formats: readonly Format[] },
): Views {
  const { formats, index, world } = options;
  const views = new Map<string, Directory>();

  const of = (place: Place, format: Format): Directory => {
    const { kind, owner, directory, external = false, ignore = [] } = place;
    const key = [format.name, kind, owner, external, directory, ...ignore].join('\n');
    let known = views.get(key);
    if (known === undefined) {
      if (views.size >= MAX_VIEWS) views.clear();
      known = createDirectory({ place, format, world, index });
      views.set(key, known);
    }
    return known;
  };
  const inOrder = (places: readonly Place[]): readonly Directory[] => {
    const all = places.flatMap((place) =>
      formats.filter((format) => format.places.includes(place.kind)).map((format) => of(place, format)),
    );
    return [...all.filter((directory) => !directory.yields), ...all.filter((directory) => directory.yields)];
  };

  return {
    of,
    inOrder,
    forget(places, name) {
      // Creates the views of the search path, whose index files may contain the tool.
      inOrder(places);
      for (const view of views.values()) view.forget(name);
    },
  };
}

export function createDirectory(options: DirectoryOptions): Directory {
  const { place, format, world } = options;
  const reader = createDirectoryReader(place, format, world);
  const cache = createCache(options, reader);

  const toolIn = (entry: string | undefined, tool: string, snapshot: FormatSnapshot): Tool | undefined =>
    entry === undefined
      ? undefined
      : cache.findEntry(entry, snapshot)?.reading?.tools.find((candidate) => candidate.name === tool);

  // For formats whose tool names differ from their entries (RES-7).
  const findDeclared = (name: string, snapshot: FormatSnapshot): Tool | undefined => {
    const entry = cache.entryDeclaring(name, snapshot);
    const tool = toolIn(entry, name, snapshot);
    if (entry === undefined || tool !== undefined) return tool;
    // The index was wrong (RES-4).
    world.debug(`${place.directory}: the index on disk is wrong, rebuilding it`);
    cache.clear();
    return toolIn(cache.entryDeclaring(name, snapshot), name, snapshot);
  };

  return {
    yields: format.yields ?? false,
    list: cache.list,
    find(name, snapshot) {
      if (format.entryOf === undefined) return findDeclared(name, snapshot);
      const entry = format.entryOf(name);
      if (!reader.claims(entry)) return undefined;
      const reading = cache.findEntry(entry, snapshot)?.reading;
      return (
        reading?.tools.find((candidate) => candidate.name === name) ??
        reading?.problems.find((candidate) => candidate.severity === 'error')
      );
    },
    names: reader.names,
    at: (entry, snapshot) => (reader.claims(entry) ? cache.findEntry(entry, snapshot)?.reading : undefined),
    forget(tool) {
      if (tool === undefined || cache.contains(tool)) cache.clear();
    },
  };
}

function createCache({ place, format, world, index }: DirectoryOptions, reader: DirectoryReader) {
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
    list(snapshot: FormatSnapshot): DirectoryListing {
      const current = refresh(snapshot);
      listing ??= toListing(current);
      return listing;
    },
    /** Returns an entry that was read in this process and did not change since. */
    findEntry(name: string, snapshot?: FormatSnapshot): Entry | undefined {
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
    /** Returns the name of the entry that declares a tool. */
    entryDeclaring(tool: string, snapshot: FormatSnapshot): string | undefined {
      const current = refresh(snapshot, true);
      if (current === undefined) return undefined;
      declared ??= toDeclared(current);
      return declared.get(tool);
    },
    contains(tool: string): boolean {
      const indexed = (state ?? index.load(place, format))?.entries.values() ?? [];
      return [...found.values(), ...indexed].some(({ reading }) => reading?.tools.some(({ name }) => name === tool));
    },
    clear(): void {
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
