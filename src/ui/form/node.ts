// Schemas as nodes of a form: references resolved, and parts of allOf merged.

import { isRecord } from '../../core/json.js';
import { type JsonSchema, lookUp, type SchemaNode } from '../../core/schema.js';

const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];
const CONDITIONAL = ['then', 'else'];
// Each part is merged into a copy of the others; more are not worth showing.
const MAX_PARTS = 200;

const opened = new WeakMap<object, SchemaNode | false>();

/** Returns the keywords that apply to a value; false if no value is allowed. */
export function openNode(schema: unknown, root: JsonSchema): SchemaNode | false {
  if (schema === false) return false;
  if (!isRecord(schema)) return {};
  let known = opened.get(schema);
  if (known === undefined) {
    // A schema that contains itself for the same value restricts nothing; the validator rejects it.
    opened.set(schema, {});
    known = open(schema, root);
    opened.set(schema, known);
  }
  return known;
}

function open(schema: SchemaNode, root: JsonSchema): SchemaNode | false {
  const { allOf, dependentSchemas, ...rest } = schema;
  let node: SchemaNode = Object.fromEntries(Object.entries(rest).filter(([key]) => !REFERENCES.includes(key)));
  const targets = REFERENCES.flatMap((key) => (typeof schema[key] === 'string' ? [lookUp(root, schema[key])] : []));
  for (const part of [...targets, ...(Array.isArray(allOf) ? allOf.slice(0, MAX_PARTS) : [])]) {
    const other = openNode(part, root);
    if (other === false) return false;
    node = mergeNodes(node, other);
  }
  const conditional = CONDITIONAL.flatMap((key) => (key in schema ? [schema[key]] : []));
  if (isRecord(dependentSchemas)) conditional.push(...Object.values(dependentSchemas).slice(0, MAX_PARTS));
  for (const part of conditional) {
    const other = openNode(part, root);
    if (other !== false) node = addOptional(node, other);
  }
  return node;
}

// Whether a condition holds depends on the value, so its properties are offered and its requirements are not.
function addOptional(node: SchemaNode, other: SchemaNode): SchemaNode {
  if (!isRecord(other.properties)) return node;
  const properties: Record<string, unknown> = isRecord(node.properties) ? { ...node.properties } : {};
  for (const [name, schema] of Object.entries(other.properties)) {
    if (schema === false) continue;
    if (isEmpty(properties[name])) properties[name] = schema;
  }
  return { ...node, properties };
}

function isEmpty(schema: unknown): boolean {
  return schema === undefined || schema === true || (isRecord(schema) && Object.keys(schema).length === 0);
}

// Unions in both nodes become one; more branches than this are not worth showing.
const MAX_BRANCHES = 64;

const LOWER = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']);
const UPPER = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']);
const BY_NAME = new Set(['properties', 'patternProperties']);
const SCHEMAS = new Set(['items', 'additionalProperties', 'unevaluatedProperties', 'propertyNames']);

/** Returns a node that allows what both allow, as far as a form shows it; texts are those of the first. */
function mergeNodes(one: SchemaNode, other: SchemaNode): SchemaNode {
  const merged: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    const own = one[key];
    if (own === undefined) merged[key] = value;
    else if (key === 'required' && Array.isArray(own) && Array.isArray(value))
      merged[key] = [...new Set([...own, ...value])];
    else if (key === 'type') merged[key] = mergeTypes(own, value);
    else if (key === 'enum' && Array.isArray(own) && Array.isArray(value)) merged[key] = intersect(own, value);
    else if (LOWER.has(key)) merged[key] = Math.max(Number(own), Number(value));
    else if (UPPER.has(key)) merged[key] = Math.min(Number(own), Number(value));
    else if (BY_NAME.has(key) && isRecord(own) && isRecord(value)) merged[key] = mergeNamed(own, value);
    else if (SCHEMAS.has(key)) merged[key] = both(own, value);
    else if ((key === 'anyOf' || key === 'oneOf') && Array.isArray(own) && Array.isArray(value))
      merged[key] = combine(own, value);
  }
  return merged;
}

function both(one: unknown, other: unknown): unknown {
  if (one === false || other === false) return false;
  if (one === true) return other;
  return other === true ? one : { allOf: [one, other] };
}

function mergeNamed(one: SchemaNode, other: SchemaNode): SchemaNode {
  const merged: Record<string, unknown> = { ...one };
  for (const [name, schema] of Object.entries(other))
    merged[name] = Object.hasOwn(one, name) ? both(one[name], schema) : schema;
  return merged;
}

function mergeTypes(one: unknown, other: unknown): unknown {
  const [a, b] = [toList(one), toList(other)];
  const common = a.flatMap((type) => {
    if (b.includes(type)) return [type];
    if (type === 'number' && b.includes('integer')) return ['integer'];
    return type === 'integer' && b.includes('number') ? ['integer'] : [];
  });
  return common.length === 1 ? common[0] : common;
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function intersect(one: readonly unknown[], other: readonly unknown[]): unknown[] {
  const texts = new Set(other.map((value) => JSON.stringify(value)));
  return one.filter((value) => texts.has(JSON.stringify(value)));
}

function combine(one: readonly unknown[], other: readonly unknown[]): readonly unknown[] {
  if (one.length * other.length > MAX_BRANCHES) return one;
  return one.flatMap((a) => other.map((b) => both(a, b)));
}
