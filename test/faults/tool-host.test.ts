// Faults of the tool host: they cost a call and its host, never the server.

import { describe, expect } from 'vitest';
import { json, wieldProcess } from '../support/cli.js';
import { connectProcess } from '../support/clients.js';
import { some } from '../support/effort.js';
import { createModuleWorkspace, hostsOf, moduleText, PID, SLOW } from '../support/modules.js';
import { sleep } from '../support/processes.js';
import { until } from '../support/server.js';
import { spec } from '../support/spec.js';

describe('ends', () => {
  const ENDS: Readonly<Record<string, [execute: string, message: RegExp]>> = {
    exit: ['() => process.exit(7)', /exited with status 7/],
    kill: [`() => process.kill(process.pid, 'SIGKILL')`, /ended by SIGKILL/],
    crash: [`() => new Promise(() => setTimeout(() => { throw new Error('astray'); }))`, /exited with status/],
    garble: [
      `async () => { (await import('node:fs')).writeSync(3, 'no message\\n'); await new Promise(() => {}); }`,
      /no message/,
    ],
  };
  for (const [name, [execute, message]] of some(Object.entries(ENDS), 2)) {
    spec('MOD-15', `${name}: costs the call and the host, and the next call gets a new one`, async () => {
      const workspace = createModuleWorkspace();
      const pid = PID.replace('const tool', 'const pid');
      workspace.module('ends.tool.mjs', moduleText('ends', execute, pid));
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

  spec.thorough('MOD-15', 'ends a host whose module exceeds the memory limit', async () => {
    const workspace = createModuleWorkspace();
    workspace.config('[limits]\nmemory = "64M"\n');
    workspace.module(
      'fill.tool.mjs',
      moduleText('fill', `() => { const all = []; for (;;) all.push(new Array(1e5).fill({}).map(() => ({}))); }`),
    );
    workspace.module('pid.tool.mjs', PID);
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('fill', {})).error?.code).toBe('exec_failed');
    expect((await toolbox.call('pid', {})).ok).toBe(true);
  });

  spec.thorough('MOD-15', 'keeps the server running, and module output out of its protocol', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('exits.tool.mjs', moduleText('exits', '() => process.exit(0)'));
    const noisy = `console.log('{"jsonrpc":"2.0","id":1,"result":{}}'); process.stdout.write('from the import');`;
    workspace.module('prints.tool.mjs', moduleText('prints', `() => { console.log('{}'); return 'said'; }`, noisy));
    const client = await connectProcess(workspace, 'newer', []);
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual([
      'exits',
      'prints',
      'query_result',
      'read_result',
    ]);
    expect((await client.callTool({ name: 'exits', arguments: {} })).isError).toBe(true);
    expect((await client.callTool({ name: 'prints', arguments: {} })).content).toMatchObject([{ text: 'said' }]);
    const run = await wieldProcess(workspace, ['call', 'prints', '--json']);
    expect(json(run)).toMatchObject({ ok: true, structured: 'said' });
    expect(run.stderr).toContain('from the import');
  });
});

// They mostly wait.
describe.concurrent('limits', () => {
  spec.thorough('MOD-15', 'ends an endless loop at its limit; other calls in the host can be retried', async () => {
    const workspace = createModuleWorkspace();
    workspace.module(
      'loop.tool.mjs',
      moduleText('loop', '() => { for (;;); }', SLOW.replace('const tool', 'const slow')),
    );
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

  spec.thorough('MOD-15', 'retires the host of a tool that ignores its signal after its other calls', async () => {
    const workspace = createModuleWorkspace();
    workspace.module(
      'deaf.tool.mjs',
      moduleText(
        'deaf',
        '() => new Promise((resolve) => setTimeout(resolve, 60_000))',
        SLOW.replace('const tool', 'const slow'),
      ),
    );
    const toolbox = workspace.toolbox();
    const first = (await toolbox.call('slow', { ms: 1 })).structured;
    const other = toolbox.call('slow', { ms: 5000 });
    expect((await toolbox.call('deaf', {}, { timeoutMs: 200 })).error?.code).toBe('timeout');
    await sleep(3000);
    const fresh = (await toolbox.call('slow', { ms: 1 })).structured;
    expect((await other).structured).toBe(first);
    expect(fresh).not.toBe(first);
    await until(() => hostsOf(workspace).length === 1, 'the other host has ended');
    expect(hostsOf(workspace)).toEqual([fresh]);
  });

  spec.thorough('MOD-15', 'keeps the host of a tool that stops on its signal', async () => {
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

  spec('MOD-15', 'fails the call if its module hangs while loading', async () => {
    const workspace = createModuleWorkspace();
    const once = `import { existsSync } from 'node:fs';\nif (existsSync('hang')) await new Promise(() => setInterval(() => {}, 1000));`;
    workspace.module('hangs.tool.mjs', moduleText('hangs', '() => 1', once));
    await workspace.toolbox().list();
    workspace.write('hang', '');
    expect((await workspace.toolbox().call('hangs', {}, { timeoutMs: 500 })).error?.code).toBe('timeout');
  });

  spec('MOD-15', 'rejects output over the limit with both sizes', async () => {
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
