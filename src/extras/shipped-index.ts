// The index that a library ships in its directory of skills: used for listings while the files match it (RES-22).

import type { Stats } from 'node:fs';
import { basename, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createDirectory } from '../catalog/directory.js';
import type { DirectoryState, Entry } from '../catalog/entry.js';
import type { IndexFileOptions } from '../catalog/index-file.js';
import type { Format } from '../core/format.js';
import { type Json, parseJson } from '../core/json.js';
import { isToolName, normalizeTags } from '../core/name.js';
import type { Place } from '../core/origin.js';
import { cleanSchema, type JsonSchema } from '../core/schema.js';
import { DEFAULT_IGNORE } from '../core/search-path.js';
import {
  anything,
  boolean,
  converted,
  custom,
  either,
  formatFault,
  type Infer,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  readShape,
  record,
  string,
  strings,
  table,
} from '../core/shape.js';
import type { Skill } from '../core/skill.js';
import { sanitize } from '../core/text.js';
import type { Action, Tool, Traits } from '../core/tool.js';
import { admittedPath, readWithin } from '../files/boundary.js';
import { openSealed, seal } from '../files/cache.js';
import { isSettled, readHead, statOrNothing, toIdentity } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { writeFileAtomic } from '../files/write.js';

export type ShippedIndex = ReturnType<typeof createShippedIndex>;

type ShippedIndexOptions = Pick<IndexFileOptions, 'version' | 'toSchema' | 'world'>;

const FILE = '.wield-index';
const MAX_BYTES = 64 * 1024 * 1024;
const DROP = { unknown: 'drop' } as const;

const TEXT = converted(string, (text) => sanitize(text));
const TAGS = converted(strings, normalizeTags);
const SCHEMA = converted(table, (schema) => cleanSchema(schema as JsonSchema));
const FLAG = optional(boolean);
const TRAITS = object(
  {
    group: optional(string),
    tags: TAGS,
    hidden: boolean,
    terminal: boolean,
    readOnly: FLAG,
    destructive: FLAG,
    idempotent: FLAG,
    openWorld: FLAG,
    labels: optional(TAGS),
    text: FLAG,
    allowedTools: optional(strings),
    positional: optional(strings),
    timeoutMs: optional(integer()),
    examples: converted(list(anything), (examples) => examples as readonly Json[]),
  },
  DROP,
);
const TOOL = object(
  {
    name: custom('the name of a tool', (name) => (typeof name === 'string' && isToolName(name) ? name : undefined)),
    description: TEXT,
    input: SCHEMA,
    output: optional(SCHEMA),
    traits: converted(TRAITS, (traits): Traits => traits),
    server: nullable(string),
  },
  DROP,
);
const SKILL = object(
  {
    name: string,
    description: TEXT,
    allowedTools: nullable(strings),
    metadata: converted(table, (metadata) => metadata as Skill['metadata']),
    hidden: boolean,
    tags: TAGS,
    delegate: nullable(string),
    inherit: nullable(either([strings, oneOf(false)])),
    timeoutMs: optional(integer()),
    start: integer(),
    references: list(object({ kind: oneOf('tool', 'skill'), ref: string }, DROP)),
  },
  DROP,
);
/** Contains no paths: they follow from the names of entries. The states are size and time of each file of the entry. */
const ENTRY = object({ states: list(anything), tools: list(TOOL), skills: list(SKILL) }, DROP);
const DOCUMENT = record(record(ENTRY));

export function createShippedIndex({ version, toSchema, world }: ShippedIndexOptions) {
  const label = `wield-index\t${version}`;
  const fileOf = (directory: string): string => join(directory, FILE);

  // Undefined if the files changed since the index was written; the entry is then read.
  const toEntry = (name: string, shipped: Infer<typeof ENTRY>, place: Place, format: Format): Entry | undefined => {
    const files = filesOf(format, name, place);
    const stats = files.map(statOrNothing);
    if (JSON.stringify(stats.map(stateOf)) !== JSON.stringify(shipped.states)) return undefined;
    // RES-46: also read if a link leads out, to report it.
    if (files.some((file) => admittedPath(file, place.boundary) === undefined)) return undefined;
    const { owner } = place;
    const directory = format.entries === 'files' ? place.directory : join(place.directory, name);
    const uri = pathToFileURL(files[0]!).href;
    const tools = shipped.tools.map(({ input, output, server, ...tool }): Tool => {
      return {
        ...tool,
        input: toSchema(input, 'input'),
        output: output && toSchema(output, 'output'),
        // What runs is always read from the files.
        get action(): Action {
          const { tools: real = [] } = readWithin(format, name, place).reading ?? {};
          const found = real.find((candidate) => candidate.name === tool.name);
          if (found === undefined) throw new Error(`${files[0]} declares no ${tool.name}`);
          return found.action;
        },
        origin: { format: format.name, uri, directory, source: null, digest: null, server, owner },
      };
    });
    const skills = shipped.skills.map((skill) => ({ ...skill, file: files[0]!, directory, owner }));
    const states = stats.map((one) => one && toIdentity(one));
    const settled = states.every((state) => isSettled(state, world.now()));
    return { name, states, settled, reading: { tools, skills, problems: [] }, indexed: true };
  };

  return {
    /** Returns the entries of a directory whose files did not change; undefined if it has no usable index. */
    load(place: Place, format: Format): DirectoryState | undefined {
      const file = fileOf(place.directory);
      try {
        const stats = statOrNothing(place.directory);
        const reading = readHead(file, MAX_BYTES, { within: place.boundary });
        if (stats === undefined || 'fault' in reading) return undefined;
        if (!reading.complete) throw new Error('too large');
        const text = openSealed(reading.bytes, label);
        const { value, faults } = readShape(DOCUMENT, parseJson(text, FILE, { maxDepth: 64, maxBytes: MAX_BYTES }));
        if (faults.length > 0) throw new Error(formatFault(faults[0]!));
        const shipped = value?.[format.name];
        if (shipped === undefined) return undefined;
        const entries = new Map<string, Entry>();
        for (const [name, one] of Object.entries(shipped)) {
          const entry = isEntryName(name) ? toEntry(name, one, place, format) : undefined;
          if (entry !== undefined) entries.set(name, entry);
        }
        // Not settled, so that the names of entries are read from the directory.
        return { identity: toIdentity(stats), settled: false, entries, shipped: true };
      } catch (error) {
        world.debug(`${file}: index discarded: ${(error as Error).message}`);
        return undefined;
      }
    },
    write(directory: string, formats: readonly Format[]) {
      const place: Place = { directory, owner: 'library', kind: 'skills', ignore: DEFAULT_IGNORE };
      const document: Record<string, Record<string, unknown>> = {};
      const names = new Set<string>();
      let tools = 0;
      for (const format of formats.filter(({ places }) => places.includes(place.kind))) {
        const view = createDirectory({ place, format, world, index: NO_INDEX });
        const own: Record<string, unknown> = {};
        for (const name of view.names()) {
          const reading = view.at(name);
          // Left out, so that problems are reported when the entry is read.
          if (reading === undefined || reading.problems.length > 0) continue;
          own[name] = toShipped(reading, filesOf(format, name, place));
          names.add(name);
          tools += reading.tools.length;
        }
        document[format.name] = own;
      }
      const file = fileOf(directory);
      writeFileAtomic(file, seal(JSON.stringify(document), label), { mode: 0o644 });
      return { file, entries: names.size, tools };
    },
    /** Returns the path of the index of a directory. */
    fileOf,
    remove(directory: string) {
      const file = fileOf(directory);
      const removed = statOrNothing(file) !== undefined;
      removeFile(file);
      return { file, removed };
    },
  };
}

function stateOf(stats: Stats | undefined): readonly [number, number] | null {
  return stats === undefined ? null : [stats.size, Math.floor(stats.mtimeMs)];
}

function filesOf(format: Format, entry: string, place: Place): string[] {
  return (format.filesOf?.(entry) ?? [entry]).map((file) => join(place.directory, file));
}

function isEntryName(name: string): boolean {
  return !['', '.', '..'].includes(name) && basename(name) === name;
}

const NO_INDEX = { load: () => undefined, save: () => {}, remove: () => {} };

function toShipped({ tools, skills = [] }: NonNullable<Entry['reading']>, files: readonly string[]) {
  return {
    states: files.map((file) => stateOf(statOrNothing(file))),
    tools: tools.map(({ name, description, input, output, traits, origin: { server } }) => {
      return { name, description, input: input.json, output: output?.json, traits, server };
    }),
    skills: skills.map(({ file: _, directory: __, owner: ___, ...skill }) => skill),
  };
}
