// Tests of safe copies: readable, bounded, never throwing.

import fc from 'fast-check';
import { expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { safeClone, safeSnapshot, safeStringify, serializeContext } from '../../helpers.js';

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

spec.thorough('HLP-3', 'safeStringify equals JSON.stringify for plain values and is readable for others', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(safeStringify(value)).toBe(JSON.stringify(value));
      expect(safeStringify(value, 2)).toBe(JSON.stringify(value, null, 2));
    }),
  );
  const value: Record<string, unknown> = {
    named: function greet() {},
    promise: Promise.resolve(),
    big: 12n,
    date: new Date(0),
    map: new Map([['a', 1]]),
    pairs: new Map([[1, 'a']]),
    set: new Set([1]),
    error: new TypeError('t'),
  };
  value.self = [value];
  expect(JSON.parse(safeStringify(value))).toEqual({
    named: '[Function: greet]',
    promise: '[Promise]',
    big: '12',
    date: '1970-01-01T00:00:00.000Z',
    map: { a: 1 },
    pairs: [[1, 'a']],
    set: [1],
    error: { name: 'TypeError', message: 't' },
    self: ['[Circular]'],
  });
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(safeStringify(deep)).toBe(`${'['.repeat(200)}"[Array]"${']'.repeat(200)}`);
});

spec('HLP-3', 'safeClone copies deeply and limits depth, and size if given', () => {
  const value = { a: { b: [{ c: 1 }] } };
  const copy = safeClone(value) as typeof value;
  expect(copy).toEqual(value);
  copy.a.b[0]!.c = 2;
  expect(value.a.b[0]!.c).toBe(1);
  expect(safeClone(value, { maxDepth: 2 })).toEqual({ a: { b: '[Array]' } });
  expect(safeClone(value, { maxDepth: 3 })).toEqual({ a: { b: ['[Object]'] } });
  let deep: unknown = 1;
  for (let level = 0; level < 100; level++) deep = [deep];
  expect(JSON.stringify(safeClone(deep))).toBe(`${'['.repeat(64)}"[Array]"${']'.repeat(64)}`);
  fc.assert(
    fc.property(fc.anything(), fc.integer({ min: 64, max: 1000 }), (anything, maxBytes) => {
      expect(bytes(safeClone(anything, { maxBytes }))).toBeLessThanOrEqual(maxBytes);
    }),
  );
});

spec('HLP-3', 'safeSnapshot limits depth to 4 and size to 10 KB, and marks where it was cut', () => {
  expect(safeSnapshot({ a: { b: { c: { d: {} } } } })).toEqual({ a: { b: { c: { d: '[Object]' } } } });
  const text = safeSnapshot({ text: 'é"'.repeat(20_000), after: 1 }) as { text: string };
  expect(bytes(text)).toBeLessThanOrEqual(10 * 1024);
  expect(bytes(text)).toBeGreaterThan(8 * 1024);
  expect(text.text.endsWith('…')).toBe(true);
  expect(Object.keys(text)).toEqual(['text']);
  const list = safeSnapshot(Array.from({ length: 10_000 }, (_, at) => at)) as unknown[];
  expect(bytes(list)).toBeLessThanOrEqual(10 * 1024);
  expect(list.at(-1)).toBe('[Truncated]');
  expect(safeSnapshot([[[1]]], 1)).toEqual(['[Array]']);
  expect(bytes(safeSnapshot('x'.repeat(500), 4, 100))).toBeLessThanOrEqual(100);
});

spec('HLP-3', 'serializeContext drops functions, marks cycles, and returns null for non-objects', () => {
  const context: Record<string, unknown> = { name: 'call', log: () => {}, list: [() => {}], nested: { run() {} } };
  context.target = context;
  expect(serializeContext(context)).toEqual({ name: 'call', list: [null], nested: {}, target: '[Circular]' });
  expect(Object.keys(serializeContext(context)!)).not.toContain('log');
  expect(serializeContext({ a: { b: {} } }, 2)).toEqual({ a: { b: '[Object]' } });
  expect([serializeContext(null), serializeContext(undefined)]).toEqual([null, null]);
});
