// Fills in a form as a person would: chooses branches, adds properties and items, and enters values that the notes ask for.

import fc from 'fast-check';
import { isRecord, type Json } from '../../src/core/json.js';
import type { JsonSchema, SchemaNode } from '../../src/core/schema.js';
import { itemSchema, propertySchema } from '../../src/ui/form/branch.js';
import { describeField } from '../../src/ui/form/describe.js';
import type { FieldOf } from '../../src/ui/form/field.js';
import { openNode } from '../../src/ui/form/node.js';
import {
  branchAt,
  chooseBranch,
  createForm,
  type FormState,
  type Path,
  setValue,
  valueAt,
} from '../../src/ui/form/state.js';

const MAX_DEPTH = 5;
const BY_FORMAT: Readonly<Record<string, string>> = {
  date: '2026-11-15',
  time: '06:00:00Z',
  'date-time': '2026-11-15T06:00:00Z',
  duration: 'P1D',
  email: 'ada@example.org',
  uri: 'https://example.org/a',
  url: 'https://example.org/a',
  'uri-reference': '/a',
  uuid: '3f2b0c1e-8d0a-4c6e-9a51-0a1b2c3d4e5f',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  hostname: 'example.org',
  regex: '^a$',
  'json-pointer': '/a',
};

export interface Filling {
  readonly state: FormState;
  /** Places that have no usable field. */
  readonly unusable: readonly string[];
}

/** Fills in the form of a schema. Attempt 0 enters what is required, the others vary. */
export function fillForm(root: JsonSchema, attempt: number): Filling {
  const unusable: string[] = [];
  let seed = attempt * 7919 + 1;
  const pick = (count: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return attempt === 0 ? 0 : Math.floor((seed / 2147483648) * count);
  };
  let state = createForm(root);
  const set = (path: Path, value: Json): void => {
    state = setValue(state, path, value);
  };

  const fill = (schema: unknown, path: Path): void => {
    const field = describeField(schema, root);
    const node = openNode(schema, root) || {};
    switch (field.kind) {
      case 'union': {
        const simple = field.branches.findIndex((branch) => isSimple(branch.schema, root));
        const isDeep = path.length > MAX_DEPTH;
        const index = isDeep ? (simple >= 0 ? simple : field.branches.length - 1) : pick(field.branches.length);
        state = chooseBranch(state, path, { branches: field.branches, index, root });
        if (branchAt(state, path, field.branches, root) !== index) unusable.push(`${path.join('/')}: branch ${index}`);
        fill(field.branches[index]!.schema, path);
        break;
      }
      case 'text':
        set(path, textFor(node, pick(1000)));
        break;
      case 'number':
        set(path, numberFor(node, field.integer, pick(5)));
        break;
      case 'boolean':
        set(path, pick(2) === 1);
        break;
      case 'null':
        set(path, null);
        break;
      case 'choice':
        set(path, field.values[pick(field.values.length)]!);
        break;
      case 'list':
        fillList(field, node, path);
        break;
      case 'object':
        fillObject(field, node, path);
        break;
      case 'never':
        unusable.push(path.join('/'));
    }
  };

  const fillList = (field: FieldOf<'list'>, node: SchemaNode, path: Path): void => {
    const most = typeof node.maxItems === 'number' ? node.maxItems : Number.POSITIVE_INFINITY;
    const more = path.length > MAX_DEPTH ? 0 : pick(3);
    const closed = field.items === false ? field.prefix.length : most;
    const length = Math.min(
      Math.max(field.min, field.prefix.length > 0 ? pick(field.prefix.length + 1) : more),
      closed,
    );
    set(path, []);
    for (let index = 0; index < length; index++) fill(itemSchema(field, index), [...path, index]);
  };

  const fillObject = (field: FieldOf<'object'>, node: SchemaNode, path: Path): void => {
    const least = typeof node.minProperties === 'number' ? node.minProperties : 0;
    if (!isRecord(valueAt(state.value, path))) set(path, {});
    for (const { name, schema, required } of field.properties)
      if (required || (path.length <= MAX_DEPTH && pick(3) === 1)) fill(schema, [...path, name]);
    const size = (): number => Object.keys(valueAt(state.value, path) as object).length;
    for (const { name, schema } of field.properties)
      if (size() < least && valueAt(state.value, [...path, name]) === undefined) fill(schema, [...path, name]);
    if (field.extra === false && field.patterns.length === 0) return;
    for (let index = 0; size() < least && index < 20; index++) {
      const names = field.patterns.length > 0 ? { pattern: field.patterns[0]![0] } : openNode(node.propertyNames, {});
      const name = textFor(names || {}, index + attempt * 20) || `key${index}`;
      fill(propertySchema(field, name) ?? true, [...path, name]);
    }
  };

  fill(root, []);
  return { state, unusable };
}

function isSimple(schema: unknown, root: JsonSchema): boolean {
  return !['union', 'object', 'list'].includes(describeField(schema, root).kind);
}

function textFor(node: SchemaNode, seed: number): string {
  const least = typeof node.minLength === 'number' ? node.minLength : 0;
  if (Array.isArray(node.enum)) return String(node.enum[seed % node.enum.length]);
  if (typeof node.pattern === 'string') {
    const size = least > 10 ? { size: 'max' as const } : {};
    const [found] = fc.sample(
      fc.stringMatching(new RegExp(node.pattern, 'u'), size).filter((text) => text.length >= least),
      { numRuns: 1, seed },
    );
    return found ?? '';
  }
  const text = BY_FORMAT[String(node.format)] ?? ['text', 'a', 'left', '1'][seed % 4]!;
  const most = typeof node.maxLength === 'number' ? node.maxLength : Number.POSITIVE_INFINITY;
  return text.padEnd(least, 'x').slice(0, most);
}

function numberFor(node: SchemaNode, integer: boolean, more: number): number {
  const number = (key: string): number | undefined =>
    typeof node[key] === 'number' ? (node[key] as number) : undefined;
  const step = number('multipleOf') ?? (integer ? 1 : undefined);
  const above = number('exclusiveMinimum');
  const below = number('exclusiveMaximum');
  const low = number('minimum') ?? (above === undefined ? undefined : above + (step ?? 1e-3));
  const high = number('maximum') ?? (below === undefined ? undefined : below - (step ?? 1e-3));
  const start = low ?? (high === undefined ? 0 : Math.min(0, high));
  const value = step === undefined ? start : Math.ceil(start / step) * step;
  const next = value + more * (step ?? 1);
  return high !== undefined && next > high ? value : next;
}
