// One-line signatures of tools, in the notation of TypeScript.

import { fieldsOf, otherFieldOf } from '../core/fields.js';
import { isRecord } from '../core/json.js';
import { acceptedTypes, followRef, type JsonSchema, type SchemaNode } from '../core/schema.js';
import { quoteOutside } from '../core/text.js';

const MAX_PARAMETERS = 12;
const MAX_CHOICES = 6;
const MAX_DEPTH = 2;
// Schemas of servers are untrusted: they can contain a node in many ways, and themselves.
const MAX_NODES = 1000;
const MAX_NESTING = 8;
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

interface Position {
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

function startOf(root: JsonSchema): Position {
  return { root, depth: 0, nesting: 0, budget: { left: MAX_NODES } };
}

function toType(node: unknown, at: Position): string {
  if (at.budget.left-- <= 0 || at.nesting > MAX_NESTING) return 'any';
  const here = followRef(node, at.root);
  const inside = { ...at, nesting: at.nesting + 1 };
  const { type, enum: choices, items } = here;
  const options = [here.anyOf, here.oneOf].find(Array.isArray) as readonly unknown[] | undefined;
  if ('const' in here) return toLiteral(here.const);
  if (Array.isArray(choices)) return someOf(choices.slice(0, MAX_CHOICES + 1).map(toLiteral));
  if (options !== undefined && !isRecord(here.properties))
    return someOf([...new Set(options.map((option) => toType(option, inside)))]);
  if (Array.isArray(type)) return someOf(type.map((one) => toType({ ...here, type: one }, inside)));
  if (type === 'array') {
    const item = toType(items, inside);
    return item.includes(' | ') ? `(${item})[]` : `${item}[]`;
  }
  if (type === 'object' || (type === undefined && isObject(here, at.root))) return toObject(here, inside);
  if (type === 'integer') return 'number';
  return typeof type === 'string' ? quoteOutside(type, 20) : 'any';
}

function isObject(node: SchemaNode, root: JsonSchema): boolean {
  if (isRecord(node.properties)) return true;
  if (!Array.isArray(node.allOf)) return false;
  const types = acceptedTypes(node, root);
  return types.size === 1 && types.has('object');
}

// Required parameters first, since the rest may be cut off.
function toObject(node: SchemaNode, at: Position): string {
  if (at.depth >= MAX_DEPTH) return 'object';
  const fields = fieldsOf(node, at.root);
  const others = otherFieldOf(node, at.root);
  const isOpen = others !== undefined && (Object.keys(others).length > 0 || (at.depth === 0 && fields.length === 0));
  if (fields.length === 0 && !isOpen) return at.depth === 0 ? '{}' : 'object';
  const inside = { ...at, depth: at.depth + 1 };
  const sorted = [...fields].sort((a, b) => Number(b.required) - Number(a.required));
  const shown = sorted.slice(0, MAX_PARAMETERS).map(({ name, node: child, required }) => {
    const key = IDENTIFIER.test(name) ? name : JSON.stringify(quoteOutside(name, 40));
    return `${key}${required ? '' : '?'}: ${toType(child, inside)}`;
  });
  const rest = [
    ...(sorted.length > shown.length ? ['…'] : []),
    ...(isOpen ? [`[name: string]: ${toType(others, inside)}`] : []),
  ];
  return `{ ${[...shown, ...rest].join(', ')} }`;
}

function someOf(types: readonly string[]): string {
  return (types.length > MAX_CHOICES ? [...types.slice(0, MAX_CHOICES), '…'] : types).join(' | ');
}

function toLiteral(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(quoteOutside(value, 30)) : quoteOutside(JSON.stringify(value), 30);
}
