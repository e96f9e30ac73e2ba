// Index files: one per directory and format, so that listing a thousand tools reads one file.

import type { FileState, Format } from '../core/format.js';
import type { FileIdentity, Place } from '../core/origin.js';
import type { JsonSchema, Schema } from '../core/schema.js';
import type { World } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
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

interface IndexedTool extends Omit<Tool, 'input' | 'output'> {
  readonly input: JsonSchema;
  readonly output?: JsonSchema | undefined;
}

export function createIndexFile({ directory, version, toSchema, loadShipped, world }: IndexFileOptions): IndexFile {
  const files = createCacheFiles({ directory, extension: '.index', debug: world.debug });
  // The ignored names determine the content.
  const labelOf = (place: Place, format: Format): string =>
    JSON.stringify(['wield-index', version, format.name, place.directory, ...(place.ignore ?? [])]);
  const loadOwn = (place: Place, format: Format): DirectoryState | undefined =>
    files.read(labelOf(place, format), (text) => {
      const { identity, settled, entries } = JSON.parse(text) as IndexDocument;
      const known = entries.map((entry) => [entry.name, toEntry(entry, place, toSchema)] as const);
      return { identity, settled, entries: new Map(known), shipped: false };
    });
  return {
    load: (place, format) => loadOwn(place, format) ?? (place.external ? loadShipped(place, format) : undefined),
    save(place, format, { identity, settled, entries }) {
      if (entries.size < MIN_ENTRIES) return;
      const indexed = [...entries.values()].map(toIndexed);
      files.write(
        labelOf(place, format),
        JSON.stringify({ identity, settled, entries: indexed } satisfies IndexDocument),
      );
    },
    remove: (place, format) => files.remove(labelOf(place, format)),
  };
}

function toIndexed({ name, states, files, settled, reading }: Entry): IndexedEntry {
  return {
    name,
    states: states.map((state) => state ?? null),
    files,
    settled,
    reading: reading && {
      tools: reading.tools.map((tool) => ({ ...tool, input: tool.input.json, output: tool.output?.json })),
      problems: reading.problems,
      skills: reading.skills,
      offers: reading.offers,
    },
  };
}

function toEntry({ name, states, files, settled, reading }: IndexedEntry, { owner }: Place, toSchema: ToSchema): Entry {
  const toTool = ({ name, description, input, output, action, origin, traits }: IndexedTool): Tool => ({
    name,
    description,
    traits,
    // The owner follows from the place, and is not part of the label.
    origin: { ...origin, owner },
    input: toSchema(input, 'input'),
    output: output && toSchema(output, 'output'),
    action,
  });
  return {
    name,
    files,
    settled,
    states: states.map((state): FileState => state ?? undefined),
    reading: reading && { ...reading, tools: reading.tools.map(toTool) },
    indexed: true,
  };
}
