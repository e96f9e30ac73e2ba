// One-line signatures of tools, in the notation of TypeScript.

import { isRecord } from '../core/json.js';
import { followRef, type JsonSchema } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';

const MAX_PARAMETERS = 12;
const MAX_CHOICES = 6;
const MAX_DEPTH = 2;
// Schemas of servers are untrusted: they can contain a node in many ways, and themselves.
const MAX_NODES = 1000;
const MAX_NESTING = 8;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

interface Place {
  readonly root: JsonSchema;
  /** Levels of objects. */
  readonly depth: number;
  /** Levels of objects, unions and arrays. */
  readonly nesting: number;
  readonly budget: { left: number };
}

/** Returns `({ owner: string, labels?: string[] })`; `()` without parameters. */
export function toSignature(schema: JsonSchema): string {
  const type = toObject(schema, startOf(schema));
  return type === '{}' ? '()' : `(${type})`;
}

/** Returns the type of a result: that of its schema, or text. */
export function toResultType(schema: JsonSchema | undefined): string {
  return schema === undefined ? 'string' : toType(schema, startOf(schema));
}

function startOf(root: JsonSchema): Place {
  return { root, depth: 0, nesting: 0, budget: { left: MAX_NODES } };
}

function toType(node: unknown, at: Place): string {
  if (at.budget.left-- <= 0 || at.nesting > MAX_NESTING) return 'any';
  const here = followRef(node, at.root);
  const inside = { ...at, nesting: at.nesting + 1 };
  const { type, enum: choices, items } = here;
  const options = [here.anyOf, here.oneOf].find(Array.isArray) as readonly unknown[] | undefined;
  if ('const' in here) return toLiteral(here.const);
  if (Array.isArray(choices)) return someOf(choices.slice(0, MAX_CHOICES + 1).map(toLiteral));
  if (options !== undefined) return someOf([...new Set(options.map((option) => toType(option, inside)))]);
  if (Array.isArray(type)) return someOf(type.map((one) => toType({ ...here, type: one }, inside)));
  if (type === 'array') {
    const item = toType(items, inside);
    return item.includes(' | ') ? `(${item})[]` : `${item}[]`;
  }
  if (type === 'object' || isRecord(here.properties)) return toObject(here, inside);
  if (type === 'integer') return 'number';
  return typeof type === 'string' ? quoteOutside(type, 20) : 'any';
}

// Required parameters first, since the rest may be cut off.
function toObject(node: Readonly<Record<string, unknown>>, at: Place): string {
  const properties = Object.entries(isRecord(node.properties) ? node.properties : {});
  if (properties.length === 0) return at.depth === 0 ? '{}' : 'object';
  if (at.depth >= MAX_DEPTH) return 'object';
  const required = new Set(Array.isArray(node.required) ? node.required : []);
  const sorted = [...properties].sort(([a], [b]) => Number(required.has(b)) - Number(required.has(a)));
  const shown = sorted.slice(0, MAX_PARAMETERS).map(([name, child]) => {
    const key = IDENTIFIER.test(name) ? name : JSON.stringify(quoteOutside(name, 40));
    return `${key}${required.has(name) ? '' : '?'}: ${toType(child, { ...at, depth: at.depth + 1 })}`;
  });
  return `{ ${[...shown, ...(sorted.length > shown.length ? ['…'] : [])].join(', ')} }`;
}

function someOf(types: readonly string[]): string {
  return (types.length > MAX_CHOICES ? [...types.slice(0, MAX_CHOICES), '…'] : types).join(' | ');
}

function toLiteral(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(quoteOutside(value, 30)) : quoteOutside(JSON.stringify(value), 30);
}
