// Codecs: how the values of a schema node are encoded for a provider's strict mode, and decoded.

import { isRecord, type Json } from '../../core/json.js';
import { jsonType } from '../../core/schema.js';
import type { Node } from './sanitize.js';

export interface Codec {
  /** The node, as strict mode expresses it. */
  readonly schema: Node;
  /** JSON types of the values and of their encoded form. */
  readonly from: ReadonlySet<string>;
  readonly to: ReadonlySet<string>;
  /** Whether every value is encoded as itself. */
  readonly plain: boolean;
  /** Required properties with a few possible values, which distinguish alternatives. */
  readonly tags: ReadonlyMap<string, ReadonlySet<string>>;
  encode(value: Json): Json;
  /** Never throws: what `encode` did not write is decoded as far as possible, and validated later. */
  restore(value: Json): Json;
}

const NO_TAGS: Codec['tags'] = new Map();

/** A codec for values that are encoded as themselves. */
export function plainCodec(schema: Node, type: string): Codec {
  const types = new Set([type === 'integer' ? 'number' : type]);
  const same = (value: Json): Json => value;
  return { schema, from: types, to: types, plain: true, tags: NO_TAGS, encode: same, restore: same };
}

export function arrayCodec(schema: Node, items: Codec): Codec {
  const types = new Set(['array']);
  const each =
    (change: (value: Json) => Json) =>
    (value: Json): Json =>
      Array.isArray(value) ? value.map(change) : value;
  return {
    schema: { ...schema, items: items.schema },
    from: types,
    to: types,
    plain: items.plain,
    tags: NO_TAGS,
    encode: each(items.encode),
    restore: each(items.restore),
  };
}

/** Encodes a map as a list of entries. */
export function mapCodec(schema: Node, values: Codec): Codec {
  return {
    schema: {
      ...schema,
      type: 'array',
      items: {
        type: 'object',
        properties: { key: { type: 'string' }, value: values.schema },
        required: ['key', 'value'],
        additionalProperties: false,
      },
    },
    from: new Set(['object']),
    to: new Set(['array']),
    plain: false,
    tags: NO_TAGS,
    encode: (value) =>
      isRecord(value)
        ? Object.entries(value as { [key: string]: Json }).map(([key, entry]) => ({ key, value: values.encode(entry) }))
        : value,
    restore: (value) =>
      Array.isArray(value) && value.every(isEntry)
        ? Object.fromEntries(value.map((entry) => [entry.key, values.restore(entry.value)]))
        : value,
  };
}

function isEntry(entry: Json): entry is { key: string; value: Json } {
  return isRecord(entry) && typeof entry.key === 'string' && 'value' in entry;
}

/** Encodes alternatives. Returns undefined if a value could be decoded with another alternative than it was encoded. */
export function unionCodec(branches: readonly Codec[]): Codec | undefined {
  if (branches.length === 1) return branches[0];
  const distinct = branches.every((one, index) =>
    branches.slice(index + 1).every((other) => (one.plain && other.plain) || areDistinguishable(one, other)),
  );
  if (!distinct) return undefined;
  const pick = (value: Json, side: 'from' | 'to'): Codec | undefined =>
    branches.find((branch) => branch[side].has(jsonType(value)) && hasTags(value, branch.tags));
  return {
    schema: { anyOf: branches.flatMap(({ schema }) => alternativesOf(schema)) },
    from: new Set(branches.flatMap(({ from }) => [...from])),
    to: new Set(branches.flatMap(({ to }) => [...to])),
    plain: branches.every(({ plain }) => plain),
    tags: NO_TAGS,
    encode: (value) => pick(value, 'from')?.encode(value) ?? value,
    restore: (value) => pick(value, 'to')?.restore(value) ?? value,
  };
}

/** Returns the alternatives of a node that has only `anyOf`, else the node itself. */
export function alternativesOf(schema: Node): Node[] {
  return Object.keys(schema).join() === 'anyOf' ? (schema.anyOf as Node[]) : [schema];
}

function areDistinguishable(one: Codec, other: Codec): boolean {
  const disjoint = (a: ReadonlySet<string>, b: ReadonlySet<string>): boolean => ![...a].some((x) => b.has(x));
  if (disjoint(one.from, other.from) && disjoint(one.to, other.to)) return true;
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
  /** The encoded form of an absent property. */
  readonly absent?: Json;
  readonly isAbsent?: (value: Json) => boolean;
}

export function objectCodec(fields: ReadonlyMap<string, Field>, required: readonly string[]): Codec {
  const types = new Set(['object']);
  const tags = new Map<string, ReadonlySet<string>>();
  for (const [name, { codec, isAbsent }] of fields) {
    if (isAbsent === undefined && required.includes(name) && Array.isArray(codec.schema.enum))
      tags.set(name, new Set(codec.schema.enum.map((value) => JSON.stringify(value))));
  }
  const plain = [...fields.values()].every(({ codec, isAbsent }) => codec.plain && isAbsent === undefined);
  const encode = (value: Json): Json =>
    isRecord(value) ? encodeFields(value as { [key: string]: Json }, fields) : value;
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries([...fields].map(([name, { schema }]) => [name, schema])),
      required: [...required],
      additionalProperties: false,
    },
    from: types,
    to: types,
    plain,
    tags,
    // As itself: plain alternatives are not told apart, so the value may belong to another one.
    encode: plain ? (value) => value : encode,
    restore: (value) => (isRecord(value) ? restoreFields(value as { [key: string]: Json }, fields) : value),
  };
}

function encodeFields(value: { [key: string]: Json }, fields: ReadonlyMap<string, Field>): Json {
  const out: Record<string, Json> = {};
  for (const [name, { codec, absent }] of fields) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given !== undefined) out[name] = codec.encode(given);
    else if (absent !== undefined) out[name] = absent;
  }
  // Undeclared properties are rejected by validation, as they are when they are restored.
  for (const [name, given] of Object.entries(value)) if (!fields.has(name)) out[name] = given;
  return out;
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
