// Renames properties whose names a provider rejects, in schemas and in values alike.

import { isRecord, type Json } from '../../core/json.js';
import type { Node } from './sanitize.js';

/** Maps each name to its replacement and back, so that applying it twice changes nothing. */
export type Renames = ReadonlyMap<string, string>;

/** Finds replacements for all property names that do not match the pattern. */
export function findRenames(schema: Node, valid: RegExp | undefined): Renames {
  const renames = new Map<string, string>();
  if (valid === undefined) return renames;
  const names = propertyNames(schema);
  const taken = new Set(names);
  for (const name of names) {
    if (valid.test(name)) continue;
    const base = name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 60) || 'property';
    let safe = base;
    for (let number = 2; taken.has(safe); number++) safe = `${base.slice(0, 58)}_${number}`;
    taken.add(safe);
    renames.set(name, safe).set(safe, name);
  }
  return renames;
}

/** Returns every name in `properties` or `required` of any node. */
export function propertyNames(schema: Node): string[] {
  const names = new Set<string>();
  eachNode(schema, (node) => {
    if (isRecord(node.properties)) for (const name of Object.keys(node.properties)) names.add(name);
    for (const name of (node.required as string[] | undefined) ?? []) names.add(name);
  });
  return [...names];
}

/** Renames the keys of a value at every depth. */
export function renameKeys(value: Json, renames: Renames): Json {
  if (renames.size === 0 || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((entry) => renameKeys(entry, renames));
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [renames.get(key) ?? key, renameKeys(entry, renames)]),
  );
}

/** Renames the properties of a schema, for values with renamed keys. */
export function renameSchema(schema: Node, renames: Renames): Node {
  if (renames.size === 0) return schema;
  const walk = (node: Node): Node => {
    const out: Node = {};
    for (const [key, value] of Object.entries(node)) {
      // Patterns would match against renamed properties; without them the node is wider.
      if (key === 'patternProperties') continue;
      if (key === 'additionalProperties' && 'patternProperties' in node) continue;
      if (key === 'properties') {
        out.properties = Object.fromEntries(
          Object.entries(value as Record<string, Node>).map(([name, child]) =>
            renames.has(name) ? [renames.get(name), noteName(walk(child), name)] : [name, walk(child)],
          ),
        );
      } else if (key === 'required') out.required = (value as string[]).map((name) => renames.get(name) ?? name);
      else if (key === 'enum' || key === 'default') out[key] = renameKeys(value as Json, renames);
      else if (Array.isArray(value)) out[key] = value.map((entry: unknown) => (isRecord(entry) ? walk(entry) : entry));
      else out[key] = isRecord(value) ? walk(value) : value;
    }
    return out;
  };
  return walk(schema);
}

function noteName(node: Node, name: string): Node {
  const note = `The parameter ${JSON.stringify(name)}.`;
  return { ...node, description: node.description === undefined ? note : `${node.description} ${note}` };
}

/** Visits every node of a sanitized schema. */
export function eachNode(schema: Node, visit: (node: Node, depth: number) => void): void {
  const walk = (node: unknown, depth: number): void => {
    if (!isRecord(node)) return;
    visit(node, depth);
    for (const key of ['properties', 'patternProperties'])
      if (isRecord(node[key])) for (const child of Object.values(node[key])) walk(child, depth + 1);
    for (const key of ['items', 'additionalProperties']) walk(node[key], depth + 1);
    for (const key of ['anyOf', 'allOf', 'prefixItems'])
      if (Array.isArray(node[key])) for (const child of node[key]) walk(child, depth);
  };
  walk(schema, 0);
}
