// What modules do to the process they run in, and what that costs: a call and a host, never the server.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/core/settings.js';
import type { ModuleAction, Tool } from '../../src/core/tool.js';
import { createModuleExecutor } from '../../src/executors/index.js';
import { readImports } from '../../src/formats/module/closure.js';
import { type ToolResult, textOf } from '../../src/index.js';
import { createJsonSchema } from '../../src/schema/json.js';
import { json, wield } from '../support/cli.js';
import { connectStdio } from '../support/clients.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from '../support/modules.js';
import { processesWith, sleep } from '../support/processes.js';
import { spec } from '../support/spec.js';

const PID = moduleText('pid', '() => process.pid');
const SLOW = moduleText(
  'slow',
  `async (input, { signal }) => {
    await new Promise((resolve, reject) => {
      setTimeout(resolve, input.ms);
      signal.addEventListener('abort', () => reject(new Error('stopped')));
    });
    return process.pid;
  }`,
);

// The host has the workspace's cache on its command line.
const hostsOf = (workspace: ModuleWorkspace): number[] =>
  processesWith(join(workspace.env.WIELD_HOME!, 'cache', 'modules'));

async function untilNone(workspace: ModuleWorkspace): Promise<void> {
  for (let waited = 0; hostsOf(workspace).length > 0 && waited < 200; waited++) await sleep(50);
  expect(hostsOf(workspace)).toEqual([]);
}

describe('ends', () => {
  const ENDS: Readonly<Record<string, [execute: string, message: RegExp]>> = {
    exit: ['() => process.exit(7)', /exited with status 7/],
    kill: [`() => process.kill(process.pid, 'SIGKILL')`, /ended by SIGKILL/],
    crash: [
      `() => new Promise(() => setTimeout(() => { throw new Error('astray'); }))`,
      /exited with status/,
    ],
    garble: [
      `async () => { (await import('node:fs')).writeSync(3, 'no message\\n'); await new Promise(() => {}); }`,
      /no message/,
    ],
  };
  for (const [name, [execute, message]] of Object.entries(ENDS)) {
    spec('MOD-15', `${name}: costs the call and the host, and the next call has a fresh one`, async () => {
      const workspace = createModuleWorkspace();
      workspace.module('ends.tool.mjs', moduleText('ends', execute));
      workspace.module('pid.tool.mjs', PID);
      const toolbox = workspace.toolbox();
      const first = (await toolbox.call('pid', {})).structured;
      const ended = await toolbox.call('ends', {});
      expect(ended.error).toMatchObject({ code: 'exec_failed', data: { retry: true } });
      expect(ended.error?.message).toMatch(message);
      expect(ended.error?.hint).toContain('call it again');
      const second = (await toolbox.call('pid', {})).structured;
      expect([typeof first, typeof second]).toEqual(['number', 'number']);
      expect(second).not.toBe(first);
      expect(first).not.toBe(process.pid);
    });
  }

  spec('MOD-15', 'a module that fills its memory costs its host, within the bound that is set', async () => {
    const workspace = createModuleWorkspace();
    workspace.config('[limits]\nmemory = "64M"\n');
    workspace.module(
      'fill.tool.mjs',
      moduleText(
        'fill',
        `() => { const all = []; for (;;) all.push(new Array(1e5).fill({}).map(() => ({}))); }`,
      ),
    );
    workspace.module('pid.tool.mjs', PID);
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('fill', {})).error?.code).toBe('exec_failed');
    expect((await toolbox.call('pid', {})).ok).toBe(true);
  });

  spec('MOD-15', 'the server goes on, and nothing a module prints reaches its protocol', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('exits.tool.mjs', moduleText('exits', '() => process.exit(0)'));
    const noisy = `console.log('{"jsonrpc":"2.0","id":1,"result":{}}'); process.stdout.write('from the import');`;
    workspace.module(
      'prints.tool.mjs',
      moduleText('prints', `() => { console.log('{}'); return 'said'; }`, noisy),
    );
    const client = await connectStdio(workspace, 'newer', []);
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual(['exits', 'prints']);
    expect((await client.callTool({ name: 'exits', arguments: {} })).isError).toBe(true);
    expect((await client.callTool({ name: 'prints', arguments: {} })).content).toMatchObject([
      { text: 'said' },
    ]);
    const run = await wield(workspace, ['call', 'prints', '--json']);
    expect(json(run)).toMatchObject({ ok: true, structured: 'said' });
    expect(run.stderr).toContain('from the import');
  });
});

describe('limits', () => {
  spec('MOD-15', 'an endless loop ends at its limit; who else ran there is told to try again', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('loop.tool.mjs', moduleText('loop', '() => { for (;;); }'));
    workspace.module('slow.tool.mjs', SLOW);
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('slow', { ms: 1 })).ok).toBe(true);
    const other = toolbox.call('slow', { ms: 60_000 });
    await sleep(100);
    const looped = await toolbox.call('loop', {}, { timeoutMs: 500 });
    expect(looped.error?.code).toBe('timeout');
    const { error } = await other;
    expect(error).toMatchObject({ code: 'exec_failed', data: { retry: true } });
    expect(error?.message).toContain('loop did not stop');
    expect((await toolbox.call('slow', { ms: 1 })).ok).toBe(true);
  });

  spec(
    'MOD-15',
    'a tool that ignores its signal loses its host only when the others there are done',
    async () => {
      const workspace = createModuleWorkspace();
      workspace.module(
        'deaf.tool.mjs',
        moduleText('deaf', '() => new Promise((resolve) => setTimeout(resolve, 60_000))'),
      );
      workspace.module('slow.tool.mjs', SLOW);
      const toolbox = workspace.toolbox();
      const first = (await toolbox.call('slow', { ms: 1 })).structured;
      const other = toolbox.call('slow', { ms: 5000 });
      expect((await toolbox.call('deaf', {}, { timeoutMs: 200 })).error?.code).toBe('timeout');
      await sleep(3000);
      const fresh = (await toolbox.call('slow', { ms: 1 })).structured;
      expect((await other).structured).toBe(first);
      expect(fresh).not.toBe(first);
      for (let waited = 0; hostsOf(workspace).length > 1 && waited < 100; waited++) await sleep(50);
      expect(hostsOf(workspace)).toEqual([fresh]);
    },
  );

  spec('MOD-15', 'a tool that minds its signal keeps its host', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('slow.tool.mjs', SLOW);
    const toolbox = workspace.toolbox();
    const first = (await toolbox.call('slow', { ms: 1 })).structured;
    expect((await toolbox.call('slow', { ms: 60_000 }, { timeoutMs: 200 })).error?.code).toBe('timeout');
    const controller = new AbortController();
    const cancelled = toolbox.call('slow', { ms: 60_000 }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    expect((await cancelled).error?.code).toBe('cancelled');
    await sleep(2500);
    expect((await toolbox.call('slow', { ms: 1 })).structured).toBe(first);
  });

  spec('MOD-15', 'a module that hangs when it is loaded for a call costs that call', async () => {
    const workspace = createModuleWorkspace();
    const once = `import { existsSync } from 'node:fs';\nif (existsSync('hang')) await new Promise(() => setInterval(() => {}, 1000));`;
    workspace.module('hangs.tool.mjs', moduleText('hangs', '() => 1', once));
    await workspace.toolbox().list();
    workspace.write('hang', '');
    expect((await workspace.toolbox().call('hangs', {}, { timeoutMs: 500 })).error?.code).toBe('timeout');
  });

  spec('MOD-15', 'an output past the limit is refused with both sizes', async () => {
    const workspace = createModuleWorkspace();
    workspace.config('[limits]\noutput = "64K"\n');
    workspace.module('large.tool.mjs', moduleText('large', `({ size }) => 'x'.repeat(size)`));
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('large', { size: 1000 })).ok).toBe(true);
    expect((await toolbox.call('large', { size: 100_000 })).error).toMatchObject({
      code: 'too_large',
      message: expect.stringContaining('64 KiB'),
    });
  });
});

describe('life', () => {
  spec('MOD-15', 'one host a workspace runs many calls at once, and is gone with the toolbox', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('slow.tool.mjs', SLOW);
    workspace.module('pid.tool.mjs', PID);
    const toolbox = workspace.toolbox();
    expect(hostsOf(workspace)).toEqual([]);
    const calls = Array.from({ length: 40 }, () => toolbox.call('slow', { ms: 300 }));
    const pids = [...(await Promise.all(calls)), await toolbox.call('pid', {})].map(
      (result) => result.structured,
    );
    expect(new Set(pids).size).toBe(1);
    expect(hostsOf(workspace)).toEqual([pids[0]]);
    await toolbox.close();
    await untilNone(workspace);
    expect((await wield(workspace, ['call', 'pid'])).status).toBe(0);
    await untilNone(workspace);
  });

  spec(
    'MOD-15',
    'a server that is killed without warning leaves no host, however busy that one is',
    async () => {
      const workspace = createModuleWorkspace();
      workspace.module('loop.tool.mjs', moduleText('loop', `() => { for (;;); }`));
      const client = await connectStdio(workspace, 'newer', []);
      client.callTool({ name: 'loop', arguments: {} }).catch(() => {});
      for (let waited = 0; hostsOf(workspace).length === 0 && waited < 200; waited++) await sleep(50);
      await sleep(300);
      expect(hostsOf(workspace)).toHaveLength(1);
      process.kill((client.transport as unknown as { pid: number }).pid, 'SIGKILL');
      await untilNone(workspace);
    },
  );

  spec(
    'MOD-15 MOD-5',
    'a tool in the host has the whole context: calls, progress, questions, log',
    async () => {
      const workspace = createModuleWorkspace();
      workspace.script(
        'greet',
        '#!/bin/sh\n# @description D\n# @param *who\nprintf "Hello, %s" "$WIELD_PARAM_WHO"\n',
      );
      workspace.module(
        'outer.tool.ts',
        `import type { ToolContext } from 'wield';
export const outer = {
  name: 'outer',
  description: 'D',
  execute: async (_input: unknown, context: ToolContext) => {
    context.progress(1, 2, 'half');
    context.log('a word');
    const greeting = await context.toolbox.call('greet', { who: 'Ada' });
    const refused = await context.toolbox.call('greet', {});
    const answer = await context.ask('Sure?').catch((error) => error.code);
    return {
      greeting: greeting.content, refused: refused.error?.code, answer, frozen: Object.isFrozen(context),
      keys: Object.keys(context).sort(), timeout: context.config.limits.timeoutMs, cwd: process.cwd(),
    };
  },
};
`,
      );
      const said: string[] = [];
      const steps: unknown[] = [];
      const toolbox = workspace.toolbox({ debug: (message) => said.push(message) });
      const seen: string[] = [];
      toolbox.on((event) => void (event.type === 'end' && seen.push(`${event.ref} ${event.depth}`)));
      const result = await toolbox.call(
        'outer',
        {},
        {
          ask: async (question) => `yes: ${question}`,
          onProgress: (step) => steps.push(step),
        },
      );
      expect(result.structured).toEqual({
        greeting: [{ type: 'text', text: 'Hello, Ada' }],
        refused: 'invalid_input',
        answer: 'yes: Sure?',
        frozen: true,
        keys: ['ask', 'config', 'log', 'mcp', 'progress', 'signal', 'store', 'toolbox', 'workdir'],
        timeout: DEFAULT_SETTINGS.limits.timeoutMs,
        cwd: workspace.dir,
      });
      expect(steps).toEqual([{ done: 1, total: 2, message: 'half' }]);
      expect(said).toContain('outer: a word');
      expect(seen).toEqual(['greet 1', 'greet 1', 'outer 0']);
      const mute = await toolbox.call('outer', {});
      expect(mute.structured).toMatchObject({ answer: 'unavailable' });
    },
  );

  spec(
    'MOD-15',
    'a tool with a grant of its own has a host of its own, and no other sees the grant',
    async () => {
      const workspace = createModuleWorkspace();
      workspace.env.ONE_SECRET = 'for one';
      workspace.env.ANY_SECRET = 'for all';
      workspace.config('[env]\npass = ["ANY_SECRET"]\n[tools.one.env]\npass = ["ONE_SECRET"]\n');
      const look = '() => ({ ...process.env, pid: process.pid })';
      workspace.module('one.tool.mjs', moduleText('one', look));
      workspace.module('other.tool.mjs', moduleText('other', look));
      const toolbox = workspace.toolbox();
      const one = (await toolbox.call('one', {})).structured as Record<string, unknown>;
      const other = (await toolbox.call('other', {})).structured as Record<string, unknown>;
      expect([one.ONE_SECRET, one.ANY_SECRET]).toEqual(['for one', 'for all']);
      expect([other.ONE_SECRET, other.ANY_SECRET]).toEqual([undefined, 'for all']);
      expect(one.pid).not.toBe(other.pid);
      expect(Object.keys(other).sort()).toEqual(['ANY_SECRET', 'HOME', 'LANG', 'PATH', 'WIELD_CALL', 'pid']);
    },
  );

  spec(
    'MOD-15',
    'an inline piece of code runs there too, its imports beside the file that holds it',
    async () => {
      const workspace = createModuleWorkspace();
      workspace.write('skills/x/part.ts', `export const part: string = 'part';`);
      const { world } = workspace.toolbox();
      const executor = createModuleExecutor({
        world,
        settings: () => DEFAULT_SETTINGS,
        entry: () => new URL('../../dist/host/main.js', import.meta.url).pathname,
        cacheDirectory: join(workspace.env.WIELD_HOME!, 'cache', 'modules'),
      });
      const file = join(workspace.dir, 'skills/x/SKILL.md');
      const run = async (inline: string, name = 'default'): Promise<ToolResult['structured'] | undefined> => {
        const action: ModuleAction = {
          kind: 'module',
          source: { inline, file, files: readImports(inline, file) },
          export: name,
        };
        const origin = {
          format: 'skill',
          uri: 'inline://x',
          directory: null,
          source: null,
          digest: null,
          server: null,
          owner: 'user',
        } as const;
        const traits = { tags: [], hidden: false, terminal: false, examples: [] };
        const tool: Tool = {
          name: 'x',
          description: 'D',
          input: createJsonSchema({}),
          action,
          origin,
          traits,
        };
        const plan = await executor.plan(
          tool,
          { n: 2 },
          { workdir: workspace.dir, trusted: true, timeoutMs: 20_000 },
        );
        const { config } = { config: { limits: DEFAULT_SETTINGS.limits, roots: [] } };
        const signal = new AbortController().signal;
        const call = async (): Promise<never> => {
          throw new Error('not here');
        };
        const output = await executor.run(plan, {
          signal,
          progress: () => {},
          wantsProgress: false,
          workdir: workspace.dir,
          config,
          call,
        });
        return output.structured ?? output.error?.code;
      };
      const typed = `import { part } from './part.js';\nexport default (input: { n: number }) => [input.n * 2, part];`;
      expect(await run(typed)).toEqual([4, 'part']);
      expect(await run(`export const other = () => 'another';`, 'other')).toBe('another');
      expect(await run(`export const other = 3;`, 'other')).toBe('exec_failed');
      expect(await run('export default (', 'default')).toBe('exec_failed');
      await executor.close?.();
      await untilNone(workspace);
    },
  );
});

spec('MOD-15 RUN-2', 'what was planned runs, or nothing: never bytes that came between', async () => {
  const workspace = createModuleWorkspace();
  const change = async (): Promise<void> => {
    const touch = `import { writeFileSync } from 'node:fs';\nwriteFileSync('ran', '');`;
    workspace.module('one.tool.mjs', moduleText('one', `() => 'second'`, touch));
  };
  workspace.module('one.tool.mjs', moduleText('one', `() => 'first'`));
  await workspace.toolbox().list();
  const toolbox = workspace.toolbox();
  const unloaded = await toolbox.call('one', {}, { ready: change });
  expect(unloaded.error).toMatchObject({ code: 'integrity', hint: 'call it again' });
  workspace.module('one.tool.mjs', moduleText('one', `() => 'first'`));
  expect(textOf(await toolbox.call('one', {}))).toBe('first');
  expect(textOf(await toolbox.call('one', {}, { ready: change }))).toBe('first');
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  expect(textOf(await toolbox.call('one', {}))).toBe('second');
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(true);
});
