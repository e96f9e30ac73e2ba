// Parses the default of a parameter type, and checks that it fits the type.

import { isRecord, type Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';

export type ParameterType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

const NUMBER = /^-?\d+(?:\.\d+)?$/;
// Keywords of the bounds of a range, by type.
export const BOUNDS: Readonly<Record<string, readonly [string, string]>> = {
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  string: ['minLength', 'maxLength'],
  array: ['minItems', 'maxItems'],
};

/** A mistake in a type; `offset` counts from its start. */
export class Fault extends Error {
  readonly offset: number;
  readonly hint: string;

  constructor(offset: number, message: string, hint: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}

/** Parses a text in JSON quotes. */
export function readQuoted(text: string, offset: number): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw new Fault(offset, `${quoteOutside(text, 40)} is not a quoted text`, 'quote it as in JSON: "two words"');
  }
}

/** Parses a default. Throws a Fault if the schema does not allow it. */
export function readDefault(text: string, schema: JsonSchema, offset: number): Json {
  const value = toDefault(text, schema.type as ParameterType, offset);
  const misfit =
    value === undefined ? `"${quoteOutside(text, 40)}" is not a value of ${schema.type}` : explain(value, schema);
  if (value === undefined || misfit !== undefined)
    throw new Fault(offset, `the default ${misfit}`, 'fix the default, or what restricts it');
  return value;
}

function toDefault(text: string, type: ParameterType, offset: number): Json | undefined {
  if (type === 'string') return text.startsWith('"') ? readQuoted(text, offset) : text;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  if (type === 'number' || type === 'integer') return NUMBER.test(text) ? Number(text) : undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

// Why a value does not fit the schema of a type; the validator of calls is too large to be loaded for a listing.
function explain(value: Json, schema: JsonSchema): string | undefined {
  const { type, items } = schema;
  const matches =
    type === 'array'
      ? Array.isArray(value)
      : type === 'object'
        ? isRecord(value)
        : type === 'integer'
          ? Number.isSafeInteger(value)
          : typeof value === type;
  const shown = quoteOutside(typeof value === 'string' ? value : JSON.stringify(value), 40);
  if (!matches) return `"${shown}" is not a value of ${String(type)}`;
  if (Array.isArray(schema.enum) && !schema.enum.includes(value))
    return `"${shown}" is not one of ${schema.enum.join(', ')}`;
  const size = typeof value === 'string' ? [...value].length : Array.isArray(value) ? value.length : value;
  const [least, most] = BOUNDS[String(type)] ?? ['', ''];
  if (typeof schema[least] === 'number' && (size as number) < schema[least]) return `"${shown}" is below the range`;
  if (typeof schema[most] === 'number' && (size as number) > schema[most]) return `"${shown}" is above the range`;
  if (Array.isArray(value) && isRecord(items))
    for (const entry of value) {
      const fault = explain(entry as Json, items as JsonSchema);
      if (fault !== undefined) return fault;
    }
  return undefined;
}
