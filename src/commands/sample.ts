// Makes a valid value for a schema, for examples; undefined if it cannot tell.

import { fieldsOf } from '../core/fields.js';
import type { Json } from '../core/json.js';
import { followRef, type JsonSchema, type SchemaNode } from '../core/schema.js';
import { choicesOf, entryOf, typesOf } from './shape.js';

const MAX_DEPTH = 8;
// Keywords whose effect on a value is not followed.
const UNSURE = [
  'not',
  'if',
  'contains',
  'pattern',
  'propertyNames',
  'dependentRequired',
  'dependentSchemas',
  'minProperties',
];

const FORMATS: Readonly<Record<string, string>> = {
  email: 'ada@example.com',
  'idn-email': 'ada@example.com',
  date: '2026-01-31',
  time: '09:30:00Z',
  'date-time': '2026-01-31T09:30:00Z',
  duration: 'PT15M',
  uri: 'https://example.com',
  iri: 'https://example.com',
  url: 'https://example.com',
  uuid: '3d1f8a52-6c0e-4b7a-9e55-0f2b6f6f7c11',
  guid: '3d1f8a52-6c0e-4b7a-9e55-0f2b6f6f7c11',
  hostname: 'example.com',
  'idn-hostname': 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  'json-pointer': '/users/0',
};

/** Returns a value that a part of a schema accepts; `name` is used for text. Patterns are not searched for matches. */
export function sampleOf(raw: unknown, name: string, root: JsonSchema, depth = 0): Json | undefined {
  const node = followRef(raw, root);
  const [choice] = choicesOf(raw, root);
  if (choice !== undefined) return choice;
  if (Array.isArray(node.examples) && node.examples.length > 0) return node.examples[0] as Json;
  if (node.default !== undefined) return node.default as Json;
  const formatted = Object.hasOwn(FORMATS, String(node.format)) ? FORMATS[String(node.format)] : undefined;
  // A library writes the pattern of a format beside it.
  const isUnsure = UNSURE.some((key) => key in node && (key !== 'pattern' || formatted === undefined));
  if (isUnsure || depth > MAX_DEPTH) return undefined;
  for (const union of [node.anyOf, node.oneOf])
    if (Array.isArray(union)) {
      const rest = withoutUnions(node);
      return firstOf(union, (branch) => sampleOf({ ...rest, ...followRef(branch, root) }, name, root, depth + 1));
    }
  if (Array.isArray(node.allOf)) {
    const parts = node.allOf.map((part) => followRef(part, root));
    return sampleOf(Object.assign({}, withoutUnions(node), ...parts), name, root, depth + 1);
  }
  const [first = 'string'] = typesOf(raw, root);
  const type = 'properties' in node || 'required' in node ? 'object' : first;
  if (type === 'number' || type === 'integer') return sampleNumber(node, type === 'integer');
  if (type === 'boolean') return true;
  if (type === 'null') return null;
  if (type === 'array') return sampleArray(node, root, depth);
  if (type === 'object') return sampleObject(node, root, depth);
  return formatted ?? sampleText(node, name);
}

function withoutUnions({ anyOf: _any, oneOf: _one, allOf: _all, $ref: _ref, ...rest }: SchemaNode): SchemaNode {
  return rest;
}

function firstOf<T>(all: readonly T[], make: (one: T) => Json | undefined): Json | undefined {
  for (const one of all) {
    const made = make(one);
    if (made !== undefined) return made;
  }
  return undefined;
}

function sampleNumber(node: SchemaNode, isInteger: boolean): Json | undefined {
  const bound = (key: string): number | undefined =>
    typeof node[key] === 'number' ? (node[key] as number) : undefined;
  const step = bound('multipleOf') ?? 1;
  const [above, below] = [bound('exclusiveMinimum'), bound('exclusiveMaximum')];
  const isValid = (value: number): boolean =>
    value >= (bound('minimum') ?? value) &&
    value <= (bound('maximum') ?? value) &&
    (above === undefined || value > above) &&
    (below === undefined || value < below) &&
    (!isInteger || Number.isInteger(value)) &&
    (bound('multipleOf') === undefined || Number.isInteger(value / step));
  const least = Math.ceil((bound('minimum') ?? above ?? 0) / step) * step;
  const most = Math.floor((bound('maximum') ?? below ?? 0) / step) * step;
  const middle = ((bound('minimum') ?? above ?? 0) + (bound('maximum') ?? below ?? 0)) / 2;
  return [isInteger ? 1 : 1.5, 1, 0, least, least + step, most, most - step, middle].find(isValid);
}

function sampleText(node: SchemaNode, name: string): string {
  const least = typeof node.minLength === 'number' ? node.minLength : 0;
  const most = typeof node.maxLength === 'number' ? node.maxLength : Number.POSITIVE_INFINITY;
  const text = name === '' ? 'a' : name;
  return text
    .repeat(Math.ceil(Math.min(least, 10_000) / text.length) || 1)
    .slice(0, Math.max(least, Math.min(most, text.length)));
}

function sampleArray(node: SchemaNode, root: JsonSchema, depth: number): Json | undefined {
  const count = Math.max(typeof node.minItems === 'number' ? node.minItems : 1, node.maxItems === 0 ? 0 : 1);
  const items: Json[] = [];
  const [choices, letters] = [choicesOf(entryOf(node, 0, root), root), 'abcdefgh'];
  if (count > letters.length) return undefined;
  for (let at = 0; at < count; at++) {
    const isDistinct = node.uniqueItems === true && choices.length > 0;
    const item = isDistinct ? choices[at] : sampleOf(entryOf(node, at, root), letters[at]!, root, depth + 1);
    if (item === undefined) return undefined;
    items.push(item);
  }
  const isDouble = new Set(items.map((item) => JSON.stringify(item))).size < items.length;
  return node.uniqueItems === true && isDouble ? undefined : items;
}

function sampleObject(node: SchemaNode, root: JsonSchema, depth: number): Json | undefined {
  const fields = fieldsOf(node, root);
  const known = new Set(fields.map((field) => field.name));
  if (Array.isArray(node.required) && node.required.some((field) => !known.has(String(field)))) return undefined;
  const made: Record<string, Json> = {};
  for (const field of fields.filter(({ required }) => required)) {
    const value = sampleOf(field.node, field.name, root, depth + 1);
    if (value === undefined) return undefined;
    made[field.name] = value;
  }
  return made;
}
