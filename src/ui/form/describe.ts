// Describes a schema as fields of a form, with their labels.

import { describeConstraints, describeFormat } from '../../core/constraints.js';
import { isRecord, type Json } from '../../core/json.js';
import { hasType, type JsonSchema, type SchemaNode } from '../../core/schema.js';
import type { Field, FieldKind, FieldTexts } from './field.js';
import { openNode } from './node.js';

const ANY = ['string', 'number', 'boolean', 'object', 'array', 'null'];
// Keywords that show which type is meant, where there is no `type`.
const HINTS: readonly (readonly [string, readonly string[]])[] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'propertyNames']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains']],
  ['string', ['pattern', 'format', 'minLength', 'maxLength']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];
const MAX_NESTED_UNIONS = 4;
// Unions in one field. More are a cycle, which the validator rejects.
const MAX_UNIONS = 500;

const described = new WeakMap<object, Field>();

// Where a description is: how deep in unions, and how many more may follow.
interface Nesting {
  readonly depth: number;
  readonly budget: { left: number };
}

export function describeField(schema: unknown, root: JsonSchema): Field {
  return describeNested(schema, root, { depth: 0, budget: { left: MAX_UNIONS } });
}

function describeNested(schema: unknown, root: JsonSchema, nesting: Nesting): Field {
  if (!isRecord(schema)) return describe(schema, root, nesting);
  let field = described.get(schema);
  if (field === undefined) {
    field = describe(schema, root, nesting);
    described.set(schema, field);
  }
  return field;
}

function describe(schema: unknown, root: JsonSchema, nesting: Nesting): Field {
  const node = nesting.budget.left-- < 0 ? false : openNode(schema, root);
  if (node === false) return { kind: 'never', title: undefined, description: undefined, default: undefined, notes: [] };
  return { ...textsOf(node), ...kindOf(node, root, nesting) };
}

function textsOf(node: SchemaNode): FieldTexts {
  return {
    title: textAt(node, 'title'),
    description: textAt(node, 'description'),
    default: node.default as Json | undefined,
    notes: describeNotes(node),
  };
}

function textAt(node: SchemaNode, keyword: string): string | undefined {
  const value = node[keyword];
  return typeof value === 'string' ? value : undefined;
}

function kindOf(node: SchemaNode, root: JsonSchema, nesting: Nesting): FieldKind {
  if ('const' in node) return { kind: 'choice', values: [node.const as Json] };
  if (Array.isArray(node.enum)) {
    const types = typesOf(node);
    const values =
      'type' in node ? node.enum.filter((value) => types.some((type) => hasType(value as Json, type))) : node.enum;
    return values.length === 0 ? { kind: 'never' } : { kind: 'choice', values };
  }
  for (const keyword of ['anyOf', 'oneOf']) {
    const branches = node[keyword];
    if (!Array.isArray(branches) || branches.length === 0) continue;
    const { [keyword]: _, title: _title, description: _description, default: _default, ...base } = node;
    const parts = Object.keys(base).length === 0 ? branches : branches.map((branch) => ({ allOf: [branch, base] }));
    return toUnion(parts, root, nesting);
  }
  const types = typesOf(node);
  if (types.length === 1) return kindOfType(types[0]!, node);
  const { title: _title, description: _description, default: _default, ...base } = node;
  return toUnion(
    types.map((type) => ({ ...base, type })),
    root,
    nesting,
  );
}

// A union in a union is shown as one, unless it has a title.
function toUnion(schemas: readonly unknown[], root: JsonSchema, { depth, budget }: Nesting): FieldKind {
  const flat = schemas.flatMap((schema) => {
    const field = describeNested(schema, root, { depth: depth + 1, budget });
    if (field.kind === 'never') return [];
    const isNested = field.kind === 'union' && field.title === undefined && depth < MAX_NESTED_UNIONS;
    return isNested
      ? field.branches.map((branch) => ({ schema: branch.schema, field: describeField(branch.schema, root) }))
      : [{ schema, field }];
  });
  if (flat.length === 0) return { kind: 'never' };
  if (flat.length === 1) return flat[0]!.field;
  const labels = labelBranches(
    flat.map(({ field }) => field),
    root,
  );
  return { kind: 'union', branches: flat.map(({ schema }, index) => ({ schema, label: labels[index]! })) };
}

function typesOf({ type, ...node }: SchemaNode): readonly string[] {
  const declared = (Array.isArray(type) ? type : [type]).map((entry) => String(entry).toLowerCase()).filter(isType);
  if (declared.length > 0) return declared;
  const hinted = HINTS.filter(([, keywords]) => keywords.some((keyword) => keyword in node)).map(([name]) => name);
  return hinted.length > 0 ? hinted : ANY;
}

// Types such as `STRING` or `file` occur; the validator rejects what is entered for them.
function isType(name: string): boolean {
  return name === 'integer' || ANY.includes(name);
}

function kindOfType(type: string, node: SchemaNode): FieldKind {
  switch (type) {
    case 'string':
      return { kind: 'text', format: textAt(node, 'format') };
    case 'number':
    case 'integer':
      return { kind: 'number', integer: type === 'integer' };
    case 'boolean':
    case 'null':
      return { kind: type };
    case 'object':
      return objectOf(node);
    case 'array':
      return listOf(node);
    default:
      return { kind: 'never' };
  }
}

function objectOf(node: SchemaNode): FieldKind {
  const properties = isRecord(node.properties) ? node.properties : {};
  const required = Array.isArray(node.required) ? node.required.filter((name) => typeof name === 'string') : [];
  const names = [...new Set([...Object.keys(properties), ...required])];
  return {
    kind: 'object',
    properties: names
      .filter((name) => properties[name] !== false)
      .map((name) => ({
        name,
        schema: Object.hasOwn(properties, name) ? properties[name] : (node.additionalProperties ?? true),
        required: required.includes(name),
      })),
    extra: node.additionalProperties ?? node.unevaluatedProperties,
    patterns: isRecord(node.patternProperties) ? Object.entries(node.patternProperties) : [],
  };
}

function listOf(node: SchemaNode): FieldKind {
  // `items` with a list is the tuple of older drafts.
  const isOld = Array.isArray(node.items);
  const prefix = Array.isArray(node.prefixItems) ? node.prefixItems : isOld ? (node.items as unknown[]) : [];
  const items = isOld ? node.additionalItems : (node.items ?? node.unevaluatedItems);
  const max = typeof node.maxItems === 'number' ? node.maxItems : Number.POSITIVE_INFINITY;
  return {
    kind: 'list',
    prefix: prefix.slice(0, max),
    items: max <= prefix.length ? false : (items ?? true),
    min: typeof node.minItems === 'number' ? node.minItems : 0,
  };
}

function describeNotes(node: SchemaNode): string[] {
  const { format, type } = node;
  // Formats of numbers name their size in memory, and those of zod's `startsWith` are patterns.
  const isOther =
    type === 'string' && typeof format === 'string' && !/^(?:starts_with|ends_with|includes)$/.test(format);
  const isUnknown = isOther && describeFormat(format) === undefined;
  return [...describeConstraints(node), ...(isUnknown ? [`format ${format}`] : [])];
}

const MAX_NAMES = 3;
// Of a label that consists of others, which would double in length with each level.
const MAX_LENGTH = 80;
const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'numbers',
  integer: 'whole numbers',
  boolean: 'true or false',
  object: 'objects',
};

/** Returns a different label for each field. */
function labelBranches(fields: readonly Field[], root: JsonSchema): string[] {
  const labels = fields.map((field) => field.title ?? labelOf(field, root));
  return labels.map((label, index) => {
    const before = labels.slice(0, index).filter((other) => other === label).length;
    return labels.lastIndexOf(label) > index || before > 0 ? `${label} (${before + 1})` : label;
  });
}

// Parts are only opened, not described: a union can contain itself.
function labelOf(field: Field, root: JsonSchema): string {
  switch (field.kind) {
    case 'text':
      // `an email address` is the label `email address`.
      return describeFormat(field.format)?.replace(/^an? | such as .*/g, '') ?? field.format ?? 'text';
    case 'number':
      return field.integer ? 'whole number' : 'number';
    case 'boolean':
      return 'true or false';
    case 'choice':
      return shorten(
        field.values.map((value) => JSON.stringify(value)),
        ' or ',
      );
    case 'list': {
      const item = field.prefix.length > 0 ? false : openNode(field.items, root);
      const name = item === false ? undefined : TYPE_NAMES[String(item.type)];
      return name === undefined ? 'list' : `list of ${name}`;
    }
    case 'object': {
      const fixed = field.properties.flatMap(({ name, schema }) => constantOf(name, openNode(schema, root)));
      const required = field.properties.filter((property) => property.required).map(({ name }) => name);
      const named = fixed.length > 0 ? fixed : required;
      return named.length === 0 ? 'object' : `object with ${shorten(named, ', ')}`;
    }
    case 'union':
      return shorten(
        field.branches.map(({ label }) => label),
        ' or ',
      );
    default:
      return field.kind;
  }
}

function constantOf(name: string, node: unknown): string[] {
  if (!isRecord(node)) return [];
  if ('const' in node) return [`${name} ${JSON.stringify(node.const)}`];
  return Array.isArray(node.enum) && node.enum.length === 1 ? [`${name} ${JSON.stringify(node.enum[0])}`] : [];
}

function shorten(names: readonly string[], separator: string): string {
  const text = names.slice(0, MAX_NAMES).join(separator);
  if (text.length > MAX_LENGTH) return `${text.slice(0, MAX_LENGTH)}…`;
  return text + (names.length > MAX_NAMES ? ' …' : '');
}
