// Turns schemas of OpenAPI 2.0, 3.0 and 3.1 into JSON Schema 2020-12, with what they refer to as definitions.

import { isRecord, type Json, mapValues } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { isRegex } from '../../schema/formats.js';
import type { Located, Node, OpenDocument } from './document.js';
import { findFree } from './name.js';

/** Converts schemas of one document. */
export interface SchemaWriter {
  /** Converts a schema; what it refers to becomes `#/$defs/…`, which `define` adds. */
  convert(located: Located): JsonSchema;
  /** Adds the definitions that a schema needs. `left` counts those left out because the schema would be too large. */
  define(schema: JsonSchema): { readonly schema: JsonSchema; readonly left: number };
}

export interface SchemaWriterOptions {
  /** For responses: only the shape, since servers often deviate from the rest. */
  readonly loose?: boolean;
  /** Counts the values that are written. Throws `invalid_definition` if they are too many. */
  readonly spend: (values: number) => void;
}

// Definitions beyond this number of values accept anything.
const MAX_VALUES = 4000;
// Of OpenAPI only, or without meaning for a caller.
const DROPPED = new Set(['discriminator', 'xml', 'externalDocs', 'example', 'nullable', 'readOnly', 'writeOnly', 'id']);
const DROPPED_IF_LOOSE = new Set([
  ...['required', 'enum', 'const', 'format', 'pattern', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'multipleOf'],
  ...['additionalProperties', 'unevaluatedProperties', 'oneOf', 'not', 'if', 'then', 'else', 'default', 'examples'],
]);
const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']);
const ONE = new Set([
  ...['items', 'additionalProperties', 'unevaluatedProperties', 'propertyNames', 'contains'],
  ...['not', 'if', 'then', 'else'],
]);

export function createSchemaWriter(
  document: OpenDocument,
  { loose = false, spend }: SchemaWriterOptions,
): SchemaWriter {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const definitions = new Map<string, Definition>();

  const nameOf = (ref: string, located: Located): string => {
    const key = `${located.file}#${ref.slice(ref.indexOf('#') + 1)}`;
    const known = names.get(key);
    if (known !== undefined) return known;
    const base = (ref.split('/').at(-1) ?? '').replace(/[^\w.-]/g, '_') || 'schema';
    const name = findFree(base, (free) => taken.has(free));
    names.set(key, name);
    taken.add(name);
    return name;
  };

  const convertNode = (located: Located, refs: string[]): JsonSchema => {
    const { node, file } = located;
    if (typeof node.$ref === 'string') {
      const target = document.resolve(node.$ref, file);
      const name = nameOf(node.$ref, target);
      refs.push(name);
      if (!definitions.has(name)) {
        // Set first, because a definition may contain itself.
        definitions.set(name, { schema: {}, values: 0, refs: [] });
        const inner: string[] = [];
        const schema = convertNode(target, inner);
        definitions.set(name, { schema, values: countValues(schema), refs: inner });
      }
      const reference: Record<string, Json> = { $ref: `#/$defs/${name}` };
      spend(1);
      if (typeof node.description === 'string') reference.description = node.description;
      return loose || node.nullable === true ? { anyOf: [reference, { type: 'null' }] } : reference;
    }
    const written: Record<string, Json> = {};
    const entries = Object.entries(loose ? node : withoutReadOnly(located, document));
    spend(entries.length + 1);
    for (const [key, value] of entries) {
      if (DROPPED.has(key) || key.startsWith('x-') || (loose && DROPPED_IF_LOOSE.has(key))) continue;
      if (ONE.has(key) && isRecord(value)) written[key] = convertNode({ node: value, file }, refs);
      else if ((LISTS.has(key) || key === 'items') && Array.isArray(value))
        written[key === 'items' ? 'prefixItems' : key] = value.map((one) =>
          isRecord(one) ? convertNode({ node: one, file }, refs) : one,
        );
      else if (MAPS.has(key) && isRecord(value))
        written[key] = mapValues(value, (one) => (isRecord(one) ? convertNode({ node: one, file }, refs) : true));
      else written[key] = value as Json;
    }
    return repair(written, node, loose);
  };

  return {
    convert: (located) => convertNode(located, []),
    define(schema) {
      const defined = addDefinitions(schema, definitions);
      spend(defined.values);
      return defined;
    },
  };
}

interface Definition {
  readonly schema: JsonSchema;
  readonly values: number;
  readonly refs: readonly string[];
}

// Those that would make the schema too large accept anything.
function addDefinitions(schema: JsonSchema, definitions: ReadonlyMap<string, Definition>) {
  const added: Record<string, Json> = {};
  let values = countValues(schema);
  let left = 0;
  const waiting = referencesIn(schema);
  for (let at = 0; at < waiting.length; at++) {
    const name = waiting[at]!;
    if (Object.hasOwn(added, name)) continue;
    const definition = definitions.get(name);
    // A default or an example may have a property of that name.
    if (definition === undefined) continue;
    if (values + definition.values > MAX_VALUES) {
      added[name] = {};
      left++;
      continue;
    }
    values += definition.values;
    added[name] = definition.schema;
    waiting.push(...definition.refs);
  }
  return { schema: Object.keys(added).length === 0 ? schema : { ...schema, $defs: added }, values, left };
}

// Words with another meaning in JSON Schema 2020-12.
function repair(schema: Record<string, Json>, node: Node, loose: boolean): JsonSchema {
  for (const [limit, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof schema[exclusive] !== 'boolean') continue;
    if (schema[exclusive] === true && typeof schema[limit] === 'number') {
      schema[exclusive] = schema[limit];
      delete schema[limit];
    } else delete schema[exclusive];
  }
  if (typeof schema.required === 'boolean') delete schema.required;
  if (schema.type === 'file') Object.assign(schema, { type: 'string', contentEncoding: 'base64' });
  if (schema.format === 'binary' || schema.format === 'byte') {
    delete schema.format;
    schema.contentEncoding ??= 'base64';
  }
  if (typeof schema.pattern === 'string') {
    const pattern = [schema.pattern, withPlainEscapes(schema.pattern)].find(isRegex);
    if (pattern === undefined) delete schema.pattern;
    else schema.pattern = pattern;
  }
  if ((node.nullable === true || node['x-nullable'] === true || loose) && typeof schema.type === 'string') {
    schema.type = schema.type === 'null' ? 'null' : [schema.type, 'null'];
    if (Array.isArray(schema.enum) && !schema.enum.includes(null)) schema.enum = [...schema.enum, null];
  }
  return schema;
}

// Escapes of characters that need none, such as `\:`, are errors in JSON Schema.
function withPlainEscapes(pattern: string): string {
  return pattern.replace(/\\(.)/gs, (whole, character: string) =>
    /[A-Za-z0-9^$\\.*+?()[\]{}|/]|[^\x20-\x7e]/.test(character)
      ? whole
      : `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}

function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const child of Object.values(value)) count += countValues(child);
  return count;
}

function referencesIn(value: unknown, found: string[] = []): string[] {
  if (typeof value !== 'object' || value === null) return found;
  const { $ref } = value as { $ref?: unknown };
  if (typeof $ref === 'string') found.push($ref.slice('#/$defs/'.length));
  for (const child of Object.values(value)) referencesIn(child, found);
  return found;
}

// Properties that only the server sets are not sent, and not required of a caller.
const MAX_DEPTH = 4;

/** Whether a schema, what it refers to, or a part of it is read-only. */
export function isReadOnly(located: Located, document: OpenDocument, depth = 0): boolean {
  if (located.node.readOnly === true) return true;
  const { node, file } = document.follow(located);
  if (node.readOnly === true) return true;
  if (depth === MAX_DEPTH || !Array.isArray(node.allOf)) return false;
  return node.allOf.some((one) => isRecord(one) && isReadOnly({ node: one, file }, document, depth + 1));
}

// Returns a schema without its read-only properties.
function withoutReadOnly({ node, file }: Located, document: OpenDocument): Node {
  const { properties, required } = node;
  if (!isRecord(properties)) return node;
  const entries = Object.entries(properties);
  const writable = entries.filter(([, one]) => !isRecord(one) || !isReadOnly({ node: one, file }, document));
  if (writable.length === entries.length) return node;
  const names = new Set(writable.map(([name]) => name));
  const isNeeded = (name: string): boolean => names.has(name) || !Object.hasOwn(properties, name);
  return {
    ...node,
    properties: Object.fromEntries(writable),
    ...(Array.isArray(required) ? { required: required.filter(isNeeded) } : {}),
  };
}
