// Reads types, choices and array entries from a JSON Schema.

import { partsOf } from '../core/fields.js';
import { isRecord, type Json } from '../core/json.js';
import { acceptedTypes, followRef, type JsonSchema, type SchemaNode } from '../core/schema.js';

const MAX_CHOICES = 50_000;

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
  for (const { prefixItems, items } of partsOf(raw, root)) {
    if (Array.isArray(prefixItems) && index < prefixItems.length) return prefixItems[index];
    if (isRecord(items)) return items;
  }
  return {};
}
