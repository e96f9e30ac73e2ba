// A toolbox of functions: tools with parameters can be called, and their definitions stay their author's.

import { expect } from 'vitest';
import { spec } from '../test/support/spec.js';
import { runCode } from './code.js';
import { cache, createToolbox, defineTool } from './index.js';
import { createTestToolbox } from './testing.js';

spec('RUN-3', 'a defined tool with parameters is checked and run, although its schema is frozen', async () => {
  const greet = defineTool({
    name: 'greet',
    description: 'Greets.',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
    execute: ({ name }: { name: string }) => `Hello, ${name}!`,
  });
  const toolbox = createToolbox({ tools: [greet] });
  const result = await toolbox.call('greet', { name: 'Ada' });
  expect(result).toMatchObject({ ok: true, structured: 'Hello, Ada!' });
  const refused = await toolbox.call('greet', { nam: 'Ada' });
  expect(refused.error?.code).toBe('invalid_input');
  expect(Reflect.ownKeys(greet.inputSchema.properties.name)).toEqual(['type']);
});

spec('RUN-14', 'the options of a toolbox are checked, and those of a program that runs in it', async () => {
  const cases: readonly (readonly [object, string, string?])[] = [
    [{ midleware: [] }, 'unknown key "midleware"', 'did you mean "middleware"?'],
    [{ workdir: 'rel/x' }, 'workdir must be an absolute path, got a string'],
    [{ limits: { timeoutMs: -1 } }, 'limits.timeoutMs must be a positive number of milliseconds, got the number -1'],
    [{ limits: { timeout: 5 } }, 'unknown key "limits.timeout"', 'did you mean "timeoutMs"?'],
    [{ limits: { queue: '5' } }, 'limits.queue must be a number of 0 or more, got a string'],
    [{ middleware: cache() }, 'middleware must be an array of middleware, got an object'],
    [{ repair: 'no' }, 'repair must be true or false, got a string'],
  ];
  for (const [options, message, hint = expect.any(String)] of cases) {
    const refusal = expect.objectContaining({ code: 'usage', message, hint });
    expect(() => createToolbox({ tools: [], ...options })).toThrow(refusal);
    expect(() => createTestToolbox([], options)).toThrow(refusal);
  }
  const limits = { timeoutMs: Number.POSITIVE_INFINITY, queue: 0, outputBytes: Number.POSITIVE_INFINITY };
  const toolbox = createToolbox({
    tools: [],
    workdir: '/tmp',
    limits,
    middleware: [cache()],
    repair: undefined,
  } as never);
  expect((await runCode(toolbox, 'return 1', null as never)).error?.code).toBe('usage');
});
