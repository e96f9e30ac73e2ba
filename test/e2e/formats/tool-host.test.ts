// The tool host: lifetime, context of tools, and integrity.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { DEFAULT_SETTINGS } from '../../../src/core/settings.js';
import type { ModuleAction, Tool } from '../../../src/core/tool.js';
import type { DoorOptions } from '../../../src/core/toolbox.js';
import { createModuleExecutor } from '../../../src/executors/index.js';
import { type ReadModuleFile, readImports } from '../../../src/files/closure.js';
import { type ToolResult, textOf } from '../../../src/index.js';
import { findEntry } from '../../../src/process/entry.js';
import { createJsonSchema } from '../../../src/schema/json.js';
import { binary } from '../../support/built.js';
import { createCallScope } from '../../support/call-scope.js';
import { wield } from '../../support/cli.js';
import { connectProcess, connectStdio } from '../../support/clients.js';
import { BLOCK, createModuleWorkspace, hostsOf, moduleText, PID, SLOW, untilNoHost } from '../../support/modules.js';
import { sleep } from '../../support/processes.js';
import { hasPty, NO_PTY } from '../../support/pty.js';
import { until } from '../../support/server.js';
import { spec, specIf } from '../../support/spec.js';

describe('lifetime', () => {
  spec.thorough('MOD-15', 'runs many calls of a module in one host, and ends it with the toolbox', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('slow.tool.mjs', SLOW);
    workspace.module('pid.tool.mjs', PID);
    const toolbox = workspace.toolbox();
    expect(hostsOf(workspace)).toEqual([]);
    const calls = Array.from({ length: 40 }, () => toolbox.call('slow', { ms: 300 }));
    const pids = (await Promise.all(calls)).map((result) => result.structured);
    expect(new Set(pids).size).toBe(1);
    expect(hostsOf(workspace)).toContain(pids[0]);
    expect((await toolbox.call('pid', {})).structured).not.toBe(pids[0]);
    await toolbox.close();
    await untilNoHost(workspace);
    expect((await wield(workspace, ['call', 'pid'])).status).toBe(0);
    await untilNoHost(workspace);
  });

  spec.thorough('MOD-15', 'leaves no host behind if the server is killed', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('loop.tool.mjs', moduleText('loop', `() => { ${BLOCK} }`));
    const client = await connectProcess(workspace, 'newer', []);
    client.callTool({ name: 'loop', arguments: {} }).catch(() => {});
    for (let waited = 0; hostsOf(workspace).length === 0 && waited < 1200; waited++) await sleep(50);
    await sleep(300);
    expect(hostsOf(workspace)).toHaveLength(1);
    process.kill((client.transport as unknown as { pid: number }).pid, 'SIGKILL');
    await untilNoHost(workspace);
  });

  spec('MOD-5', 'passes on what a tool logs to the client that wants it', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('say.tool.mjs', moduleText('say', `(_input, { log }) => { log('a word'); return 'said'; }`));
    const client = await connectStdio(workspace, 'older');
    const heard: unknown[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params));
    await client.callTool({ name: 'say', arguments: {} });
    await until(() => heard.length > 0, 'the message arrives');
    await client.setLoggingLevel('error');
    await client.callTool({ name: 'say', arguments: {} });
    expect(heard).toEqual([{ level: 'info', data: 'a word', logger: 'say' }]);
  });

  spec.thorough('MOD-15 MOD-5', 'gives a tool the whole context: calls, progress, questions, log', async () => {
    const workspace = createModuleWorkspace();
    workspace.script('greet', '#!/bin/sh\n# @description D\n# @param *who\nprintf "Hello, %s" "$WIELD_PARAM_WHO"\n');
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
      keys: [
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
      ],
      timeout: DEFAULT_SETTINGS.limits.timeoutMs,
      cwd: workspace.dir,
    });
    expect(steps).toEqual([{ done: 1, total: 2, message: 'half' }]);
    expect(said).toContain('outer: a word');
    expect(seen).toEqual(['greet 1', 'greet 1', 'outer 0']);
    const mute = await toolbox.call('outer', {});
    expect(mute.structured).toMatchObject({ answer: 'unavailable' });
  });

  spec.thorough('MOD-15', 'starts a separate host for a tool with its own variables', async () => {
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
  });

  spec.thorough('MOD-15', 'runs inline code, with imports relative to its file', async () => {
    const workspace = createModuleWorkspace();
    workspace.write('skills/x/part.ts', `export const part: string = 'part';`);
    const { machine, state } = workspace.toolbox();
    const snapshot = state.snapshot();
    const executor = createModuleExecutor({
      world: machine.world,
      entry: () => findEntry('host/main.js'),
      withVariables: async (plan) => plan,
      cacheDirectory: join(workspace.env.WIELD_HOME!, 'cache', 'modules'),
    });
    const file = join(workspace.dir, 'skills/x/SKILL.md');
    const run = async (inline: string, name = 'default'): Promise<ToolResult['structured'] | undefined> => {
      const action: ModuleAction = {
        kind: 'module',
        source: { inline, file, files: readImports(inline, file) as readonly ReadModuleFile[] },
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
      const plan = await executor.plan(tool, { n: 2 }, { snapshot, rules: { trusted: () => true }, timeoutMs: 20_000 });
      const output = await executor.run(plan, createCallScope(snapshot));
      return output.structured ?? output.error?.code;
    };
    const typed = `import { part } from './part.js';\nexport default (input: { n: number }) => [input.n * 2, part];`;
    expect(await run(typed)).toEqual([4, 'part']);
    expect(await run(`export const other = () => 'another';`, 'other')).toBe('another');
    expect(await run(`export const other = 3;`, 'other')).toBe('exec_failed');
    expect(await run('export default (', 'default')).toBe('exec_failed');
    await executor.close?.();
    await untilNoHost(workspace);
  });
});

spec('MOD-15 RUN-2', 'never runs bytes that changed after the plan', async () => {
  const workspace = createModuleWorkspace();
  const change = async (): Promise<void> => {
    const touch = `import { writeFileSync } from 'node:fs';\nwriteFileSync('ran', '');`;
    workspace.module('one.tool.mjs', moduleText('one', `() => 'second'`, touch));
  };
  workspace.module('one.tool.mjs', moduleText('one', `() => 'first'`));
  await workspace.toolbox().list();
  const toolbox = workspace.toolbox();
  const unloaded = await toolbox.call('one', {}, { ready: change } as DoorOptions);
  expect(unloaded.error).toMatchObject({ code: 'integrity', hint: 'call it again' });
  workspace.module('one.tool.mjs', moduleText('one', `() => 'first'`));
  expect(textOf(await toolbox.call('one', {}))).toBe('first');
  expect(textOf(await toolbox.call('one', {}, { ready: change } as DoorOptions))).toBe('first');
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  expect(textOf(await toolbox.call('one', {}))).toBe('second');
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(true);
});

specIf(hasPty, NO_PTY, 'MOD-5', 'asks a person at a terminal', async () => {
  const workspace = createModuleWorkspace();
  workspace.module(
    'asks.tool.mjs',
    moduleText('asks', `async (_, { ask }) => 'heard ' + (await ask('Which colour?'))`),
  );
  const said = await new Promise<string>((resolve) => {
    const command = `'${process.execPath}' '${binary()}' call asks`;
    const child = spawn('script', ['-qec', command, '/dev/null'], { cwd: workspace.dir, env: workspace.env });
    let all = '';
    child.stdout.on('data', (chunk: Buffer) => {
      if (!all.includes('colour?') && `${all}${chunk}`.includes('colour?')) child.stdin.write('blue\n');
      all += chunk;
    });
    child.once('close', () => resolve(all));
  });
  expect(said).toContain('Which colour?');
  expect(said).toContain('heard blue');
});
