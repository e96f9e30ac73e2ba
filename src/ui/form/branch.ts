// Finds the branch of a union that a value belongs to.

import { orNothing } from '../../core/error.js';
import { isRecord, type Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { describeField } from './describe.js';
import type { Branch, Field, FieldOf } from './field.js';

// Deeper parts do not tell branches apart in practice.
const MAX_DEPTH = 4;

/** Returns the index of the branch that fits best, by its parts, then by its type; -1 if none has the type. */
export function findBranch(value: Json, branches: readonly Branch[], root: JsonSchema): number {
  const fields = branches.map(({ schema }) => describeField(schema, root));
  const exact = fields.findIndex((field) => fits(value, field, root, MAX_DEPTH));
  return exact >= 0 ? exact : fields.findIndex((field) => fits(value, field, root, 0));
}

export function canShow(value: Json, field: Field, root: JsonSchema): boolean {
  return fits(value, field, root, 0);
}

function fits(value: Json, field: Field, root: JsonSchema, depth: number): boolean {
  switch (field.kind) {
    case 'text':
      return typeof value === 'string';
    case 'number':
      return field.integer ? Number.isInteger(value) : typeof value === 'number';
    case 'boolean':
      return typeof value === 'boolean';
    case 'null':
      return value === null;
    case 'choice':
      return field.values.some((other) => JSON.stringify(other) === JSON.stringify(value));
    case 'list':
      return Array.isArray(value) && (depth === 0 || fitsItems(value, field, root, depth));
    case 'object':
      return isRecord(value) && (depth === 0 || fitsProperties(value as { [key: string]: Json }, field, root, depth));
    case 'union':
      return field.branches.some(({ schema }) => fits(value, describeField(schema, root), root, depth));
    case 'never':
      return false;
  }
}

function fitsItems(value: readonly Json[], field: FieldOf<'list'>, root: JsonSchema, depth: number): boolean {
  return value.every((item, index) => fits(item, describeField(itemSchema(field, index), root), root, depth - 1));
}

function fitsProperties(
  value: { readonly [key: string]: Json },
  field: FieldOf<'object'>,
  root: JsonSchema,
  depth: number,
): boolean {
  const isComplete = field.properties.every(({ name, required }) => !required || Object.hasOwn(value, name));
  return (
    isComplete &&
    Object.entries(value).every(([name, child]) => {
      const schema = propertySchema(field, name);
      return schema === undefined ? true : fits(child, describeField(schema, root), root, depth - 1);
    })
  );
}

export function itemSchema(field: FieldOf<'list'>, index: number): unknown {
  return index < field.prefix.length ? field.prefix[index] : field.items;
}

/** Returns the schema of a property: its own, that of a pattern, or that of further properties. */
export function propertySchema(field: FieldOf<'object'>, name: string): unknown {
  const own = field.properties.find((property) => property.name === name);
  if (own !== undefined) return own.schema;
  const pattern = field.patterns.find(([text]) => matches(text, name));
  return pattern === undefined ? field.extra : pattern[1];
}

function matches(pattern: string, name: string): boolean {
  return orNothing(() => new RegExp(pattern, 'u').test(name)) ?? false;
}
