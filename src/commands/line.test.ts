// Proves that every valid input has a command line that gives it, and that the help of every tool reads well.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NO_CORPORA } from '../../test/support/corpora.js';
import { rounds } from '../../test/support/effort.js';
import { awkwardText, valuesOf } from '../../test/support/schema-values.js';
import { spec, specIf } from '../../test/support/spec.js';
import type { JsonObject } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import { toTool } from '../formats/module/define.js';
import {
  exampleArguments,
  type FlagKind,
  formatToolHelp,
  OWN_FLAGS,
  readCommandInput,
  toCommandLine,
  toParameters,
} from './index.js';

interface Found {
  readonly name: string;
  readonly description: string | null;
  readonly inputSchema: JsonSchema;
}

const RUNS = rounds(120, 3000);
const REAL_VALUES = rounds(8, 20);
const CORPORA =
  process.env.WIELD_CORPORA ?? resolve(fileURLToPath(new URL('../../..', import.meta.url)), 'shared/corpora');
const FILE = resolve(CORPORA, 'schemas/mcp-tools.jsonl');
const found: Found[] = existsSync(FILE)
  ? readFileSync(FILE, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Found)
  : [];

// As `wield call` reads them.
const ownKind = (name: string): FlagKind | undefined => (OWN_FLAGS.has(name) ? 'switch' : undefined);

function toolOf(inputSchema: JsonSchema, name = 'tool', description = 'Does it.'): Tool {
  return toTool({ name, description, inputSchema, execute: () => '' });
}

const isWhole = (line: readonly string[], input: JsonObject): boolean =>
  line.length === 2 && line[0] === '--input' && line[1] === JSON.stringify(input);

function readBack(tool: Tool, input: JsonObject): unknown {
  const line = toCommandLine(tool, input);
  return isWhole(line, input) ? JSON.parse(line[1]!) : readCommandInput(tool, line, { ownKind }).input;
}

const usesFlags = (tool: Tool, input: JsonObject): boolean => !isWhole(toCommandLine(tool, input), input);

const name = fc.oneof(
  fc.constantFrom(
    'foo_bar',
    'fooBar',
    'foo-bar',
    'no-foo',
    'foo',
    'foo.x',
    'x',
    'a=b',
    'a b',
    'a:',
    ':',
    '?',
    '',
    'json',
    'Json',
    'param-json',
    'dry_run',
    'input',
    'größe',
    'constructor',
    'h',
    '-x',
    '--',
  ),
  fc.string({ maxLength: 6 }).filter((text) => text !== '__proto__'),
);
const scalar = fc.constantFrom(
  { type: 'string' },
  { type: 'integer' },
  { type: 'number' },
  { type: 'boolean' },
  { type: ['string', 'number'] },
  { type: ['boolean', 'null'] },
  { type: ['integer', 'null'] },
  { enum: ['a', 'b c', '-d', 5, '5', null] },
  { anyOf: [{ type: 'string' }, { type: 'null' }] },
  { anyOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] },
  { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
  { allOf: [{ type: 'integer' }] },
  {},
);
const schemas = fc.letrec<{ node: JsonSchema; object: JsonSchema }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    scalar,
    scalar.map((items) => ({ type: 'array', items })),
    fc.record({ type: fc.constant('array'), items: tie('node') }),
    tie('object'),
  ) as fc.Arbitrary<JsonSchema>,
  object: fc
    .tuple(fc.dictionary(name, tie('node'), { maxKeys: 5, noNullPrototype: true }), fc.array(name, { maxLength: 3 }))
    .map(([properties, required]) => ({
      type: 'object',
      properties,
      required: [...new Set(required)].filter((key) => Object.hasOwn(properties, key)),
    })) as fc.Arbitrary<JsonSchema>,
}));

describe('a command line for every input', () => {
  spec.thorough(
    'MOD-22',
    'random schemas with odd names: what is written is read as the same input',
    async () => {
      let tried = 0;
      let byFlags = 0;
      await fc.assert(
        fc.asyncProperty(
          schemas.object.chain((schema) => fc.tuple(fc.constant(schema), valuesOf(schema))),
          async ([schema, value]) => {
            const tool = toolOf(schema);
            const checked = await tool.input.check(value as JsonObject);
            if (!checked.ok) return;
            tried++;
            if (usesFlags(tool, value as JsonObject)) byFlags++;
            expect(readBack(tool, value as JsonObject)).toEqual(value);
          },
        ),
        { numRuns: RUNS },
      );
      expect(tried).toBeGreaterThan((RUNS * 5) / 6);
      // Flags say all of it: --input is for what no flag is declared for.
      expect(byFlags).toBe(tried);
    },
    120_000,
  );

  specIf.thorough(found.length > 0, NO_CORPORA, 'MOD-22', 'real schemas, the same', async () => {
    let tried = 0;
    for (const { inputSchema, name: called } of found) {
      const tool = toolOf(inputSchema, 'tool', called);
      await fc.assert(
        fc.asyncProperty(valuesOf(inputSchema), async (value) => {
          if (!(await tool.input.check(value as JsonObject)).ok) return;
          tried++;
          expect(usesFlags(tool, value as JsonObject)).toBe(true);
          expect(readBack(tool, value as JsonObject)).toEqual(value);
        }),
        { numRuns: REAL_VALUES },
      );
    }
    expect(tried).toBeGreaterThan(found.length * REAL_VALUES * 0.9);
  });

  spec('MOD-22', 'what no parameter is declared for is given by --input', () => {
    const tool = toolOf({ type: 'object', properties: { a: {} }, additionalProperties: true });
    expect(toCommandLine(tool, { b: 1 })).toEqual(['--input', '{"b":1}']);
    expect(toCommandLine(tool, {})).toEqual([]);
  });

  spec('MOD-22 CLI-13', 'every parameter has a flag of its own, and none is --help', () => {
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 12 }), (names) => {
        const properties = Object.fromEntries(names.map((one) => [one, { type: 'string' }]));
        const flags = toParameters({ type: 'object', properties }).map((parameter) => parameter.flag);
        expect(new Set(flags).size).toBe(names.length);
        for (const flag of flags) {
          expect(flag).not.toBe('help');
          expect(flag).toMatch(/^[^\s=.:-][^\s=.:]*$/u);
        }
      }),
    );
  });

  const SCHEMA: JsonSchema = {
    type: 'object',
    properties: {
      fooBar: { type: 'string' },
      foo_bar: { type: 'string' },
      'foo-bar': { type: 'string' },
      'two words': { type: 'string' },
      'a.b': { type: 'string' },
      either: { type: ['string', 'number', 'null'] },
      loud: { type: 'boolean', default: true },
      maybe: { type: ['boolean', 'null'] },
      tags: { type: 'array', items: { type: 'string' }, default: ['x'] },
      rows: { type: 'array', items: { type: 'array', items: { type: 'number' } } },
      counts: { anyOf: [{ type: 'array', items: { type: 'integer' } }, { type: 'null' }] },
      size: {
        type: 'object',
        properties: { maxWidth: { type: 'integer' }, names: { type: 'array', items: { type: 'string' } } },
      },
      json: { type: 'string' },
      dry_run: { type: 'boolean' },
    },
  };

  for (const [line, input] of [
    [['--fooBar', 'a', '--foo_bar', 'b', '--foo-bar', 'c'], { fooBar: 'a', foo_bar: 'b', 'foo-bar': 'c' }],
    [['--two-words', 'a'], { 'two words': 'a' }],
    [['--two words', 'a'], { 'two words': 'a' }],
    [['--a.b', 'x'], { 'a.b': 'x' }],
    [['--a-b', 'x'], { 'a.b': 'x' }],
    [['--either', '5'], { either: '5' }],
    [['--either:=5'], { either: 5 }],
    [['--either:="5"'], { either: '5' }],
    [['--either:=null'], { either: null }],
    [['--either:', '5'], { either: 5 }],
    [['--either='], { either: '' }],
    [['--fooBar', ''], { fooBar: '' }],
    [['--fooBar', '-x'], { fooBar: '-x' }],
    [['--fooBar=a=b'], { fooBar: 'a=b' }],
    [['--no-loud'], { loud: false }],
    [['--loud'], { loud: true }],
    [['--loud=false'], { loud: false }],
    [['--no-loud=false'], { loud: true }],
    [['--maybe:=null'], { maybe: null }],
    [['--tags', 'a', '--tags', 'b'], { tags: ['a', 'b'] }],
    [['--tags', '["a","b"]'], { tags: ['a', 'b'] }],
    [['--tags:=["[x]"]'], { tags: ['[x]'] }],
    [['--tags', '[]'], { tags: [] }],
    [['--rows', '[[1],[2]]'], { rows: [[1], [2]] }],
    [['--counts', '1', '--counts', '2'], { counts: [1, 2] }],
    [['--counts:=null'], { counts: null }],
    [['--size.max-width', '3', '--size.names', 'a', '--size.names', 'b'], { size: { maxWidth: 3, names: ['a', 'b'] } }],
    [['--size', '{"maxWidth":3}', '--size.names', 'a'], { size: { maxWidth: 3, names: ['a'] } }],
    [['--json', 'x'], { json: 'x' }],
    [['--dry-run'], { dry_run: true }],
    [['--param-json', 'x'], { json: 'x' }],
    [['--param-dry-run'], { dry_run: true }],
    [['--param-dry_run'], { dry_run: true }],
    [['--no-param-dry-run'], { dry_run: false }],
  ] as const) {
    spec('MOD-22 CLI-13', `${line.join(' ')} is ${JSON.stringify(input)}`, async () => {
      const tool = toolOf(SCHEMA);
      expect(readCommandInput(tool, line, { ownKind }).input).toEqual(input);
      expect(await tool.input.check(input as unknown as JsonObject)).toMatchObject({ ok: true });
    });
  }

  test('awkward text is awkward', () => {
    expect(fc.sample(awkwardText, 500).some((text) => text.startsWith('-'))).toBe(true);
  });
});

describe('help', () => {
  const assertReadsWell = (tool: Tool): void => {
    const help = formatToolHelp(tool, 'wield tool');
    const lines = help.split('\n');
    for (const line of lines.slice(0, lines.indexOf('Example'))) {
      // Only a word that is longer than its place, or the command itself, makes a line longer.
      if (line.length > 100)
        expect(
          line
            .trim()
            .split(/\s{3,}|\s/)
            .some((word) => word.length > 30),
          line,
        ).toBe(true);
    }
    const parameters = toParameters(tool.input.json);
    const rows = lines.filter((line) => /^ {2}[* ]\S+ {3,}\S/.test(line));
    expect(rows.length).toBeGreaterThanOrEqual(parameters.length);
    for (const { flag, required, choices, default: standard } of parameters) {
      const row = rows.find((line) => line.startsWith(`  ${required ? '*' : ' '}${flag} `));
      expect(row, `${flag} in\n${help}`).toBeDefined();
      if (choices.length > 0) expect(help).toMatch(/\bone\s+of\s/);
      if (standard !== undefined) expect(help).toMatch(/\bdefault\s/);
    }
    const example = exampleArguments(tool);
    expect(/\nExample\n {2}wield tool/.test(help)).toBe(example !== undefined);
    expect(example?.length !== 0 || parameters.every((one) => !one.required)).toBe(true);
  };

  specIf(found.length > 0, NO_CORPORA, 'MOD-24', 'of real tools reads well', () => {
    for (const { inputSchema, name: called, description } of found)
      assertReadsWell(toolOf(inputSchema, 'tool', description?.trim() || called));
  });

  // The words of the example without their quotes, as the shell passes them.
  const unquote = (word: string): string => (word.startsWith("'") ? word.slice(1, -1).replaceAll(`'\\''`, "'") : word);
  const checkExample = async (tool: Tool): Promise<boolean | undefined> => {
    const line = exampleArguments(tool)?.map(unquote);
    if (line === undefined) return undefined;
    const input =
      line[0] === '--input' && line[1]?.startsWith('{')
        ? JSON.parse(line[1])
        : readCommandInput(tool, line, { ownKind }).input;
    return (await tool.input.check(input)).ok;
  };

  spec('MOD-41', 'has a valid example, or none', async () => {
    const valid: JsonSchema[] = [
      { type: 'string', minLength: 20 },
      { type: 'string', maxLength: 2 },
      { type: 'string', format: 'date' },
      { type: 'integer', maximum: -3 },
      { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 },
      { type: 'integer', minimum: 7, multipleOf: 5 },
      { type: 'array', items: { enum: ['x', 'y', 'z'] }, minItems: 3, uniqueItems: true },
      {
        type: 'array',
        maxItems: 1,
        items: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
      },
      {
        type: 'object',
        properties: { deep: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } },
      },
      { anyOf: [{ type: 'null' }, { type: 'string', format: 'email' }] },
      { allOf: [{ type: 'string' }, { minLength: 9 }] },
      { $ref: '#/$defs/one' },
    ];
    const toolWith = (value: JsonSchema): Tool =>
      toolOf({
        type: 'object',
        properties: { value },
        required: ['value'],
        $defs: { one: { const: 'one thing' } },
      });
    for (const value of valid) expect([value, await checkExample(toolWith(value))]).toEqual([value, true]);
    for (const value of [{ type: 'string', pattern: '^a{9}$' }, { not: { type: 'string' } }] as JsonSchema[])
      expect([value, await checkExample(toolWith(value))]).toEqual([value, undefined]);
  });

  specIf(found.length > 0, NO_CORPORA, 'MOD-41', 'of real tools has valid examples', async () => {
    const bad: string[] = [];
    let none = 0;
    for (const { inputSchema, name: called } of found) {
      const isValid = await checkExample(toolOf(inputSchema, 'tool', called));
      if (isValid === false) bad.push(called);
      if (isValid === undefined) none++;
    }
    expect([bad, none / found.length < 0.05]).toEqual([[], true]);
  });

  spec('MOD-22 MOD-24', 'merges the parameters of all parts of the schema', () => {
    const branch = (k: string, name: string): JsonSchema => ({
      type: 'object',
      properties: { k: { const: k, description: 'Kind' }, [name]: { type: 'integer' } },
      required: ['k', name],
    });
    const rows = (schema: JsonSchema): string[] => {
      const lines = formatToolHelp(toolOf(schema, 'un'), 'un').split('\n');
      return lines.filter((line) => /^ [ *]{2}\w/.test(line) && !line.startsWith('  un')).map((line) => line.trim());
    };
    const union = ['*k   string    Kind; one of x, y', 'a   integer', 'b   integer'];
    expect(rows({ type: 'object', oneOf: [branch('x', 'a'), branch('y', 'b')] })).toEqual(union);
    expect(rows({ $ref: '#/$defs/un', $defs: { un: { anyOf: [branch('x', 'a'), branch('y', 'b')] } } })).toEqual(union);
    expect(rows({ type: 'object', allOf: [branch('x', 'a'), { properties: { c: {} } }] })).toEqual([
      '*k   string    Kind; one of x',
      '*a   integer',
      'c   any',
    ]);
    const either = { type: 'object', properties: { a: {}, b: {} }, anyOf: [{ required: ['a'] }, { required: ['b'] }] };
    expect(rows(either)).toEqual(['a   any', 'b   any']);
    const tool = toolOf({ type: 'object', oneOf: [branch('x', 'a'), branch('y', 'b')] }, 'un');
    expect(readCommandInput(tool, ['y', '--b', '2'])).toEqual({ input: { k: 'y', b: 2 }, given: true });
  });

  spec('MOD-24', 'aligns, wraps, marks, and shows choices, fields, defaults and an example', () => {
    const long = `The first sentence says it. ${'Another one explains it at length and goes on. '.repeat(12)}`;
    const tool = toolOf(
      {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Path of the note.\nRelative.' },
          mode: { enum: ['fast', 'with care', ''], default: 'fast', description: long },
          limit: { type: 'integer', default: 20, minimum: 1 },
          loud: { type: 'boolean', default: true, description: 'Colour \u001b[31mred\u0007' },
          tags: { type: 'array', items: { type: 'string' } },
          size: { type: 'object', properties: { width: {}, height: {} } },
          a_name_that_is_longer_than_its_column_is: { type: 'string', description: 'Long.' },
        },
        required: ['path', 'size'],
      },
      'note_read',
      'Read a note.\n\nArgs:\n    path: where it is',
    );
    expect(formatToolHelp(tool, 'wield note read', { from: 'here' })).toMatchInlineSnapshot(`
      "Read a note.

      Args:
          path: where it is

        wield note read <path> [--mode fast] [--limit 20] [--no-loud] [--tags ARRAY …] --size OBJECT
                        [--a-name-that-is-longer-than-its-column-is STRING]

        *path                          string    Path of the note. Relative
         mode                          string    The first sentence says it. Another one explains it at
                                                 length and goes on. Another one explains it at length and
                                                 goes on. Another one explains it at length and goes on.
                                                 Another one explains it at length and goes on; one of
                                                 fast, with care, ""; default fast
         limit                         integer   at least 1; default 20
         loud                          boolean   Colour red; default true
         tags                          array
        *size                          object    fields width, height
         a-name-that-is-longer-than-its-column-is   string
                                                 Long

      Example
        wield note read --path path '--size:={}'

      from here
      "
    `);
  });
});
