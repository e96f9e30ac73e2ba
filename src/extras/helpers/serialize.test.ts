// Tests of serialization: equal to JSON for plain values, round trips for others, never throws.

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { deserialize, parse, reviveFns, serialize, stringify } from '../../helpers.js';

const MARKERS = ['$fn', '$date', '$bigint', '$map', '$set', '$error', '$plain', '$cycle', '$promise'];
const roundTrip = (value: unknown): unknown => parse(stringify(value));

describe('plain values', () => {
  spec('HLP-2', 'stringify and parse equal those of JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(4), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(stringify(value, { indent })).toBe(text);
        expect(parse(text)).toEqual(JSON.parse(text));
        expect(serialize(value)).toEqual(JSON.parse(text));
      }),
    );
  });

  spec('HLP-2', 'drops or nulls the same values as JSON', () => {
    class Point {
      readonly x = 1;
      readonly toJSON = (key: string) => `point ${key}`;
    }
    const holey = [1, undefined, () => 1].slice(0, 2);
    const value = {
      gone: undefined,
      symbol: Symbol('s'),
      holey,
      nan: Number.NaN,
      zero: -0,
      boxed: [Object('a'), Object(1), Object(true)],
      point: new Point(),
      regexp: /a/,
      url: new URL('http://localhost/a'),
      lone: '\ud800',
    };
    expect(stringify(value)).toBe(JSON.stringify(value));
    expect(stringify(undefined)).toBe('null');
    expect(() => parse('{')).toThrow(SyntaxError);
    const schema = { $ref: '#/$defs/a', items: { $ref: '#' } };
    expect(stringify(schema)).toBe(JSON.stringify(schema));
    expect(stringify({ $set: { a: 1 } })).toBe('{"$set":{"a":1}}');
  });

  spec('HLP-2', 'escapes data that looks like a marker', () => {
    const contents = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.integer()), fc.object());
    const lookalike = fc.tuple(fc.constantFrom(...MARKERS), contents, fc.boolean());
    fc.assert(
      fc.property(lookalike, ([marker, content, gone]) => {
        const plain = JSON.parse(JSON.stringify({ [marker]: content }));
        // A key that JSON leaves out must not make a marker of the rest.
        const value = gone ? { ...plain, gone: undefined } : plain;
        expect(parse(stringify(value), { functions: true })).toEqual(plain);
        expect(parse(stringify([value, { $plain: value }]))).toEqual([plain, { $plain: plain }]);
      }),
    );
    const code = { $fn: '() => { throw new Error("ran") }' };
    expect(stringify(code)).toBe(JSON.stringify({ $plain: code }));
    const cut = serialize({ $fn: '() => 1', rest: 'x'.repeat(500) }, { maxBytes: 200 });
    expect(reviveFns(cut)).not.toBeTypeOf('function');
    const short = serialize({ $fn: '() => 1', ['k'.repeat(500)]: 1 }, { maxBytes: 200 });
    expect(reviveFns(short)).toEqual({ $fn: '() => 1', $truncated: true });
  });
});

describe('rich values', () => {
  const leaf = fc.oneof(
    fc.jsonValue(),
    fc.bigInt(),
    fc.date({ noInvalidDate: false }),
    fc.string().map((message) => new RangeError(message)),
  );
  const rich = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.string(), tie('value'), { maxKeys: 4, noNullPrototype: true }),
      fc.array(fc.tuple(tie('value'), tie('value')), { maxLength: 3 }).map((pairs) => new Map(pairs)),
      fc.array(tie('value'), { maxLength: 3 }).map((items) => new Set(items)),
    ),
  })).value;

  spec('HLP-2', 'round-trip through serialize and through text', () => {
    fc.assert(
      fc.property(rich, (value) => {
        // JSON has no minus zero.
        fc.pre(!stringify(value).includes('-0'));
        const safe = serialize(value);
        expect(JSON.parse(JSON.stringify(safe))).toEqual(safe);
        expect(deserialize(safe)).toEqual(withoutMinusZero(value));
        expect(roundTrip(value)).toEqual(withoutMinusZero(value));
      }),
    );
  });

  spec('HLP-2', 'restores class, cause and properties of errors', () => {
    const inner = new TypeError('inner');
    const outer = Object.assign(new Error('outer', { cause: inner }), { code: 'E_X', at: new Date(0) });
    outer.name = 'Custom';
    const back = roundTrip(outer) as typeof outer;
    expect(back).toBeInstanceOf(Error);
    expect([back.name, back.message, back.code]).toEqual(['Custom', 'outer', 'E_X']);
    expect(back.at).toEqual(new Date(0));
    expect(back.cause).toBeInstanceOf(TypeError);
    expect(stringify(outer)).not.toContain('.test.ts');
    const both = roundTrip(new AggregateError([inner], 'both')) as AggregateError;
    expect(both.errors[0]).toBeInstanceOf(TypeError);
  });

  spec('HLP-2', 'restores cycles through objects, arrays, maps, sets and errors', () => {
    const value: Record<string, unknown> = { name: 'top' };
    const map = new Map<unknown, unknown>([['up', value]]);
    const error = new Error('e', { cause: value });
    Object.assign(value, { self: value, list: [value], map, set: new Set([map, value]), error });
    map.set('me', map);
    const back = roundTrip(value) as typeof value & { list: unknown[]; map: Map<string, unknown>; error: Error };
    expect(back.self).toBe(back);
    expect(back.list[0]).toBe(back);
    expect(back.map.get('up')).toBe(back);
    expect(back.map.get('me')).toBe(back.map);
    expect([...(back.set as Set<unknown>)][1]).toBe(back);
    expect(back.error.cause).toBe(back);
    const shared = { a: 1 };
    expect(stringify([shared, shared])).toBe('[{"a":1},{"a":1}]');
  });

  spec('HLP-2', 'restores functions only on request', () => {
    const value = {
      arrow: (a: number) => a + 1,
      method(a: number) {
        return a * 2;
      },
      Class: class {
        readonly seven = 7;
      },
      native: Math.max,
      promise: Promise.resolve(1),
    };
    const safe = serialize(value) as Record<string, { $fn: string }>;
    expect(Object.keys(safe.arrow!)).toEqual(['$fn']);
    expect(safe.promise).toEqual({ $promise: true });
    expect(deserialize(safe)).toEqual(safe);
    expect(parse(stringify(value))).toEqual(safe);
    for (const back of [parse(stringify(value), { functions: true }), reviveFns(safe)] as (typeof value)[]) {
      expect(back.arrow(1)).toBe(2);
      expect(back.method(2)).toBe(4);
      expect(new back.Class().seven).toBe(7);
      expect(back.native).toEqual(safe.native);
    }
  });
});

describe('bounds', () => {
  spec('HLP-2', 'truncates what is deeper than 200 levels, and reads any depth', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(stringify(deep)).toBe(`${'['.repeat(200)}{"$truncated":true}${']'.repeat(200)}`);
    const text = `${'['.repeat(50_000)}1${']'.repeat(50_000)}`;
    let node = parse(text);
    for (let level = 0; level < 50_000; level++) [node] = node as unknown[];
    expect(node).toBe(1);
  });

  spec('HLP-2', 'limits depth and size', () => {
    expect(serialize({ a: { b: { c: 1 } } }, { maxDepth: 2 })).toEqual({ a: { b: { $truncated: true } } });
    fc.assert(
      fc.property(fc.object({ maxDepth: 4 }), fc.integer({ min: 64, max: 2000 }), (value, maxBytes) => {
        expect(Buffer.byteLength(stringify(value, { maxBytes }))).toBeLessThanOrEqual(maxBytes);
      }),
    );
    const list = serialize(
      Array.from({ length: 1000 }, (_, at) => String(at)),
      { maxBytes: 100 },
    ) as unknown[];
    expect(list[0]).toBe('0');
    expect(list.at(-1)).toEqual({ $truncated: true });
  });

  spec('HLP-2', 'replaces values that throw on access by an error', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const value = {
      get bad(): number {
        throw new Error('no');
      },
      toJson: {
        toJSON() {
          throw new Error('never');
        },
      },
      proxy,
      good: 1,
    };
    const back = roundTrip(value) as Record<string, Error>;
    expect(back.bad!.message).toBe('no');
    expect(back.toJson!.message).toBe('never');
    expect(back.proxy).toBeInstanceOf(Error);
    expect(back.good).toBe(1);
  });
});

function withoutMinusZero(value: unknown): unknown {
  if (value instanceof Map) {
    return new Map([...value].map(([key, child]) => [withoutMinusZero(key), withoutMinusZero(child)]));
  }
  if (value instanceof Set) return new Set([...value].map(withoutMinusZero));
  if (Array.isArray(value)) return value.map(withoutMinusZero);
  if (typeof value === 'number') return value + 0;
  if (typeof value !== 'object' || value === null || value instanceof Date || value instanceof Error) return value;
  const copy = {};
  for (const [key, child] of Object.entries(value)) {
    const facts = { enumerable: true, configurable: true, writable: true };
    Object.defineProperty(copy, key, { value: withoutMinusZero(child), ...facts });
  }
  return copy;
}
