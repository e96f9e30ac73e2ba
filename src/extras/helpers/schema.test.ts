// Tests of resolveJsonSchema.

import { expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { resolveJsonSchema } from '../../helpers.js';

spec('HLP-5', 'returns the object at the $resolve path, or the schema itself', () => {
  const found = { type: 'string' };
  const context = { schemas: { a: found, text: 'x', none: null, list: [1] } };
  const resolve = ($resolve: string) => ({ type: 'object', $resolve });
  expect(resolveJsonSchema(resolve('schemas.a'), context)).toBe(found);
  expect(resolveJsonSchema(resolve('$.schemas["a"]'), context)).toBe(found);
  for (const path of ['schemas.b', 'schemas.text', 'schemas.none', 'schemas.list', '', 'a[', '$..[']) {
    const schema = resolve(path);
    expect(resolveJsonSchema(schema, context), path).toBe(schema);
  }
  const plain = { type: 'number' };
  expect(resolveJsonSchema(plain, context)).toBe(plain);
  expect(resolveJsonSchema({ $resolve: 1 }, context)).toEqual({ $resolve: 1 });
  expect(resolveJsonSchema(undefined, context)).toBeUndefined();
});
