// Running declared commands: program, allowlist, output, dry run.

import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import type { CallEvent } from '../../../src/core/event.js';
import type { ProcessPlan } from '../../../src/core/plan.js';
import type { CommandAction, Tool } from '../../../src/core/tool.js';
import { createProcessExecutor } from '../../../src/executors/index.js';
import { textOf } from '../../../src/index.js';
import { createCallScope } from '../../support/call-scope.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { createSkillWorkspace, declare, PRINT_ARGUMENTS } from '../../support/commands.js';
import { spec } from '../../support/spec.js';

describe('the command line', () => {
  spec('TJS-6', 'is binary, subcommand and mapped arguments in declaration order', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('order', {
      'tools.json': declare(
        [
          { param: 'c', kind: 'flag' },
          { param: 'a' },
          { kind: 'literal', value: '--end' },
          { param: 'b', kind: 'flagifboolean', flagIfTrue: '-b' },
        ],
        { subcommand: 'remote get-url', properties: { b: { type: 'boolean' } } },
      ),
    });
    const result = await workspace.toolbox().call('run', { a: '$(id) *', b: true, c: '"q"\n' });
    expect(result.structured).toEqual(['remote', 'get-url', '--c', '"q"\n', '$(id) *', '--end', '-b']);
    expect(result.meta.exitCode).toBe(0);
  });

  spec('TJS-6 TJS-15', 'matches a subcommand with spaces as a whole against the allowlist', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('whole', {
      'tools.json': declare([], { subcommand: 'remote get-url', allowlist: { args: ['remote', 'get-url'] } }),
    });
    expect(await workspace.toolbox().catalog.problems()).toMatchObject([
      {
        pointer: '/execution/0/subcommand',
        message: expect.stringContaining('"remote get-url" is not in allowlist'),
      },
    ]);
  });
});

describe('the program', () => {
  spec('TJS-14', 'is never taken from the workdir, even if PATH leads there', async () => {
    const workspace = createSkillWorkspace();
    const bad = `#!/bin/sh\necho from the checkout\n`;
    workspace.write('args', bad, 0o755);
    workspace.write('bin/args', bad, 0o755);
    symlinkSync(join(workspace.dir, 'bin'), join(workspace.home, 'linked'));
    workspace.skill('own', { 'tools.json': declare([]) });
    const original = workspace.env.PATH;
    for (const first of [workspace.dir, join(workspace.dir, 'bin'), join(workspace.home, 'linked'), '', '.', 'bin']) {
      workspace.env.PATH = `${first}:${original}`;
      const toolbox = workspace.toolbox();
      const plans: ProcessPlan[] = [];
      toolbox.on((event: CallEvent) => {
        if (event.type === 'end') plans.push(event.plan as ProcessPlan);
      });
      expect(textOf(await toolbox.call('run', {})), first).toBe('[]\n');
      expect(plans[0]!.binary).toBe(join(workspace.bin, 'args'));
    }
    const linked = join(workspace.home, 'linked-project');
    symlinkSync(workspace.dir, linked);
    workspace.env.PATH = `${join(workspace.dir, 'bin')}:${original}`;
    expect(textOf(await workspace.toolbox({ workdir: linked }).call('run', {}))).toBe('[]\n');
  });

  spec('TJS-14', 'is not found if only the workdir has it', async () => {
    const workspace = createSkillWorkspace();
    workspace.write('bin/only-here', PRINT_ARGUMENTS, 0o755);
    workspace.env.PATH = `${join(workspace.dir, 'bin')}:${workspace.env.PATH}`;
    workspace.skill('own', { 'tools.json': declare([], { binary: 'only-here' }) });
    const { error } = await workspace.toolbox().call('run', {});
    expect(error).toMatchObject({ code: 'exec_failed', message: 'command not found: only-here' });
    expect(error?.hint).toContain('is in the workdir');
  });
});

describe('the allowlist', () => {
  spec('TJS-15', 'is checked again at the start of a process', async () => {
    const workspace = createSkillWorkspace();
    const marker = join(workspace.dir, 'ran');
    workspace.program('touch-it', `#!/bin/sh\ntouch ${marker}\n`);
    workspace.skill('own', {
      'tools.json': declare([{ param: 'a', resolveCommand: { binary: 'touch-it', onFailure: 'reject' } }], {
        binary: 'touch-it',
      }),
    });
    const toolbox = workspace.toolbox();
    const executor = createProcessExecutor({
      world: toolbox.machine.world,
      withVariables: async (plan) => plan,
    });
    const tool = await toolbox.find('run');
    const action = tool.action as CommandAction;
    const snapshot = toolbox.state.snapshot();
    const context = { snapshot, rules: { trusted: () => true }, timeoutMs: 10_000 };
    const isRefused = { code: 'not_allowlisted', data: { binary: 'touch-it', subcommand: '' } };
    const allowlists: Record<string, string[]>[] = [{}, { 'touch-it': [] }, { 'touch-it': ['other'] }, { other: [''] }];
    for (const allowlist of allowlists) {
      const narrowed: Tool = { ...tool, action: { ...action, allowlist } };
      expect(await caught(() => executor.plan(narrowed, {}, context))).toMatchObject(isRefused);
      const plan = (await executor.plan(tool, { a: 'x' }, context)) as ProcessPlan;
      for (const resolvers of [plan.command!.resolvers, []]) {
        const tampered = { ...plan, command: { ...plan.command!, allowlist, resolvers } };
        expect(await caught(() => executor.run(tampered, createCallScope(snapshot)))).toMatchObject(isRefused);
      }
    }
    expect(existsSync(marker)).toBe(false);
  });

  const caught = async (run: () => unknown): Promise<unknown> => {
    try {
      return await run();
    } catch (error) {
      return error;
    }
  };
});

describe('the result', () => {
  spec('TJS-21', 'is stdout with [stderr]; a failure has status and both streams', async () => {
    const workspace = createSkillWorkspace();
    workspace.program('say', '#!/bin/sh\necho out\necho err >&2\nexit "$1"\n');
    workspace.skill('own', { 'tools.json': declare([{ param: 'status' }], { binary: 'say' }) });
    const toolbox = workspace.toolbox();
    const good = await toolbox.call('run', { status: '0' });
    expect([good.ok, textOf(good)]).toEqual([true, 'out\n[stderr]\nerr\n']);
    const bad = await toolbox.call('run', { status: '3' });
    expect(bad).toMatchObject({
      ok: false,
      error: { code: 'tool_failed', data: { exitCode: 3 } },
      meta: { exitCode: 3 },
    });
    expect(textOf(bad)).toBe('[stderr]\nerr\n[stdout]\nout\n');
    expect(await wield(workspace, ['call', 'run', '--status', '3'])).toMatchObject({
      status: 1,
      stdout: 'out\n',
    });
  });
});

describe('a dry run', () => {
  spec(
    'TJS-23 TJS-14',
    'shows argv, binary, cwd, variable names, resolvers and verdict, and runs nothing',
    async () => {
      const workspace = createSkillWorkspace();
      const marker = join(workspace.dir, 'ran');
      for (const name of ['act', 'look']) workspace.program(name, `#!/bin/sh\ntouch ${marker}\n`);
      workspace.skill('own', {
        'tools.json': declare(
          [
            {
              param: 'name',
              resolveCommand: { binary: 'look', subcommand: 'up', args: ['$param'], onFailure: 'reject' },
            },
            { param: 'words', split: true, resolveCommand: { script: 'words' } },
            { param: 'mode', kind: 'flag' },
          ],
          { binary: 'act', subcommand: 'do it', allowlist: { act: ['do it'], look: ['up'] } },
        ),
      });
      const given = ['--name', 'n', '--words', 'a b', '--mode', '-x'];
      const { plan, verdict } = json(await wield(workspace, ['call', 'run', ...given, '--dry-run', '--json']));
      const look = join(workspace.bin, 'look');
      expect(plan).toMatchObject({
        kind: 'process',
        binary: join(workspace.bin, 'act'),
        argv: ['act', 'do', 'it', `{output of ${look} up n}`, 'a', 'b', '--mode=-x'],
        cwd: workspace.dir,
        allowlisted: { binary: 'act', subcommand: 'do it' },
        resolvers: [
          { param: 'name', argv: [look, 'up', 'n'], onFailure: 'reject' },
          {
            param: 'words',
            argv: [],
            onFailure: 'keep',
            skipped: 'scripts are disabled (skills.allow-scripts)',
          },
        ],
      });
      expect(plan.env).toEqual(expect.arrayContaining(['HOME', 'LANG', 'PATH']));
      expect(verdict).toMatchObject({ verdict: 'allow' });
      const shown = (await wield(workspace, ['call', 'run', ...given, '--dry-run'])).stdout;
      expect(shown).toContain(
        `would run   ${join(workspace.bin, 'act')} do it '{output of ${look} up n}' a b --mode=-x\n`,
      );
      expect(shown).toContain(`first       ${look} up n   to resolve name; on failure reject\n`);
      expect(shown).toContain('first       words is not resolved: scripts are disabled');
      expect(shown).toContain('allowlist   act do it\n');
      expect(shown).toContain('policy      allow');
      expect(existsSync(marker)).toBe(false);
    },
  );

  spec('TJS-23', 'shows the complete argv', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('own', { 'tools.json': declare([{ param: 'a' }], { subcommand: 'search' }) });
    const toolbox = workspace.toolbox();
    const { plan } = await toolbox.plan('run', { a: 'x y' });
    expect((plan as ProcessPlan).argv).toEqual(['args', 'search', 'x y']);
    expect((await toolbox.call('run', { a: 'x y' })).structured).toEqual(['search', 'x y']);
  });
});

describe('trust', () => {
  spec.thorough('POL-20 TJS-1', "a workspace's tool needs trust for a model, a person's own does not", async () => {
    const workspace = createSkillWorkspace();
    const marker = join(workspace.dir, 'ran');
    workspace.program('touch-it', `#!/bin/sh\ntouch ${marker}\n`);
    workspace.skill('theirs', { 'tools.json': declare([], { binary: 'touch-it' }) });
    const own = join(workspace.home, '.agents/skills/own');
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, 'tools.json'), JSON.stringify(declare([], { tool: 'own' })));
    const untrusted = await connectStdio(workspace, 'newer', []);
    const refused = await untrusted.callTool({ name: 'run', arguments: {} });
    expect(refused).toMatchObject({ isError: true, _meta: { 'wield/error': { code: 'needs_trust' } } });
    expect((await untrusted.callTool({ name: 'own', arguments: {} })).content).toEqual([
      { type: 'text', text: '[]\n' },
    ]);
    expect(existsSync(marker)).toBe(false);
    const trusted = await connectStdio(workspace, 'newer', ['--trust']);
    expect((await trusted.callTool({ name: 'run', arguments: {} })).isError).not.toBe(true);
    expect(existsSync(marker)).toBe(true);
  });
});
