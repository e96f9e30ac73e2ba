// Turns references by the `$id` of a part of the same document into local ones (`#/…`), which every reader of a schema follows.

import { escapePointer, isRecord, type Json } from '../core/json.js';
import type { JsonSchema, SchemaNode } from '../core/schema.js';

// Keywords by what their values are: a schema, schemas in a list, schemas by name. All other values are data.
export const ONE = new Set([
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames', 'items', 'additionalItems'],
  ...['unevaluatedItems', 'contains', 'not', 'if', 'then', 'else', 'contentSchema'],
]);
export const LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']);
export const MAPS = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions'],
]);

type Change = (node: SchemaNode, pointer: string, base: string) => SchemaNode;

// Never requested; relative ids and references are resolved against it.
const START = 'schema://document/';

/** Returns a document without `$id` below its root. Its size and depth must have been checked before. */
export function toLocalReferences(json: JsonSchema): JsonSchema {
  const pointers = new Map<string, string>();
  // Addresses of dynamic anchors, and of documents that a recursive reference may leave.
  const dynamic = new Set<string>();
  const open = new Set<string>();
  const key = idKeyOf(json);
  const add = (address: string, pointer: string): void => {
    if (!pointers.has(address)) pointers.set(address, pointer);
  };
  mapNodes(json, (node, pointer, base) => {
    const { [key]: $id, $anchor, $dynamicAnchor, $recursiveAnchor } = node;
    const isDocument = pointer === '' || isText($id);
    if (isDocument) add(base, pointer);
    if (isDocument && $recursiveAnchor === true) open.add(base);
    if (isText($dynamicAnchor)) dynamic.add(`${base}#${$dynamicAnchor}`);
    // Before 2019-09, an `$id` of a fragment only was an anchor.
    const names = [$anchor, $dynamicAnchor, isText($id) && $id.startsWith('#') ? $id.slice(1) : undefined];
    for (const name of names) if (isText(name)) add(`${base}#${name}`, pointer);
    return node;
  });
  const find = (ref: string, base: string): string => {
    const [address = '', fragment = ''] = resolve(ref, base).split('#');
    const isPointer = fragment === '' || fragment.startsWith('/');
    const found = pointers.get(isPointer ? address : `${address}#${fragment}`);
    return found === undefined ? ref : `#${found}${isPointer ? fragment : ''}`;
  };
  return mapNodes(json, (node, pointer, base) => {
    const { [key]: _, $anchor: __, ...rest } = node;
    const changed: Record<string, unknown> = pointer === '' ? { ...node } : rest;
    const { $ref, $dynamicRef, $recursiveRef } = node;
    if (isText($ref)) changed.$ref = find($ref, base);
    if (isText($dynamicRef)) {
      const address = resolve($dynamicRef, base);
      changed.$dynamicRef = dynamic.has(address) ? address.replace(/^[^#]*/, '') : find($dynamicRef, base);
    }
    const isOpen = open.has(base) && open.has(rootOf(json, key));
    if (!isText($recursiveRef) || isOpen) return changed;
    // Elsewhere its value can only be `#`.
    const { $recursiveRef: ___, ...others } = changed;
    return { ...others, [isText($ref) ? '$recursiveRef' : '$ref']: find($recursiveRef, base) };
  }) as JsonSchema;
}

/** The keyword of addresses: `id` in draft 4. */
export function idKeyOf({ $schema }: JsonSchema): '$id' | 'id' {
  return isText($schema) && $schema.includes('draft-04') ? 'id' : '$id';
}

function rootOf(json: JsonSchema, key: '$id' | 'id'): string {
  return baseOf(json as SchemaNode, START, key);
}

function baseOf(node: SchemaNode, outer: string, key: '$id' | 'id'): string {
  const { [key]: id } = node;
  return isText(id) ? resolve(id, outer).replace(/#.*$/s, '') : outer;
}

const isText = (value: unknown): value is string => typeof value === 'string';

function resolve(ref: string, base: string): string {
  return URL.canParse(ref, base) ? new URL(ref, base).href : ref;
}

// Copies a document, with each of its schemas changed; `base` is the address that references in it are relative to.
function mapNodes(json: JsonSchema, change: Change): SchemaNode {
  const idKey = idKeyOf(json);
  const visit = (node: unknown, pointer: string, outer: string): unknown => {
    if (!isRecord(node)) return node;
    const base = baseOf(node as SchemaNode, outer, idKey);
    const changed = change(node as SchemaNode, pointer, base);
    const children = (value: object): [string, unknown][] =>
      Object.entries(value).map(([key, child]) => [key, visit(child, `${pointer}/${keyword}/${toStep(key)}`, base)]);
    let keyword = '';
    const entries = Object.entries(changed).map(([key, value]): [string, unknown] => {
      keyword = toStep(key);
      if (Array.isArray(value) && LISTS.has(key)) return [key, children(value).map(([, child]) => child)];
      if (isRecord(value) && MAPS.has(key)) return [key, Object.fromEntries(children(value))];
      return [key, ONE.has(key) ? visit(value, `${pointer}/${keyword}`, base) : value];
    });
    return Object.fromEntries(entries) as Record<string, Json>;
  };
  return visit(json, '', START) as SchemaNode;
}

const toStep = (key: string): string => encodeURIComponent(escapePointer(key));
