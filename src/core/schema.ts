// Schemas: the JSON Schema that callers see, the check that is enforced, and reading of schema nodes.

import { copyJson, isRecord, type Json, mapValues, unescapePointer } from './json.js';
import { memoize } from './memoize.js';
import { decodeUri, sanitize } from './text.js';

/** A JSON Schema document (2020-12). */
export type JsonSchema = { readonly [keyword: string]: Json };

/** One thing wrong with a value. */
export interface Fault {
  /** What kind of fault it is. */
  readonly kind: FaultKind;
  /** JSON Pointer to the value, empty for the whole. */
  readonly path: string;
  /** What is expected there. */
  readonly expected: string;
  /** What is there instead. */
  readonly got: string;
}

/** An undeclared property, a missing one, a wrong type, or a value that breaks another constraint. */
export type FaultKind = 'unknown' | 'missing' | 'type' | 'value';

/** A valid value, or what is wrong with it. */
export type Check =
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** What callers see of an input or output, and the check that is enforced. */
export interface Schema {
  /** The published schema. */
  readonly json: JsonSchema;
  /** Validates a value. The returned value has defaults filled in if the schema's author chose so. */
  check(value: Json): Promise<Check>;
}

/** The published schema of a tool without parameters (TOOL-3). */
export const NO_PARAMETERS: JsonSchema = { type: 'object', properties: {} };

/** A node of a schema: an object of keywords. */
export type SchemaNode = Readonly<Record<string, unknown>>;

// A longer chain of references or unions is treated as a cycle.
const MAX_STEPS = 16;

/** Resolves the local `$ref` of a node and merges the keywords next to it. Returns an empty node if there is none. */
export function followRef(node: unknown, root: JsonSchema): SchemaNode {
  let here = node;
  for (let step = 0; step < MAX_STEPS && isRecord(here); step++) {
    if (typeof here.$ref !== 'string') return here;
    const { $ref: _, ...beside }: Record<string, unknown> = here;
    const target = lookUp(root, here.$ref);
    here = isRecord(target) ? { ...target, ...beside } : undefined;
  }
  return isRecord(here) ? here : {};
}

/** Returns the node a local reference points to, or undefined. */
export function lookUp(root: JsonSchema, ref: string): unknown {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return ref.startsWith('#') ? anchorsOf(root).get(ref.slice(1)) : undefined;
  let target: unknown = root;
  for (const step of ref.slice(2).split('/')) {
    const key = unescapePointer(decodeUri(step));
    target =
      typeof target === 'object' && target !== null && Object.hasOwn(target, key)
        ? (target as SchemaNode)[key]
        : undefined;
  }
  return target;
}

// The nodes of a document that have a name of their own.
const anchorsOf = memoize((root: JsonSchema): ReadonlyMap<string, unknown> => {
  const found = new Map<string, unknown>();
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { $anchor, $dynamicAnchor } = node as SchemaNode;
    for (const name of [$anchor, $dynamicAnchor])
      if (typeof name === 'string' && !found.has(name)) found.set(name, node);
    Object.values(node).forEach(walk);
  };
  walk(root);
  return found;
});

/** Returns the types that a node accepts; empty if it does not restrict them. `known` has the types of branches. */
export function acceptedTypes(
  node: SchemaNode,
  root: JsonSchema,
  known?: Map<unknown, ReadonlySet<string>>,
): ReadonlySet<string> {
  const { type } = node;
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(type.filter((entry) => typeof entry === 'string'));
  if (Array.isArray(node.enum)) return new Set(node.enum.map(jsonType));
  if ('const' in node) return new Set([jsonType(node.const)]);
  return typesOfBranches(node, root, known ?? new Map());
}

function typesOfBranches(
  node: SchemaNode,
  root: JsonSchema,
  known: Map<unknown, ReadonlySet<string>>,
): ReadonlySet<string> {
  // Each node once: schemas can contain a node in many ways, and themselves.
  const typesOf = (branch: unknown): ReadonlySet<string> => {
    const found = known.get(branch);
    if (found !== undefined) return found;
    known.set(branch, new Set());
    const types = acceptedTypes(followRef(branch, root), root, known);
    known.set(branch, types);
    return types;
  };
  const branches = node.anyOf ?? node.oneOf;
  if (!Array.isArray(branches)) return Array.isArray(node.allOf) ? inAll(node.allOf.map(typesOf)) : new Set();
  const accepted = branches.map(typesOf);
  return accepted.some((types) => types.size === 0) ? new Set() : new Set(accepted.flatMap((types) => [...types]));
}

// The types accepted by every part that restricts them.
function inAll(parts: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  const [first, ...others] = parts.filter((types) => types.size > 0);
  return new Set([...(first ?? [])].filter((type) => others.every((types) => types.has(type))));
}

/** Returns the JSON type of a value; integers are numbers. */
export function jsonType(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const MAX_DEFAULT_DEPTH = 64;

/** Returns a copy of the value with the `default` of each missing property, at every depth. */
export function fillDefaults(value: Json, schema: JsonSchema): Json {
  const walk = (here: Json, node: unknown, depth: number): Json => {
    if (depth > MAX_DEFAULT_DEPTH || typeof here !== 'object' || here === null) return here;
    const { properties, items } = followRef(node, schema);
    if (Array.isArray(here)) return isRecord(items) ? here.map((child) => walk(child, items, depth + 1)) : here;
    if (!isRecord(properties)) return here;
    const filled: Record<string, Json> = { ...(here as { [key: string]: Json }) };
    for (const [name, property] of Object.entries(properties)) {
      const { default: standard } = followRef(property, schema);
      if (Object.hasOwn(filled, name)) filled[name] = walk(filled[name]!, property, depth + 1);
      else if (standard !== undefined) filled[name] = copyJson(standard as Json);
    }
    return filled;
  };
  return walk(value, schema, 0);
}

export function hasSomeType(value: Json, types: readonly unknown[]): boolean {
  return types.some((type) => hasType(value, type));
}

export function hasType(value: Json, type: unknown): boolean {
  switch (type) {
    case 'integer':
      return typeof value === 'number' && Number.isInteger(value);
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type;
    default:
      // Not a type of JSON Schema: the server that wrote it checks the value.
      return true;
  }
}

// Keywords whose values are data, not schemas.
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples']);

const TEXTS: ReadonlySet<string> = new Set(['description', 'title', '$comment']);

// Keywords whose keys are names.
const NAMED: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'dependentSchemas']);

/** Sanitizes descriptive texts, not values that input is compared with. Returns the schema itself if it is clean. */
export function cleanSchema(schema: JsonSchema): JsonSchema {
  const texts = JSON.stringify(schema);
  return sanitize(texts) === texts && !ESCAPED.test(texts) ? schema : (cleanTexts(schema) as JsonSchema);
}

// Control characters are escaped in JSON.
const ESCAPED = /\\u00[01]/;

function cleanTexts(node: Json): Json {
  if (Array.isArray(node)) return node.map(cleanTexts);
  if (!isRecord(node)) return node;
  return mapValues(node as Record<string, Json>, (value, key) => {
    if (DATA.has(key)) return value;
    if (NAMED.has(key) && isRecord(value)) return mapValues(value as Record<string, Json>, cleanTexts);
    return TEXTS.has(key) && typeof value === 'string' ? sanitize(value) : cleanTexts(value);
  });
}
