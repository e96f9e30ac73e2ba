// The tool model through the package's doors: definitions, names, results, errors.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type CallOptions,
  createToolbox,
  decodeName,
  defineTool,
  encodeName,
  encodeNames,
  isToolError,
  type Json,
  type Toolbox,
  type ToolDefinition,
  ToolError,
  textOf,
} from '../../../src/index.js';
import { rounds } from '../../support/effort.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const greet = defineTool({
  name: 'greet',
  description: 'Greet someone.',
  inputSchema: { type: 'object', properties: { who: { type: 'string' } }, required: ['who'] },
  tags: ['Says Hello', 'says-hello', '  '],
  group: 'talk',
  readOnly: true,
  execute: ({ who }: { who: string }) => `Hello, ${who}`,
});
const returning = (result: unknown, outputSchema?: ToolDefinition['outputSchema']): ToolDefinition => ({
  name: 'give',
  description: 'Give it.',
  ...(outputSchema === undefined ? {} : { outputSchema }),
  execute: () => result,
});
const give = (result: unknown, outputSchema?: ToolDefinition['outputSchema']) =>
  createToolbox({ tools: [returning(result, outputSchema)] }).call('give', {});

describe('definitions', () => {
  spec('TOOL-1', 'defineTool checks, freezes and names the wrong field', async () => {
    expect(Object.isFrozen(greet)).toBe(true);
    const tool = await createToolbox({ tools: [greet] }).find('greet');
    expect(tool).toMatchObject({
      name: 'greet',
      description: 'Greet someone.',
      action: { kind: 'function' },
    });
    expect(tool.input.json).toEqual(greet.inputSchema);
    expect(tool.output).toBeUndefined();
    const wrong: [Record<string, unknown>, string][] = [
      [{ ...greet, name: undefined }, 'name'],
      [{ ...greet, name: 'a b' }, 'name'],
      [{ ...greet, description: ' ' }, 'description'],
      [{ ...greet, execute: 'x' }, 'execute'],
      [{ ...greet, inputSchema: { $ref: 'http://x' } }, 'inputSchema'],
      [{ ...greet, tags: 'x' }, 'tags'],
      [{ ...greet, timeoutMs: -1 }, 'timeoutMs'],
      [{ ...greet, surprise: 1 }, 'surprise'],
    ];
    for (const [definition, field] of wrong) {
      const error = captureError(() => defineTool(definition as unknown as ToolDefinition));
      expect(error).toMatchObject({ code: 'invalid_definition', data: { field } });
      expect(error.message).toContain(field);
    }
  });

  spec('TOOL-2', 'names follow the grammar, reserved namespaces are refused', () => {
    const named = (name: string) => defineTool({ ...greet, name });
    for (const name of ['a', '_', '9', 'a-b_C', 'jk:detect', `${'n'.repeat(64)}:${'m'.repeat(64)}`]) {
      expect(named(name).name).toBe(name);
    }
    for (const name of [
      '',
      '-a',
      'a.b',
      'a b',
      'é',
      'a:b:c',
      ':a',
      'a:',
      'n'.repeat(65),
      'file:x',
      'mcp:x',
      'inline:x',
      'a\n',
    ]) {
      expect(() => named(name), name).toThrow(ToolError);
    }
  });

  spec('TOOL-5', 'traits are normalised and hints widen nothing', async () => {
    const { traits } = await createToolbox({ tools: [greet] }).find('greet');
    expect(traits).toMatchObject({
      group: 'talk',
      tags: ['says-hello'],
      hidden: false,
      terminal: false,
      readOnly: true,
    });
    expect(traits.destructive).toBeUndefined();
    const workspace = createWorkspace();
    workspace.script('look', '#!/bin/sh\n# @description Look.\n# @readonly\necho ran\n');
    const result = await workspace.toolbox().call('look', {}, { caller: { kind: 'model', door: 'test' } });
    expect(result.error?.code).toBe('needs_trust');
  });

  test('two tools of one name are a conflict', () => {
    expect(() => createToolbox({ tools: [greet, greet] })).toThrow('two tools are named "greet"');
  });
});

describe('origin and digest', () => {
  spec('TOOL-6', 'origin tells format, uri, directory, source and digest', async () => {
    const workspace = createWorkspace();
    const path = workspace.script('hi', '#!/bin/sh\n# @description Hi.\necho hi\n');
    const toolbox = workspace.toolbox({ tools: [greet] });
    expect((await toolbox.find('hi')).origin).toMatchObject({
      format: 'script',
      uri: `file://${path}`,
      directory: `${workspace.dir}/.agents/tools`,
      source: null,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect((await toolbox.find('greet')).origin).toMatchObject({
      uri: null,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  spec('TOOL-7', 'the digest follows bytes and name, not time or place', async () => {
    const text = '#!/bin/sh\n# @description Hi.\necho hi\n';
    const digestOf = async (body: string, name = 'hi', tool = name): Promise<string | null> => {
      const workspace = createWorkspace();
      workspace.script(name, body);
      return (await workspace.toolbox().find(tool)).origin.digest;
    };
    const digest = await digestOf(text);
    expect(await digestOf(text)).toBe(digest);
    expect(await digestOf(`${text}#\n`)).not.toBe(digest);
    expect(await digestOf(text.replace('Hi.', 'Ho.'))).not.toBe(digest);
    expect(await digestOf(text, 'ho')).not.toBe(digest);
    const described = async (description: string): Promise<string | null> =>
      (await createToolbox({ tools: [{ ...greet, description }] }).find('greet')).origin.digest;
    expect(await described('A.')).not.toBe(await described('B.'));
  });
});

describe('names for providers', () => {
  const part = fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9_-]{0,8}$/);
  const names = fc.oneof(
    part,
    fc.tuple(part, part).map((pair) => pair.join(':')),
  );

  spec('TOOL-8', 'encoding is reversible, and a conflict is reported', () => {
    fc.assert(
      fc.property(names, (name) => {
        expect(encodeName(name)).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(decodeName(encodeName(name))).toBe(name);
      }),
      { numRuns: rounds(400, 5000) },
    );
    fc.assert(
      fc.property(fc.uniqueArray(names, { maxLength: 50 }), (all) => {
        const { encode, decode, conflicts } = encodeNames(all);
        expect(conflicts).toEqual([]);
        for (const name of all) expect(decode.get(encode.get(name)!)).toBe(name);
      }),
    );
    const long = 'x'.repeat(64);
    const { decode, conflicts } = encodeNames([`${long}:a`, `${long}:b`, 'fine']);
    expect(conflicts).toEqual([{ encoded: long, names: [`${long}:a`, `${long}:b`] }]);
    expect([...decode.values()]).toEqual(['fine']);
  });
});

describe('results', () => {
  spec('TOOL-20', 'success and failure share one shape', async () => {
    const toolbox = createToolbox({ tools: [greet] });
    const success = await toolbox.call('greet', { who: 'Ada' });
    expect(success).toEqual({
      ok: true,
      content: [{ type: 'text', text: 'Hello, Ada' }],
      structured: 'Hello, Ada',
      meta: { durationMs: expect.any(Number) },
    });
    const failure = await toolbox.call('greet', {});
    expect(failure).toMatchObject({
      ok: false,
      content: [{ type: 'text' }],
      error: { code: 'invalid_input' },
      meta: { durationMs: expect.any(Number) },
    });
    expect((await give(undefined)).content).toEqual([{ type: 'text', text: '' }]);
    const repaired = await toolbox.call('greet', { who: 'Ada', other: null });
    expect(repaired.ok).toBe(false);
  });

  spec('TOOL-21', 'every kind of part passes through unchanged', async () => {
    const content = [
      { type: 'text', text: 'x' },
      { type: 'image', data: 'AA==', mimeType: 'image/png' },
      { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'file:///x', name: 'x' },
      { type: 'resource', resource: { uri: 'file:///x', text: 'y' } },
    ];
    expect((await give({ content })).content).toEqual(content);
  });

  spec('TOOL-22', 'structured output is any JSON value and is checked against its schema', async () => {
    for (const value of [1, true, null, ['a'], { a: { b: 1 } }] as Json[]) {
      const result = await give(value);
      expect(result.structured).toEqual(value);
      expect(textOf(result)).toBe(JSON.stringify(value));
    }
    const schema = {
      type: 'object',
      properties: { a: { type: 'array', items: { type: 'integer' } } },
    } as const;
    expect((await give({ a: [1] }, schema)).ok).toBe(true);
    const wrong = await give({ a: [1, 'x'] }, schema);
    expect(wrong.error).toMatchObject({ code: 'invalid_output', data: { faults: [{ path: '/a/1' }] } });
    expect(wrong.structured).toBeUndefined();
  });

  spec('TOOL-22', 'a result that JSON would make an empty object is an error that says what it is', async () => {
    async function* generate() {
      yield 1;
    }
    for (const [value, what] of [
      [generate(), 'AsyncGenerator'],
      [new Response('x'), 'Response'],
      [new ReadableStream(), 'ReadableStream'],
      [new Map([['a', 1]]), 'Map'],
      [{ ok: true, all: [Promise.resolve(1)] }, 'Promise at "0"'],
      [() => 1, 'function'],
    ] as const) {
      const { error } = await give(value);
      expect(error).toMatchObject({
        code: 'tool_failed',
        message: `give returned a value that is not JSON: ${what}`,
        hint: expect.stringContaining('await promises'),
      });
    }
    class Point {
      x = 1;
    }
    const fine = { point: new Point(), date: new Date(0), none: {}, bare: Object.create(null), failed: new Error('x') };
    expect((await give(fine)).structured).toEqual({
      point: { x: 1 },
      date: '1970-01-01T00:00:00.000Z',
      none: {},
      bare: {},
      failed: {},
    });
  });
});

describe('errors', () => {
  spec('ERR-1', 'a ToolError is known by its symbol, whichever copy made it', () => {
    const other = Object.assign(new Error('x'), { code: 'io', [Symbol.for('wield.ToolError')]: true });
    expect(isToolError(other)).toBe(true);
    expect(isToolError(new Error('x'))).toBe(false);
    const error = new ToolError('io', 'm', { hint: 'h', data: { a: 1 }, cause: other });
    expect(error).toMatchObject({ code: 'io', message: 'm', hint: 'h', data: { a: 1 }, cause: other });
    expect(error.toJSON()).toEqual({ code: 'io', message: 'm', hint: 'h', data: { a: 1 } });
  });

  spec(
    'ERR-1 TOOL-22',
    'a thrown error is JSON with a code of the table, whatever a program without types threw',
    async () => {
      const cycle: Record<string, unknown> = { a: 1 };
      cycle.self = cycle;
      const throwing = (error: unknown, middleware: boolean) => {
        const fail = (): never => {
          throw error;
        };
        const tool = { ...returning('fine'), ...(middleware ? {} : { execute: fail }) };
        return createToolbox({ tools: [tool], middleware: middleware ? [fail] : [] }).call('give', {});
      };
      for (const middleware of [false, true]) {
        for (const data of [{ n: 10n }, cycle]) {
          const { error } = await throwing(new ToolError('io', 'm', { hint: 'h', data }), middleware);
          expect(error).toEqual({ code: 'io', message: 'm', hint: 'h' });
        }
        const odd = new ToolError('nope' as 'io', 'x', { hint: 5 as never, data: { at: new Date(0) } });
        const error = { code: 'tool_failed', message: 'x', hint: '5', data: { at: '1970-01-01T00:00:00.000Z' } };
        expect((await throwing(odd, middleware)).error).toEqual(error);
      }
      const content = [{ type: 'text', text: 'x' }];
      expect((await give({ content, structured: { n: 10n } })).error?.code).toBe('tool_failed');
      const failed = await give({ content, structured: { n: 10n }, error: new ToolError('io', 'm') });
      expect([failed.error?.code, failed.structured]).toEqual(['io', undefined]);
    },
  );

  spec('ERR-3', 'an error names the next action; not_found the nearest names', async () => {
    const toolbox: Toolbox = createToolbox({ tools: [greet] });
    expect((await toolbox.call('gret', {})).error).toMatchObject({
      code: 'not_found',
      hint: expect.stringContaining('greet'),
    });
    for (const [ref, input] of [
      ['greet', {}],
      ['nope', {}],
      ['a b', {}],
      ['greet', 5],
      ['greet', { who: 'x', y: 1 }],
    ] as const) {
      expect((await toolbox.call(ref, input)).error?.hint).toMatch(/\S/);
    }
  });

  spec('ERR-3', 'a wrong input is told all parameters, wherever the schema declares them', async () => {
    const branch = (k: string, name: string) => ({
      type: 'object',
      properties: { k: { const: k }, [name]: { type: 'integer' } },
      required: ['k', name],
      additionalProperties: false,
    });
    const hintOf = async (inputSchema: object, input: Json) => {
      const tool = { ...returning('x'), inputSchema } as ToolDefinition;
      return (await createToolbox({ tools: [tool] }).call('give', input)).error?.hint;
    };
    const union = { type: 'object', oneOf: [branch('x', 'a'), branch('y', 'b')] };
    expect(await hintOf(union, { k: 'x' })).toBe('give takes k, a, b');
    expect(await hintOf({ $ref: '#/$defs/u', $defs: { u: union } }, {})).toBe('give takes k, a, b');
    expect(await hintOf({ type: 'object', allOf: [branch('x', 'a')] }, {})).toBe('give takes k, a');
    const open = { type: 'object', additionalProperties: { type: 'number' } };
    expect(await hintOf(open, { a: 'x' })).toBe('give takes any parameters');
    expect(await hintOf({ type: 'object', properties: {} }, { a: 1 })).toBe('give takes no parameters');
  });

  spec('ERR-3', 'a value that is not JSON is described in words', async () => {
    const toolbox = createToolbox({ tools: [returning('x')] });
    const got = async (input: unknown) =>
      ((await toolbox.call('give', input as Json)).error?.data?.faults as { got: string }[] | undefined)?.[0]?.got;
    expect(await got(JSON.parse('{ "__proto__": {} }'))).toBe('an object with the key "__proto__"');
    expect(await got({ a: Number.NaN })).toBe('NaN');
    expect(await got({ a: [undefined] })).toBe('undefined');
  });

  spec('ERR-5', 'outside text is made harmless and secrets are redacted before they enter a message', async () => {
    const workspace = createWorkspace();
    workspace.config('[env]\npass = ["API_KEY"]\n');
    const toolbox = workspace.toolbox({
      env: { ...workspace.env, API_KEY: 's3cr3t-value' },
      tools: [
        returning(undefined),
        {
          ...greet,
          execute: () => Promise.reject(new Error('at \u001b[31mred\u001b[0m \u202e s3cr3t-value')),
        },
      ],
    });
    const { error } = await toolbox.call('greet', { who: 'x' });
    expect(error?.message).toBe('greet failed: at red  [redacted]');
    expect((await toolbox.call('x\u001b[2Jy', {})).error?.message).toBe('"xy" contains a control character');
  });

  spec('ERR-8', 'a model does not see the values of variables that a tool gets', async () => {
    const workspace = createWorkspace();
    workspace.config('[env]\npass = ["DEPLOY_*", "MY_VALUE"]\n[tools.leak.env]\npass = ["SITE_TOKEN"]\n');
    workspace.script(
      'leak',
      '#!/bin/sh\n# @description Leak.\n# @param large boolean\necho "::progress 1/2 $MY_VALUE" >&2\n' +
        'printf \'%s %s \' "$DEPLOY_ENV" "$SITE_TOKEN"; printf %s "$MY_VALUE" | base64\n' +
        '[ "$WIELD_PARAM_LARGE" = true ] && yes "$MY_VALUE" | head -n 20000\nexit 0\n',
    );
    const env = { ...workspace.env, DEPLOY_ENV: 'production', SITE_TOKEN: 'swordfish', MY_VALUE: 'x7!Kq92$' };
    const toolbox = workspace.toolbox({ env, trust: true });
    const model = { kind: 'model', door: 'test' } as const;
    const heard: string[] = [];
    const onProgress = ({ message = '' }: { readonly message?: string | undefined }) => void heard.push(message);
    const call = async (ref: string, input: Json, caller: CallOptions['caller']): Promise<string> =>
      JSON.stringify(await toolbox.call(ref, input, { caller, onProgress }));
    expect(await call('leak', {}, model)).toContain('production [redacted] [redacted]');
    expect(heard.join()).not.toContain('x7!');
    expect(await call('leak', {}, { kind: 'person', door: 'test' })).toContain('production swordfish');
    const large = await call('leak', { large: true }, model);
    expect(large).not.toMatch(/x7!|swordf/);
    const { id } = JSON.parse(large).meta.handle;
    expect(await call('read_result', { id, page: 1 }, model)).toMatch(/^(?!.*x7!).*\[redacted\]/s);
  });

  spec('ERR-6', 'fuzzing the library door finds no internal error', async () => {
    const toolbox = createToolbox({ tools: [greet, returning({ a: 1 })] });
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.string(), fc.constantFrom('greet', 'give')),
        fc.anything({ withBigInt: true, withDate: true, withMap: true }),
        async (ref, input) => {
          expect((await toolbox.call(ref, input)).error?.code).not.toBe('internal');
        },
      ),
      { numRuns: rounds(80, 1000) },
    );
  });
});

function captureError(run: () => unknown): ToolError {
  try {
    run();
  } catch (error) {
    return error as ToolError;
  }
  throw new Error('nothing was thrown');
}
