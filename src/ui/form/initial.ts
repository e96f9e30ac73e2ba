// The value that a field starts with when it is added.

import type { Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { itemSchema } from './branch.js';
import { describeField } from './describe.js';

const MAX_DEPTH = 6;
const MAX_ITEMS = 20;
const MAX_VALUES = 500;

/** Returns the smallest value of a field that a person can go on with; what they must enter themselves is absent. */
export function initialValue(schema: unknown, root: JsonSchema): Json {
  return startValue(schema, root, 0, { left: MAX_VALUES });
}

// Further parts of a large value are left out: a schema can require more than memory can hold.
function startValue(schema: unknown, root: JsonSchema, depth: number, budget: { left: number }): Json {
  const field = describeField(schema, root);
  budget.left--;
  const isFull = depth > MAX_DEPTH || budget.left <= 0;
  switch (field.kind) {
    case 'text':
      return '';
    case 'number':
      return 0;
    case 'boolean':
      return false;
    case 'choice':
      return field.values[0]!;
    case 'list': {
      const length = Math.min(Math.max(field.min, field.items === false ? field.prefix.length : 0), MAX_ITEMS);
      if (isFull) return [];
      return Array.from({ length }, (_, index) => startValue(itemSchema(field, index), root, depth + 1, budget));
    }
    case 'object': {
      if (isFull) return {};
      const given = field.properties.filter(({ schema: part, required }) => required && isGiven(part, root));
      return Object.fromEntries(
        given.map(({ name, schema: part }) => [name, startValue(part, root, depth + 1, budget)]),
      );
    }
    case 'union':
      return startValue(field.branches[0]!.schema, root, depth + 1, budget);
    default:
      return null;
  }
}

// Constants and containers are filled in; everything else is a decision.
function isGiven(schema: unknown, root: JsonSchema): boolean {
  const field = describeField(schema, root);
  return field.kind === 'choice' ? field.values.length === 1 : ['object', 'null'].includes(field.kind);
}
