// Middleware around a run: what it sees, what it cannot change, and that nothing of it outlives its call.

import { describe, expect, onTestFinished } from 'vitest';
import { runAnthropicCall } from '../../../src/adapters/anthropic/index.js';
import { runOpenAICall } from '../../../src/adapters/openai/index.js';
import {
  createToolbox,
  defineTool,
  type Middleware,
  type MiddlewareCall,
  type Output,
  type Toolbox,
  type ToolboxOptions,
  type ToolContext,
  type ToolDefinition,
  ToolError,
  textOf,
} from '../../../src/index.js';
import { patience } from '../../support/patience.js';
import { processesWith, sleep } from '../../support/processes.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

function tool(
  name: string,
  execute: (input: never, context: ToolContext) => unknown,
  rest: Partial<ToolDefinition> = {},
): ToolDefinition {
  return defineTool({ name, description: 'A test.', inputSchema: { type: 'object' }, execute, ...rest });
}

const echo = tool('echo', (input: { text?: string }) => input.text ?? 'nothing', {
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
});

function open(options: ToolboxOptions): Toolbox {
  const toolbox = createToolbox(options);
  onTestFinished(() => toolbox.close());
  return toolbox;
}

const answer = (text: string): Output => ({ content: [{ type: 'text', text }] });

describe('middleware', () => {
  spec('RUN-9', 'the first is outermost, and a selector says what it is for', async () => {
    const seen: string[] = [];
    const note = (name: string, which?: string): Middleware => ({
      name,
      ...(which === undefined ? {} : { for: which }),
      run: async ({ tool: { name: served } }, next) => {
        seen.push(`${name} ${served}`);
        const output = await next();
        seen.push(`${name} done`);
        return output;
      },
    });
    const toolbox = open({
      tools: [echo, tool('crm_find', () => 1), tool('other', () => 2, { tags: ['slow'] })],
      middleware: [note('a'), note('b', 'crm_* #slow'), note('c', 'echo(text=yes*)')],
    });
    await toolbox.call('crm_find', {});
    expect(seen).toEqual(['a crm_find', 'b crm_find', 'b done', 'a done']);
    seen.length = 0;
    await toolbox.call('other', {});
    expect(seen).toEqual(['a other', 'b other', 'b done', 'a done']);
    seen.length = 0;
    await toolbox.call('echo', { text: 'no' });
    expect(seen).toEqual(['a echo', 'a done']);
    seen.length = 0;
    await toolbox.call('echo', { text: 'yes, please' });
    expect(seen).toEqual(['a echo', 'c echo', 'c done', 'a done']);
  });

  spec('RUN-9', 'what is decided cannot be changed: the view is frozen and next takes nothing', async () => {
    let view: MiddlewareCall | undefined;
    const refused: string[] = [];
    const toolbox = open({
      tools: [echo],
      middleware: [
        async (call, next) => {
          view = call;
          const attempts: Record<string, () => void> = {
            input: () => Object.assign(call, { input: { text: 'other' } }),
            text: () => Object.assign(call.input as object, { text: 'other' }),
            plan: () => Object.assign(call.plan, { input: { text: 'other' } }),
            tool: () => Object.assign(call.tool, { name: 'other' }),
            caller: () => Object.assign(call.caller, { kind: 'person' }),
            depth: () => Object.assign(call, { depth: 9 }),
          };
          for (const [name, attempt] of Object.entries(attempts)) {
            try {
              attempt();
            } catch {
              refused.push(name);
            }
          }
          return (next as (...given: unknown[]) => Promise<Output>)({ text: 'other' }, call);
        },
      ],
    });
    const caller = { kind: 'model', door: 'test', name: 'Ada' } as const;
    expect((await toolbox.call('echo', { text: 'mine' }, { caller })).structured).toBe('mine');
    expect(refused).toEqual(['input', 'text', 'plan', 'tool', 'caller', 'depth']);
    expect(view).toMatchObject({ input: { text: 'mine' }, depth: 0, caller, workdir: '/' });
    expect(view?.plan.tool).toBe(view?.tool);
    expect(Object.isFrozen(caller)).toBe(false);
  });

  spec('RUN-9', 'it stands after the decision: a refused call never reaches it', async () => {
    const workspace = createWorkspace();
    workspace.script('greet', '#!/bin/sh\n# @description Greet.\necho hi\n');
    let reached = 0;
    const toolbox = workspace.toolbox({
      middleware: [
        (_, next) => {
          reached++;
          return next();
        },
      ],
    });
    const model = { caller: { kind: 'model', door: 'test' } } as const;
    expect((await toolbox.call('greet', {}, model)).error?.code).toBe('needs_trust');
    expect((await toolbox.call('greet', { odd: 1 })).error?.code).toBe('invalid_input');
    expect(reached).toBe(0);
    expect(textOf(await toolbox.call('greet', {}))).toBe('hi\n');
    expect(reached).toBe(1);
  });

  spec('RUN-9', 'one that never calls next answers itself, and its answer is checked like any', async () => {
    let ran = 0;
    const typed = tool('typed', () => ++ran, { outputSchema: { type: 'number' } });
    const toolbox = open({
      tools: [echo, typed],
      middleware: [
        (call, next) => {
          if (call.tool.name === 'typed') return { ...answer('"text"'), structured: 'text' };
          next();
          return answer('mine');
        },
      ],
    });
    expect((await toolbox.call('typed', {})).error?.code).toBe('invalid_output');
    expect(ran).toBe(0);
    expect(textOf(await toolbox.call('echo', {}))).toBe('mine');
  });

  spec('RUN-9', 'one that throws, or gives nothing, is a failed result that names it', async () => {
    const broken: Record<string, () => unknown> = {
      throws: () => {
        throw new Error('no such luck');
      },
      rejects: () => Promise.reject(new ToolError('busy', 'not now', { hint: 'later' })),
      forgets: () => undefined,
      invents: () => ({ content: [], error: { code: 'denied' } }),
    };
    const toolbox = open({
      tools: Object.keys(broken).map((name) => tool(name, () => 1)),
      middleware: Object.entries(broken).map(([name, run]) => ({ name, for: name, run: run as never })),
    });
    const error = async (name: string) => (await toolbox.call(name, {})).error;
    expect(await error('throws')).toMatchObject({ code: 'exec_failed' });
    expect((await error('throws'))?.message).toBe('throws failed in the middleware "throws": no such luck');
    expect(await error('rejects')).toEqual({ code: 'busy', message: 'not now', hint: 'later' });
    for (const name of ['forgets', 'invents']) {
      expect(await error(name)).toMatchObject({ code: 'exec_failed' });
      expect((await error(name))?.hint).toContain('next()');
    }
  });

  for (const part of [{ type: 'foo' }, 'text', null, { type: 'text' }, { type: 'text', text: 5 }])
    spec('RUN-9 MOD-31', `a malformed part is a failed result that names it: ${JSON.stringify(part)}`, async () => {
      const toolbox = open({
        tools: [echo],
        middleware: [{ name: 'odd', run: (async () => ({ content: [part] })) as never }],
      });
      const result = await toolbox.call('echo', { text: 'a' });
      expect(result.error).toMatchObject({
        code: 'exec_failed',
        message: expect.stringMatching(/middleware "odd": it returned content\[0\]/),
        hint: expect.stringContaining('next()'),
      });
      const block = { type: 'tool_use', id: '1', name: 'echo', input: { text: 'a' } } as const;
      expect(await runAnthropicCall(toolbox, block)).toMatchObject({ is_error: true });
      expect(
        await runOpenAICall(toolbox, { type: 'function_call', call_id: '1', name: 'echo', arguments: '{"text":"a"}' }),
      ).toMatchObject({
        output: expect.stringContaining('content[0]'),
      });
    });

  spec('RUN-9', 'a part with null for what is optional, as some servers write it, is passed on', async () => {
    const content = [{ type: 'text', text: 'a', annotations: null }];
    const toolbox = open({ tools: [echo], middleware: [{ name: 'odd', run: (async () => ({ content })) as never }] });
    expect(await toolbox.call('echo', {})).toMatchObject({ ok: true, content });
  });

  spec('RUN-9', 'each next is a run of its own, in a place of its own', async () => {
    const events: string[] = [];
    let most = 0;
    let now = 0;
    const slow = tool('slow', async () => {
      most = Math.max(most, ++now);
      await sleep(10);
      now--;
      events.push('ran');
      return 'slow';
    });
    const toolbox = open({
      tools: [slow, tool('outer', (_, { toolbox: inner }) => inner.call('slow', {}))],
      limits: { concurrent: 1 },
      middleware: [
        {
          name: 'twice',
          for: 'slow',
          run: async (_, next) => {
            await next();
            return next();
          },
        },
        { name: 'both', for: 'outer', run: async (_, next) => (await Promise.all([next(), next()]))[0] },
      ],
    });
    const calls = [toolbox.call('slow', {}), toolbox.call('slow', {}), toolbox.call('slow', {})];
    for (const result of await Promise.all(calls)) expect(result.ok).toBe(true);
    expect(events).toHaveLength(6);
    expect(most).toBe(1);
    expect((await toolbox.call('outer', {})).ok).toBe(true);
    expect(events).toHaveLength(10);
    expect(most).toBe(1);
  });

  spec('RUN-9 RUN-6', 'the signal ends runs and steps alike, also one that ignores it', async () => {
    const toolbox = open({
      tools: [echo, tool('wait', () => sleep(60_000))],
      middleware: [
        { name: 'hangs', for: 'echo', run: () => new Promise<Output>(() => {}) },
        {
          name: 'insists',
          for: 'wait',
          run: async (_, next) => {
            await next();
            return next();
          },
        },
      ],
    });
    for (const name of ['echo', 'wait']) {
      const controller = new AbortController();
      const call = toolbox.call(name, {}, { signal: controller.signal });
      await sleep(20);
      controller.abort();
      expect((await call).error?.code).toBe('cancelled');
    }
  });

  spec.thorough('RUN-9', 'the time limit covers all runs and what lies between them', async () => {
    const given: number[] = [];
    const toolbox = open({
      tools: [echo, tool('wait', () => sleep(60_000)), tool('brief', () => sleep(10))],
      middleware: [
        { name: 'hangs', for: 'echo', run: () => new Promise<Output>(() => {}) },
        {
          name: 'insists',
          for: 'wait brief',
          run: async (call, next) => {
            for (;;) {
              if (call.tool.name === 'brief') given.push(call.timeLeftMs());
              await next();
            }
          },
        },
      ],
    });
    for (const name of ['echo', 'wait', 'brief']) {
      const began = performance.now();
      const { error } = await toolbox.call(name, {}, { timeoutMs: name === 'brief' ? 1500 : 300 });
      expect([name, error?.code]).toEqual([name, 'timeout']);
      expect(performance.now() - began).toBeLessThan(patience(90_000));
    }
    expect(given[0]).toBeLessThanOrEqual(1500);
    expect(given.length).toBeGreaterThan(1);
    expect(given.at(-1)).toBeLessThan(given[0]! - 50);
  });

  spec('RUN-9 EXE-6', 'a run that nobody waits for ends with the call', async () => {
    const workspace = createWorkspace();
    workspace.script('linger', '#!/bin/sh\n# @description Linger.\necho here\nsleep 4711\n');
    let late: (() => Promise<Output>) | undefined;
    const toolbox = workspace.toolbox({
      middleware: [
        async (_, next) => {
          late = next;
          next();
          await sleep(200);
          return answer('first');
        },
      ],
    });
    expect(textOf(await toolbox.call('linger', {}))).toBe('first');
    expect(processesWith(workspace.dir)).toEqual([]);
    await expect(late?.()).rejects.toMatchObject({ code: 'usage' });
  });

  spec('RUN-9 RUN-7', 'a delegate is a nested call: one level deeper, decided again, in a place', async () => {
    const workspace = createWorkspace();
    workspace.script('mine', '#!/bin/sh\n# @description Mine.\necho mine\n');
    const depths: number[] = [];
    const toolbox = workspace.toolbox({
      tools: [echo],
      middleware: [
        {
          name: 'delegate',
          for: 'echo',
          run: async ({ toolbox: { call } }) => {
            const { content, error } = await call('mine', {});
            return error === undefined ? { content } : answer(error.code);
          },
        },
      ],
    });
    toolbox.on((event) => event.type === 'start' && event.ref === 'mine' && depths.push(event.depth));
    expect(textOf(await toolbox.call('echo', {}))).toBe('mine\n');
    const model = { caller: { kind: 'model', door: 'test' } } as const;
    expect(textOf(await toolbox.call('echo', {}, model))).toBe('needs_trust');
    expect(depths).toEqual([1, 1]);
  });

  spec('RUN-9 RUN-8', 'calls of delegates count among the running calls', async () => {
    let now = 0;
    let most = 0;
    const work = tool('work', async () => {
      most = Math.max(most, ++now);
      await sleep(10);
      now--;
      return 'done';
    });
    const toolbox = open({
      tools: [echo, work],
      limits: { concurrent: 2 },
      middleware: [{ name: 'delegate', for: 'echo', run: ({ toolbox: inner }) => inner.call('work', {}) as never }],
    });
    const results = await Promise.all(Array.from({ length: 8 }, () => toolbox.call('echo', {})));
    expect(results.map((result) => textOf(result))).toEqual(Array(8).fill('done'));
    expect(most).toBe(2);
  });

  spec('RUN-9', 'output is streamed only where it is surely the answer', async () => {
    const workspace = createWorkspace();
    workspace.script('say', '#!/bin/sh\n# @description Say.\necho said\n');
    const stream = async (streams: boolean): Promise<string> => {
      let heard = '';
      const toolbox = workspace.toolbox({ middleware: [{ name: 'x', streams, run: (_, next) => next() }] });
      const onOutput = (chunk: Uint8Array): void => {
        heard += Buffer.from(chunk).toString();
      };
      expect(textOf(await toolbox.call('say', {}, { onOutput }))).toBe('said\n');
      return heard;
    };
    expect(await stream(true)).toBe('said\n');
    expect(await stream(false)).toBe('');
  });

  spec('RUN-9', 'what is no middleware is refused when the toolbox is made', () => {
    const make = (middleware: unknown) => () => createToolbox({ tools: [echo], middleware: [middleware] as never });
    const run = (): Output => answer('');
    for (const odd of [
      undefined,
      {},
      { name: 'x', run, hook: '$before' },
      { name: 'x', run, for: '' },
      { name: 'x', run, for: 'a(' },
      { name: 'x', run, for: 'a($deny)' },
      { name: 'x', run, for: '$a' },
    ])
      expect(make(odd)).toThrow(expect.objectContaining({ code: 'invalid_definition' }));
    expect(make(run)).not.toThrow();
  });
});
