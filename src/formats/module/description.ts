// Descriptions of modules as data: what the tool host sends, and what is cached so that a listing loads no module (MOD-8).

import type { ModuleOffer } from '../../core/format.js';
import { type JsonObject, mapValues } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import type { Finding } from '../../core/problem.js';
import { cleanSchema, type JsonSchema } from '../../core/schema.js';
import {
  boolean,
  checked,
  converted,
  formatFault,
  list,
  object,
  oneOf,
  optional,
  readShape,
  type Shape,
  string,
  table,
} from '../../core/shape.js';
import type { World } from '../../core/snapshot.js';
import { sanitize } from '../../core/text.js';
import type { Traits } from '../../core/tool.js';
import { createCacheFiles } from '../../files/cache.js';
import type { Collected } from './collect.js';

export interface DescribedTool {
  readonly export: string;
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly traits: Traits;
}

export interface DescribedOffer extends Pick<ModuleOffer, 'kind' | 'id' | 'fields' | 'input'> {
  readonly export: string;
}

export interface Description {
  /** False if loading failed. Not cached, since it may succeed later. */
  readonly loaded: boolean;
  readonly tools: readonly DescribedTool[];
  readonly offers: readonly DescribedOffer[];
  readonly findings: readonly Finding[];
}

/** Returns the tools and offers of a loaded module as data. */
export function describe({ tools, offers, findings }: Collected): Description {
  return {
    loaded: true,
    tools: tools.map(({ export: name, tool }) => ({
      export: name,
      name: tool.name,
      description: tool.description,
      input: tool.input.json,
      output: tool.output?.json,
      traits: tool.traits,
    })),
    offers: offers.map(({ export: name, kind, id, fields, tool }) => ({
      export: name,
      kind,
      id,
      fields,
      input: tool.input.json,
    })),
    findings,
  };
}

const SCHEMA = converted(table, (schema) => cleanSchema(schema as JsonSchema));
const TRAITS = checked(table, ({ tags, examples }, fail) => {
  if (!Array.isArray(tags) || !Array.isArray(examples)) fail([], 'must have tags and examples');
});
const TOOL = object({
  export: string,
  name: checked(string, (name, fail) => {
    if (!isToolName(name)) fail([], 'is not a tool name');
  }),
  description: converted(string, sanitize),
  input: SCHEMA,
  output: optional(SCHEMA),
  traits: converted(TRAITS, (traits) => traits as unknown as Traits),
});
const OFFER = object({
  export: string,
  kind: oneOf('resource', 'prompt'),
  id: string,
  // Texts that are shown; URIs and data stay as they are.
  fields: converted(
    table,
    (fields) => mapValues(fields, (value) => (typeof value === 'string' ? sanitize(value) : value)) as JsonObject,
  ),
  input: SCHEMA,
});
const DESCRIPTION: Shape<Description> = object({
  loaded: boolean,
  tools: list(TOOL),
  offers: list(OFFER),
  findings: list(converted(table, (finding) => finding as unknown as Finding)),
});

/** Validates a description that was read from disk or came from the tool host. Throws if it is invalid. */
export function readDescription(json: unknown): Description {
  const { value, faults } = readShape(DESCRIPTION, json);
  if (value === undefined || faults.length > 0) throw new Error(`not a description: ${formatFault(faults[0]!)}`);
  return value;
}

// Increased whenever the structure or meaning of a description changes.
const VERSION = '4';

/** Creates a cache in memory and on disk, keyed by the hash of the described files. Invalid files are ignored. */
export function createDescriptionCache(directory: string, world: World) {
  const known = new Map<string, Description>();
  const files = createCacheFiles({ directory, extension: '.json', debug: world.debug });
  const labelOf = (key: string): string => `wield-module ${VERSION} ${key}`;
  const load = (key: string): Description | undefined =>
    files.read(labelOf(key), (text) => readDescription(JSON.parse(text)));
  return {
    get(key: string): Description | undefined {
      const found = known.get(key) ?? load(key);
      if (found !== undefined) known.set(key, found);
      return found;
    },
    set(key: string, description: Description): void {
      known.set(key, description);
      files.write(labelOf(key), JSON.stringify(description));
    },
  };
}
