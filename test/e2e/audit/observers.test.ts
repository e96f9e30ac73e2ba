// Observers: they see every call, change none, and their failures fail no call.

import { describe, expect } from 'vitest';
import type { CallEvent } from '../../../src/index.js';
import { createToolbox, defineTool, textOf } from '../../../src/index.js';
import { logRecords } from '../../support/audit.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const parts = { content: [{ type: 'text' as const, text: 'made once' }], structured: { list: [1, 2] } };

const tools = [
  defineTool({
    name: 'steps',
    description: 'Tells of its steps.',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } } },
    execute: ({ name }: { name?: string }, { progress }) => {
      progress(1, 2, 'half');
      progress(2, 2);
      return { hello: name ?? 'nobody' };
    },
  }),
  defineTool({
    name: 'outer',
    description: 'Calls another.',
    execute: async (_input, { toolbox }) => (await toolbox.call('steps', { name: 'inner' })).structured,
  }),
  defineTool({ name: 'constant', description: 'Gives the same object each time.', execute: () => parts }),
];

describe('observers', () => {
  spec('OBS-4', 'see start, progress and end of every call, including nested ones', async () => {
    const toolbox = createToolbox({ tools });
    const events: CallEvent[] = [];
    const stop = toolbox.on((event) => events.push(event));
    await toolbox.call('steps', { name: 'Ada' });
    expect(events.map(({ type }) => type)).toEqual(['start', 'progress', 'progress', 'end']);
    expect(new Set(events.map(({ call }) => call)).size).toBe(1);
    expect(events[1]).toMatchObject({ progress: { done: 1, total: 2, message: 'half' } });
    expect(events[3]).toMatchObject({
      ref: 'steps',
      input: { name: 'Ada' },
      tool: { name: 'steps' },
      verdict: { verdict: 'allow' },
      plan: { kind: 'function' },
      result: { ok: true, structured: { hello: 'Ada' } },
    });
    events.length = 0;
    await toolbox.call('outer', {});
    expect(events.map(({ ref, type, depth }) => `${ref} ${type} ${depth}`)).toEqual([
      'outer start 0',
      'steps start 1',
      'steps progress 1',
      'steps progress 1',
      'steps end 1',
      'outer end 0',
    ]);
    expect(events[1]).toMatchObject({ parent: events[0]!.call });
    events.length = 0;
    await toolbox.call('steps', { nmae: 'Ada' });
    await toolbox.call('nothing' as string, { a: 1 });
    expect(events.filter(({ type }) => type === 'end')).toMatchObject([
      {
        tool: { name: 'steps' },
        plan: undefined,
        input: { nmae: 'Ada' },
        result: { error: { code: 'invalid_input' } },
      },
      { tool: undefined, plan: undefined, input: { a: 1 }, result: { error: { code: 'not_found' } } },
    ]);
    stop();
    events.length = 0;
    await toolbox.call('steps', {});
    expect(events).toEqual([]);
  });

  spec('OBS-4', 'cannot change the input, the result, the tool or the caller', async () => {
    const toolbox = createToolbox({ tools });
    const tampered: string[] = [];
    const tamper = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null || path.split('.').length > 8) return;
      for (const key of Object.keys(value)) {
        tamper((value as Record<string, unknown>)[key], `${path}.${key}`);
        try {
          (value as Record<string, unknown>)[key] = 'tampered';
          tampered.push(`${path}.${key}`);
        } catch {
          // Frozen.
        }
      }
    };
    toolbox.on((event) => tamper(event, event.type));
    const input = { name: 'Ada' };
    const caller = { kind: 'code' as const, door: 'library', name: 'me' };
    const progress: unknown[] = [];
    const result = await toolbox.call('steps', input, { caller, onProgress: (step) => progress.push(step) });
    expect(result).toMatchObject({ ok: true, structured: { hello: 'Ada' } });
    expect(textOf(result)).toBe('{"hello":"Ada"}');
    expect(progress).toEqual([
      { done: 1, total: 2, message: 'half' },
      { done: 2, total: 2 },
    ]);
    expect((await toolbox.call('nothing' as string, {})).error?.code).toBe('not_found');
    expect(tampered).toEqual([]);
    // Objects of the caller and the tool are neither changed nor frozen.
    expect(input).toEqual({ name: 'Ada' });
    expect(caller).toEqual({ kind: 'code', door: 'library', name: 'me' });
    for (const own of [input, caller]) expect(Object.isFrozen(own)).toBe(false);
    expect((await toolbox.call('constant', {})).structured).toEqual({ list: [1, 2] });
    expect(Object.isFrozen(parts.content)).toBe(false);
    expect(Object.isFrozen(parts.structured.list)).toBe(false);
  });

  spec('OBS-4', 'that throw fail no call, and other observers still get the event', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo "::progress 1/2 half" >&2; echo hello'));
    const heard: string[] = [];
    const toolbox = workspace.toolbox({ tools });
    toolbox.on(() => {
      throw new Error('an observer fails');
    });
    toolbox.on(({ type }) => heard.push(type));
    expect(textOf(await toolbox.call('hello', {}))).toBe('hello\n');
    expect((await toolbox.call('steps', {})).ok).toBe(true);
    expect(heard.filter((type) => type === 'end')).toHaveLength(2);
    expect(logRecords(workspace)).toHaveLength(2);
  });

  spec('OBS-4', 'can call tools and unsubscribe', async () => {
    const toolbox = createToolbox({ tools });
    const inner: Promise<unknown>[] = [];
    const stop = toolbox.on((event) => {
      if (event.type !== 'end' || inner.length > 0) return;
      stop();
      inner.push(toolbox.call('steps', { name: 'from an observer' }));
    });
    expect((await toolbox.call('steps', {})).ok).toBe(true);
    expect(await inner[0]).toMatchObject({ ok: true });
  });
});
