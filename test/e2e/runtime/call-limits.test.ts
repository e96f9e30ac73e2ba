// Calls inside calls, and calls beside calls: what is carried inward, and how many run at once.

import { expect, vi } from 'vitest';
import type { CallEvent } from '../../../src/core/event.js';
import type { ToolResult } from '../../../src/core/result.js';
import type { DoorOptions } from '../../../src/core/toolbox.js';
import { createToolbox, defineTool, type ToolContext, type ToolDefinition } from '../../../src/index.js';
import { patience } from '../../support/patience.js';
import { sleep } from '../../support/processes.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

function tool(
  name: string,
  execute: (input: never, context: ToolContext) => unknown,
  rest: Partial<ToolDefinition> = {},
): ToolDefinition {
  return defineTool({
    name,
    description: 'Made by a test.',
    inputSchema: { type: 'object' },
    execute,
    ...rest,
  });
}

/** A tool whose calls wait for their release, and the names of those that run. */
function createGate() {
  const running: string[] = [];
  const releases: (() => void)[] = [];
  const waits = (name: string, rest: Partial<ToolDefinition> = {}): ToolDefinition =>
    tool(
      name,
      async () => {
        running.push(name);
        await new Promise<void>((resolve) => releases.push(resolve));
        running.splice(running.indexOf(name), 1);
        return name;
      },
      rest,
    );
  const settled = (): Promise<void> => sleep(20);
  return {
    waits,
    settled,
    running: () => [...running].sort(),
    releaseOne: async () => {
      releases.shift()?.();
      await settled();
    },
    releaseAll: async (calls: readonly Promise<ToolResult>[]) => {
      const timer = setInterval(() => {
        for (const release of releases.splice(0)) release();
      }, 5);
      const results = await Promise.all(calls);
      clearInterval(timer);
      return results;
    },
  };
}

spec('RUN-7', 'a nested call carries the caller, the signal and a depth', async () => {
  const controller = new AbortController();
  let innerSignal: AbortSignal | undefined;
  const toolbox = createToolbox({
    tools: [
      tool('outer', async (_input, context) => (await context.toolbox.call('middle', {})).structured),
      tool('middle', async (_input, context) => (await context.toolbox.call('inner', { x: 1 })).structured),
      tool('inner', (input, context) => {
        innerSignal = context.signal;
        return { input };
      }),
    ],
  });
  const events: CallEvent[] = [];
  toolbox.on((event) => events.push(event));
  const caller = { kind: 'model', door: 'test', name: 'somebody' } as const;
  const result = await toolbox.call('outer', {}, { caller, signal: controller.signal });
  expect(result.structured).toEqual({ input: { x: 1 } });
  const starts = events.filter((event) => event.type === 'start');
  expect(starts.map(({ ref, depth }) => [ref, depth])).toEqual([
    ['outer', 0],
    ['middle', 1],
    ['inner', 2],
  ]);
  expect(starts.every((event) => event.caller.name === 'somebody')).toBe(true);
  expect(innerSignal?.aborted).toBe(false);
});

spec('RUN-7', 'log messages of a nested call reach the listener of the outer one', async () => {
  const toolbox = createToolbox({
    tools: [
      tool('outer', async (_input, context) => {
        context.log('began');
        return (await context.toolbox.call('inner', {})).structured;
      }),
      tool('inner', (_input, context) => {
        context.log('within');
        return {};
      }),
    ],
  });
  const heard: unknown[] = [];
  const options: DoorOptions = { onLog: ({ data, logger }) => void heard.push([logger, data]) };
  await toolbox.call('outer', {}, options);
  expect(heard).toEqual([
    ['outer', 'began'],
    ['inner', 'within'],
  ]);
});

spec('RUN-7 RUN-6', 'cancelling the outer call cancels the inner one, and its process', async () => {
  const workspace = createWorkspace();
  workspace.script('sleeps', shellScript('sleep 600'));
  const inner: string[] = [];
  const toolbox = workspace.toolbox({
    tools: [tool('outer', (_input, context) => context.toolbox.call('sleeps', {}).then(() => 'done'))],
  });
  toolbox.on((event) => {
    if (event.type === 'end' && event.ref === 'sleeps') inner.push(event.result.error?.code ?? 'ok');
  });
  const started = new Promise<void>((resolve) => {
    toolbox.on((event) => {
      if (event.type === 'start' && event.ref === 'sleeps') resolve();
    });
  });
  const controller = new AbortController();
  const calling = toolbox.call('outer', {}, { signal: controller.signal });
  await started;
  controller.abort();
  expect((await calling).error?.code).toBe('cancelled');
  await vi.waitFor(() => expect(inner).toEqual(['cancelled']), { timeout: patience(30_000) });
});

spec('RUN-7', 'tools that call each other endlessly stop at depth 16', async () => {
  let deepest: ToolResult | undefined;
  let calls = 0;
  const toolbox = createToolbox({
    tools: [
      tool('again', async (_input, context) => {
        calls++;
        const result = await context.toolbox.call('again', {});
        deepest ??= result;
        return 'done';
      }),
    ],
  });
  const warnings: Error[] = [];
  const warn = (warning: Error): number => warnings.push(warning);
  process.on('warning', warn);
  await toolbox.call('again', {}, { signal: new AbortController().signal });
  await sleep(20);
  process.off('warning', warn);
  expect(warnings).toEqual([]);
  expect(calls).toBe(17);
  expect(deepest?.error).toMatchObject({ code: 'invalid_ref', hint: expect.stringMatching(/cycle/) });
});

spec('RUN-7', 'a nested call is checked and refused like any other', async () => {
  const toolbox = createToolbox({
    tools: [
      tool('outer', async (_input, context) => (await context.toolbox.call('strict', { wrong: 1 })).error?.code),
      tool('strict', () => 'ran', { inputSchema: { type: 'object', properties: {} } }),
    ],
  });
  expect((await toolbox.call('outer', {})).structured).toBe('invalid_input');
});

spec('RUN-8', 'so many run at once in all, for a tool and for a group', async () => {
  const gate = createGate();
  const toolbox = createToolbox({
    tools: [gate.waits('a'), gate.waits('b', { group: 'g' }), gate.waits('c', { group: 'g' }), gate.waits('d')],
    limits: { concurrent: 5, concurrentPerTool: 2, concurrentPerGroup: 3 },
  });
  const calls = ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'd', 'd'].map((name) => toolbox.call(name, {}));
  await expect.poll(gate.running).toEqual(['a', 'a', 'b', 'b', 'c']);
  await gate.settled();
  expect(gate.running()).toEqual(['a', 'a', 'b', 'b', 'c']);
  const results = await gate.releaseAll(calls);
  expect(results.map((result) => result.structured)).toEqual(['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c', 'd', 'd']);
});

spec('RUN-8', 'a full queue is busy at once', async () => {
  const gate = createGate();
  const toolbox = createToolbox({ tools: [gate.waits('a')], limits: { concurrent: 1, queue: 2 } });
  const calls = [1, 2, 3].map(() => toolbox.call('a', {}));
  await expect.poll(gate.running).toEqual(['a']);
  await gate.settled();
  const refused = await toolbox.call('a', {});
  expect(refused.error).toMatchObject({ code: 'busy', hint: expect.stringMatching(/again/) });
  expect((await gate.releaseAll(calls)).every((result) => result.ok)).toBe(true);
  expect((await gate.releaseAll([toolbox.call('a', {})]))[0]?.ok).toBe(true);
});

spec('RUN-8 RUN-6', 'a call that is cancelled while it waits never runs, and gives its place up', async () => {
  const gate = createGate();
  const toolbox = createToolbox({
    tools: [gate.waits('a'), gate.waits('b')],
    limits: { concurrent: 1, queue: 1 },
  });
  const first = toolbox.call('a', {});
  const controller = new AbortController();
  const waiting = toolbox.call('b', {}, { signal: controller.signal });
  await expect.poll(gate.running).toEqual(['a']);
  await gate.settled();
  controller.abort();
  expect((await waiting).error?.code).toBe('cancelled');
  const next = toolbox.call('a', {});
  await gate.settled();
  expect(gate.running()).toEqual(['a']);
  expect((await gate.releaseAll([first, next])).every((result) => result.ok)).toBe(true);
});

spec('RUN-8', 'those who wait are served in order, and a busy tool does not hold up another', async () => {
  const gate = createGate();
  const started: string[] = [];
  const toolbox = createToolbox({
    tools: [gate.waits('a'), gate.waits('b')],
    limits: { concurrent: 2, concurrentPerTool: 1 },
  });
  const label = (name: string, text: string): Promise<ToolResult> =>
    toolbox.call(name, {}).then((result) => {
      started.push(text);
      return result;
    });
  const calls = [label('a', 'a1'), label('a', 'a2'), label('a', 'a3'), label('b', 'b1')];
  await expect.poll(gate.running).toEqual(['a', 'b']);
  await gate.releaseOne();
  await gate.releaseOne();
  await expect.poll(() => started.length).toBe(2);
  expect(started).toEqual(['a1', 'b1']);
  await gate.releaseAll(calls);
  expect(started).toEqual(['a1', 'b1', 'a2', 'a3']);
});

spec('RUN-8', 'the queue is fair: first come, first served, past calls that wait for their own tool', async () => {
  const started: string[] = [];
  const releases = new Map<string, () => void>();
  const waits = (name: string): ToolDefinition =>
    tool(name, async ({ n }: never) => {
      started.push(`${name}${n}`);
      await new Promise<void>((resolve) => releases.set(`${name}${n}`, resolve));
      return name;
    });
  const toolbox = createToolbox({
    tools: ['a', 'b', 'c', 'd'].map(waits),
    limits: { concurrent: 2, concurrentPerTool: 1 },
  });
  const calls: Promise<ToolResult>[] = [];
  const order = ['a1', 'c1', 'a2', 'a3', 'b1', 'd1', 'b2', 'd2'];
  for (const call of order) calls.push(toolbox.call(call[0]!, { n: Number(call[1]) }));
  // Ends a call, and waits for the next one to start or, if none is left, for the end.
  const end = async (call: string): Promise<void> => {
    const next = Math.min(started.length + 1, order.length);
    releases.get(call)!();
    await expect.poll(() => started.length, { timeout: patience(60_000) }).toBe(next);
  };
  await expect.poll(() => started.length, { timeout: patience(60_000) }).toBe(2);
  expect(started).toEqual(['a1', 'c1']);
  // a2 and a3 wait for their own tool, so b1 is next, although it came later.
  await end('c1');
  expect(started.at(-1)).toBe('b1');
  // Now a2 is first, before d1 and everything else that came later.
  await end('a1');
  expect(started.at(-1)).toBe('a2');
  await end('b1');
  expect(started.at(-1)).toBe('d1');
  await end('a2');
  expect(started.at(-1)).toBe('a3');
  for (const call of ['d1', 'a3', 'b2', 'd2']) await end(call);
  expect(started).toEqual(['a1', 'c1', 'b1', 'a2', 'd1', 'a3', 'b2', 'd2']);
  expect((await Promise.all(calls)).every((result) => result.ok)).toBe(true);
});

spec('RUN-8', 'nested calls share the slot of their outer call and never wait for each other', async () => {
  const toolbox = createToolbox({
    tools: [
      tool('outer', async (_input, context) => (await context.toolbox.call('inner', {})).structured ?? 'refused'),
      tool('inner', () => 'inner'),
    ],
    limits: { concurrent: 1 },
  });
  const results = await Promise.all([1, 2, 3].map(() => toolbox.call('outer', {})));
  expect(results.map((result) => result.structured)).toEqual(['inner', 'inner', 'inner']);
});

spec('RUN-8', 'the configuration sets the limits, for scripts too', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\nconcurrent-per-tool = 1\nqueue = 1\n');
  workspace.script('sleeps', shellScript('while [ ! -e go ]; do sleep 0.05; done'));
  workspace.script('quick', shellScript('echo quick'));
  const toolbox = workspace.toolbox();
  const calls = [toolbox.call('sleeps', {}), toolbox.call('sleeps', {})];
  await sleep(100);
  expect((await toolbox.call('sleeps', {})).error?.code).toBe('busy');
  expect((await toolbox.call('quick', {})).ok).toBe(true);
  workspace.write('go', '');
  expect((await Promise.all(calls)).every((result) => result.ok)).toBe(true);
});
