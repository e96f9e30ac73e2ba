// Tests of what is read from schemas without validating: default values at every depth.

import { expect, test } from 'vitest';
import type { Json } from './json.js';
import { fillDefaults, type JsonSchema } from './schema.js';

test('defaults are filled in at every depth, also in lists and behind references', () => {
  const item = { type: 'object', properties: { a: { default: 1 }, list: { items: { $ref: '#/$defs/item' } } } };
  const schema: JsonSchema = {
    $defs: { item },
    type: 'object',
    properties: { list: { type: 'array', items: { $ref: '#/$defs/item' } }, own: item, none: { default: null } },
  };
  const given: Json = { list: [{}, { a: 2, list: [{ b: 3 }] }, 4, null], own: {} };
  expect(fillDefaults(given, schema)).toEqual({
    list: [{ a: 1 }, { a: 2, list: [{ b: 3, a: 1 }] }, 4, null],
    own: { a: 1 },
    none: null,
  });
  expect(given).toEqual({ list: [{}, { a: 2, list: [{ b: 3 }] }, 4, null], own: {} });
  expect(fillDefaults([{}], { items: true } as JsonSchema)).toEqual([{}]);
  expect(fillDefaults('text', schema)).toBe('text');
});
