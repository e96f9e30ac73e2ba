// Checks the values of keywords in a JSON Schema that a person wrote: a misspelled type would fail every call.

import { isRecord } from '../core/json.js';
import { didYouMean } from '../core/text.js';
import { LISTS, MAPS, ONE } from './references.js';

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];

// Types of programming languages and of other formats.
const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...{ int: 'integer', long: 'integer', bigint: 'integer', float: 'number', double: 'number', decimal: 'number' },
  ...{ str: 'string', text: 'string', enum: 'string', bool: 'boolean', none: 'null' },
  ...{ dict: 'object', map: 'object', record: 'object', list: 'array', tuple: 'array', set: 'array' },
};
const AS_FORMAT = ['date', 'date-time', 'time', 'email', 'uri', 'uuid'];
const NUMBERS = new Set([
  ...['minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minProperties', 'maxProperties', 'minContains', 'maxContains'],
]);

/** What is wrong with a keyword, and what to write instead. */
export interface KeywordFault {
  readonly problem: string;
  readonly hint: string;
}

/** Returns what is wrong with the value of a keyword. */
export function findKeywordFault(keyword: string, value: unknown): KeywordFault | undefined {
  if (keyword === 'type') return findTypeFault(value);
  if (keyword === 'required' && !(Array.isArray(value) && value.every((name) => typeof name === 'string')))
    return { problem: 'must be an array of names', hint: 'write required: ["name"] beside properties' };
  if (keyword === 'enum' && !Array.isArray(value))
    return { problem: 'must be an array', hint: 'write enum: ["one", "two"]' };
  if (NUMBERS.has(keyword) && typeof value !== 'number')
    return { problem: 'must be a number', hint: `write ${keyword}: 1` };
  if (MAPS.has(keyword) && keyword !== 'dependencies' && !(isRecord(value) && Object.values(value).every(isSchema)))
    return { problem: 'must be schemas by name', hint: `write ${keyword}: { name: { type: "string" } }` };
  if (ONE.has(keyword) && isSchema(value)) return undefined;
  if (LISTS.has(keyword) && Array.isArray(value) && value.every(isSchema)) return undefined;
  if (ONE.has(keyword)) return { problem: 'must be a schema', hint: `write ${keyword}: { type: "string" }` };
  if (LISTS.has(keyword))
    return { problem: 'must be an array of schemas', hint: `write ${keyword}: [{ type: "string" }]` };
  return undefined;
}

const isSchema = (value: unknown): boolean => typeof value === 'boolean' || isRecord(value);

function findTypeFault(value: unknown): KeywordFault | undefined {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value];
  const wrong = all.find((type) => !(typeof type === 'string' && TYPES.includes(type)));
  if (wrong === undefined) return undefined;
  if (typeof wrong !== 'string')
    return { problem: 'must be the name of a type', hint: `use one of ${TYPES.join(', ')}` };
  return { problem: `"${wrong}" is not a type of JSON Schema`, hint: toHint(wrong) };
}

function toHint(name: string): string {
  const plain = name.toLowerCase();
  const known = TYPES.includes(plain) ? plain : Object.hasOwn(OTHER_NAMES, plain) ? OTHER_NAMES[plain] : undefined;
  if (known !== undefined) return `write type: "${known}"`;
  if (AS_FORMAT.includes(plain)) return `write type: "string", format: "${plain}"`;
  if (plain === 'any') return 'leave out type to accept any value';
  return didYouMean(plain, TYPES, `use one of ${TYPES.join(', ')}`, (close) => `"${close}"`);
}

const OTHER_KEYWORDS = [
  '$ref',
  '$schema',
  '$id',
  '$comment',
  'type',
  'enum',
  'const',
  'required',
  'description',
  'title',
];

/** Returns the first name of what is a table of schemas by name, and not a schema. */
export function findTableEntry(schema: object): string | undefined {
  const isKeyword = (key: string): boolean => [ONE, LISTS, MAPS, new Set(OTHER_KEYWORDS)].some((all) => all.has(key));
  const keys = Object.keys(schema);
  return keys.some(isKeyword) ? undefined : keys.find((key) => isRecord((schema as Record<string, unknown>)[key]));
}
