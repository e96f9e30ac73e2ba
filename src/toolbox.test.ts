// A toolbox of functions: tools with parameters can be called, and their definitions stay their author's.

import { expect } from 'vitest';
import { spec } from '../test/support/spec.js';
import { createToolbox, defineTool } from './index.js';

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
