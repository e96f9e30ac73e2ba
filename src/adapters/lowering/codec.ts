// Codecs: schema nodes as a provider's strict mode expresses them, and how their values are restored.

import { isRecord, type Json } from '../../core/json.js';
import { jsonType } from '../../core/schema.js';
import type { Node } from './sanitize.js';

export interface Codec {
  /** The node, as strict mode expresses it. */
  readonly schema: Node;
  /** JSON types of the values. */
  readonly types: ReadonlySet<string>;
  /** Whether every value is sent as itself. */
  readonly plain: boolean;
  /** Required properties with a few possible values, which distinguish alternatives. */
  readonly tags: ReadonlyMap<string, ReadonlySet<string>>;
  /** Never throws: what does not fit the schema is restored as far as possible, and validated later. */
  restore(value: Json): Json;
}

const NO_TAGS: Codec['tags'] = new Map();

/** A codec for values that are sent as themselves. */
export function plainCodec(schema: Node, type: string): Codec {
  const types = new Set([type === 'integer' ? 'number' : type]);
  return { schema, types, plain: true, tags: NO_TAGS, restore: (value) => value };
}

export function arrayCodec(schema: Node, items: Codec): Codec {
  return {
    schema: { ...schema, items: items.schema },
    types: new Set(['array']),
    plain: items.plain,
    tags: NO_TAGS,
    restore: (value) => (Array.isArray(value) ? value.map(items.restore) : value),
  };
}

/** Returns undefined if a value could be restored with another alternative than its own. */
export function unionCodec(branches: readonly Codec[]): Codec | undefined {
  if (branches.length === 1) return branches[0];
  const distinct = branches.every((one, index) =>
    branches.slice(index + 1).every((other) => (one.plain && other.plain) || areDistinguishable(one, other)),
  );
  if (!distinct) return undefined;
  return {
    schema: { anyOf: branches.flatMap(({ schema }) => alternativesOf(schema)) },
    types: new Set(branches.flatMap(({ types }) => [...types])),
    plain: branches.every(({ plain }) => plain),
    tags: NO_TAGS,
    restore: (value) =>
      branches.find(({ types, tags }) => types.has(jsonType(value)) && hasTags(value, tags))?.restore(value) ?? value,
  };
}

/** Returns the alternatives of a node that has only `anyOf`, else the node itself. */
export function alternativesOf(schema: Node): Node[] {
  return Object.keys(schema).join() === 'anyOf' ? (schema.anyOf as Node[]) : [schema];
}

function areDistinguishable(one: Codec, other: Codec): boolean {
  const disjoint = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean => ![...a].some((x) => b.has(x));
  if (disjoint(one.types, other.types)) return true;
  return [...one.tags].some(([name, values]) => {
    const others = other.tags.get(name);
    return others !== undefined && disjoint(values, others);
  });
}

function hasTags(value: Json, tags: Codec['tags']): boolean {
  if (tags.size === 0) return true;
  if (!isRecord(value)) return false;
  return [...tags].every(([name, values]) => values.has(JSON.stringify(value[name])));
}

export interface Field {
  readonly codec: Codec;
  readonly schema: Node;
  /** Whether a value means that the property is absent. */
  readonly isAbsent?: (value: Json) => boolean;
}

export function objectCodec(fields: ReadonlyMap<string, Field>, required: readonly string[]): Codec {
  const tags = new Map<string, ReadonlySet<string>>();
  for (const [name, { codec, isAbsent }] of fields) {
    if (isAbsent === undefined && required.includes(name) && Array.isArray(codec.schema.enum))
      tags.set(name, new Set(codec.schema.enum.map((value) => JSON.stringify(value))));
  }
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries([...fields].map(([name, { schema }]) => [name, schema])),
      required: [...required],
      additionalProperties: false,
    },
    types: new Set(['object']),
    plain: [...fields.values()].every(({ codec, isAbsent }) => codec.plain && isAbsent === undefined),
    tags,
    restore: (value) => (isRecord(value) ? restoreFields(value as { [key: string]: Json }, fields) : value),
  };
}

function restoreFields(value: { [key: string]: Json }, fields: ReadonlyMap<string, Field>): Json {
  const out: Record<string, Json> = {};
  for (const [name, given] of Object.entries(value)) {
    const field = fields.get(name);
    // Undeclared properties are rejected by validation.
    if (field === undefined) out[name] = given;
    else if (!field.isAbsent?.(given)) out[name] = field.codec.restore(given);
  }
  return out;
}
