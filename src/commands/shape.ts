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

/** Returns a node with all its `allOf`, `anyOf` and `oneOf` parts. */
function partsOf(raw: unknown, root: JsonSchema, depth = 0): readonly { node: SchemaNode; always: boolean }[] {
  const node = followRef(raw, root);
  const parts: { node: SchemaNode; always: boolean }[] = [{ node, always: true }];
  if (depth >= MAX_DEPTH) return parts;
  if (Array.isArray(node.allOf)) for (const part of node.allOf) parts.push(...partsOf(part, root, depth + 1));
  for (const union of UNIONS) {
    const branches = node[union];
    if (!Array.isArray(branches)) continue;
    for (const branch of branches) {
      for (const part of partsOf(branch, root, depth + 1)) parts.push({ node: part.node, always: false });
    }
  }
  return parts;
}

/** Returns the accepted types of a node; empty means any. */
export function typesOf(raw: unknown, root: JsonSchema): readonly string[] {
  return [...acceptedTypes(followRef(raw, root), root)];
}

/** Returns the values of `enum` and `const`; empty if a node accepts others too. */
export function choicesOf(raw: unknown, root: JsonSchema, depth = 0): readonly Json[] {
  const node = followRef(raw, root);
  if (Array.isArray(node.enum)) return node.enum as Json[];
  if ('const' in node) return [node.const as Json];
  if (depth >= MAX_DEPTH) return [];
  if (Array.isArray(node.allOf)) {
    for (const part of node.allOf) {
      const choices = choicesOf(part, root, depth + 1);
      if (choices.length > 0) return choices;
    }
  }
  const branches = node.anyOf ?? node.oneOf;
  if (!Array.isArray(branches)) return [];
  const choices = branches.map((branch) => {
    const types = typesOf(branch, root);
    return types.length === 1 && types[0] === 'null' ? [null] : choicesOf(branch, root, depth + 1);
  });
  return choices.some((some) => some.length === 0) ? [] : choices.flat();
}

/** Returns the schema of the array entry at an index. */
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
    const required = always && Array.isArray(node.required) ? node.required : [];
    for (const [name, child] of Object.entries(node.properties)) {
      const known = fields.get(name);
      // An empty schema in one part does not override another part.
      const better = known === undefined || Object.keys(known.node).length === 0;
      fields.set(name, {
        name,
        node: better ? followRef(child, root) : known.node,
        required: known?.required === true || required.includes(name),
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
