// Names the branches of a union.

import { isRecord } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import type { Field } from './field.js';
import { openNode } from './node.js';

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
export function labelBranches(fields: readonly Field[], root: JsonSchema): string[] {
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
      return field.format ?? 'text';
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
