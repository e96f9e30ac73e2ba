import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { spec } from '../../../test/support/spec.js';
import type { JsonSchema } from '../../core/schema.js';
import { findBranch } from './branch.js';
import { describeField } from './describe.js';
import { describeFault } from './faults.js';
import type { Field } from './field.js';
import { branchAt, chooseBranch, createForm, removeValue, renameProperty, setValue, valueAt } from './state.js';

const fieldOf = (schema: JsonSchema): Field => describeField(schema, schema);
const labelsOf = (schema: JsonSchema): string[] => {
  const field = fieldOf(schema);
  return field.kind === 'union' ? field.branches.map(({ label }) => label) : [];
};

describe('fields', () => {
  spec('UI-50', 'name the branches of a union', () => {
    expect(labelsOf({ type: ['string', 'null'] })).toEqual(['text', 'null']);
    expect(
      labelsOf({
        anyOf: [
          { type: 'string', format: 'date' },
          { type: 'array', items: { type: 'integer' } },
        ],
      }),
    ).toEqual(['date', 'list of whole numbers']);
    expect(labelsOf({ oneOf: [{ properties: { kind: { const: 'a' } } }, { title: 'Other', type: 'object' }] })).toEqual(
      ['object with kind "a"', 'Other'],
    );
    expect(labelsOf({ anyOf: [{ type: 'object' }, { type: 'object' }] })).toEqual(['object (1)', 'object (2)']);
    expect(labelsOf({})).toEqual(['text', 'number', 'true or false', 'object', 'list', 'null']);
  });

  spec('UI-50', 'merge allOf, also with references and unions beside it', () => {
    const root: JsonSchema = {
      type: 'object',
      $defs: { base: { properties: { id: { type: 'string' } }, required: ['id'] } },
      allOf: [{ $ref: '#/$defs/base' }, { properties: { id: { minLength: 2 }, size: { type: 'integer' } } }],
      anyOf: [{ required: ['size'] }, { required: ['id'] }],
    };
    const field = fieldOf(root);
    expect(field.kind).toBe('union');
    const branch = describeField((field as Extract<Field, { kind: 'union' }>).branches[0]!.schema, root);
    expect(branch).toMatchObject({
      kind: 'object',
      properties: [
        { name: 'id', required: true },
        { name: 'size', required: true },
      ],
    });
    const [id] = (branch as Extract<Field, { kind: 'object' }>).properties;
    expect(describeField(id!.schema, root)).toMatchObject({ kind: 'text', notes: ['at least 2 characters'] });
  });

  spec('UI-76', 'are described in words, without the patterns and ranges that libraries write', () => {
    const notesOf = (schema: z.ZodType): string => fieldOf(z.toJSONSchema(schema) as JsonSchema).notes.join('; ');
    expect(notesOf(z.email())).toBe('an email address');
    expect(notesOf(z.int())).toBe('');
    expect(notesOf(z.int32())).toBe('');
    expect(notesOf(z.uint32())).toBe('at least 0');
    expect(notesOf(z.float32().positive())).toBe('more than 0');
    expect(notesOf(z.int().min(1).max(10).multipleOf(2))).toBe('1 to 10; a multiple of 2');
    expect(notesOf(z.iso.datetime())).toBe('a date and time such as 2026-01-31T09:30:00Z');
    expect(notesOf(z.iso.date())).toBe('a date such as 2026-01-31');
    expect(notesOf(z.iso.time())).toBe('a time such as 09:30');
    expect(notesOf(z.iso.time({ precision: -1 }))).toBe('a time such as 09:30');
    expect(notesOf(z.iso.time({ precision: 0 }))).toBe('a time such as 09:30:00');
    expect(notesOf(z.iso.time({ precision: 3 }))).toBe('a time such as 09:30:00.000');
    expect(notesOf(z.e164())).toBe('a phone number such as +442079460123');
    expect(notesOf(z.uuid())).toBe('a UUID');
    expect(notesOf(z.string().min(1))).toBe('not empty');
    expect(notesOf(z.string().length(1))).toBe('exactly 1 character');
    expect(notesOf(z.string().regex(/^[A-Z]{2}$/))).toBe('matches ^[A-Z]{2}$');
    expect(notesOf(z.string().startsWith('ab'))).toBe('matches ^ab.*');
    expect(notesOf(z.array(z.email()).max(1))).toBe('at most 1 item');
    expect(notesOf(z.record(z.string(), z.int()).meta({ minProperties: 2 }))).toBe('at least 2 properties');
    expect(labelsOf(z.toJSONSchema(z.union([z.email(), z.iso.date(), z.int()])) as JsonSchema)).toEqual([
      'email address',
      'date',
      'whole number',
    ]);
    const fault = (expected: string, got: string): string => describeFault({ path: '/a', expected, got });
    expect(fault('a value', 'nothing')).toBe('is required');
    expect(fault('string or integer', 'true')).toBe('must be text or a whole number, got true');
    expect(fault('no such parameter', 'undeclared "a"')).toBe('is not a parameter of this tool');
  });

  spec('UI-50', 'omit what is impossible, and offer what depends on other values', () => {
    const field = fieldOf({
      type: 'object',
      properties: { never: false, kind: { enum: ['a', 'b'] } },
      dependentSchemas: { kind: { properties: { more: { type: 'string' } }, required: ['more'] } },
    });
    expect(field).toMatchObject({
      properties: [
        { name: 'kind', required: false },
        { name: 'more', required: false },
      ],
    });
    expect(fieldOf({ type: 'string', enum: [1, 2] }).kind).toBe('never');
  });

  test('a schema that refers to itself for the same value ends', () => {
    const root: JsonSchema = {
      $ref: '#/$defs/a',
      $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] } },
    };
    expect(fieldOf(root)).toBeDefined();
    expect(fieldOf({ $ref: '#/$defs/missing' }).kind).toBe('union');
  });
});

describe('edits', () => {
  const root: JsonSchema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      note: { type: ['string', 'null'] },
      tags: { type: 'array', items: { type: 'string' } },
    },
  };

  spec('UI-51', 'tell absent, null and empty apart', () => {
    let state = createForm(root);
    expect(state.value).toEqual({});
    state = setValue(state, ['name'], '');
    state = setValue(state, ['note'], null);
    state = setValue(state, ['tags'], []);
    expect(state.value).toEqual({ name: '', note: null, tags: [] });
    for (const name of ['name', 'note', 'tags']) state = removeValue(state, [name]);
    expect(state.value).toEqual({});
    expect(valueAt(state.value, ['toString'])).toBeUndefined();
  });

  spec('UI-52', 'keep a chosen branch while its value is typed, and find it from a value otherwise', () => {
    const field = describeField(
      root.properties === undefined ? {} : (root.properties as Record<string, JsonSchema>).note,
      root,
    );
    const { branches } = field as Extract<Field, { kind: 'union' }>;
    let state = chooseBranch(createForm(root), ['note'], { branches, index: 1, root });
    expect([state.value, branchAt(state, ['note'], branches, root)]).toEqual([{ note: null }, 1]);
    state = chooseBranch(state, ['note'], { branches, index: 0, root });
    expect([state.value, branchAt(state, ['note'], branches, root)]).toEqual([{ note: '' }, 0]);
    expect(branchAt(createForm(root, { note: null }), ['note'], branches, root)).toBe(1);
    expect(branchAt(createForm(root, { note: 5 }), ['note'], branches, root)).toBe(-1);
    expect(branchAt(createForm(root, {}), ['note'], branches, root)).toBe(-1);
  });

  spec('UI-52', 'find the branch by its parts before its type', () => {
    const union: JsonSchema = {
      oneOf: [
        { type: 'object', properties: { kind: { const: 'a' } }, required: ['kind'] },
        { type: 'object', properties: { kind: { const: 'b' }, size: { type: 'integer' } }, required: ['kind'] },
      ],
    };
    const { branches } = fieldOf(union) as Extract<Field, { kind: 'union' }>;
    expect(findBranch({ kind: 'b' }, branches, union)).toBe(1);
    expect(findBranch({ kind: 'c' }, branches, union)).toBe(0);
    expect(findBranch('text', branches, union)).toBe(-1);
  });

  spec('UI-52', 'move items, rename properties in place and refuse names that are taken', () => {
    let state = createForm(root, { a: 1, b: 2, tags: ['x', 'y', 'z'] });
    state = removeValue(state, ['tags', 1]);
    state = renameProperty(state, [], 'a', 'first');
    expect(JSON.stringify(state.value)).toBe('{"first":1,"b":2,"tags":["x","z"]}');
    for (const name of ['b', '__proto__']) expect(renameProperty(state, [], 'first', name)).toBe(state);
  });

  spec('UI-52', 'start with what the schema fixes', () => {
    const fixed: JsonSchema = {
      type: 'object',
      required: ['kind', 'inner', 'name'],
      properties: {
        kind: { const: 'a' },
        name: { type: 'string' },
        inner: { type: 'object', required: ['version'], properties: { version: { enum: [2] } } },
        optional: { const: 1 },
      },
    };
    expect(createForm(fixed).value).toEqual({ kind: 'a', inner: { version: 2 } });
  });

  spec('UI-50', 'are limited, whatever a schema requires', () => {
    const chain = (make: ($ref: string) => JsonSchema): JsonSchema => {
      const parts = Array.from({ length: 40 }, (_, level) => [`d${level}`, make(`#/$defs/d${level + 1}`)]);
      return { $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(parts), d40: { type: 'integer' } } };
    };
    const names = Array.from({ length: 30 }, (_, index) => `k${index}`);
    const schemas = [
      chain(($ref) => ({ anyOf: [{ $ref }, { $ref }] })),
      chain(($ref) => ({ oneOf: [{ $ref }, { $ref }, { $ref }] })),
      chain(($ref) => ({
        type: 'array',
        minItems: 20,
        items: { type: 'object', required: ['a'], properties: { a: { $ref } } },
      })),
      { type: 'object', required: names, properties: Object.fromEntries(names.map((name) => [name, { $ref: '#' }])) },
    ];
    for (const schema of schemas) {
      expect(labelsOf(schema).join().length).toBeLessThan(10_000);
      expect(JSON.stringify(createForm(schema).value).length).toBeLessThan(10_000);
    }
  });
});
