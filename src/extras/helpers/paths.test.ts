// Tests of path expressions: reading, writing, removing, and rejected expressions.

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { isMetaKey, pathGet, pathKeys, pathQuery, pathRemove, pathSet } from '../../helpers.js';

const shop = () => ({
  books: [
    { title: 'A', price: 5, 'shelf no': 1 },
    { title: 'B', price: 15 },
    { title: 'C', price: 8 },
  ],
  $meta: { owner: 'Ada' },
});

describe('reading', () => {
  spec('HLP-1', 'reads one value by dotted, indexed and quoted steps', () => {
    expect(pathGet(shop(), 'books[1].title')).toBe('B');
    expect(pathGet(shop(), 'books.1.title')).toBe('B');
    expect(pathGet(shop(), 'books[-1].title')).toBe('C');
    expect(pathGet(shop(), 'books[0]["shelf no"]')).toBe(1);
    expect(pathGet(shop(), "books[0]['shelf no']")).toBe(1);
    expect(pathGet(shop(), '$meta.owner')).toBe('Ada');
    expect(pathGet([[1, 2]], '[0][1]')).toBe(2);
    expect(pathGet({ "it's": { '"': 1 } }, `['it\\'s']['"']`)).toBe(1);
  });

  spec('HLP-1', 'returns undefined for missing and inherited values', () => {
    for (const path of ['none', 'books[9].title', 'books.title', 'books[0].title.x', 'books.length']) {
      expect(pathGet(shop(), path), path).toBeUndefined();
    }
    for (const path of ['constructor', '__proto__', 'toString', '$.constructor', '$..constructor']) {
      expect(pathGet({}, path), path).toBeUndefined();
    }
    expect(pathGet(undefined, 'a')).toBeUndefined();
    expect(pathQuery(shop(), 'none')).toEqual([]);
  });

  spec('HLP-1', 'returns all matches of JSONPath, or the first', () => {
    expect(pathQuery(shop(), '$.books[*].title')).toEqual(['A', 'B', 'C']);
    expect(pathQuery(shop(), '$..price')).toEqual([5, 15, 8]);
    expect(pathQuery(shop(), '$.books[?@.price < 10].title')).toEqual(['A', 'C']);
    expect(pathGet(shop(), '$.books[1:].title')).toBe('B');
    expect(pathGet(shop(), "$['books'][0].title")).toBe('A');
    expect(pathQuery(shop(), 'books[0].title')).toEqual(['A']);
    expect(pathGet(shop(), '$')).toEqual(shop());
    expect(pathQuery({ 0: 'key' }, '$[0]')).toEqual([]);
    expect(pathQuery({ 0: 'key' }, "$['0']")).toEqual(['key']);
    expect(pathQuery(['element'], "$['0']")).toEqual([]);
  });

  spec.thorough('HLP-1', 'queries keys with any characters', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('\\', "'", '"', '\n', '\b', '\u0001', '\\n'),
        (a, b) => {
          const value = { [`${a}${b}`]: [1], [b]: [2] };
          expect(pathQuery(value, '$.*[0]').sort()).toEqual(a === '' ? [2] : [1, 2]);
          pathRemove(value, '$.*');
          expect(value).toEqual({});
        },
      ),
    );
  });

  spec('HLP-1', 'returns top-level keys and recognizes reserved keys', () => {
    const value = { a: { b: 1 }, c: [1], d: 2 };
    expect(pathKeys(value, ['a.b', '$.c[*]', 'none', 'a.none'])).toEqual(new Set(['a', 'c']));
    expect(pathKeys(value, ['$'])).toEqual(new Set(['a', 'c', 'd']));
    expect([isMetaKey('$a'), isMetaKey('a$'), isMetaKey('')]).toEqual([true, false, false]);
  });

  spec('HLP-1', 'rejects invalid expressions with invalid_input', () => {
    for (const path of ['', 'a..b', 'a.', 'a[', 'a[*]', 'a[x]', '$.[', '$.books[', '$..', 'a["b]', ']']) {
      expect(() => pathGet({}, path), path).toThrow(expect.objectContaining({ code: 'invalid_input' }));
    }
    const around: { self?: unknown } = {};
    around.self = around;
    expect(() => pathQuery(around, '$..x')).toThrow('a value with cycles');
    expect(pathGet(around, 'self.self.self')).toBe(around);
  });
});

describe('writing', () => {
  const set = (value: unknown, path: string, replacement: unknown) => {
    pathSet(value, path, replacement);
    return value;
  };

  spec('HLP-1', 'creates missing containers: arrays before an index, objects before a name', () => {
    expect(set({}, 'a.b[1].c', 1)).toEqual({ a: { b: [null, { c: 1 }] } });
    expect(set({}, '$.a["b c"][0]', 1)).toEqual({ a: { 'b c': [1] } });
    expect(set({ a: null }, 'a.0', 1)).toEqual({ a: { 0: 1 } });
    expect(set({ a: [1, 2] }, 'a[-1]', 3)).toEqual({ a: [1, 3] });
    expect(set({ a: [1] }, 'a.1', 2)).toEqual({ a: [1, 2] });
    expect(set({}, 'toString.x', 1)).toEqual({ toString: { x: 1 } });
  });

  spec('HLP-1', 'writes to each match of a query', () => {
    expect(set({ a: [{ b: 1 }, { b: 2 }, {}] }, '$.a[*].b', 0)).toEqual({ a: [{ b: 0 }, { b: 0 }, {}] });
    expect(set({}, '$..b', 0)).toEqual({});
  });

  spec('HLP-1', 'rejects prototype keys before creating anything', () => {
    for (const name of ['__proto__', 'prototype', 'constructor']) {
      for (const path of [name, `a.${name}.b`, `a["${name}"]`, `$.a.${name}`, `${name}.polluted`]) {
        const value = {};
        expect(() => pathSet(value, path, 'x'), path).toThrow(expect.objectContaining({ code: 'invalid_input' }));
        expect(Object.keys(value)).toEqual([]);
      }
    }
    expect(() => pathSet(JSON.parse('{"a":{"__proto__":{}}}'), '$.a[*]', 1)).toThrow('__proto__');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  spec('HLP-1', 'rejects changes of frozen values', () => {
    const frozen = Object.freeze({ a: 1, b: Object.freeze([1]) });
    for (const work of [
      () => pathSet(frozen, 'a', 2),
      () => pathSet(frozen, 'c.d', 2),
      () => pathSet(frozen, 'b[3]', 2),
      () => pathRemove(frozen, 'a'),
      () => pathRemove(frozen, 'b[0]'),
    ])
      expect(work).toThrow(expect.objectContaining({ code: 'invalid_input', hint: expect.stringContaining('copy') }));
    expect(frozen).toEqual({ a: 1, b: [1] });
  });

  spec('HLP-1', 'rejects parents that are not containers', () => {
    for (const [value, path] of [
      [{ a: 'text' }, 'a.b'],
      [{ a: {} }, 'a[0]'],
      [{ a: [] }, 'a.b'],
      [{ a: [] }, 'a[-1]'],
      [{ a: [] }, 'a[99999999]'],
      [1, 'a'],
      [{}, '$'],
    ] as const) {
      expect(() => pathSet(value, path, 1), path).toThrow(expect.objectContaining({ code: 'invalid_input' }));
    }
  });

  spec('HLP-1', 'reads what was set and changes nothing else', () => {
    const step = fc.oneof(
      fc.nat(4).map((place) => `[${place}]`),
      fc
        .string({ minLength: 1, maxLength: 6 })
        .filter((name) => !['__proto__', 'prototype', 'constructor'].includes(name))
        .map((name) => `[${JSON.stringify(name)}]`),
    );
    const path = fc.array(step, { minLength: 1, maxLength: 6 }).map((steps) => `top${steps.join('')}`);
    fc.assert(
      fc.property(path, fc.jsonValue(), (expression, replacement) => {
        const value = { other: 1 };
        pathSet(value, expression, replacement);
        expect(pathGet(value, expression)).toEqual(replacement);
        expect(pathQuery(value, `$.${expression}`)).toEqual([replacement]);
        expect(value.other).toBe(1);
        pathRemove(value, expression);
        expect(pathQuery(value, expression)).toEqual([]);
      }),
    );
  });
});

spec('HLP-1', 'removes every match; later elements move up', () => {
  const remove = (value: unknown, path: string) => {
    pathRemove(value, path);
    return value;
  };
  expect(remove({ a: [1, 2, 3] }, 'a[1]')).toEqual({ a: [1, 3] });
  expect(remove({ a: [5, 1, 7, 2] }, '$.a[?@ > 3]')).toEqual({ a: [1, 2] });
  expect(remove({ a: Array.from({ length: 12 }, (_, at) => at) }, '$.a[1,10,2,1]')).toEqual({
    a: [0, 3, 4, 5, 6, 7, 8, 9, 11],
  });
  expect(remove({ a: { a: 1, b: 2 }, c: [{ a: 1 }, 3] }, '$..a')).toEqual({ c: [{}, 3] });
  expect(remove({ a: 1 }, 'none.b')).toEqual({ a: 1 });
  expect(() => remove({ a: 1 }, '$')).toThrow('the whole value');
});
