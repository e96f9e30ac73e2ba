// Index files: one JSON document per directory and format, so that listing a thousand tools reads one file.

import { join } from 'node:path';
import type { FileState, Format } from '../core/format.js';
import type { FileIdentity, Place } from '../core/origin.js';
import type { JsonSchema, Schema } from '../core/schema.js';
import type { World } from '../core/snapshot.js';
import { NO_TRAITS, type Tool, type Traits } from '../core/tool.js';
import { checksum, hashName, openChecked, sealChecked } from '../files/checksum.js';
import { readHead } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';
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
const MAX_BYTES = 256 * 1024 * 1024;

interface IndexDocument {
  /** What the index belongs to. */
  readonly key: string;
  readonly identity: FileIdentity;
  readonly settled: boolean;
  readonly entries: readonly IndexedEntry[];
}

interface IndexedEntry extends Omit<Entry, 'states' | 'reading' | 'indexed'> {
  readonly states: readonly (FileIdentity | null)[];
  readonly reading?: Omit<NonNullable<Entry['reading']>, 'tools'> & { readonly tools: readonly IndexedTool[] };
}

interface IndexedTool extends Pick<Tool, 'name' | 'description' | 'origin'> {
  /** Left out if they are the default. */
  readonly traits?: Traits;
  /** Schemas and action as JSON, parsed on first use: a listing of a thousand tools needs none of them. */
  readonly body: string;
}

interface IndexedBody extends Pick<Tool, 'action'> {
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
}

export function createIndexFile({ directory, version, toSchema, loadShipped, world }: IndexFileOptions): IndexFile {
  const label = `wield-index\t${version}`;
  // The ignored names determine the content, so they are part of the key.
  const keyOf = (place: Place, format: Format): string =>
    JSON.stringify([version, format.name, place.directory, ...(place.ignore ?? [])]);
  const fileOf = (key: string): string => join(directory, `${hashName(key)}.index`);
  // The checksum of what was written, by file: a directory that was just changed is read again at every listing, mostly with the
  // same result.
  const written = new Map<string, string>();

  const loadOwn = (place: Place, format: Format): DirectoryState | undefined => {
    const key = keyOf(place, format);
    const file = fileOf(key);
    try {
      const reading = readHead(file, MAX_BYTES, { isState: true });
      if ('fault' in reading) return undefined;
      const document = JSON.parse(openChecked(reading.bytes, label)) as IndexDocument;
      if (document.key !== key) throw new Error('written for another directory');
      const { identity, settled } = document;
      const entries = new Map(document.entries.map((entry) => [entry.name, toEntry(entry, place, toSchema)]));
      return { identity, settled, entries, shipped: false };
    } catch (error) {
      world.debug(`${file}: index discarded: ${(error as Error).message}`);
      return undefined;
    }
  };

  return {
    load: (place, format) => loadOwn(place, format) ?? (place.external ? loadShipped(place, format) : undefined),
    save(place, format, { identity, settled, entries }) {
      if (entries.size < MIN_ENTRIES) return;
      const key = keyOf(place, format);
      const file = fileOf(key);
      const document: IndexDocument = { key, identity, settled, entries: [...entries.values()].map(toIndexed) };
      const bytes = sealChecked(JSON.stringify(document), label);
      const sum = checksum(bytes);
      if (written.get(file) === sum) return;
      try {
        writeFileAtomic(file, bytes, { durable: false });
        written.set(file, sum);
      } catch (error) {
        world.debug(`${file}: index not written: ${(error as Error).message}`);
      }
    },
    remove(place, format) {
      const file = fileOf(keyOf(place, format));
      written.delete(file);
      try {
        removeFile(file);
      } catch (error) {
        world.debug(`index not removed: ${(error as Error).message}`);
      }
    },
  };
}

function toIndexed({ name, states, files, settled, reading }: Entry): IndexedEntry {
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

function toIndexedTool({ name, description, input, output, action, origin, traits }: Tool): IndexedTool {
  const body: IndexedBody = { input: input.json, output: output?.json, action };
  const isPlain = JSON.stringify(traits) === PLAIN_TRAITS;
  return { name, description, origin, traits: isPlain ? undefined : traits, body: JSON.stringify(body) };
}

const PLAIN_TRAITS = JSON.stringify(NO_TRAITS);

function toEntry(entry: IndexedEntry, place: Place, toSchema: ToSchema): Entry {
  const { reading } = entry;
  return {
    ...entry,
    states: entry.states.map((state): FileState => state ?? undefined),
    reading: reading && { ...reading, tools: reading.tools.map((tool) => toTool(tool, place, toSchema)) },
    indexed: true,
  };
}

// The owner follows from the place, which is not part of the key.
function toTool(
  { name, description, origin, traits = NO_TRAITS, body }: IndexedTool,
  { owner }: Place,
  toSchema: ToSchema,
): Tool {
  let parsed: Pick<Tool, 'input' | 'output' | 'action'> | undefined;
  const parse = () => {
    if (parsed === undefined) {
      const { input, output, action } = JSON.parse(body) as IndexedBody;
      parsed = { input: toSchema(input, 'input'), output: output && toSchema(output, 'output'), action };
    }
    return parsed;
  };
  return {
    name,
    description,
    traits,
    origin: { ...origin, owner },
    get input() {
      return parse().input;
    },
    get output() {
      return parse().output;
    },
    get action() {
      return parse().action;
    },
  };
}
