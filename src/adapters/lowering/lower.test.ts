// Tests lowering with random schemas: no valid value is lost, and providers accept the result.

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ALL_TESTS, rounds } from '../../../test/support/effort.js';
import { encodeArguments } from '../../../test/support/encode-arguments.js';
import { refusals } from '../../../test/support/provider-rules.js';
import { finding, spec } from '../../../test/support/spec.js';
import { valuesOf } from '../../../test/support/valid-values.js';
import type { Json } from '../../core/json.js';
import type { JsonSchema } from '../../core/schema.js';
import { createJsonSchema } from '../../schema/json.js';
import { lower } from './lower.js';
import { ANTHROPIC, ANY_PROVIDER, OLLAMA, OPENAI } from './profile.js';

const CASES = [
  { profile: ANTHROPIC, strict: false },
  { profile: ANTHROPIC, strict: true },
  { profile: OPENAI, strict: false },
  { profile: OPENAI, strict: true },
  { profile: OLLAMA, strict: false },
  { profile: ANY_PROVIDER, strict: true },
];

const name = fc.constantFrom('a', 'b', 'odd name', 'odd_name', 'left_out', 'key', 'value', 'kind', 'ä'.repeat(70));
const scalars = fc.oneof(
  fc.record({ type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'null') }),
  fc.constantFrom<JsonSchema>(
    { type: ['string', 'null'] },
    { type: 'string', minLength: 1, description: 'A text.', default: 'x' },
    { type: 'integer', minimum: 1, maximum: 9 },
    { enum: ['x', 'y'] },
    { enum: ['x', null, 3, 'x'] },
    { const: 'one' },
    { const: null },
    { type: 'string', enum: ['p', 'q'] },
    { type: 'string', pattern: '^[a-z]*$' },
    { $ref: '#/$defs/word' },
    { $ref: '#/$defs/word', description: 'Another word.' },
    { $ref: '#/$defs/tree' },
    { type: 'array' },
    { type: 'object' },
    {},
  ),
);
const DEFS: JsonSchema = {
  word: { type: 'string', maxLength: 9 },
  tree: {
    type: 'object',
    properties: { value: { type: 'integer' }, left: { $ref: '#/$defs/tree' } },
    additionalProperties: false,
  },
};
const nodes = fc.letrec<{ node: JsonSchema; object: JsonSchema }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    scalars as fc.Arbitrary<JsonSchema>,
    fc.record({ type: fc.constant('array'), items: tie('node') }) as fc.Arbitrary<JsonSchema>,
    fc.record({ anyOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }) }) as fc.Arbitrary<JsonSchema>,
    fc.record({ oneOf: fc.array(tie('node'), { minLength: 1, maxLength: 2 }) }) as fc.Arbitrary<JsonSchema>,
    fc.record({ allOf: fc.array(tie('node'), { minLength: 1, maxLength: 2 }) }) as fc.Arbitrary<JsonSchema>,
    fc.record({ type: fc.constant('object'), additionalProperties: tie('node') }) as fc.Arbitrary<JsonSchema>,
    // Only inside an array: a schema that is its own alternative describes nothing.
    fc.constant({ type: 'array', items: { $ref: '#' } }),
    fc.record({ not: tie('node') }) as fc.Arbitrary<JsonSchema>,
    tie('object'),
  ),
  object: fc
    .tuple(
      fc.dictionary(name, tie('node'), { maxKeys: 3 }),
      fc.uniqueArray(name, { maxLength: 2 }),
      fc.constantFrom<unknown>(undefined, true, false, false, false, { type: 'string' }),
      fc.option(fc.constantFrom('anyOf', 'oneOf', 'allOf'), { nil: undefined }),
      fc.array(tie('node'), { minLength: 1, maxLength: 2 }),
      fc.integer({ min: 0, max: 9 }),
    )
    .map(([properties, required, additional, combine, branches, odd]) => ({
      type: 'object',
      properties,
      required: required.filter((key) => Object.hasOwn(properties, key)),
      ...(additional === undefined ? {} : { additionalProperties: additional }),
      ...(combine !== undefined && odd > 6 ? { [combine]: branches } : {}),
      ...(odd === 5
        ? Object.fromEntries([
            ['if', branches[0]],
            ['then', branches.at(-1)],
          ])
        : {}),
      ...(odd === 6 ? { patternProperties: { '^o': branches[0] } } : {}),
    })) as fc.Arbitrary<JsonSchema>,
}));
const schemas = nodes.object.map((schema) => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...schema,
  $defs: DEFS,
}));

const RUNS = rounds(ALL_TESTS ? 40 : 15, 250);

const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });

spec(
  'SDK-2',
  'every valid value has an encoding that the lowered schema accepts and that restores to the value',
  async () => {
    const seen = { values: 0, strict: 0, loose: 0 };
    await fc.assert(
      fc.asyncProperty(schemas, fc.infiniteStream(fc.nat()), async (schema, seeds) => {
        const own = createJsonSchema(schema, { closed: true });
        const seed = seeds.next().value as number;
        const candidates = fc.sample(valuesOf(schema), { numRuns: 8, seed });
        const valid: Json[] = [];
        for (const value of candidates) {
          const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
          if (isObject && (await own.check(value)).ok) valid.push(value);
        }
        for (const { profile, strict } of CASES) {
          const lowering = lower(schema, profile, { strict });
          const about = { profile: profile.name, schema, lowered: lowering.schema };
          const rules = { provider: profile.name as 'openai', strict: lowering.strict };
          expect({ ...about, refusals: refusals(lowering.schema, rules) }).toEqual({ ...about, refusals: [] });
          const accepts = ajv.compile(lowering.schema);
          for (const value of valid) {
            const encoded = encodeArguments(value, schema, lowering, profile);
            expect({ ...about, value, encoded, taken: accepts(encoded) }).toEqual({
              ...about,
              value,
              encoded,
              taken: true,
            });
            expect({ ...about, encoded, value: lowering.restore(encoded) }).toEqual({ ...about, encoded, value });
            seen.values++;
          }
          if (strict) seen[lowering.strict ? 'strict' : 'loose']++;
          // Anything else that fits the lowered schema can be restored and validated.
          for (const sent of fc.sample(valuesOf(lowering.schema), { numRuns: 3, seed })) {
            expect(await own.check(lowering.restore(sent))).toHaveProperty('ok');
          }
        }
      }),
      { numRuns: RUNS, seed: 20_261_115 },
    );
    expect(seen.values).toBeGreaterThan(RUNS * 4);
    expect(seen.strict).toBeGreaterThan(RUNS / 5);
    expect(seen.loose).toBeGreaterThan(RUNS / 2.5);
  },
  120_000,
);

describe('strict mode of OpenAI', () => {
  const strict = (schema: JsonSchema) => lower(schema, OPENAI, { strict: true });

  test('sends an optional property as nullable and restores null as absent', () => {
    const { schema, restore } = strict({
      type: 'object',
      properties: { path: { type: 'string', description: 'Path' }, limit: { type: 'integer', minimum: 1 } },
      required: ['path'],
    });
    expect(schema).toEqual({
      type: 'object',
      properties: {
        path: { description: 'Path', type: 'string' },
        limit: { description: '(minimum 1)', type: ['integer', 'null'] },
      },
      required: ['path', 'limit'],
      additionalProperties: false,
    });
    expect(restore({ path: 'a', limit: null })).toEqual({ path: 'a' });
    expect(restore({ path: 'a', limit: 3 })).toEqual({ path: 'a', limit: 3 });
  });

  test('distinguishes null from absent for a nullable property', () => {
    const { restore } = strict({ type: 'object', properties: { note: { type: ['string', 'null'] } } });
    expect(restore({ note: null })).toEqual({ note: null });
    expect(restore({ note: { left_out: true } })).toEqual({});
  });

  test('adds constraints it cannot express to the description', () => {
    const { schema } = strict({
      type: 'object',
      properties: {
        sort: { anyOf: [{ type: 'string', maxLength: 9 }, { type: 'null' }], default: 'name', description: 'Order' },
        size: { enum: ['s', 'l'], default: 's' },
      },
      required: ['sort', 'size'],
    });
    expect(schema.properties).toEqual({
      sort: {
        description: 'Order (default "name")',
        anyOf: [{ description: '(maxLength 9)', type: 'string' }, { type: 'null' }],
      },
      size: { description: '(default "s")', type: 'string', enum: ['s', 'l'] },
    });
  });

  test.each<[string, JsonSchema]>([
    ['open', { type: 'object', properties: { a: {} }, additionalProperties: true }],
    [
      'open in an alternative',
      {
        type: 'object',
        properties: { a: { type: 'string' } },
        anyOf: [{ type: 'object', additionalProperties: { type: 'string' } }],
      },
    ],
    ['open in a nested object', { type: 'object', properties: { a: { type: 'object', properties: {} } } }],
    ['a map', { type: 'object', properties: { a: { type: 'object', additionalProperties: { type: 'string' } } } }],
    ['without a type', { type: 'object', properties: { a: {} } }],
    [
      'without a type, with a description',
      { type: 'object', properties: { a: { anyOf: [{}, { type: 'string' }], description: 'A.' } } },
    ],
    ['recursive', { type: 'object', properties: { a: { $ref: '#' } } }],
    [
      'ambiguous',
      {
        type: 'object',
        properties: {
          a: {
            anyOf: [
              { type: 'object', properties: { x: { type: 'string' } }, additionalProperties: false },
              { type: 'object', properties: { x: { type: 'null' } }, required: ['x'], additionalProperties: false },
            ],
          },
        },
      },
    ],
    [
      'too large',
      {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`p${index}`, { type: 'string' }])),
      },
    ],
  ])('sends a schema that is %s without strict mode', (_what, schema) => {
    expect(strict(schema).strict).toBe(false);
  });
});

test('renames properties that Anthropic rejects, in both directions', () => {
  const { schema, restore } = lower(
    { type: 'object', properties: { 'odd name': { type: 'string' }, odd_name: { type: 'string' } } },
    ANTHROPIC,
  );
  expect(schema.properties).toEqual({
    odd_name_2: { type: 'string', description: 'The parameter "odd name".' },
    odd_name: { type: 'string' },
  });
  expect(restore({ odd_name_2: 'x', odd_name: 'y' })).toEqual({ 'odd name': 'x', odd_name: 'y' });
});

test('patterns of property names stay as long as no property is renamed', () => {
  const patterns = { patternProperties: { '^x-': { type: 'string' } }, additionalProperties: { type: 'integer' } };
  const of = (name: string) => lower({ type: 'object', properties: { [name]: {} }, ...patterns }, ANTHROPIC).schema;
  expect(of('a')).toMatchObject(patterns);
  expect(of('odd name')).toMatchObject({ properties: { odd_name: {} } });
  expect(of('odd name')).not.toHaveProperty('patternProperties');
});

test('wraps an input that is not an object', () => {
  const { schema, restore } = lower({ type: 'array', items: { type: 'integer' } }, OPENAI, { strict: true });
  expect(schema).toMatchObject({ type: 'object', required: ['input'] });
  expect(restore({ input: [1, 2] })).toEqual([1, 2]);
});

finding('D12 SDK-2', 'strict encoding keeps the properties of every alternative', () => {
  const text = { type: 'string' };
  const object = (properties: JsonSchema): JsonSchema => ({
    type: 'object',
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  });
  const target = { anyOf: [object({ a: text }), object({ b: text }), object({ a: text, c: text })] };
  const kinds = { anyOf: [object({ kind: { enum: ['x'] }, n: text }), object({ kind: { enum: ['y'] }, m: text })] };
  const cases: readonly (readonly [JsonSchema, readonly Json[]])[] = [
    [object({ target }), [{ target: { a: '1' } }, { target: { b: '2' } }, { target: { a: '1', c: '3' } }]],
    [object({ list: { type: 'array', items: target } }), [{ list: [{ b: '2' }, { a: '1', c: '3' }] }]],
    [object({ kinds }), [{ kinds: { kind: 'y', m: '1' } }]],
  ];
  for (const [schema, values] of cases) {
    for (const { profile, strict } of CASES) {
      const lowered = lower(schema, profile, { strict });
      for (const value of values) {
        const encoded = encodeArguments(value, schema, lowered, profile);
        expect(lowered.restore(encoded)).toEqual(value);
        if (lowered.strict) expect(new Ajv2020({ strict: false }).validate(lowered.schema, encoded)).toBe(true);
      }
    }
  }
  const two = { anyOf: [object({ a: text }), object({ b: text })] };
  const lowered = lower(object({ two }), OPENAI, { strict: true });
  expect([lowered.strict, lowered.restore({ two: { b: '2' } })]).toEqual([true, { two: { b: '2' } }]);
});
