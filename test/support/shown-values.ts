// Finds the parts of a value that a form cannot show.

import { isRecord, type Json, toPointer } from '../../src/core/json.js';
import type { JsonSchema } from '../../src/core/schema.js';
import { canShow, itemSchema, propertySchema } from '../../src/ui/form/branch.js';
import { describeField } from '../../src/ui/form/describe.js';
import { branchAt, type FormState, type Path, valueAt } from '../../src/ui/form/state.js';

/** Returns the JSON Pointers of values that have no field of their kind. */
export function findUnshown(state: FormState, root: JsonSchema): string[] {
  const walk = (schema: unknown, path: Path): string[] => {
    const value = valueAt(state.value, path) as Json;
    const field = describeField(schema, root);
    if (field.kind === 'union') {
      const index = branchAt(state, path, field.branches, root);
      return index < 0 ? [toPointer(path)] : walk(field.branches[index]!.schema, path);
    }
    if (!canShow(value, field, root)) return [toPointer(path)];
    if (field.kind === 'list')
      return (value as readonly Json[]).flatMap((_, index) => walk(itemSchema(field, index), [...path, index]));
    if (field.kind === 'object' && isRecord(value))
      return Object.keys(value).flatMap((name) => walk(propertySchema(field, name) ?? true, [...path, name]));
    return [];
  };
  return walk(root, []);
}
