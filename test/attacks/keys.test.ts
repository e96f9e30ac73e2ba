// Keys that every object has: as tool, parameter and path.

import { expect } from 'vitest';
import { createToolbox, defineTool } from '../../src/index.js';
import { finding } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const KEYS = ['constructor', 'prototype', 'toString', 'hasOwnProperty'];

finding('B22', 'A51: constructor and prototype are data; __proto__ is refused', async () => {
  const properties = Object.fromEntries(KEYS.map((key) => [key, { type: 'string' as const }]));
  const toolbox = createToolbox({
    tools: [
      defineTool({
        name: 'echo',
        description: 'Echo.',
        inputSchema: { type: 'object', properties },
        execute: (input) => ({ got: input as Record<string, string> }),
      }),
    ],
  });
  expect((await toolbox.call('echo', {})).structured).toEqual({ got: {} });
  for (const key of KEYS) {
    expect((await toolbox.call('echo', { [key]: 'x' })).structured).toEqual({ got: { [key]: 'x' } });
    expect((await toolbox.call('echo', { [key]: 1 })).error?.code).toBe('invalid_input');
    expect((await toolbox.call(key, {})).error?.code).toBe('not_found');
  }
  const polluting = JSON.parse('{"constructor": "x", "__proto__": {"polluted": true}}');
  expect((await toolbox.call('echo', polluting)).error?.code).toBe('invalid_input');
  expect((await toolbox.call('__proto__' as string, {})).error?.code).toMatch(/not_found|invalid_ref/);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

finding('B22', 'A51: such names find no tool, skill or file of a workspace', async () => {
  const toolbox = createWorkspace().toolbox();
  for (const ref of [...KEYS, '__proto__', './__proto__', './constructor', 'file:///__proto__'])
    expect([ref, (await toolbox.call(ref, {})).error?.code]).toEqual([
      ref,
      expect.stringMatching(/^(?:not_found|invalid_ref)$/),
    ]);
});
