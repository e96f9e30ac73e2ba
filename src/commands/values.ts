// Converts the text of an argument to a value of the type in the schema.

import { type Field, fieldsOf, otherFieldOf } from '../core/fields.js';
import { inexactNumber, isRecord, type Json, parseJson, showValue } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import { kebab } from './names.js';
import { entryOf, typesOf } from './shape.js';

/** One occurrence of a parameter on the command line. */
export interface Given {
  readonly raw: string;
  /** `--x:=…`: JSON that replaces earlier values. */
  readonly json: boolean;
  /** Fields below the parameter: `y` for `--x.y`. */
  readonly path: readonly string[];
  readonly positional: boolean;
  /** The flag in messages. */
  readonly flag: string;
}

const SCALARS = ['string', 'number', 'integer', 'boolean'] as const;

/** Adds one occurrence to the value of a parameter. */
export function addValue(before: Json | undefined, given: Given, node: unknown, root: JsonSchema): Json {
  const [step, ...path] = given.path;
  if (step !== undefined) return setField(before, step, { ...given, path }, node, root);
  if (given.json) return parseJson(given.raw, given.flag);
  const types = typesOf(node, root);
  if (!types.includes('array')) return toValue(given.raw, types, given.flag);
  const scalars = types.filter((type) => (SCALARS as readonly string[]).includes(type));
  if (before === undefined || before === null || isRecord(before)) {
    // If the schema also accepts scalars, a single value is a scalar.
    if (scalars.length > 0) return toValue(given.raw, scalars, given.flag);
    if (given.raw.startsWith('[') && !given.positional) return parseJson(given.raw, given.flag);
  }
  const entry = (raw: string, index: number): Json =>
    toValue(raw, typesOf(entryOf(node, index, root), root), given.flag);
  const entries = toEntries(before, entry);
  return [...entries, entry(given.raw, entries.length)];
}

function toEntries(before: Json | undefined, entry: (raw: string, index: number) => Json): readonly Json[] {
  if (Array.isArray(before)) return before;
  if (before === undefined || before === null || isRecord(before)) return [];
  return [entry(showValue(before), 0)];
}

function setField(before: Json | undefined, step: string, given: Given, node: unknown, root: JsonSchema): Json {
  const object = isRecord(before) ? (before as Record<string, Json>) : {};
  const field = findField(step, fieldsOf(node, root));
  const name = field?.name ?? step;
  const inner = Object.hasOwn(object, name) ? object[name] : undefined;
  const value = addValue(inner, given, field?.node ?? otherFieldOf(node, root), root);
  // Not an assignment: a field named __proto__ must be a plain key, which validation rejects.
  return Object.defineProperty({ ...object }, name, { value, enumerable: true, writable: true, configurable: true });
}

function findField(step: string, fields: readonly Field[]): Field | undefined {
  const exact = fields.find((field) => field.name === step);
  if (exact) return exact;
  const close = fields.filter((field) => kebab(field.name) === step);
  return close.length === 1 ? close[0] : undefined;
}

const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

// Text that does not fit is returned as text, so that validation reports it (MOD-23).
function toValue(raw: string, types: readonly string[], flag: string): Json {
  if (types.length === 0 || types.includes('string')) return raw;
  if (types.includes('boolean') && (raw === 'true' || raw === 'false')) return raw === 'true';
  if (types.includes('integer') || types.includes('number')) {
    const number = NUMBER.test(raw) ? toNumber(raw, types.includes('number')) : undefined;
    if (number !== undefined) return number;
    if (/^-?\d{16,}$/.test(raw)) throw inexactNumber(flag, raw);
  }
  if (types.includes('null') && raw === 'null') return null;
  if (types.includes('object') || types.includes('array')) return parseJson(raw, flag);
  return raw;
}

// Rejects integers that a double may not represent; `1e20` is one only if an integer is wanted.
function toNumber(raw: string, mayBeAny: boolean): number | undefined {
  const number = Number(raw);
  const isExact = !Number.isInteger(number) || Number.isSafeInteger(number) || (mayBeAny && /[.e]/i.test(raw));
  return Number.isFinite(number) && isExact ? number : undefined;
}
