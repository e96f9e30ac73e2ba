// Reduces a schema to the keywords that providers share: references inlined, unknown and malformed keywords removed.

import { isRecord, mapValues } from '../../core/json.js';
import { type JsonSchema, lookUp } from '../../core/schema.js';

/** A mutable schema node. */
export type Node = Record<string, unknown>;

export interface Sanitized {
  readonly schema: Node;
  /** Something was removed that could allow further properties or values. */
  readonly incomplete: boolean;
}

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'null', 'object', 'array']);
const NUMBERS = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['minItems', 'maxItems', 'minProperties', 'maxProperties'],
];
const TEXTS = ['pattern', 'format'];
/** Keywords that limit a value without describing its structure. */
export const CONSTRAINTS: readonly string[] = [...NUMBERS, 'pattern', 'format', 'uniqueItems'];
const ANNOTATIONS = new Set(['title', 'description', 'default', 'examples', '$comment', 'deprecated']);
// Conditional schemas are shown as one alternative.
const CONDITIONAL = ['then', 'else'];
const MAX_NODES = 4000;

/**
 * Returns a schema that accepts every value that the original accepts, and maybe more: negations and conditions are
 * removed, `oneOf` becomes `anyOf`, and a recursive reference becomes a node that accepts anything.
 */
export function sanitize(root: JsonSchema): Sanitized {
  let nodes = 0;
  let incomplete = false;
  const anything = (): Node => {
    incomplete = true;
    return {};
  };
  const walk = (node: unknown, open: readonly string[]): Node => {
    if (node === true || node === false) return {};
    if (!isRecord(node) || ++nodes > MAX_NODES) return anything();
    if ('$dynamicRef' in node || '$recursiveRef' in node) return anything();
    if (typeof node.$ref === 'string') return follow(node, node.$ref, open);
    return copy(node, open);
  };
  const follow = ({ $ref: _, ...beside }: Node, ref: string, open: readonly string[]): Node => {
    const target = lookUp(root, ref);
    if (target === undefined || open.includes(ref)) return { ...anything(), ...annotationsOf(beside) };
    const inlined = walk(target, [...open, ref]);
    if (Object.keys(beside).every((key) => ANNOTATIONS.has(key))) return { ...inlined, ...annotationsOf(beside) };
    return { allOf: [inlined, copy(beside, open)] };
  };
  const list = (value: unknown, open: readonly string[]): Node[] | undefined =>
    Array.isArray(value) && value.length > 0 ? value.map((entry) => walk(entry, open)) : undefined;
  const map = (value: unknown, open: readonly string[]): Node | undefined =>
    isRecord(value) ? mapValues(value, (entry) => walk(entry, open)) : undefined;

  const copy = (node: Node, open: readonly string[]): Node => {
    const out: Node = { ...annotationsOf(node), ...typeOf(node), ...choicesOf(node), ...constraintsOf(node) };
    const set = (key: string, value: unknown): void => {
      if (value !== undefined) out[key] = value;
    };
    set('properties', map(node.properties, open));
    set('patternProperties', map(node.patternProperties, open));
    if (out.patternProperties !== undefined) incomplete = true;
    if (Array.isArray(node.required)) {
      const names = node.required.filter((name) => typeof name === 'string');
      if (names.length > 0) out.required = [...new Set(names)];
    }
    const { additionalProperties: additional } = node;
    if (additional === false || additional === true) out.additionalProperties = additional;
    else if (isRecord(additional)) out.additionalProperties = walk(additional, open);
    if (isRecord(node.items)) out.items = walk(node.items, open);
    set('prefixItems', list(node.prefixItems, open));
    set('anyOf', list(node.anyOf, open));
    const conditions = [
      ...CONDITIONAL.filter((key) => isRecord(node.if) && isRecord(node[key])).map((key) => node[key]),
      ...(isRecord(node.dependentSchemas) ? Object.values(node.dependentSchemas) : []),
    ];
    if (isRecord(node.if) || conditions.length > 0 || isRecord(node.unevaluatedProperties)) incomplete = true;
    const all = [
      ...(list(node.allOf, open) ?? []),
      ...(Array.isArray(node.oneOf) && node.oneOf.length > 0
        ? [{ anyOf: node.oneOf.map((entry) => walk(entry, open)) }]
        : []),
      ...conditions.map((entry) => ({ anyOf: [walk(entry, open), {}] })),
    ];
    // Keeps the common case flat.
    if (all.length === 1 && out.anyOf === undefined && Object.keys(all[0]!).join() === 'anyOf')
      out.anyOf = all[0]!.anyOf;
    else if (all.length > 0) out.allOf = all;
    if (out.items === undefined && mayBe(out, 'array')) out.items = {};
    return out;
  };
  return { schema: walk(root, ['#']), incomplete };
}

/** Whether a node's `type` includes the name. */
export function mayBe({ type }: Node, name: string): boolean {
  return type === name || (Array.isArray(type) && type.includes(name));
}

function annotationsOf(node: Node): Node {
  const out: Node = {};
  for (const key of ['title', 'description'])
    if (typeof node[key] === 'string' && node[key] !== '') out[key] = node[key];
  if (node.default !== undefined) out.default = node.default;
  return out;
}

function typeOf({ type }: Node): Node {
  if (typeof type === 'string') return TYPES.has(type) ? { type } : {};
  if (!Array.isArray(type)) return {};
  const known = [...new Set(type)].filter((name) => TYPES.has(name as string));
  if (known.length === 0 || known.length < new Set(type).size) return {};
  return { type: known.length === 1 ? known[0] : known };
}

function choicesOf(node: Node): Node {
  if ('const' in node) return { enum: [node.const] };
  if (!Array.isArray(node.enum) || node.enum.length === 0) return {};
  const seen = new Map(node.enum.map((value) => [JSON.stringify(value), value]));
  return { enum: [...seen.values()] };
}

function constraintsOf(node: Node): Node {
  const out: Node = {};
  for (const key of NUMBERS) if (typeof node[key] === 'number') out[key] = node[key];
  for (const key of TEXTS) if (typeof node[key] === 'string') out[key] = node[key];
  if (node.uniqueItems === true) out.uniqueItems = true;
  return out;
}
