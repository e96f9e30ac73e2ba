// Index files: one per directory and format, so that listing a thousand tools reads one file.

import type { FileState, Format } from '../core/format.js';
import type { FileIdentity, Origin, Place } from '../core/origin.js';
import type { JsonSchema, Schema } from '../core/schema.js';
import type { World } from '../core/snapshot.js';
import { NO_TRAITS, type Tool, type Traits } from '../core/tool.js';
import { createCacheFiles } from '../files/cache.js';
import type { DirectoryState, Entry } from './entry.js';

export type ToSchema = (json: JsonSchema, side: 'input' | 'output') => Schema;

export interface IndexFile {
  /** Returns the saved state of a place; undefined if there is none or it is not usable. */
  load(place: Place, format: Format): DirectoryState | undefined;
  save(place: Place, format: Format, state: DirectoryState): void;
  remove(place: Place, format: Format): void;
}

export interface IndexFileOptions {
  /** The directory of the index files. */
  readonly directory: string;
  /** Changes with the meaning of a field. */
  readonly version: string;
  readonly toSchema: ToSchema;
  /** Loads the index that a library ships in its own directory (RES-22). */
  readonly loadShipped: (place: Place, format: Format) => DirectoryState | undefined;
  readonly world: World;
}

// A smaller directory is read as fast as its index.
const MIN_ENTRIES = 16;

interface IndexDocument {
  readonly identity: FileIdentity;
  readonly settled: boolean;
  readonly entries: readonly IndexedEntry[];
}

interface IndexedEntry extends Omit<Entry, 'states' | 'reading' | 'indexed'> {
  readonly states: readonly (FileIdentity | null)[];
  readonly reading?: Omit<NonNullable<Entry['reading']>, 'tools'> & { readonly tools: readonly IndexedTool[] };
}

interface IndexedTool extends Pick<Tool, 'name' | 'description' | 'action'> {
  readonly input: JsonSchema;
  readonly output?: JsonSchema | undefined;
  /** What differs from the defaults. */
  readonly origin: Partial<Origin>;
  readonly traits: Partial<Traits>;
}

export function createIndexFile({ directory, version, toSchema, loadShipped, world }: IndexFileOptions): IndexFile {
  const files = createCacheFiles({ directory, extension: '.index', debug: world.debug });
  // The ignored names determine the content.
  const labelOf = (place: Place, format: Format): string =>
    JSON.stringify(['wield-index', version, format.name, place.directory, ...(place.ignore ?? [])]);
  const loadOwn = (place: Place, format: Format): DirectoryState | undefined =>
    files.read(labelOf(place, format), (text) => {
      const { identity, settled, entries } = JSON.parse(text) as IndexDocument;
      const origin = commonOrigin(place, format);
      const read = (tool: IndexedTool): Tool => toTool(tool, origin, toSchema);
      const known = new Map<string, Entry>();
      for (const entry of entries) known.set(entry.name, toEntry(entry, read));
      return { identity, settled, entries: known, shipped: false };
    });
  return {
    load: (place, format) => loadOwn(place, format) ?? (place.external ? loadShipped(place, format) : undefined),
    save(place, format, { identity, settled, entries }) {
      if (entries.size < MIN_ENTRIES) return;
      const common = commonOrigin(place, format);
      const write = ({ name, description, input, output, action, origin, traits }: Tool): IndexedTool => ({
        name,
        description,
        input: input.json,
        output: output?.json,
        action,
        origin: difference(origin, common),
        traits: difference(traits, NO_TRAITS),
      });
      const indexed = [...entries.values()].map((entry) => toIndexed(entry, write));
      files.write(
        labelOf(place, format),
        JSON.stringify({ identity, settled, entries: indexed } satisfies IndexDocument),
      );
    },
    remove: (place, format) => files.remove(labelOf(place, format)),
  };
}

function toIndexed(
  { name, states, files, settled, reading }: Entry,
  toIndexedTool: (tool: Tool) => IndexedTool,
): IndexedEntry {
  return {
    name,
    states: states.map((state) => state ?? null),
    files,
    settled,
    reading: reading && {
      tools: reading.tools.map(toIndexedTool),
      problems: reading.problems,
      skills: reading.skills,
      offers: reading.offers,
    },
  };
}

function commonOrigin({ directory, owner }: Place, { name, shownAs = name }: Format): Omit<Origin, 'uri'> {
  return { format: shownAs, directory, source: null, digest: null, server: 'local', owner };
}

/** Returns the members that are not those of `common`. */
function difference<T extends object>(value: T, common: Partial<T>): Partial<T> {
  const members = Object.entries(value).filter(
    ([name, member]) => JSON.stringify(member) !== JSON.stringify(common[name as keyof T]),
  );
  return Object.fromEntries(members) as Partial<T>;
}

function toEntry({ name, states, files, settled, reading }: IndexedEntry, toTool: (tool: IndexedTool) => Tool): Entry {
  return {
    name,
    files,
    settled,
    states: states.map((state): FileState => state ?? undefined),
    reading: reading && { ...reading, tools: reading.tools.map(toTool) },
    indexed: true,
  };
}

function toTool(
  { name, description, input, output, action, origin, traits }: IndexedTool,
  common: Omit<Origin, 'uri'>,
  toSchema: ToSchema,
): Tool {
  return {
    name,
    description,
    traits: { ...NO_TRAITS, ...traits },
    // The owner follows from the place, and is not part of the key.
    origin: { ...common, ...origin, owner: common.owner } as Origin,
    input: toSchema(input, 'input'),
    output: output && toSchema(output, 'output'),
    action,
  };
}
