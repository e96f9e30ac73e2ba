// Renames properties whose names a provider rejects, in schemas and in values alike.

import { isRecord, type Json } from '../../core/json.js';
import { type JsonSchema, lookUp, type SchemaNode } from '../../core/schema.js';
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
    for (const name of namesOf(node)) names.add(name);
  });
  return [...names];
}

export interface KeyRenames {
  readonly renames: Renames;
  /** The schema that references are resolved in. */
  readonly root: JsonSchema;
  /** Whether the value has the names of the provider. */
  readonly back?: boolean;
}

/**
 * Renames the keys of a value that its schema declares: one of `nodes`, which all describe the value. Other keys are data.
 */
export function renameKeys(value: Json, nodes: readonly SchemaNode[], options: KeyRenames): Json {
  const { renames, root, back = false } = options;
  if (renames.size === 0 || typeof value !== 'object' || value === null) return value;
  const all = withBranches(nodes, root);
  if (all.length === 0) return value;
  if (Array.isArray(value))
    return value.map((entry, at) => {
      const items = all.map(
        ({ prefixItems, items }) => (Array.isArray(prefixItems) ? prefixItems[at] : undefined) ?? items,
      );
      return renameKeys(entry, items.filter(isRecord), options);
    });
  const declared = new Set(all.flatMap(namesOf));
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => {
      const other = renames.get(key);
      const name = other !== undefined && (declared.has(key) || declared.has(other)) ? other : key;
      return [name, renameKeys(entry, propertyOf(all, back ? name : key), options)];
    }),
  );
}

function namesOf({ properties, required }: SchemaNode): string[] {
  return [
    ...(isRecord(properties) ? Object.keys(properties) : []),
    ...(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []),
  ];
}

// The nodes that describe a property.
function propertyOf(nodes: readonly SchemaNode[], name: string): SchemaNode[] {
  return nodes.flatMap(({ properties, patternProperties, additionalProperties }) => {
    const own = isRecord(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    return [own, ...(isRecord(patternProperties) ? Object.values(patternProperties) : [])].filter(isRecord);
  });
}

// The nodes, what they refer to, and their alternatives.
function withBranches(nodes: readonly SchemaNode[], root: JsonSchema): readonly SchemaNode[] {
  const found = new Set<SchemaNode>();
  const add = (node: unknown): void => {
    if (!isRecord(node) || found.has(node)) return;
    found.add(node);
    if (typeof node.$ref === 'string') add(lookUp(root, node.$ref));
    for (const key of ['allOf', 'anyOf', 'oneOf']) if (Array.isArray(node[key])) node[key].forEach(add);
    for (const key of ['then', 'else']) add(node[key]);
    if (isRecord(node.dependentSchemas)) Object.values(node.dependentSchemas).forEach(add);
  };
  nodes.forEach(add);
  return [...found];
}

/** Renames the properties of a schema, for values with renamed keys. */
export function renameSchema(schema: Node, renames: Renames): Node {
  if (renames.size === 0) return schema;
  // References are inlined.
  const root: JsonSchema = {};
  // `here`: all nodes that describe the same value.
  const walk = (node: Node, here: readonly SchemaNode[]): Node => {
    const out: Node = {};
    for (const [key, value] of Object.entries(node)) {
      // Patterns would match against renamed properties; without them the node is wider.
      if (key === 'patternProperties') continue;
      if (key === 'additionalProperties' && 'patternProperties' in node) continue;
      if (key === 'properties') {
        out.properties = Object.fromEntries(
          Object.entries(value as Record<string, Node>).map(([name, child]) => {
            const renamed = walk(child, withBranches(propertyOf(here, name), root));
            return renames.has(name) ? [renames.get(name), noteName(renamed, name)] : [name, renamed];
          }),
        );
      } else if (key === 'required') out.required = (value as string[]).map((name) => renames.get(name) ?? name);
      else if (key === 'enum')
        out.enum = (value as Json[]).map((choice) => renameKeys(choice, here, { renames, root }));
      else if (key === 'default') out.default = renameKeys(value as Json, here, { renames, root });
      else if (key === 'anyOf' || key === 'allOf') out[key] = (value as Node[]).map((entry) => walk(entry, here));
      else if (Array.isArray(value))
        out[key] = value.map((entry: unknown) => (isRecord(entry) ? walk(entry, withBranches([entry], root)) : entry));
      else out[key] = isRecord(value) ? walk(value, withBranches([value], root)) : value;
    }
    return out;
  };
  return walk(schema, withBranches([schema], root));
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
