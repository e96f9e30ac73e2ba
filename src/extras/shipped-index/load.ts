// Index that a library ships in its own directory: used for listings while the files match it (RES-22).

import { basename, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { DirectoryState, Entry } from '../../catalog/entry.js';
import type { ToSchema } from '../../catalog/index-file.js';
import type { Format } from '../../core/format.js';
import { isRecord, type Json, parseJson } from '../../core/json.js';
import { isToolName, normalizeTags } from '../../core/name.js';
import type { Place } from '../../core/origin.js';
import type { JsonSchema } from '../../core/schema.js';
import { cleanSchema } from '../../core/schema.js';
import type { Skill, TextReference } from '../../core/skill.js';
import type { World } from '../../core/snapshot.js';
import { sanitize } from '../../core/text.js';
import type { Action, Tool, Traits } from '../../core/tool.js';
import { admittedPath, readWithin } from '../../files/boundary.js';
import { openChecked } from '../../files/checksum.js';
import { isSettled, readHead, statOrNothing, toIdentity } from '../../files/read.js';

/** Name of the index file in the directory. */
export const SHIPPED_INDEX = '.wield-index';
const MAX_BYTES = 64 * 1024 * 1024;

export interface ShippedIndexOptions {
  readonly place: Place;
  readonly format: Format;
  /** Changes with the meaning of a field. */
  readonly version: string;
  readonly toSchema: ToSchema;
  readonly world: World;
}

/** Contains no paths: they follow from the names of entries. */
export interface ShippedEntry {
  /** Size and modification time of each file of the entry; null if the file is missing. */
  readonly states: readonly (readonly [number, number] | null)[];
  readonly tools: readonly ShippedTool[];
  readonly skills: readonly ShippedSkill[];
}

interface ShippedTool {
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly traits: Traits;
  readonly server: string | null;
}

type ShippedSkill = Omit<Skill, 'file' | 'directory' | 'owner'>;

/** Returns the entries of the index whose files did not change; undefined if there is no usable index. */
export function loadShippedIndex(options: ShippedIndexOptions): DirectoryState | undefined {
  const { place, format, world } = options;
  const file = join(place.directory, SHIPPED_INDEX);
  try {
    const stats = statOrNothing(place.directory);
    const reading = readHead(file, MAX_BYTES, { within: place.boundary });
    if (stats === undefined || 'fault' in reading) return undefined;
    if (!reading.complete) throw new Error('too large');
    const shipped = parseShipped(reading.bytes, options.version)[format.name];
    if (!isRecord(shipped)) return undefined;
    const entries = new Map<string, Entry>();
    for (const [name, value] of Object.entries(shipped)) {
      const entry = isEntryName(name) ? toEntry(name, readShippedEntry(value), options) : undefined;
      if (entry !== undefined) entries.set(name, entry);
    }
    // Not settled, so that the names of entries are read from the directory.
    return { identity: toIdentity(stats), settled: false, entries, shipped: true };
  } catch (error) {
    world.debug(`${file}: index discarded: ${(error as Error).message}`);
    return undefined;
  }
}

export function labelOf(version: string): string {
  return `wield-index\t${version}`;
}

function parseShipped(bytes: Buffer, version: string): Readonly<Record<string, Json>> {
  const document = parseJson(openChecked(bytes, labelOf(version)), SHIPPED_INDEX, {
    maxDepth: 64,
    maxBytes: MAX_BYTES,
  });
  if (!isRecord(document)) throw new Error('not an object');
  return document as Readonly<Record<string, Json>>;
}

export function stateOf(file: string): readonly [number, number] | null {
  const stats = statOrNothing(file);
  return stats === undefined ? null : [stats.size, Math.floor(stats.mtimeMs)];
}

export function filesOf(format: Format, entry: string, place: Place): string[] {
  return (format.filesOf?.(entry) ?? [entry]).map((file) => join(place.directory, file));
}

function isEntryName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && basename(name) === name && !name.includes(sep);
}

// Returns undefined if the files changed since the index was written; the entry is then read.
function toEntry(name: string, shipped: ShippedEntry, options: ShippedIndexOptions): Entry | undefined {
  const { place, format, toSchema, world } = options;
  const files = filesOf(format, name, place);
  if (JSON.stringify(files.map(stateOf)) !== JSON.stringify(shipped.states)) return undefined;
  // RES-46: also read if a link leads out, to report it.
  if (files.some((file) => admittedPath(file, place.boundary) === undefined)) return undefined;
  const directory = format.entries === 'files' ? place.directory : join(place.directory, name);
  const read = (): readonly Tool[] => readWithin(format, name, place).reading?.tools ?? [];
  const tools = shipped.tools.map((tool): Tool => {
    return {
      name: tool.name,
      description: tool.description,
      input: toSchema(tool.input, 'input'),
      output: tool.output && toSchema(tool.output, 'output'),
      // What runs is always read from the files.
      get action(): Action {
        const real = read().find((candidate) => candidate.name === tool.name);
        if (real === undefined) throw new Error(`${files[0]} declares no ${tool.name}`);
        return real.action;
      },
      origin: {
        format: format.name,
        uri: pathToFileURL(files[0]!).href,
        directory,
        source: null,
        digest: null,
        server: tool.server,
        owner: place.owner,
      },
      traits: tool.traits,
    };
  });
  const skills = shipped.skills.map((skill) => ({ ...skill, file: files[0]!, directory, owner: place.owner }));
  const states = files.map((file) => {
    const stats = statOrNothing(file);
    return stats && toIdentity(stats);
  });
  const settled = states.every((state) => isSettled(state, world.now()));
  return { name, states, settled, reading: { tools, skills, problems: [] }, indexed: true };
}

function readShippedEntry(value: unknown): ShippedEntry {
  if (!isRecord(value) || ![value.states, value.tools, value.skills].every(Array.isArray))
    throw new Error('invalid entry');
  return {
    states: value.states as ShippedEntry['states'],
    tools: (value.tools as unknown[]).map(readShippedTool),
    skills: (value.skills as unknown[]).map(readShippedSkill),
  };
}

function readShippedTool(value: unknown): ShippedTool {
  if (!isRecord(value)) throw new Error('invalid tool');
  const { name, description, input, output, traits, server } = value;
  const isTool =
    typeof name === 'string' &&
    isToolName(name) &&
    typeof description === 'string' &&
    isRecord(input) &&
    (output === undefined || isRecord(output)) &&
    isRecord(traits);
  if (!isTool) throw new Error('invalid tool');
  return {
    name,
    description: sanitize(description),
    input: cleanSchema(input as JsonSchema),
    output: output && cleanSchema(output as JsonSchema),
    traits: readTraits(traits),
    server: typeof server === 'string' ? server : null,
  };
}

function readTraits(value: Readonly<Record<string, unknown>>): Traits {
  const { examples, group, timeoutMs } = value;
  const flag = (name: string): boolean | undefined => (typeof value[name] === 'boolean' ? value[name] : undefined);
  return {
    group: typeof group === 'string' ? group : undefined,
    tags: normalizeTags(readStrings(value.tags) ?? []),
    hidden: value.hidden === true,
    terminal: value.terminal === true,
    readOnly: flag('readOnly'),
    destructive: flag('destructive'),
    idempotent: flag('idempotent'),
    openWorld: flag('openWorld'),
    text: flag('text'),
    allowedTools: readStrings(value.allowedTools),
    positional: readStrings(value.positional),
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : undefined,
    examples: Array.isArray(examples) ? (examples as Json[]) : [],
  };
}

function readShippedSkill(value: unknown): ShippedSkill {
  if (!isRecord(value)) throw new Error('invalid skill');
  const { name, description, allowedTools, metadata, delegate, inherit, timeoutMs, start, references } = value;
  if (typeof name !== 'string' || typeof description !== 'string') throw new Error('invalid skill');
  return {
    name,
    description: sanitize(description),
    allowedTools: readStrings(allowedTools) ?? null,
    metadata: isRecord(metadata) ? (metadata as Skill['metadata']) : {},
    hidden: value.hidden === true,
    tags: normalizeTags(readStrings(value.tags) ?? []),
    delegate: typeof delegate === 'string' ? delegate : null,
    inherit: inherit === false ? false : (readStrings(inherit) ?? null),
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : undefined,
    start: typeof start === 'number' && start >= 0 ? start : 0,
    references: Array.isArray(references) ? references.flatMap(readReference) : [],
  };
}

function readReference(value: unknown): TextReference[] {
  if (!isRecord(value) || typeof value.ref !== 'string') return [];
  return [{ kind: value.kind === 'skill' ? 'skill' : 'tool', ref: value.ref }];
}

function readStrings(value: unknown): string[] | undefined {
  return Array.isArray(value) ? value.filter((entry): entry is string => typeof entry === 'string') : undefined;
}
