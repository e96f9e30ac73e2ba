// Merges the keywords of two schema nodes that apply to the same value.

import { isRecord } from '../../core/json.js';
import type { SchemaNode } from '../../core/schema.js';

// Unions in both nodes become one; more branches than this are not worth showing.
const MAX_BRANCHES = 64;

const LOWER = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']);
const UPPER = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']);
const BY_NAME = new Set(['properties', 'patternProperties']);
const SCHEMAS = new Set(['items', 'additionalProperties', 'unevaluatedProperties', 'propertyNames']);

/** Returns a node that allows what both allow, as far as a form shows it; texts are those of the first. */
export function mergeNodes(one: SchemaNode, other: SchemaNode): SchemaNode {
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
