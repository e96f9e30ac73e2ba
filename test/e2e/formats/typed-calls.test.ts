// What TypeScript knows about calls: results as a union, and the names, inputs and results of definitions.

import { type } from 'arktype';
import { describe, expect, expectTypeOf } from 'vitest';
import { z } from 'zod';
import {
  createToolbox,
  type DefinedTool,
  defineTool,
  type ErrorValue,
  type Json,
  type Toolbox,
  type ToolDefinition,
  type ToolInput,
  type ToolResult,
  type ToolResultOf,
  textOf,
} from '../../../src/index.js';
import { createNodeToolbox } from '../../../src/node.js';
import { createTestContext, createTestToolbox, expectError, expectOk } from '../../../src/testing.js';
import { createModuleWorkspace } from '../../support/modules.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const count = defineTool({
  name: 'count',
  description: 'Count words.',
  inputSchema: z.object({ text: z.string(), min: z.number().default(1) }),
  outputSchema: z.object({ words: z.number(), longest: z.string().optional() }),
  execute: ({ text, min }) => ({ words: text.split(/\s+/).filter((word) => word.length >= min).length }),
});
const ping = defineTool({ name: 'ping', description: 'Answer.', execute: () => 'pong' });
const raw = defineTool({
  name: 'raw',
  description: 'D',
  inputSchema: { type: 'object', properties: { a: { type: 'number' } } },
  outputSchema: { type: 'object', properties: { b: { type: 'number' } } },
  execute: ({ a = 1 }: { a?: number }) => ({ b: a + 1 }),
});
const greet = defineTool({
  name: 'greet',
  description: 'D',
  inputSchema: type({ who: 'string > 0' }),
  outputSchema: type({ text: 'string' }),
  execute: ({ who }) => ({ text: `Hello, ${who}!` }),
});

describe('a result', () => {
  spec('TOOL-25', 'is a union: ok says whether there is an error', async () => {
    const toolbox: Toolbox = createToolbox({ tools: [ping] });
    const result = await toolbox.call('ping', {});
    if (result.ok) {
      expectTypeOf(result.structured).toEqualTypeOf<Json | undefined>();
      expectTypeOf(result.error).toEqualTypeOf<undefined>();
    } else expectTypeOf(result.error).toEqualTypeOf<ErrorValue>();
    // Without a check of `ok` too.
    expectTypeOf(result.error?.code).toEqualTypeOf<ErrorValue['code'] | undefined>();
    expect(Object.keys(result)).toEqual(['ok', 'content', 'structured', 'meta']);
    const failed = await toolbox.call('pong', {});
    expect(failed.ok ? undefined : failed.error.code).toBe('not_found');
    expect(Object.keys(failed)).toEqual(['ok', 'content', 'error', 'meta']);
  });
});

describe('a call by definition', () => {
  const tools = [count, ping, raw, greet];

  spec('MOD-35', 'has the types of the schemas', async () => {
    for (const toolbox of [createToolbox({ tools }), createWorkspace().toolbox({ tools }), createTestToolbox(tools)]) {
      const wide: Toolbox = toolbox;
      const counted = await wide.call(count, { text: 'a bc def', min: 2 });
      if (!counted.ok) throw new Error(counted.error.message);
      expectTypeOf(counted.structured).toEqualTypeOf<{ words: number; longest?: string | undefined }>();
      expect(counted.structured.words).toBe(2);
      expect(textOf(await wide.call(ping, {}))).toBe('pong');
      const greeted = await wide.call(greet, { who: 'Ada' });
      if (greeted.ok) expectTypeOf(greeted.structured.text).toBeString();
      expect(greeted.structured).toEqual({ text: 'Hello, Ada!' });
      // A JSON Schema has no type.
      expectTypeOf(await wide.call(raw, { a: 1, z: 2 })).toEqualTypeOf<ToolResult>();
      // @ts-expect-error: text is missing
      expect((await wide.call(count, { min: 2 })).error?.code).toBe('invalid_input');
      // @ts-expect-error: words has no such member
      expect(counted.structured.count).toBeUndefined();
    }
  });

  spec('MOD-35', 'is that of its name: another toolbox may not have it, or may know it from a file', async () => {
    const failed = await createToolbox({ tools: [ping] }).call(count, { text: '' });
    expect(failed.error).toMatchObject({ code: 'not_found', message: expect.stringContaining('count') });
    const wrong = await createToolbox({ tools: [ping] }).call({ name: 5 } as never, {} as never);
    expect(wrong.error?.code).toMatch(/invalid_ref|not_found/);
    const workspace = createModuleWorkspace();
    workspace.script('count', '#!/bin/sh\n# @description Count.\n# @param text string T\necho \'{"words": 7}\'\n');
    const counted = await workspace.toolbox().call(count, { text: 'a' });
    if (counted.ok) expectTypeOf(counted.structured.words).toBeNumber();
    expect(counted.structured).toEqual({ words: 7 });
  });

  spec('MOD-35', 'works in a tool, in process, in a test and in a tool host', async () => {
    const outer = defineTool({
      name: 'outer',
      description: 'D',
      execute: async (_input, { toolbox }) => {
        const inner = await toolbox.call(count, { text: 'a b' });
        expectTypeOf(inner).toEqualTypeOf<ToolResultOf<typeof count>>();
        return inner.ok ? inner.structured.words : inner.error.message;
      },
    });
    expect((await createToolbox({ tools: [outer, count] }).call(outer, {})).structured).toBe(2);
    const asking = createTestToolbox([outer, count], { fakes: { ask: async () => 'yes' } });
    expect((await asking.call(outer, {})).structured).toBe(2);
    const context = createTestContext({
      call: (ref) => ({ ok: true, content: [], structured: { words: ref.length }, meta: { durationMs: 0 } }),
    });
    expect(await outer.execute({}, context)).toBe(5);
    const workspace = createModuleWorkspace();
    const definitions = `const inner = { name: 'inner', description: 'D', execute: () => 'in' };
      const outer = { name: 'outer', description: 'D',
        execute: async (_, { toolbox }) => (await toolbox.call(inner, {})).structured };
      export { inner, outer };`;
    workspace.module('both.tool.mjs', definitions);
    expect((await workspace.toolbox().call('outer', {})).structured).toBe('in');
  });

  spec('MOD-35', 'has types with names for functions around it', () => {
    expectTypeOf<ToolInput<typeof count>>().toEqualTypeOf<{ text: string; min?: number | undefined }>();
    expectTypeOf<ToolInput<typeof greet>>().toEqualTypeOf<{ who: string }>();
    expectTypeOf<ToolInput<typeof raw>>().toBeUnknown();
    expectTypeOf<ToolInput<ToolDefinition>>().toBeUnknown();
    expectTypeOf<ToolInput<typeof ping>>().toEqualTypeOf<Readonly<Record<string, never>>>();
    expectTypeOf<ToolResultOf<typeof ping>>().toEqualTypeOf<ToolResult>();
    expectTypeOf<ToolResultOf<ToolDefinition>>().toEqualTypeOf<ToolResult>();
    expectTypeOf(ping).toEqualTypeOf<DefinedTool<'ping', () => string, never, never>>();
    expect(ping.execute()).toBe('pong');
  });
});

describe('a toolbox of definitions', () => {
  spec('MOD-36', 'knows their names and inputs', async () => {
    const inline = { name: 'shout', description: 'D', inputSchema: z.object({ text: z.string() }), execute: () => '!' };
    for (const toolbox of [
      createToolbox({ tools: [count, ping, raw, { ...inline, name: 'shout' }] }),
      createTestToolbox([count, ping, raw, { ...inline, name: 'shout' }]),
    ]) {
      const counted = expectOk(await toolbox.call('count', { text: 'a b' }));
      expectTypeOf(counted.structured.words).toBeNumber();
      expect(counted.structured).toEqual({ words: 2 });
      expect((await toolbox.call('shout', { text: 'a' })).ok).toBe(true);
      expect((await toolbox.call('ping', {})).ok).toBe(true);
      expect((await toolbox.call('raw', { a: 2 })).structured).toEqual({ b: 3 });
      // @ts-expect-error: no such tool
      expectError(await toolbox.call('cuont', { text: '' }), 'not_found');
      // @ts-expect-error: no such parameter
      expectError(await toolbox.call('count', { txt: '' }), 'invalid_input');
      // @ts-expect-error: not a string
      expectError(await toolbox.call('shout', { text: {} }), 'invalid_input');
      // @ts-expect-error: takes no parameters
      expectError(await toolbox.call('ping', { loud: true }), 'invalid_input');
      // A name that the program reads is not known before it runs.
      const name: string = 'count';
      expectTypeOf(await toolbox.call(name, { anything: 1 })).toEqualTypeOf<ToolResult>();
    }
  });

  spec('MOD-36', 'accepts other names where tools come from elsewhere', async () => {
    const workspace = createWorkspace();
    const toolbox = createNodeToolbox({ workdir: workspace.dir, env: workspace.env, tools: [count] });
    workspace.script('hello', '#!/bin/sh\n# @description Hi.\necho hi\n');
    expect(textOf(await toolbox.call('hello', {}))).toBe('hi\n');
    const counted = await toolbox.call('count', { text: 'a' });
    if (counted.ok) expectTypeOf(counted.structured.words).toBeNumber();
    // @ts-expect-error: no such parameter
    expect((await toolbox.call('count', { txt: 'a' })).error?.code).toBe('invalid_input');
    await toolbox.close();
    const dynamic: readonly ToolDefinition[] = [count];
    expect((await createToolbox({ tools: dynamic }).call('count', {})).ok).toBe(false);
    expect((await createToolbox({ tools: [...dynamic, ping] }).call('other', {})).ok).toBe(false);
    expect((await createToolbox({ tools: [] }).call('other', {})).ok).toBe(false);
  });
});

describe('a definition in the words of another framework', () => {
  const define = (fields: object) => () => defineTool({ name: 'odd', description: 'D', ...fields } as never);

  spec('TOOL-28', 'is an error that names the field here', () => {
    const hintOf = (fields: object): string | undefined => {
      try {
        define({ execute: () => 1, ...fields })();
      } catch (error) {
        return (error as { hint?: string }).hint;
      }
      return undefined;
    };
    for (const field of ['parameters', 'schema', 'argsSchema'])
      expect(hintOf({ [field]: z.object({}) })).toBe('here it is inputSchema');
    for (const field of ['run', 'handler', 'func']) expect(hintOf({ [field]: () => 1 })).toBe('here it is execute');
    expect(hintOf({ timeout: 3 })).toBe('here it is timeoutMs');
    expect(hintOf({ constructr: 3 })).toContain('known keys');
    for (const field of ['inputSchema', 'outputSchema'])
      expect(define({ execute: () => 1, [field]: { city: z.string() } })).toThrow(
        expect.objectContaining({
          code: 'invalid_definition',
          message: `odd: ${field} is a table of schemas: city is one`,
          hint: 'write the schema of an object, such as z.object({ city: … })',
        }),
      );
    expect(define({ execute: () => 1, inputSchema: { type: 'object', properties: {} } })).not.toThrow();
    for (const options of [undefined, [], { tools: {} }, { tools: ping }])
      expect(() => createToolbox(options as never)).toThrow(
        expect.objectContaining({ code: 'invalid_definition', message: 'tools must be a list of definitions' }),
      );
  });
});

describe('a key that is not a field', () => {
  spec('MOD-37', 'of a definition is an error in the editor and at run time, with the nearest field', () => {
    const base = { name: 'odd', description: 'D', execute: () => 1 };
    for (const define of [
      // @ts-expect-error: destructve
      () => defineTool({ name: 'odd', description: 'D', destructve: true, execute: () => 1 }),
      // @ts-expect-error: destructve
      () => createToolbox({ tools: [ping, { name: 'odd', description: 'D', destructve: true, execute: () => 1 }] }),
      // @ts-expect-error: destructve
      () => createTestToolbox([{ ...base, destructve: true }]),
      () => createWorkspace().toolbox({ tools: [{ ...base, destructve: true } as ToolDefinition] }),
    ])
      expect(define).toThrow(
        expect.objectContaining({
          code: 'invalid_definition',
          message: 'odd: destructve is not a field of a definition',
          hint: 'did you mean "destructive"?',
        }),
      );
    // @ts-expect-error: positionals
    expect(() => defineTool({ ...base, cli: { positionals: [] } })).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('cli.positionals'),
        hint: 'did you mean "positional"?',
      }),
    );
  });
});
