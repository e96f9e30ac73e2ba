// The codec of objects: fields that may be absent, and their encoding.

import { isRecord, type Json } from '../../core/json.js';
import type { Codec } from './codec.js';
import type { Node } from './sanitize.js';

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
