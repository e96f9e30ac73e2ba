// One-line signatures of tools, in the notation of TypeScript.

import { isRecord } from '../core/json.js';
import { followRef, type JsonSchema } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';

const MAX_PARAMETERS = 12;
const MAX_CHOICES = 6;
const MAX_DEPTH = 2;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** Returns `({ owner: string, labels?: string[] })`; `()` without parameters. */
export function toSignature(schema: JsonSchema): string {
  const type = toObject(schema, schema, 0);
  return type === '{}' ? '()' : `(${type})`;
}

/** Returns the type of a result: that of its schema, or text. */
export function toResultType(schema: JsonSchema | undefined): string {
  return schema === undefined ? 'string' : toType(schema, schema, 0);
}

function toType(node: unknown, root: JsonSchema, depth: number): string {
  const here = followRef(node, root);
  const { type, enum: choices, items } = here;
  const options = [here.anyOf, here.oneOf].find(Array.isArray) as readonly unknown[] | undefined;
  if ('const' in here) return toLiteral(here.const);
  if (Array.isArray(choices)) return someOf(choices.map(toLiteral));
  if (options !== undefined) return someOf([...new Set(options.map((option) => toType(option, root, depth)))]);
  if (Array.isArray(type)) return someOf(type.map((one) => toType({ ...here, type: one }, root, depth)));
  if (type === 'array') {
    const item = toType(items, root, depth);
    return item.includes(' | ') ? `(${item})[]` : `${item}[]`;
  }
  if (type === 'object' || isRecord(here.properties)) return toObject(here, root, depth);
  if (type === 'integer') return 'number';
  return typeof type === 'string' ? quoteOutside(type, 20) : 'any';
}

// Required parameters first, since the rest may be cut off.
function toObject(node: Readonly<Record<string, unknown>>, root: JsonSchema, depth: number): string {
  const properties = Object.entries(isRecord(node.properties) ? node.properties : {});
  if (properties.length === 0) return depth === 0 ? '{}' : 'object';
  if (depth >= MAX_DEPTH) return 'object';
  const required = Array.isArray(node.required) ? node.required : [];
  const sorted = [...properties].sort(([a], [b]) => Number(required.includes(b)) - Number(required.includes(a)));
  const shown = sorted.slice(0, MAX_PARAMETERS).map(([name, child]) => {
    const key = IDENTIFIER.test(name) ? name : JSON.stringify(quoteOutside(name, 40));
    return `${key}${required.includes(name) ? '' : '?'}: ${toType(child, root, depth + 1)}`;
  });
  return `{ ${[...shown, ...(sorted.length > shown.length ? ['…'] : [])].join(', ')} }`;
}

function someOf(types: readonly string[]): string {
  return (types.length > MAX_CHOICES ? [...types.slice(0, MAX_CHOICES), '…'] : types).join(' | ');
}

function toLiteral(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(quoteOutside(value, 30)) : quoteOutside(JSON.stringify(value), 30);
}
