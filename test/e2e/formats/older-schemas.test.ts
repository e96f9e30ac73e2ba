// Schemas of earlier drafts of JSON Schema: what they mean, or why they are refused when they are loaded.

import { describe, expect } from 'vitest';
import { createToolbox, defineTool } from '../../../src/index.js';
import { createSkillWorkspace, declare } from '../../support/commands.js';
import { finding } from '../../support/spec.js';

const DRAFT_4 = { $schema: 'http://json-schema.org/draft-04/schema#' };

function toolboxOf(properties: Record<string, unknown>, more: Record<string, unknown> = {}) {
  const inputSchema = { ...DRAFT_4, type: 'object', properties, ...more };
  return createToolbox({
    tools: [defineTool({ name: 'run', description: 'D', inputSchema, execute: () => 'ok' } as never)],
  });
}

describe('draft 4', () => {
  finding('D8', 'exclusiveMinimum: true excludes the bound of minimum', async () => {
    const toolbox = toolboxOf({
      n: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 10, exclusiveMaximum: false },
      m: { type: 'number', maximum: 5, exclusiveMaximum: true },
    });
    for (const input of [{ n: 0.1 }, { n: 10 }, { m: 4.9 }])
      expect((await toolbox.call('run', input)).ok, JSON.stringify(input)).toBe(true);
    expect((await toolbox.call('run', { n: 0 })).error?.message).toBe('n must be more than 0, got the number 0');
    expect((await toolbox.call('run', { n: 11 })).error?.message).toContain('n must be at most 10');
    expect((await toolbox.call('run', { m: 5 })).error?.message).toContain('m must be less than 5');
  });

  finding('D2', 'id is a name like any other, however often it occurs', async () => {
    const toolbox = toolboxOf({
      a: { id: '#x', type: 'string' },
      b: { id: '#x', type: 'integer' },
      id: { type: 'string' },
    });
    expect((await toolbox.call('run', { a: 's', b: 1, id: 'i' })).ok).toBe(true);
    expect((await toolbox.call('run', { a: 1 })).error?.code).toBe('invalid_input');
  });
});

describe('a reference that leads nowhere', () => {
  for (const $ref of [
    '#/definitions/missing',
    '#y',
    'other.json',
    'https://example.com/schema.json',
    '#/properties/a/nope',
  ]) {
    finding('D2', `${$ref} is an invalid definition when it is loaded`, async () => {
      expect(() => toolboxOf({ a: { id: '#x' }, b: { $ref } })).toThrow(
        expect.objectContaining({ code: 'invalid_definition', message: expect.stringContaining($ref) }),
      );
      const workspace = createSkillWorkspace();
      const document = declare([{ param: 'b' }], { properties: { b: { $ref } } });
      workspace.skill('own', { 'tools.json': document });
      const toolbox = workspace.toolbox();
      expect(await toolbox.list()).toMatchObject([{ name: 'read_skill' }, { name: 'own' }]);
      expect((await toolbox.catalog.problems())[0]).toMatchObject({
        pointer: '/tools/0/parameters',
        message: expect.stringContaining($ref),
      });
    });
  }
});
