// Parses the type of a parameter: `string`, `enum(fast|slow)=fast`, `integer(1..10)=3`, `string[1..]`.

import { orNothing } from '../../core/error.js';
import { isRecord, type Json, showValue } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside, sanitize } from '../../core/text.js';

export type ParameterType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

/** A type, with the keywords of JSON Schema that restrict it. */
export interface ParsedType {
  readonly type: ParameterType;
  readonly keywords: JsonSchema;
  /** Number of characters that the type takes. */
  readonly length: number;
}

/** A mistake in a type; `offset` counts from its start. */
export class TypeFault extends Error {
  readonly offset: number;
  readonly hint: string;

  constructor(offset: number, message: string, hint: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}

const TYPES: Readonly<Record<string, ParameterType>> = {
  string: 'string',
  str: 'string',
  number: 'number',
  num: 'number',
  float: 'number',
  integer: 'integer',
  int: 'integer',
  boolean: 'boolean',
  bool: 'boolean',
  array: 'array',
  list: 'array',
  object: 'object',
  obj: 'object',
  map: 'object',
};

const DIGITS = '\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?';
const NUMBER = new RegExp(`^-?${DIGITS}$`);
// Keywords of the bounds of a range, by type.
const BOUNDS: Readonly<Record<string, readonly [string, string]>> = {
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  string: ['minLength', 'maxLength'],
  array: ['minItems', 'maxItems'],
};
const RANGE = new RegExp(`^(-?${DIGITS})?\\.\\.(-?${DIGITS})?$`);
const DASHED_RANGE = new RegExp(`^(${DIGITS}) *- *(${DIGITS})$`);

/**
 * Parses the type that a text starts with. Returns undefined for an unknown type, which is a string (SCR-7), and a
 * fault for a known type that is followed by something that this grammar does not have.
 */
export function parseType(text: string): ParsedType | TypeFault | undefined {
  const word = /^[A-Za-z]*/.exec(text)![0];
  const lower = word.toLowerCase();
  const base = lower === 'enum' ? 'string' : Object.hasOwn(TYPES, lower) ? TYPES[lower] : undefined;
  const next = text.charAt(word.length);
  if (base === undefined || (next !== '' && !/[\s([=]/.test(next)) || (lower === 'enum' && next !== '('))
    return undefined;
  // "string(s)" is a word, not a range; so are other types that octomind does not know, and reads as text.
  const inside = /^\(([^)]*)\)(?:\s|$)/.exec(text.slice(word.length))?.[1];
  if (lower !== 'enum' && inside !== undefined && !inside.includes('..') && !DASHED_RANGE.test(inside.trim()))
    return undefined;
  try {
    return readType(text, word.length, base, lower === 'enum');
  } catch (error) {
    if (error instanceof TypeFault) return error;
    throw error;
  }
}

function readType(text: string, start: number, base: ParameterType, isEnum: boolean): ParsedType {
  let at = start;
  let type = base;
  let keywords: JsonSchema = {};
  if (text[at] === '(') {
    const end = closing(text, at, ')');
    const inside = text.slice(at + 1, end);
    keywords = isEnum ? { enum: readChoices(inside, at + 1) } : readRange(inside, base, at + 1);
    at = end + 1;
  }
  if (text[at] === '[') {
    const end = closing(text, at, ']');
    const inside = text.slice(at + 1, end);
    keywords = { items: { type, ...keywords }, ...(inside.trim() === '' ? {} : readRange(inside, 'array', at + 1)) };
    type = 'array';
    at = end + 1;
  }
  if (text[at] === '=') {
    const end = endOfDefault(text, at + 1);
    keywords = { ...keywords, default: readDefault(text.slice(at + 1, end), { type, ...keywords }, at + 1) };
    at = end;
  }
  if (at < text.length && !/\s/.test(text[at]!))
    throw new TypeFault(
      at,
      `unexpected "${quoteOutside(text[at]!)}" after the type`,
      'put a space before the description',
    );
  return { type, keywords, length: at };
}

// Returns the index of the closing bracket; brackets in quotes do not count.
function closing(text: string, open: number, bracket: ')' | ']'): number {
  for (let at = open + 1; at < text.length; at++) {
    if (text[at] === '"') at = endOfQuotes(text, at) - 1;
    else if (text[at] === bracket) return at;
  }
  throw new TypeFault(open, `"${text[open]}" is never closed`, `add a "${bracket}"`);
}

function endOfQuotes(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '"') return at + 1;
  }
  throw new TypeFault(start, 'a quote is never closed', 'add a "');
}

function readChoices(text: string, offset: number): string[] {
  const choices: string[] = [];
  let from = 0;
  const add = (end: number): void => {
    const raw = text.slice(from, end);
    const at = offset + from;
    const choice = raw.trim().startsWith('"') ? readQuoted(raw.trim(), at) : raw.trim();
    if (choice === '' && raw.trim() === '')
      throw new TypeFault(at, 'a value of the enum is empty', 'write enum(fast|slow)');
    if (choices.includes(choice))
      throw new TypeFault(at, `"${quoteOutside(choice)}" is in the enum twice`, 'remove one');
    choices.push(choice);
    from = end + 1;
  };
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') at = endOfQuotes(text, at) - 1;
    else if (text[at] === '|') add(at);
  }
  add(text.length);
  return choices;
}

function readRange(text: string, type: ParameterType, offset: number): JsonSchema {
  const bounds = BOUNDS[type];
  if (bounds === undefined) throw new TypeFault(offset, `${type} has no range`, 'remove the parentheses');
  const match = RANGE.exec(text.trim()) ?? DASHED_RANGE.exec(text.trim());
  if (!match || (match[1] === undefined && match[2] === undefined))
    throw new TypeFault(offset, `"${quoteOutside(text, 40)}" is not a range`, 'write MIN..MAX, MIN.. or ..MAX');
  const counts = type === 'string' || type === 'array';
  const [min, max] = [match[1], match[2]].map((written) => {
    const bound = written === undefined ? undefined : toNumber(written, type);
    if (written === undefined || (bound !== undefined && !(counts && bound < 0))) return bound;
    const what = counts ? 'a length' : type === 'integer' ? 'an integer' : 'a number';
    throw new TypeFault(
      offset,
      `${written} is not a bound of ${what}`,
      `write a ${type === 'number' ? 'smaller' : 'whole'} number`,
    );
  });
  if (min !== undefined && max !== undefined && min > max)
    throw new TypeFault(offset, `the range ${quoteOutside(text, 40)} is empty`, `write ${max}..${min}`);
  return { ...(min === undefined ? {} : { [bounds[0]]: min }), ...(max === undefined ? {} : { [bounds[1]]: max }) };
}

// A quoted text, array or object may contain spaces.
function endOfDefault(text: string, start: number): number {
  let depth = 0;
  const isJson = /["[{]/.test(text.charAt(start));
  for (let at = start; at < text.length; at++) {
    const character = text[at]!;
    if (isJson && character === '"') at = endOfQuotes(text, at) - 1;
    else if (isJson && /[[{]/.test(character)) depth++;
    else if (isJson && /[\]}]/.test(character)) depth--;
    else if (/\s/.test(character) && depth <= 0) return at;
  }
  return text.length;
}

// Parses a text in JSON quotes.
function readQuoted(text: string, offset: number): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw new TypeFault(offset, `${quoteOutside(text, 40)} is not a quoted text`, 'quote it as in JSON: "two words"');
  }
}

// Parses a default. Throws a TypeFault if the schema does not allow it.
function readDefault(text: string, schema: JsonSchema, offset: number): Json {
  const value = toDefault(text, schema.type as ParameterType, offset);
  const misfit =
    value === undefined ? `"${quoteOutside(text, 40)}" is not a value of ${schema.type}` : explain(value, schema);
  if (value === undefined || misfit !== undefined)
    throw new TypeFault(offset, `the default ${misfit}`, 'fix the default, or what restricts it');
  return value;
}

function toDefault(text: string, type: ParameterType, offset: number): Json | undefined {
  if (type === 'string') return text.startsWith('"') ? readQuoted(text, offset) : text;
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined;
  if (type === 'number' || type === 'integer') return NUMBER.test(text) ? toNumber(text, type) : undefined;
  return orNothing(() => JSON.parse(text) as Json);
}

// Undefined for one that a number cannot hold, so that the fault has what is in the file.
function toNumber(text: string, type: ParameterType): number | undefined {
  const number = Number(text);
  return (type === 'number' ? Number.isFinite(number) : Number.isSafeInteger(number)) ? number : undefined;
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
  const shown = quoteOutside(showValue(value), 40);
  if (!matches) return `"${shown}" is not a value of ${String(type)}`;
  if (Array.isArray(schema.enum) && !schema.enum.includes(value))
    return `"${shown}" is not one of ${sanitize(schema.enum.join(', '))}`;
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
