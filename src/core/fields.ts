// Reads the fields of an object from all parts of a JSON Schema that can declare them.

import { isRecord } from './json.js';
import { acceptedTypes, followRef, type JsonSchema, type SchemaNode } from './schema.js';

export interface Field {
  readonly name: string;
  readonly node: SchemaNode;
  readonly required: boolean;
}

const UNIONS = ['anyOf', 'oneOf'] as const;
const MAX_DEPTH = 8;
// Schemas of servers are untrusted: they can contain a node in many ways, and themselves.
const MAX_PARTS = 2000;
const MAX_DECLARATIONS = 5000;

/** Returns a node with all its `allOf`, `anyOf` and `oneOf` parts. */
export function partsOf(raw: unknown, root: JsonSchema): readonly SchemaNode[] {
  const parts: SchemaNode[] = [];
  const seen = new Set<unknown>();
  const add = (raw: unknown, depth: number): void => {
    if (seen.has(raw) || seen.size >= MAX_PARTS) return;
    seen.add(raw);
    const node = followRef(raw, root);
    parts.push(node);
    if (depth >= MAX_DEPTH) return;
    for (const keyword of ['allOf', ...UNIONS]) for (const part of listOf(node[keyword])) add(part, depth + 1);
  };
  add(raw, 0);
  return parts;
}

interface Declared {
  /** What it may be: one schema, or those of the branches of a union. */
  readonly nodes: readonly unknown[];
  readonly required: boolean;
}

type Declarations = Map<string, Declared>;

/**
 * Returns the declared fields of an object in schema order, without duplicates. A field of several branches of a union
 * accepts what any of them does, and is required if all of them require it.
 */
export function fieldsOf(raw: unknown, root: JsonSchema): readonly Field[] {
  const known = new Map<unknown, Declarations>();
  let declarations = 0;
  const read = (raw: unknown, depth: number): Declarations => {
    const found = known.get(raw);
    if (found !== undefined) return found;
    const fields: Declarations = new Map();
    known.set(raw, fields);
    const node = followRef(raw, root);
    for (const [name, child] of Object.entries(isRecord(node.properties) ? node.properties : {}))
      fields.set(name, { nodes: child === false ? [] : [child], required: false });
    declarations += 1 + fields.size;
    if (depth < MAX_DEPTH && declarations < MAX_DECLARATIONS) {
      for (const part of listOf(node.allOf)) addAll(fields, read(part, depth + 1));
      for (const union of UNIONS) {
        const branches = listOf(node[union]).filter((branch) => isObject(branch, root));
        addAll(fields, eitherOf(branches.map((branch) => read(branch, depth + 1))));
      }
    }
    for (const name of listOf(node.required))
      if (typeof name === 'string') fields.set(name, { nodes: fields.get(name)?.nodes ?? [], required: true });
    return fields;
  };
  return [...read(raw, 0)].flatMap(([name, { nodes, required }]) =>
    nodes.length === 0 ? [] : [{ name, node: anyOf(nodes, root), required }],
  );
}

/** Returns the schema of undeclared fields; undefined if nothing is said about them, or they are rejected. */
export function otherFieldOf(raw: unknown, root: JsonSchema): SchemaNode | undefined {
  for (const { patternProperties, additionalProperties, unevaluatedProperties } of partsOf(raw, root)) {
    const patterns = isRecord(patternProperties) ? Object.values(patternProperties) : [];
    for (const others of [additionalProperties, unevaluatedProperties, ...patterns])
      if (others === true || isRecord(others)) return followRef(others, root);
  }
  return undefined;
}

function addAll(fields: Declarations, more: Declarations): void {
  for (const [name, { nodes, required }] of more) {
    const known = fields.get(name) ?? { nodes: [], required: false };
    // An empty schema in one part does not override another part.
    const isBetter = nodes.length > 0 && known.nodes.every(isEmpty);
    fields.set(name, { nodes: isBetter ? nodes : known.nodes, required: required || known.required });
  }
}

function eitherOf(branches: readonly Declarations[]): Declarations {
  const names = new Set(branches.flatMap((branch) => [...branch.keys()]));
  const toDeclared = (name: string): Declared => ({
    nodes: [...new Set(branches.flatMap((branch) => branch.get(name)?.nodes ?? []))],
    required: branches.every((branch) => branch.get(name)?.required === true),
  });
  return new Map([...names].map((name) => [name, toDeclared(name)]));
}

function anyOf(nodes: readonly unknown[], root: JsonSchema): SchemaNode {
  const distinct =
    nodes.length === 1 ? nodes : [...new Map(nodes.map((node) => [JSON.stringify(node), node])).values()];
  if (distinct.length === 1) return followRef(distinct[0], root);
  const description = distinct.map((node) => followRef(node, root).description).find((text) => text !== undefined);
  return { ...(description === undefined ? {} : { description }), anyOf: distinct };
}

function isObject(branch: unknown, root: JsonSchema): boolean {
  const types = acceptedTypes(followRef(branch, root), root);
  return types.size === 0 || types.has('object');
}

function isEmpty(node: unknown): boolean {
  return !isRecord(node) || Object.keys(node).length === 0;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
