// Typed definitions: library schemas, and the input of execute.

import { type } from 'arktype';
import { describe, expect, expectTypeOf } from 'vitest';
import { z } from 'zod';
import { createToolbox, defineTool, type ToolContext, type ToolDefinition, textOf } from '../../../src/index.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const find = async (tool: ToolDefinition) => createToolbox({ tools: [tool] }).find(tool.name);
const call = async (tool: ToolDefinition, input: unknown, options = {}) =>
  createToolbox({ tools: [tool] }).call(tool.name, input, options);

describe('schemas', () => {
  const inputSchema = z.object({ summary: z.string().describe('Summary of work done') });
  const outputSchema = z.object({ message: z.string(), is_error: z.boolean() });
  const completeTask = {
    name: 'complete_task',
    description: 'Mark the current task as complete.',
    group: 'task',
    terminal: true,
    inputSchema,
    outputSchema,
    execute: async (input) => ({ message: `Task completed: ${input.summary}`, is_error: false }),
  } satisfies ToolDefinition<typeof inputSchema, typeof outputSchema>;

  spec('MOD-1', 'type execute, with defineTool and with satisfies', async () => {
    expectTypeOf(completeTask.execute).parameter(0).toEqualTypeOf<{ summary: string }>();
    const note = defineTool({
      name: 'note_read',
      description: 'Read a note.',
      group: 'note',
      tags: ['Notes'],
      inputSchema: z.object({ path: z.string(), limit: z.number().int().default(20) }),
      execute: ({ path, limit }, context) => {
        expectTypeOf(path).toBeString();
        expectTypeOf(limit).toBeNumber();
        expectTypeOf(context).toEqualTypeOf<ToolContext>();
        return { path, limit };
      },
    });
    expectTypeOf(note.execute).returns.toEqualTypeOf<{ path: string; limit: number }>();
    defineTool({
      name: 'wrong',
      description: 'D',
      outputSchema: z.object({ count: z.number() }),
      // @ts-expect-error: the result does not fit the output schema
      execute: () => ({ count: 'three' }),
    });
    // @ts-expect-error: the input does not fit the input schema
    expect(() => note.execute({ path: 1, limit: 2 }, undefined)).not.toThrow();

    const tools = [completeTask, note];
    for (const toolbox of [createToolbox({ tools }), createWorkspace().toolbox({ tools })]) {
      expect((await toolbox.call('complete_task', { summary: 'done' })).structured).toEqual({
        message: 'Task completed: done',
        is_error: false,
      });
      expect((await toolbox.call('note_read', { path: 'a' })).structured).toEqual({ path: 'a', limit: 20 });
      expect((await toolbox.find('complete_task')).traits).toMatchObject({ group: 'task', terminal: true });
      expect((await toolbox.find('note_read')).traits.tags).toEqual(['notes']);
    }
  });

  spec('MOD-2', 'of another library work like Zod, also if they are functions', async () => {
    const greet = defineTool({
      name: 'greet',
      description: 'D',
      inputSchema: type({ who: 'string > 0', 'times?': '1 <= number.integer <= 9' }),
      execute: ({ who, times }) => {
        expectTypeOf(who).toBeString();
        return `${who} ${times ?? 1}`;
      },
    });
    expect((await find(greet)).input.json).toMatchObject({
      type: 'object',
      properties: { who: { type: 'string' }, times: { type: 'integer' } },
      required: ['who'],
    });
    expect(textOf(await call(greet, { who: 'Ada', times: 2 }))).toBe('Ada 2');
    expect((await call(greet, { who: 'Ada', times: 12 })).error?.code).toBe('invalid_input');
    expect((await call(greet, { who: 'Ada', wave: 1 })).error?.data?.faults).toMatchObject([{ path: '/wave' }]);
  });

  spec('MOD-2', 'can be JSON Schemas, with input typed as unknown', async () => {
    const add = defineTool({
      name: 'add',
      description: 'D',
      inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
      execute: (input) => {
        expectTypeOf(input).toBeUnknown();
        return (input as { a: number }).a + 1;
      },
    });
    expect((await call(add, { a: 2 })).structured).toBe(3);
    expect((await call(add, { a: 'x' })).error?.code).toBe('invalid_input');
  });

  spec('MOD-2', 'that are invalid or cannot be published are an invalid definition', () => {
    const base = { name: 'odd', description: 'D', execute: () => 1 };
    const mute = {
      '~standard': { version: 1, vendor: 'mute', validate: (value: unknown) => ({ value }) },
    } as const;
    for (const inputSchema of [mute, z.object({ when: z.date() }), 'text', null]) {
      const define = (): unknown => defineTool({ ...base, inputSchema } as never);
      expect(define).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
      expect(define).toThrow(/inputSchema/);
    }
  });

  spec('MOD-38', 'that cannot be published name the part and what to write', () => {
    const when = z.coerce.date();
    const within: readonly (readonly [z.ZodType, string])[] = [
      [z.object({ when }), 'when'],
      [z.object({ order: z.object({ lines: z.array(z.object({ due: when.optional() })) }) }), 'order.lines[].due'],
      [z.object({ pair: z.tuple([z.string(), when.nullable()]) }), 'pair[1]'],
      [z.object({ rest: z.tuple([z.string()], when) }), 'rest[]'],
      [z.object({ days: z.record(z.string(), when) }), 'days.*'],
      [z.object({}).catchall(when), '*'],
      [z.object({ one: z.union([z.string(), z.object({ at: when.default(() => new Date()) })]) }), 'one.at'],
      [z.object({ both: z.intersection(z.object({ a: when.readonly() }), z.object({ b: z.string() })) }), 'both.a'],
      [z.object({ later: z.lazy(() => z.object({ a: when })) }), 'later.a'],
      [z.discriminatedUnion('kind', [z.object({ kind: z.literal('a'), on: when })]), 'on'],
      [z.object({ text: z.string(), again: when.prefault(new Date(0)).catch(new Date(0)) }), 'again'],
    ];
    for (const [inputSchema, path] of within)
      expect(() => defineTool({ name: 'odd', description: 'D', inputSchema, execute: () => 1 })).toThrow(
        expect.objectContaining({
          code: 'invalid_definition',
          message: `odd: inputSchema cannot be published as JSON Schema: ${path} is a Date`,
          hint: expect.stringContaining(`for ${path}, write z.iso.datetime()`),
        }),
      );
    const published = z.date();
    published._zod.toJSONSchema = () => ({ type: 'string', format: 'date-time' });
    expect(() =>
      defineTool({ name: 'even', description: 'D', inputSchema: z.object({ published }), execute: () => 1 }),
    ).not.toThrow();
    const kinds: readonly (readonly [z.ZodType, RegExp])[] = [
      [z.record(z.symbol(), z.string()), /z\.enum/],
      [z.bigint(), /z\.int\(\)/],
      [z.coerce.bigint(), /z\.int\(\)/],
      [z.symbol(), /z\.enum/],
      [z.undefined(), /\.optional\(\)/],
      [z.void(), /\.optional\(\)/],
      [z.union([z.string(), z.undefined()]), /\.optional\(\)/],
      [z.nan(), /z\.number\(\)/],
      [z.map(z.string(), z.string()), /z\.record/],
      [z.set(z.string()), /z\.array/],
      [z.custom<Date>(), /z\.object/],
      [z.instanceof(URL), /z\.object/],
      [z.function() as unknown as z.ZodType, /z\.string/],
      [z.literal(10n), /a number/],
      [z.literal(['a', undefined]), /\.optional\(\)/],
      [
        z.string().catch(() => {
          throw new Error('none');
        }),
        /\.default/,
      ],
      [z.transform(String), /z\.string\(\)\.transform/],
    ];
    for (const [kind, hint] of kinds)
      expect(() =>
        defineTool({ name: 'odd', description: 'D', inputSchema: z.object({ a: kind }), execute: () => 1 }),
      ).toThrow(
        expect.objectContaining({
          message: expect.stringMatching(/: a(?:\.\*)? is /),
          hint: expect.stringMatching(hint),
        }),
      );
    for (const [kind, hint] of [
      [z.date(), /toISOString/],
      [z.string().transform(Number), /\.pipe\(/],
      [z.codec(z.string(), z.date(), { decode: (a) => new Date(a), encode: String }), /toISOString/],
    ] as const)
      expect(() =>
        defineTool({
          name: 'odd',
          description: 'D',
          outputSchema: z.object({ a: kind }),
          execute: () => ({}) as never,
        }),
      ).toThrow(
        expect.objectContaining({
          message: expect.stringMatching(/outputSchema .*: a is /),
          hint: expect.stringMatching(hint),
        }),
      );
  });

  spec('MOD-38', 'of other libraries do too, also if the library would publish anything', () => {
    for (const [inputSchema, path, hint] of [
      [type({ a: { when: 'Date' } }), 'a.when', /string\.date\.iso/],
      [type({ list: '(Date | null)[]' }), 'list[]', /string\.date\.iso/],
      [type({ n: 'bigint' }), 'n', /number\.integer/],
      [type({ n: '10n' }), 'n', /number\.integer/],
      [type({ s: 'symbol' }), 's', /string/],
      [type({ m: 'Map' }), 'm', /\[string\]/],
      [type({ m: 'Set' }), 'm', /string\[\]/],
      [type({ 'u?': 'undefined' }), 'u', /name\?/],
      [type({ f: 'Function' }), 'f', /name/],
      [type({ any: { '[string]': 'bigint' } }), 'any.*', /number\.integer/],
    ] as const)
      expect(() => defineTool({ name: 'odd', description: 'D', inputSchema, execute: () => 1 } as never)).toThrow(
        expect.objectContaining({
          message: expect.stringContaining(`JSON Schema: ${path} is `),
          hint: expect.stringMatching(hint),
        }),
      );
    const parsed = type({ day: 'string.date.iso.parse', even: type('number').narrow((n) => n % 2 === 0) });
    expect(() => defineTool({ name: 'odd', description: 'D', inputSchema: parsed, execute: () => 1 })).not.toThrow();
    const other = {
      '~standard': {
        version: 1,
        vendor: 'other',
        validate: (value: unknown) => ({ value }),
        jsonSchema: {
          input: () => {
            throw new Error('The "date" schema cannot be converted');
          },
          output: () => ({}),
        },
      },
    } as const;
    expect(() => defineTool({ name: 'odd', description: 'D', inputSchema: other, execute: () => 1 })).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('The "date" schema'),
        hint: expect.stringMatching(/string/),
      }),
    );
  });

  spec('MOD-3', 'are published as the input schema', async () => {
    const node: z.ZodType = z.object({
      name: z.string(),
      get children() {
        return z.array(node);
      },
    });
    const tool = defineTool({
      name: 'odd',
      description: 'D',
      inputSchema: z.strictObject({
        path: z.string().describe('Where'),
        limit: z.number().default(20),
        mode: z.enum(['fast', 'slow']).optional(),
        tree: node.optional(),
        extra: z.looseObject({}).optional(),
      }),
      outputSchema: z.object({ count: z.number().default(1) }),
      execute: () => ({}),
    });
    const { input, output } = await find(tool);
    expect(input.json).toMatchObject({
      type: 'object',
      required: ['path'],
      additionalProperties: false,
      properties: {
        path: { type: 'string', description: 'Where' },
        limit: { type: 'number', default: 20 },
        mode: { enum: ['fast', 'slow'] },
        extra: { additionalProperties: {} },
      },
    });
    expect(JSON.stringify(input.json)).toMatch(/"\$ref":"#\/\$defs\//);
    expect(input.json).not.toHaveProperty('$schema');
    expect(Object.keys(input.json.$defs as object)).toHaveLength(1);
    expect(output?.json).toMatchObject({ required: ['count'] });
    expect(
      (await call(tool, { path: 'a', tree: { name: 'x', children: [{ name: 1, children: [] }] } })).error?.code,
    ).toBe('invalid_input');
  });
});

describe('input', () => {
  const seen: unknown[] = [];
  const tool = defineTool({
    name: 'look',
    description: 'D',
    inputSchema: z.object({
      limit: z.number().int().default(20),
      when: z.iso
        .date()
        .transform((text) => new Date(text))
        .optional(),
      even: z
        .number()
        .refine((number) => number % 2 === 0, 'an even number')
        .optional(),
      nested: z.object({ deep: z.string().default('d') }).optional(),
    }),
    execute: (input) => {
      seen.push(input);
      return 'ran';
    },
  });

  spec('MOD-4', 'is parsed by the schema: defaults, transformations', async () => {
    seen.length = 0;
    expect((await call(tool, { when: '2026-01-02', nested: {} })).ok).toBe(true);
    expect((await call(tool, { limit: '3' })).meta.repaired).toHaveLength(1);
    expect(seen).toEqual([{ limit: 20, when: new Date('2026-01-02'), nested: { deep: 'd' } }, { limit: 3 }]);
  });

  spec('MOD-4', 'is rejected if it does not match, with faults in one shape, refinements included', async () => {
    seen.length = 0;
    for (const [input, path, word] of [
      [{ limit: 1.5 }, '/limit', 'integer'],
      [{ even: 3 }, '/even', 'an even number'],
      [{ lmit: 3 }, '/lmit', 'lmit'],
      [{ nested: { deep: 1 } }, '/nested/deep', 'string'],
      [{ when: 'soon' }, '/when', 'when'],
    ] as const) {
      const { error } = await call(tool, input);
      expect(error).toMatchObject({ code: 'invalid_input', message: expect.stringContaining(word) });
      expect(error?.data?.faults).toContainEqual({
        path,
        expected: expect.any(String),
        got: expect.any(String),
      });
    }
    expect(seen).toEqual([]);
  });

  spec('MOD-4', 'gets the defaults of a JSON Schema, at every depth', async () => {
    const part = { type: 'object', properties: { b: { type: 'array', default: [1] } } };
    const raw = defineTool({
      name: 'raw',
      description: 'D',
      inputSchema: {
        type: 'object',
        properties: { a: { $ref: '#/$defs/part' }, c: { default: 'x' }, d: { type: 'array', items: part } },
        $defs: { part },
      },
      execute: (input) => input,
    });
    expect((await call(raw, { a: {}, d: [{}, { b: [] }] })).structured).toEqual({
      a: { b: [1] },
      c: 'x',
      d: [{ b: [1] }, { b: [] }],
    });
  });
});
