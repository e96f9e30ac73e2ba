// Tests of JSON Schema validation: published schema against check, faults, and limits for untrusted schemas.

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ALL_TESTS, rounds } from '../../test/support/effort.js';
import { patience } from '../../test/support/patience.js';
import { spec } from '../../test/support/spec.js';
import { countTurns } from '../../test/support/turns.js';
import type { Json } from '../core/json.js';
import type { Check, JsonSchema } from '../core/schema.js';
import { createJsonSchema } from './json.js';

const check = async (schema: JsonSchema, value: Json): Promise<Check> =>
  createJsonSchema(schema, { closed: true }).check(value);
const faultsOf = async (schema: JsonSchema, value: Json) => {
  const result = await check(schema, value);
  return result.ok ? [] : result.faults;
};

const name = fc.constantFrom('a', 'b', 'c', 'd e', 'f/g');
const leaf = fc.oneof(
  fc.record({ type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'null') }),
  fc.record({ type: fc.constant('integer'), minimum: fc.integer({ min: -3, max: 3 }) }),
  fc.record({ type: fc.constant('string'), minLength: fc.integer({ min: 0, max: 3 }) }),
  fc.record({
    enum: fc.uniqueArray(fc.oneof(fc.integer(), fc.string({ maxLength: 2 })), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ type: fc.constant('string'), pattern: fc.constantFrom('^a', 'b$', '^[0-9]+$') }),
);
const schemas = fc.letrec<{ node: JsonSchema; object: JsonSchema }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    leaf,
    fc.record({ type: fc.constant('array'), items: tie('node') }),
    fc.record({ anyOf: fc.array(tie('node'), { minLength: 1, maxLength: 2 }) }),
    tie('object'),
  ) as fc.Arbitrary<JsonSchema>,
  object: fc
    .tuple(fc.dictionary(name, tie('node'), { maxKeys: 3 }), fc.uniqueArray(name, { maxLength: 2 }), fc.boolean())
    .map(([properties, required, open]) => ({
      type: 'object',
      properties,
      required: required.filter((key) => Object.hasOwn(properties, key)),
      ...(open ? { additionalProperties: true } : {}),
    })) as fc.Arbitrary<JsonSchema>,
}));
const values = fc.dictionary(
  fc.oneof(name, fc.constant('other')),
  fc.oneof(
    fc.integer({ min: -5, max: 5 }),
    fc.string({ maxLength: 3 }),
    fc.boolean(),
    fc.constant(null),
    fc.array(fc.integer(), { maxLength: 2 }),
  ),
  { maxKeys: 4 },
) as fc.Arbitrary<Json>;

// Documents whose parts have addresses of their own, each with values.
const ADDRESSED: readonly (readonly [schema: JsonSchema, values: readonly Json[]])[] = [
  [{ properties: { a: { $ref: 'item' } }, $defs: { x: { $id: 'item', type: 'string' } } }, [{ a: 's' }, { a: 1 }]],
  [
    {
      $id: 'https://example.org/root.json',
      properties: { a: { $ref: 'https://example.org/item.json' }, b: { $ref: 'root.json#/$defs/y' } },
      $defs: { x: { $id: '/item.json', type: 'string' }, y: { type: 'integer' } },
    },
    [{ a: 's', b: 1 }, { a: 1 }, { b: 's' }],
  ],
  [
    {
      properties: { a: { $ref: 'folder/list#/$defs/entry' }, b: { $ref: 'folder/list#named' }, c: { $ref: '#named' } },
      $defs: {
        list: {
          $id: 'folder/list',
          type: 'array',
          items: { $ref: '#/$defs/entry' },
          $defs: { entry: { $ref: 'other' }, more: { $anchor: 'named', type: 'boolean' } },
        },
        other: { $id: 'folder/other', type: 'integer' },
        'named~/ %': { $anchor: 'named', type: 'null' },
      },
    },
    [{ a: 1, b: true, c: null }, { a: 's' }, { b: null }, { c: true }],
  ],
  [
    {
      $id: 'urn:uuid:deadbeef',
      properties: { a: { $ref: 'urn:uuid:deadbeef#/$defs/x' } },
      $defs: { x: { minimum: 2 } },
    },
    [{ a: 2 }, { a: 1 }],
  ],
  [
    { $id: 'https://example.org/tree', properties: { left: { $ref: 'tree' } }, required: ['n'] },
    [{ n: 1 }, { n: 1, left: {} }, { n: 1, left: { n: 2 } }],
  ],
  [
    { properties: { a: { const: { $id: 'item', $ref: 'item' } }, $id: { type: 'string' } } },
    [{ a: 1 }, { $id: 's' }, { $id: 1 }],
  ],
];

spec('TOOL-26', 'references find parts of the document by their address, and are published as local ones', async () => {
  for (const [schema, list] of ADDRESSED) {
    const expected = new Ajv2020({ strict: false }).compile(schema);
    const own = createJsonSchema(schema);
    const published = new Ajv2020({ strict: false }).compile(own.json);
    for (const value of list) {
      const valid = expected(value);
      expect([schema, value, (await own.check(value)).ok, published(value)]).toEqual([schema, value, valid, valid]);
    }
    expect(JSON.stringify(own.json)).not.toMatch(/"\$ref":"[^#](?!tem"})/);
  }
  expect((await createJsonSchema(true).check(1)).ok).toBe(true);
  expect((await createJsonSchema(false).check(1)).ok).toBe(false);
  for (const $ref of ['other', 'https://example.org/x', 'item#missing', 'item#/missing'])
    expect(() => createJsonSchema({ items: { $ref }, $defs: { x: { $id: 'item' } } })).toThrow(
      /outside|does not exist/,
    );
  expect(() => createJsonSchema({ $defs: { x: { $id: 'item', allOf: [{ $ref: 'item' }] } } })).toThrow(
    'refers to itself',
  );
});

spec(
  'TOOL-26',
  'references of other drafts, and those that other documents in the schema may replace, are found',
  async () => {
    const objects: JsonSchema = {
      anyOf: [{ type: 'string' }, { type: 'object', additionalProperties: { $recursiveRef: '#' } }],
    };
    const nested: JsonSchema = { $id: 'inner', ...objects };
    const either: JsonSchema = { anyOf: [{ type: 'integer' }, { $ref: 'inner' }] };
    const items: JsonSchema = { type: 'array', items: { $dynamicRef: '#one' } };
    const cases: readonly (readonly [JsonSchema, Json, boolean])[] = [
      // 2019-09: the nearest document, unless that and the outermost one are open.
      [{ ...either, $defs: { nested } }, { a: 'x' }, true],
      [{ ...either, $defs: { nested } }, { a: 1 }, false],
      [{ ...either, $recursiveAnchor: true, $defs: { nested } }, { a: 1 }, false],
      [{ ...either, $recursiveAnchor: true, $defs: { nested: { ...nested, $recursiveAnchor: true } } }, { a: 1 }, true],
      // 2020-12: an anchor that is not dynamic is not replaced.
      [
        { ...items, $defs: { a: { $anchor: 'one' }, b: { $id: 'b', $dynamicAnchor: 'one', type: 'string' } } },
        [1],
        true,
      ],
      [{ ...items, $defs: { a: { $dynamicAnchor: 'one', type: 'string' }, b: { $id: 'b' } } }, [1], false],
      // Draft 4 has `id`; elsewhere that is no keyword.
      [
        {
          $schema: 'http://json-schema.org/draft-04/schema#',
          $ref: 'x',
          definitions: { x: { id: 'x', type: 'null' } },
        },
        1,
        false,
      ],
      [{ $schema: 'http://json-schema.org/draft-04/schema#', $ref: '#x', definitions: { x: { id: '#x' } } }, 1, true],
    ];
    for (const [schema, value, valid] of cases)
      expect([schema, value, (await createJsonSchema(schema).check(value)).ok]).toEqual([schema, value, valid]);
    expect(() => createJsonSchema({ $ref: 'x', $defs: { x: { id: 'x' } } })).toThrow('outside the schema');
  },
);

spec('TOOL-4', 'the check rejects every value that the published schema rejects', async () => {
  const ajv = new Ajv2020({ strict: false });
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(schemas.object, values, async (schema, value) => {
      const result = await check(schema, value);
      const published = ajv.compile(schema)(value);
      if (result.ok) {
        accepted++;
        expect(published).toBe(true);
      } else if (published) {
        // The check is stricter in one point: undeclared properties (RUN-3).
        expect(result.faults.every((fault) => fault.kind === 'unknown')).toBe(true);
      }
    }),
    { numRuns: rounds(ALL_TESTS ? 150 : 60, 1500) },
  );
  expect(accepted).toBeGreaterThan(5);
});

describe('faults', () => {
  const schema: JsonSchema = {
    type: 'object',
    properties: {
      count: { type: 'integer', minimum: 1 },
      who: { $ref: '#/$defs/name' },
      list: { type: 'array', items: { type: 'object', required: ['k'] } },
    },
    required: ['who'],
    $defs: { name: { type: 'string', minLength: 3 } },
  };

  spec('RUN-3', 'reports all faults at once, each with kind, path, expected and actual value', async () => {
    expect(await faultsOf(schema, { count: 'x', list: [{}], extra: 1 })).toEqual([
      { kind: 'missing', path: '/who', expected: 'a value', got: 'nothing' },
      { kind: 'type', path: '/count', expected: 'integer', got: 'text "x"' },
      { kind: 'missing', path: '/list/0/k', expected: 'a value', got: 'nothing' },
      { kind: 'unknown', path: '/extra', expected: 'no such parameter', got: 'undeclared "extra"' },
    ]);
    expect(await faultsOf(schema, { who: 'x' })).toEqual([
      { kind: 'value', path: '/who', expected: 'text of at least 3 characters', got: 'text "x"' },
    ]);
  });

  spec('TOOL-3', 'a tool without parameters accepts only an empty object', async () => {
    expect(await faultsOf({ type: 'object', properties: {} }, {})).toEqual([]);
    expect(await faultsOf({ type: 'object', properties: {} }, { a: 1 })).toHaveLength(1);
    expect(await faultsOf({ type: 'object', properties: {} }, [])).toHaveLength(1);
  });

  spec('RUN-3', 'names a known format instead of the pattern that a library writes for it', async () => {
    const long = `^(?:[a-z]+\\.)*[a-z]+@(?:[a-z]+\\.)+[a-z]{2,}$`;
    const of = (text: JsonSchema): Promise<string[]> =>
      faultsOf({ type: 'object', properties: { a: text } }, { a: 'x' }).then((all) => all.map((one) => one.expected));
    expect(await of({ type: 'string', format: 'email', pattern: long })).toEqual(['an email address']);
    expect(await of({ type: 'string', format: 'email', pattern: '@a\\.b$' })).toEqual([
      'an email address that matches @a\\.b$',
      'an email address',
    ]);
    expect(await of({ type: 'string', pattern: long })).toEqual([`text that matches ${long}`]);
    expect(await of({ anyOf: [{ type: 'string', format: 'date' }, { type: 'integer' }] })).toEqual([
      'a date such as 2026-01-31',
    ]);
    const formats = ['email', 'uri'].map((format) => ({ type: 'string', format }));
    expect(await of({ anyOf: formats })).toEqual(['an email address or a URI such as https://example.com']);
  });

  test('reports a union as one fault', async () => {
    const union: JsonSchema = {
      type: 'object',
      properties: { a: { anyOf: [{ type: 'string' }, { type: 'integer' }] } },
    };
    expect(await faultsOf(union, { a: true })).toEqual([
      { kind: 'value', path: '/a', expected: 'string or integer', got: 'true' },
    ]);
  });

  test('says how many of many choices it does not list', async () => {
    const choices = Array.from({ length: 120 }, (_, at) => at);
    const [fault] = await faultsOf({ type: 'object', properties: { a: { enum: choices } } }, { a: -1 });
    expect(fault!.expected).toMatch(/^one of 0, 1, .*, 99 and 20 more$/);
  });

  describe('a value that has the type of an alternative', () => {
    const of = (anyOf: readonly JsonSchema[]): JsonSchema => ({ type: 'object', properties: { a: { anyOf } } });
    const kind = (name: string, more: JsonSchema = {}): JsonSchema => ({
      type: 'object',
      properties: { kind: { const: name }, ...more },
      required: ['kind', ...Object.keys(more)],
    });
    const shapes = of([kind('circle', { radius: { type: 'number' } }), kind('point')]);

    test.each<[string, JsonSchema, Json, object]>([
      [
        'names the choices of the property that tells them apart',
        shapes,
        { kind: 'square' },
        { kind: 'value', path: '/a/kind', expected: 'one of "circle", "point"', got: 'text "square"' },
      ],
      [
        'misses that property',
        shapes,
        {},
        { kind: 'missing', path: '/a/kind', expected: 'one of "circle", "point"', got: 'nothing' },
      ],
      [
        'has the faults of the one that is meant',
        shapes,
        { kind: 'circle' },
        { kind: 'missing', path: '/a/radius', expected: 'a value', got: 'nothing' },
      ],
      [
        'has the faults of the only one of its type',
        of([{ type: 'string', maxLength: 2 }, { type: 'null' }]),
        'long',
        { kind: 'value', path: '/a', expected: 'text of at most 2 characters', got: 'text "long"' },
      ],
      [
        'names the values that are listed',
        of([{ const: 'a' }, { enum: ['b', 1] }]),
        'c',
        { kind: 'value', path: '/a', expected: 'one of "a", "b", 1', got: 'text "c"' },
      ],
      [
        'fits none of several',
        of([
          { type: 'string', maxLength: 2 },
          { type: 'string', pattern: '^x' },
        ]),
        'long',
        { kind: 'value', path: '/a', expected: 'one of the alternatives in the schema', got: 'text "long"' },
      ],
    ])('%s', async (_, schema, a, fault) => {
      expect(await faultsOf(schema, { a })).toEqual([fault]);
    });
  });

  test('accepts properties declared by allOf and $ref', async () => {
    const composed: JsonSchema = {
      type: 'object',
      properties: { a: {} },
      allOf: [{ properties: { b: { type: 'string' } } }],
    };
    expect(await faultsOf(composed, { a: 1, b: 'x' })).toEqual([]);
    expect(await faultsOf(composed, { c: 1 })).toHaveLength(1);
  });
});

test('a schema that is true accepts everything, and one that is false nothing', async () => {
  const schema = createJsonSchema({ type: 'object', properties: { a: true, b: false }, additionalProperties: true });
  const fitting: readonly Json[] = [{}, { a: 1 }, { a: null, c: [] }];
  for (const value of fitting) expect((await schema.check(value)).ok).toBe(true);
  expect((await schema.check({ b: 1 })).ok).toBe(false);
  expect((await createJsonSchema({ items: true } as JsonSchema).check([1, null])).ok).toBe(true);
});

describe('limits', () => {
  spec('TOOL-23', 'refuses a value that takes too many steps, and validates many entries with pauses', async () => {
    const twice = (ref: string): JsonSchema => ({ allOf: [{ $ref: ref }, { $ref: ref }] });
    const $defs = Object.fromEntries(
      Array.from({ length: 32 }, (_, at) => [`d${at}`, at === 31 ? {} : twice(`#/$defs/d${at + 1}`)]),
    );
    expect(await faultsOf({ type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs }, { a: 1 })).toEqual([
      expect.objectContaining({ path: '', expected: expect.stringContaining('within 50000 steps') }),
    ]);
    const row = { type: 'object', properties: { id: { type: 'integer' } }, required: ['id'] };
    const rows: JsonSchema = {
      type: 'object',
      properties: { rows: { anyOf: [{ type: 'array', items: row, uniqueItems: true }, { type: 'null' }] } },
    };
    const many = Array.from({ length: 30_000 }, (_, id) => ({ id }));
    const counter = countTurns();
    expect(await faultsOf(rows, { rows: many })).toEqual([]);
    counter.stop();
    expect(counter.turns()).toBeGreaterThan(3);
    expect(await faultsOf(rows, { rows: [...many, { id: 'x' }] })).toMatchObject([
      { path: '/rows/30000/id', expected: 'integer' },
    ]);
    expect(await faultsOf(rows, { rows: [...many, { id: 7 }] })).toMatchObject([
      { path: '/rows', expected: 'entries that all differ' },
    ]);
  });

  spec('TOOL-23', 'lets small validations that come together share turns', async () => {
    const schema = createJsonSchema({ type: 'array', items: { type: 'integer' } });
    const small = [1, 2, 3];
    const checkAll = (count: number) => Promise.all(Array.from({ length: count }, () => schema.check(small)));
    // More than one turn may take, so that all of the others wait.
    await checkAll(5000);
    const counter = countTurns();
    await checkAll(5000);
    counter.stop();
    expect(counter.turns()).toBeLessThan(100);
  });
});

describe('untrusted schemas', () => {
  test('rejects long chains of references', () => {
    const links = Array.from({ length: 5000 }, (_, index) => [`d${index}`, { $ref: `#/$defs/d${index + 1}` }]);
    const chain = { $ref: '#/$defs/d0', $defs: { ...Object.fromEntries(links), d5000: {} } } as JsonSchema;
    expect(() => createJsonSchema(chain)).toThrow('has a chain of more than 200 references');
  });

  test('accepts schemas that recurse into a part of the value', async () => {
    const tree: JsonSchema = {
      type: 'object',
      properties: { left: { anyOf: [{ $ref: '#' }, { type: 'null' }] } },
      required: ['left'],
    };
    expect(await faultsOf(tree, { left: { left: null } })).toEqual([]);
    expect(await faultsOf(tree, { left: { left: 3 } })).toHaveLength(1);
  });

  test('stops a pattern that backtracks for too long', async () => {
    const began = performance.now();
    const faults = await faultsOf(
      { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
      { a: `${'a'.repeat(60)}!` },
    );
    expect(faults).toHaveLength(1);
    expect(performance.now() - began).toBeLessThan(patience(60_000));
  });

  test.each([
    [{ $ref: 'https://example.org/schema' }, 'outside the schema'],
    [{ anyOf: [{ $ref: '#' }] }, 'refers to itself for the same value'],
    [
      { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { allOf: [{ $ref: '#/$defs/a' }] } } },
      'refers to itself for the same value',
    ],
    [{ properties: { a: { pattern: '(' } } }, 'not a regular expression'],
    [{ properties: { default: { pattern: '(' } } }, 'not a regular expression'],
    [{ properties: { a: { $ref: '#/$defs/missing' } } }, 'does not exist'],
    [JSON.parse('{"properties":{"__proto__":{}}}'), '__proto__'],
    [JSON.parse(`${'{"items":'.repeat(100)}{}${'}'.repeat(100)}`), 'nested deeper'],
  ])('refuses %j', (schema, message) => {
    expect(() => createJsonSchema(schema as JsonSchema)).toThrow(message);
  });
});
