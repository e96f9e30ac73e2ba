// Results and context of typed definitions.

import { describe, expect } from 'vitest';
import { z } from 'zod';
import { createToolbox, type ToolContext, type ToolDefinition, textOf } from '../../../src/index.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const call = async (tool: ToolDefinition, input: unknown, options = {}) =>
  createToolbox({ tools: [tool] }).call(tool.name, input, options);

describe('output', () => {
  const give = (value: unknown, outputSchema: ToolDefinition['outputSchema']) =>
    call({ name: 'give', description: 'D', execute: () => value, ...(outputSchema && { outputSchema }) }, {});

  spec('MOD-12', 'returns invalid_output without structured output for a mismatch', async () => {
    const schema = z.object({ count: z.number().max(9), unit: z.string().default('m') });
    expect((await give({ count: 3, more: 1 }, schema)).structured).toEqual({ count: 3, unit: 'm' });
    for (const wrong of [{ count: 'three' }, { count: 10 }, {}, 'text', undefined, null]) {
      const result = await give(wrong, schema);
      expect(result).toMatchObject({ ok: false, error: { code: 'invalid_output' } });
      expect(result).not.toHaveProperty('structured');
      expect(result.error?.data?.faults).toMatchObject([{ path: expect.any(String) }]);
    }
    const raw = { type: 'object', properties: { count: { type: 'number' } } };
    expect((await give({ count: 3 }, raw)).ok).toBe(true);
    expect((await give({ count: 'three' }, raw)).error?.code).toBe('invalid_output');
  });

  spec('MOD-13', 'returns a failed result for a returned failure, before checking the output schema', async () => {
    const failed = {
      is_error: true,
      error_type: 'path_conflict',
      message: 'it exists',
      next_action_hint: 'overwrite',
    };
    for (const schema of [undefined, z.object({ count: z.number() })]) {
      const result = await give(failed, schema);
      expect(result).toMatchObject({
        ok: false,
        error: { code: 'path_conflict', message: 'it exists', hint: 'overwrite' },
      });
      expect(textOf(result)).toBe('it exists');
    }
    expect((await give({ ...failed, error_type: 'no_such_note' }, undefined)).error).toEqual({
      code: 'tool_failed',
      message: 'it exists',
      hint: 'overwrite',
      data: { error_type: 'no_such_note' },
    });
    expect((await give({ is_error: true }, undefined)).error).toMatchObject({ code: 'tool_failed' });
    expect((await give({ ...failed, error_type: 'constructor' }, undefined)).error?.code).toBe('tool_failed');
    expect((await give({ is_error: false, message: 'fine' }, undefined)).ok).toBe(true);
  });
});

describe('context', () => {
  const capture = async (use: (context: ToolContext) => unknown, options = {}) => {
    const tools = [
      { name: 'use', description: 'D', execute: (_input: unknown, context: ToolContext) => use(context) },
      { name: 'inner', description: 'D', execute: () => 'from within' },
    ];
    return createToolbox({ tools, workdir: '/tmp' }).call('use', {}, options);
  };

  spec('MOD-5', 'has exactly these capabilities and is frozen', async () => {
    let keys: unknown;
    const result = await capture((context) => {
      keys = Reflect.ownKeys(context).sort();
      expect(Object.isFrozen(context) && Object.isFrozen(context.toolbox)).toBe(true);
      // MOD-40
      const inherited = Object.getPrototypeOf(context);
      expect(Reflect.ownKeys(inherited)).toEqual(['conn', 'dbPath', 'mcpxClient']);
      expect(Object.isFrozen(inherited) && Object.getPrototypeOf(inherited) === Object.prototype).toBe(true);
      expect(Reflect.ownKeys(context.toolbox)).toEqual(['call']);
      expect(() => Object.assign(context, { more: 1 })).toThrow(TypeError);
      const { config } = context;
      expect([config, config.limits, config.roots].filter((one) => !Object.isFrozen(one))).toEqual([]);
      return context.store === null && context.mcp === null && context.workdir;
    });
    expect(result.error).toBeUndefined();
    expect(result.structured).toBe('/tmp');
    expect(keys).toEqual(
      [
        'ask',
        'config',
        'elicit',
        'log',
        'mcp',
        'progress',
        'projectDir',
        'requestClient',
        'signal',
        'store',
        'toolbox',
        'withStore',
        'workdir',
      ].sort(),
    );
  });

  spec('MOD-5', 'has the resolved settings without secrets as config', async () => {
    const workspace = createWorkspace();
    workspace.config('[limits]\ntimeout = "9s"\n[env]\npass = ["SECRET_TOKEN"]\n');
    const tool = { name: 'use', description: 'D', execute: (_: unknown, { config }: ToolContext) => config };
    const { structured } = await workspace.toolbox({ tools: [tool] }).call('use', {});
    expect(structured).toMatchObject({ limits: { timeoutMs: 9000 }, roots: [] });
    expect(JSON.stringify(structured)).not.toContain('SECRET');
  });

  spec('MOD-5', 'calls tools, reports progress, asks, and throws if no person can be asked', async () => {
    const steps: unknown[] = [];
    const result = await capture(
      async (context) => {
        context.progress(1, 2, 'half');
        const inner = await context.toolbox.call('inner', {});
        return `${textOf(inner)}, ${await context.ask('Sure?')}, ${context.signal.aborted}`;
      },
      {
        onProgress: (step: unknown) => steps.push(step),
        ask: async (question: string) => `yes to ${question}`,
      },
    );
    expect(textOf(result)).toBe('from within, yes to Sure?, false');
    expect(steps).toEqual([{ done: 1, total: 2, message: 'half' }]);
    const mute = await capture((context) => context.ask('Sure?'));
    expect(mute.error).toMatchObject({ code: 'unavailable', hint: expect.stringContaining('terminal') });
    expect(mute.error?.message).toContain('Sure?');
  });
});
