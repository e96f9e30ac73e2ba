// The state of a form: its value, what is wrong with it, and first values.

import { isRecord, type Json, toPointer } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { findBranch, itemSchema } from './branch.js';
import { describeField } from './describe.js';
import type { FieldOf } from './field.js';

export type Path = readonly (string | number)[];

export interface FormState {
  readonly value: Json;
  /** Branches that a person chose, by JSON Pointer; without one the value decides. */
  readonly choices: Readonly<Record<string, number>>;
}

/** Starts a form with what its schema fixes, or with a given value. */
export function createForm(root: JsonSchema, value: Json = initialValue(root, root)): FormState {
  return { value, choices: {} };
}

/** Returns the value at a path; undefined if it is absent. */
export function valueAt(value: Json | undefined, path: Path): Json | undefined {
  let here: Json | undefined = value;
  for (const step of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as { readonly [key: string]: Json })[step];
  }
  return here;
}

export function setValue(state: FormState, path: Path, value: Json): FormState {
  return { ...state, value: change(state.value, path, () => value)! };
}

/** Removes the value at a path: a property becomes absent, the items after an item move up. */
export function removeValue({ value, choices }: FormState, path: Path): FormState {
  return { value: change(value, path, () => undefined) ?? {}, choices: without(choices, toPointer(path.slice(0, -1))) };
}

/** Chooses a branch of a union, and starts it with a new value unless the present one belongs to it. */
export function chooseBranch(
  state: FormState,
  path: Path,
  { branches, index, root }: { branches: FieldOf<'union'>['branches']; index: number; root: JsonSchema },
): FormState {
  const pointer = toPointer(path);
  const here = valueAt(state.value, path);
  const keeps = here !== undefined && findBranch(here, [branches[index]!], root) === 0;
  const next = keeps ? state : setValue(state, path, initialValue(branches[index]!.schema, root));
  return { value: next.value, choices: { ...without(state.choices, pointer), [pointer]: index } };
}

/** Returns the branch to show for a value. */
export function branchAt(
  state: FormState,
  path: Path,
  branches: FieldOf<'union'>['branches'],
  root: JsonSchema,
): number {
  const chosen = state.choices[toPointer(path)];
  if (chosen !== undefined && chosen < branches.length) return chosen;
  const value = valueAt(state.value, path);
  return value === undefined ? -1 : findBranch(value, branches, root);
}

/** Keeps a branch that the value decided on, whatever is entered next. */
export function keepBranch(state: FormState, path: Path, index: number): FormState {
  const pointer = toPointer(path);
  if (state.choices[pointer] === index) return state;
  return { ...state, choices: { ...state.choices, [pointer]: index } };
}

/** Renames a property, at its position; returns the same state if the name is taken or reserved. */
export function renameProperty(state: FormState, path: Path, from: string, to: string): FormState {
  const object = valueAt(state.value, path);
  if (!isRecord(object) || Object.hasOwn(object, to) || to === '__proto__') return state;
  const renamed = Object.fromEntries(Object.entries(object).map(([name, value]) => [name === from ? to : name, value]));
  return { value: setValue(state, path, renamed as Json).value, choices: without(state.choices, toPointer(path)) };
}

function change(value: Json | undefined, path: Path, edit: () => Json | undefined): Json | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return edit();
  if (typeof step === 'number') {
    const items = Array.isArray(value) ? [...value] : [];
    const next = change(items[step], rest, edit);
    if (next === undefined) items.splice(step, 1);
    else items[step] = next;
    return items;
  }
  const properties = isRecord(value) ? { ...value } : {};
  const next = change(properties[step] as Json | undefined, rest, edit);
  if (next === undefined) delete properties[step];
  else properties[step] = next;
  return properties as Json;
}

// Forgets the choices below a place.
function without(choices: FormState['choices'], pointer: string): FormState['choices'] {
  return Object.fromEntries(
    Object.entries(choices).filter(([key]) => key !== pointer && !key.startsWith(`${pointer}/`)),
  );
}

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
