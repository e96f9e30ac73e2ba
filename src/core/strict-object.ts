// Strict parsing of JSON objects: unknown keys and wrong types are reported with their JSON Pointer.

import { escapePointer, isRecord } from './json.js';
import { nearest, quoteOutside } from './text.js';

/** Reports a problem at a JSON Pointer. */
export type Report = (pointer: string, message: string, hint: string) => void;

type Kind =
  | 'string'
  | 'non-empty string'
  | 'boolean'
  | 'integer'
  | 'integers'
  | 'strings'
  | 'object'
  | 'array'
  | 'value';

/** The kind of each key; a leading `!` makes the key required. */
export type Shape = Readonly<Record<string, Kind | `!${Kind}`>>;

const EXPECTED: Readonly<Record<Kind, string>> = {
  string: 'a string',
  'non-empty string': 'a non-empty string',
  boolean: 'true or false',
  integer: 'an integer of 0 or more',
  integers: 'an array of integers',
  strings: 'an array of strings',
  object: 'an object',
  array: 'an array',
  value: 'a JSON value',
};

/** Returns the object without keys that are null; reports problems and returns undefined if it does not match. */
export function readShape(
  value: unknown,
  pointer: string,
  shape: Shape,
  report: Report,
): Readonly<Record<string, unknown>> | undefined {
  if (!isRecord(value)) {
    report(pointer, 'must be an object', `write { ${Object.keys(shape).join(', ')} }`);
    return undefined;
  }
  let valid = true;
  const reject = (key: string, message: string, hint: string): void => {
    valid = false;
    report(`${pointer}/${escapePointer(key)}`, message, hint);
  };
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(shape, key)) continue;
    const [close] = nearest(key, Object.keys(shape));
    reject(
      key,
      `unknown key "${quoteOutside(key, 60)}"`,
      close === undefined ? `known keys: ${Object.keys(shape).join(', ')}` : `did you mean "${close}"?`,
    );
  }
  for (const [key, described] of Object.entries(shape)) {
    const required = described.startsWith('!');
    const kind = (required ? described.slice(1) : described) as Kind;
    const given = Object.hasOwn(value, key) ? value[key] : undefined;
    if (given === undefined || (given === null && !required && kind !== 'value')) {
      if (required) reject(key, `"${key}" is missing`, `add it: ${EXPECTED[kind]}`);
    } else if (!isKind(given, kind)) {
      reject(key, `must be ${EXPECTED[kind]}`, `write ${EXPECTED[kind]}`);
    }
  }
  if (!valid) return undefined;
  return Object.fromEntries(Object.entries(value).filter(([, given]) => given !== null));
}

function isKind(value: unknown, kind: Kind): boolean {
  switch (kind) {
    case 'string':
      return typeof value === 'string';
    case 'non-empty string':
      return typeof value === 'string' && value.trim() !== '';
    case 'boolean':
      return typeof value === 'boolean';
    case 'integer':
      return Number.isSafeInteger(value) && (value as number) >= 0;
    case 'integers':
      return Array.isArray(value) && value.every((entry) => Number.isSafeInteger(entry));
    case 'strings':
      return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
    case 'object':
      return isRecord(value);
    case 'array':
      return Array.isArray(value);
    case 'value':
      return true;
  }
}
