// Random values for a schema, most of which are valid.

import fc from 'fast-check';
import type { Json } from '../../src/core/json.js';

type Node = Readonly<Record<string, unknown>>;

const KEYS = ['a', 'b', 'left_out', 'key', 'value', 'input', 'odd name', 'odd_name'];

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const anything: fc.Arbitrary<Json> = fc.letrec<{ any: Json }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false, 0, 1, -3, 2.5, '', 'text', 'left_out'),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('any'), { maxKeys: 3 }),
  ),
})).any;

/** Generates values from the basic keywords of a schema. */
export function valuesOf(root: Node, node: unknown = root, depth = 0): fc.Arbitrary<Json> {
  if (!isRecord(node) || depth > 6) return anything;
  if (typeof node.$ref === 'string') return valuesOf(root, lookUp(root, node.$ref), depth + 1);
  if ('const' in node) return fc.constant(node.const as Json);
  if (Array.isArray(node.enum)) return fc.constantFrom(...(node.enum as Json[]));
  for (const key of ['anyOf', 'oneOf', 'allOf']) {
    const branches = node[key];
    if (!Array.isArray(branches) || branches.length === 0) continue;
    const { [key]: _, ...own } = node;
    return fc.oneof(
      ...branches.map((branch) => valuesOf(root, mergeNodes(own, isRecord(branch) ? branch : {}, root), depth + 1)),
    );
  }
  const types = Array.isArray(node.type) ? node.type : [node.type];
  return fc.oneof(...types.map((type) => ofType(root, { ...node, type }, depth)));
}

function ofType(root: Node, node: Node, depth: number): fc.Arbitrary<Json> {
  const number = (key: string, otherwise: number): number => (typeof node[key] === 'number' ? node[key] : otherwise);
  switch (node.type) {
    case 'string': {
      const minLength = Math.min(number('minLength', 0), 50);
      const maxLength = Math.max(minLength, Math.min(number('maxLength', minLength + 8), minLength + 8));
      return fc.oneof(
        fc.string({ minLength, maxLength }),
        fc.constantFrom('2026-11-15', '2026-11-15T06:00:00Z', 'https://example.org/a', 'a@example.org', 'left_out'),
      );
    }
    case 'integer':
    case 'number': {
      const min = number('minimum', number('exclusiveMinimum', -20) + 1);
      const max = Math.max(min, number('maximum', number('exclusiveMaximum', min + 40) - 1));
      return fc.integer({ min: Math.ceil(min), max: Math.max(Math.ceil(min), Math.floor(max)) });
    }
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'array': {
      const minLength = Math.min(number('minItems', 0), 10);
      return fc.array(valuesOf(root, node.items, depth + 1), {
        minLength,
        maxLength: Math.max(minLength, Math.min(number('maxItems', minLength + 2), minLength + 2)),
      });
    }
    case 'object':
      return objects(root, node, depth);
    default:
      return isRecord(node.properties) ? objects(root, node, depth) : anything;
  }
}

function objects(root: Node, node: Node, depth: number): fc.Arbitrary<Json> {
  const properties = isRecord(node.properties) ? node.properties : {};
  const required = Array.isArray(node.required) ? node.required : [];
  const declared = fc.record(
    Object.fromEntries(Object.keys(properties).map((name) => [name, valuesOf(root, properties[name], depth + 1)])),
    { requiredKeys: Object.keys(properties).filter((name) => required.includes(name)) },
  ) as fc.Arbitrary<Record<string, Json>>;
  if (node.additionalProperties === false || (depth === 0 && node.additionalProperties === undefined)) return declared;
  const more = fc.dictionary(
    fc.oneof(
      fc.constantFrom(...KEYS),
      fc.string({ maxLength: 3 }).filter((key) => key !== '__proto__'),
    ),
    valuesOf(root, node.additionalProperties, depth + 1),
    { maxKeys: 2 },
  );
  return fc.tuple(more, declared).map(([extra, own]) => ({ ...extra, ...own }));
}

function mergeNodes(one: Node, other: Node, root: Node): Node {
  const target = typeof other.$ref === 'string' ? lookUp(root, other.$ref) : other;
  const b = isRecord(target) ? target : {};
  return {
    ...one,
    ...b,
    ...(isRecord(one.properties) || isRecord(b.properties)
      ? { properties: { ...(one.properties as Node), ...(b.properties as Node) } }
      : {}),
    required: [...((one.required as []) ?? []), ...((b.required as []) ?? [])],
  };
}

export function lookUp(root: Node, ref: string): unknown {
  return ref
    .replace(/^#\/?/, '')
    .split('/')
    .filter(Boolean)
    .reduce<unknown>((target, step) => (isRecord(target) ? target[step] : undefined), root);
}
