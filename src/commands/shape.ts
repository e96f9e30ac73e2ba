// Reads types, choices, array entries and object fields from a JSON Schema.

import { isRecord, type Json } from '../core/json.js';
import { acceptedTypes, followRef, type JsonSchema, type SchemaNode } from '../core/schema.js';

export interface Field {
  readonly name: string;
  readonly node: SchemaNode;
  readonly required: boolean;
}

const UNIONS = ['anyOf', 'oneOf'] as const;
const MAX_DEPTH = 8;
const MAX_CHOICES = 50_000;

interface SchemaPart {
  readonly node: SchemaNode;
  /** Whether it applies to every value, and not only to those of a branch. */
  readonly always: boolean;
}

/** Returns a node with all its `allOf`, `anyOf` and `oneOf` parts. */
function partsOf(raw: unknown, root: JsonSchema): readonly SchemaPart[] {
  const parts: SchemaPart[] = [];
  // Each node once, or twice if it is a branch too: schemas can contain a node in many ways.
  const known = { always: new Set<unknown>(), sometimes: new Set<unknown>() };
  const add = (raw: unknown, always: boolean, depth: number): void => {
    const seen = always ? known.always : known.sometimes;
    if (seen.has(raw)) return;
    seen.add(raw);
    const node = followRef(raw, root);
    parts.push({ node, always });
    if (depth >= MAX_DEPTH) return;
    if (Array.isArray(node.allOf)) for (const part of node.allOf) add(part, always, depth + 1);
    for (const union of UNIONS) {
      const branches = node[union];
      if (Array.isArray(branches)) for (const branch of branches) add(branch, false, depth + 1);
    }
  };
  add(raw, true, 0);
  return parts;
}

/** Returns the accepted types of a node; empty means any. */
export function typesOf(raw: unknown, root: JsonSchema): readonly string[] {
  return [...acceptedTypes(followRef(raw, root), root)];
}

/** Returns the values of `enum` and `const`; empty if a node accepts others too, or if there are too many. */
export function choicesOf(raw: unknown, root: JsonSchema): readonly Json[] {
  const known = new Map<unknown, readonly Json[]>();
  const types = new Map<unknown, ReadonlySet<string>>();
  const walk = (raw: unknown): readonly Json[] => {
    let found = known.get(raw);
    if (found === undefined) {
      known.set(raw, []);
      found = find(followRef(raw, root));
      known.set(raw, found);
    }
    return found;
  };
  const find = (node: SchemaNode): readonly Json[] => {
    if (Array.isArray(node.enum)) return node.enum as Json[];
    if ('const' in node) return [node.const as Json];
    if (Array.isArray(node.allOf)) {
      for (const part of node.allOf) {
        const choices = walk(part);
        if (choices.length > 0) return choices;
      }
    }
    const branches = node.anyOf ?? node.oneOf;
    if (!Array.isArray(branches)) return [];
    const all: Json[] = [];
    for (const branch of branches) {
      const accepted = acceptedTypes(followRef(branch, root), root, types);
      const choices = accepted.size === 1 && accepted.has('null') ? [null] : walk(branch);
      if (choices.length === 0 || all.length + choices.length > MAX_CHOICES) return [];
      for (const choice of choices) all.push(choice);
    }
    return all;
  };
  return walk(raw);
}

export function entryOf(raw: unknown, index: number, root: JsonSchema): unknown {
  for (const { node } of partsOf(raw, root)) {
    const { prefixItems, items } = node;
    if (Array.isArray(prefixItems) && index < prefixItems.length) return prefixItems[index];
    if (isRecord(items)) return items;
  }
  return {};
}

/** Returns the declared fields of an object in schema order, without duplicates. */
export function fieldsOf(raw: unknown, root: JsonSchema): readonly Field[] {
  const fields = new Map<string, Field>();
  for (const { node, always } of partsOf(raw, root)) {
    if (!isRecord(node.properties)) continue;
    const required = new Set(always && Array.isArray(node.required) ? node.required : []);
    for (const [name, child] of Object.entries(node.properties)) {
      const known = fields.get(name);
      // An empty schema in one part does not override another part.
      const better = known === undefined || Object.keys(known.node).length === 0;
      fields.set(name, {
        name,
        node: better ? followRef(child, root) : known.node,
        required: known?.required === true || required.has(name),
      });
    }
    for (const name of required) {
      const known = fields.get(name);
      if (known !== undefined && !known.required) fields.set(name, { ...known, required: true });
    }
  }
  return [...fields.values()];
}

/** Returns the schema of undeclared fields. */
export function otherFieldOf(raw: unknown, root: JsonSchema): unknown {
  for (const { node } of partsOf(raw, root)) {
    if (isRecord(node.additionalProperties)) return node.additionalProperties;
  }
  return {};
}
