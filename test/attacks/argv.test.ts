// Attacks through the arguments of allowlisted programs: no value becomes an option, a program or a command.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { json, wield } from '../support/cli.js';
import { connectStdio } from '../support/clients.js';
import { createSkillWorkspace, declare, type SkillWorkspace } from '../support/commands.js';
import { spec } from '../support/spec.js';

/** A tool over `victim`, which leaves a mark and prints its arguments. */
function createVictim(args: Parameters<typeof declare>[0], more: Parameters<typeof declare>[1] = {}) {
  const workspace = createSkillWorkspace();
  const mark = join(workspace.dir, 'ran');
  workspace.program(
    'victim',
    `#!${process.execPath}
require('node:fs').writeFileSync(${JSON.stringify(mark)}, '');
console.log(JSON.stringify(process.argv.slice(2)));
`,
  );
  workspace.skill('own', { 'tools.json': declare(args, { binary: 'victim', subcommand: 'log', ...more }) });
  return { workspace, toolbox: workspace.toolbox(), ran: () => existsSync(mark) };
}

const isRefused = {
  code: 'invalid_input',
  message: expect.stringContaining('starts with "-"'),
  hint: expect.stringMatching(/./),
};

spec('TJS-12', 'A01 rejects --output=/x as a positional with a hint, through every door', async () => {
  const { workspace, toolbox, ran } = createVictim([{ param: 'ref' }]);
  const ref = '--output=/x';
  expect((await toolbox.call('run', { ref })).error).toMatchObject(isRefused);
  expect(json(await wield(workspace, ['call', 'run', `--ref=${ref}`, '--json'])).error).toMatchObject(isRefused);
  const client = await connectStdio(workspace, 'newer');
  const result = await client.callTool({ name: 'run', arguments: { ref } });
  expect(result).toMatchObject({ isError: true, _meta: { 'wield/error': { code: 'invalid_input' } } });
  expect(ran()).toBe(false);
});

spec('TJS-12', 'A02 rejects abbreviations of long options', async () => {
  const { toolbox, ran } = createVictim([{ param: 'ref' }]);
  for (const ref of ['--outp=/x', '--out', '--o', '--exec-pa=/x', '--upload-p=x', '--'])
    expect((await toolbox.call('run', { ref })).error, ref).toMatchObject(isRefused);
  expect(ran()).toBe(false);
  const ended = createVictim([{ param: 'ref' }], { execution: { endOfOptions: true } });
  expect((await ended.toolbox.call('run', { ref: '--outp=/x' })).structured).toEqual(['log', '--', '--outp=/x']);
});

spec('RUN-3', 'A02 does not accept abbreviations of its own flags', async () => {
  const { workspace, ran } = createVictim([{ param: 'reference' }]);
  for (const flag of ['--refer=x', '--ref=x', '--dry', '--tru', '--ye']) {
    const { status } = await wield(workspace, ['call', 'run', flag]);
    expect([flag, status]).toEqual([flag, 2]);
  }
  expect(ran()).toBe(false);
});

spec('RUN-3', 'A03 does not accept unknown short options and clusters, before or after the tool', async () => {
  const { workspace, ran } = createVictim([{ param: 'reference', kind: 'flag', flag: '-r' }]);
  for (const flag of ['-x', '-yx', '-hx', '-rx', '-vy', '-yes', '-']) {
    for (const args of [
      ['call', 'run', flag],
      ['call', flag, 'run'],
      [flag, 'call', 'run'],
    ]) {
      const { status } = await wield(workspace, args);
      expect([args, status]).toEqual([args, 2]);
    }
  }
  expect(ran()).toBe(false);
});

for (const [id, binaries] of [
  ['A05', ['git', 'find', 'tar', 'awk', 'ssh', 'vim']],
  ['A06', ['env', 'xargs', 'nice', 'timeout', 'nohup', 'setsid', 'stdbuf', 'sudo']],
] as const) {
  const what = id === 'A05' ? 'a program that runs others' : 'a wrapper such as env or xargs';
  spec('TJS-12', `${id} check warns about ${what} with free arguments`, async () => {
    for (const binary of binaries) {
      const workspace = createSkillWorkspace();
      workspace.skill('own', { 'tools.json': declare([{ param: 'a' }], { binary, subcommand: 'x' }) });
      const free = await wield(workspace, ['check']);
      expect([binary, free.stdout + free.stderr]).toEqual([
        binary,
        expect.stringContaining(`"${binary}" can run programs through its arguments`),
      ]);
      const properties = { a: { type: 'string', enum: ['one', 'two'] } };
      workspace.skill('own', {
        'tools.json': declare([{ param: 'a' }], { binary, subcommand: 'x', properties }),
      });
      const fixed = await wield(workspace, ['check']);
      expect(fixed.stdout + fixed.stderr).not.toContain('can run programs');
    }
  });
}

spec('TJS-12 EXE-1', 'A06 a value for env or xargs is not run as a command line', async () => {
  const workspace = createSkillWorkspace();
  const mark = join(workspace.dir, 'ran');
  for (const binary of ['env', 'xargs', 'nice', 'timeout']) {
    const args = [{ param: 'a' }, { param: 'input', kind: 'stdin' }];
    workspace.skill('own', { 'tools.json': declare(args, { binary }) });
    const toolbox = workspace.toolbox();
    for (const option of [`-S touch ${mark}`, '-S', `--split-string=touch ${mark}`, '-I{}', '-itouch', '-a/etc/passwd'])
      expect([binary, option, (await toolbox.call('run', { a: option, input: mark })).error]).toMatchObject([
        binary,
        option,
        isRefused,
      ]);
    // One value is one argument: a program of that name does not exist.
    expect([binary, (await toolbox.call('run', { a: `touch ${mark}`, input: mark })).ok]).toEqual([binary, false]);
    expect([binary, existsSync(mark)]).toEqual([binary, false]);
  }
});

spec('TJS-12', 'A03 A04 rejects -c, other short options and clusters as positionals', async () => {
  const { toolbox, ran } = createVictim([{ param: 'ref' }, { param: 'paths' }], {
    properties: { paths: { type: 'array', items: { type: 'string' } } },
  });
  for (const input of [
    { ref: '-c' },
    { ref: '-ccore.pager=sh' },
    { ref: '-xvfz' },
    { ref: '-' },
    { ref: 'x', paths: ['ok', '-O/x'] },
  ])
    expect((await toolbox.call('run', input)).error, JSON.stringify(input)).toMatchObject(isRefused);
  expect(ran()).toBe(false);
});

spec('TJS-12', 'A04 does not pass --upload-pack=… to git as an option', async () => {
  const workspace = createSkillWorkspace();
  const mark = join(workspace.dir, 'ran');
  const args = [{ param: 'remote' }];
  workspace.skill('refused', {
    'tools.json': declare(args, { tool: 'refused', binary: 'git', subcommand: 'ls-remote' }),
  });
  workspace.skill('ended', {
    'tools.json': declare(args, {
      tool: 'ended',
      binary: 'git',
      subcommand: 'ls-remote',
      execution: { endOfOptions: true },
    }),
  });
  const remote = `--upload-pack=touch ${mark};`;
  const toolbox = workspace.toolbox();
  expect((await toolbox.call('refused', { remote })).error).toMatchObject(isRefused);
  expect((await toolbox.call('ended', { remote })).error?.code).toBe('tool_failed');
  expect(existsSync(mark)).toBe(false);
});

spec('TJS-12', 'A04 passes neither -c nor --output nor a pager option to git', async () => {
  const workspace = createSkillWorkspace();
  const git = (...args: string[]) => execFileSync('git', args, { cwd: workspace.dir, stdio: 'pipe' });
  git('init', '--quiet');
  workspace.write('file', 'text\n');
  git('add', 'file');
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', 'commit', '--quiet', '-m', 'One');
  const mark = join(workspace.dir, 'ran');
  const pager = `sh -c "touch ${mark}"`;
  const options = [
    '-c',
    `-ccore.pager=${pager}`,
    `-c core.pager=${pager}`,
    '--config-env=core.pager=HOME',
    `--exec-path=${workspace.dir}`,
    `--output=${mark}`,
    `-O${pager}`,
    `--open-files-in-pager=${pager}`,
    '--paginate',
    '-p',
    '--ext-diff',
  ];
  const env = { ...workspace.env, GIT_PAGER: pager, PAGER: pager };
  for (const subcommand of ['log', 'grep']) {
    for (const endOfOptions of [false, true]) {
      const args = [{ param: 'a' }, { param: 'b' }];
      workspace.skill('own', {
        'tools.json': declare(args, { binary: 'git', subcommand, execution: { endOfOptions } }),
      });
      const toolbox = workspace.toolbox({ env });
      for (const a of options) {
        const { error } = await toolbox.call('run', { a, b: 'file' });
        if (!endOfOptions) expect([subcommand, a, error]).toMatchObject([subcommand, a, isRefused]);
        expect([subcommand, endOfOptions, a, existsSync(mark)]).toEqual([subcommand, endOfOptions, a, false]);
      }
    }
  }
});

spec('TJS-12 TJS-8', 'A01 A04 keeps a value after a flag as its value', async () => {
  const { toolbox } = createVictim([
    { param: 'long', kind: 'flag' },
    { param: 'short', kind: 'flag', flag: '-s' },
  ]);
  expect((await toolbox.call('run', { long: '--exec=x' })).structured).toEqual(['log', '--long=--exec=x']);
  expect((await toolbox.call('run', { short: '--exec=x' })).error).toMatchObject(isRefused);
});

spec.thorough('TJS-6 EXE-1', 'A07 passes newlines, quotes, globs and substitutions unchanged', async () => {
  const { workspace, toolbox } = createVictim([{ param: 'a' }, { param: 'b', kind: 'flag' }]);
  for (const text of [
    '; touch sentinel',
    '$(touch sentinel)',
    '`touch sentinel`',
    '| touch sentinel',
    '* ? [a-z] ~ {a,b}',
    `' " \\ \\' $HOME $'\\n'`,
    'one\r\ntwo\n',
    '\u001b[31m\u0007',
    'ünïcödé 🜁 \u202e',
    '',
    ' -x',
    '\n--output=/x',
  ]) {
    expect((await toolbox.call('run', { a: text, b: text })).structured).toEqual(['log', text, '--b', text]);
  }
  expect(existsSync(join(workspace.dir, 'sentinel'))).toBe(false);
});

spec('TJS-13', 'A11 does not truncate an argument at NUL', async () => {
  const { toolbox, ran } = createVictim([{ param: 'a' }, { param: 'b', kind: 'flag' }]);
  for (const input of [{ a: 'x\0--output' }, { b: '\0' }])
    expect((await toolbox.call('run', input)).error?.code).toBe('invalid_input');
  expect(ran()).toBe(false);
});

spec('TJS-14 TJS-15', 'A15 does not let a value or a checkout choose the program or subcommand', async () => {
  const { workspace, toolbox } = createVictim([{ param: 'a' }]);
  workspace.write('victim', '#!/bin/sh\necho stolen\n', 0o755);
  workspace.write('log', '#!/bin/sh\necho stolen\n', 0o755);
  workspace.env.PATH = `${workspace.dir}:${workspace.env.PATH}`;
  for (const a of ['push', 'log; push', '../victim', join(workspace.dir, 'victim')])
    expect((await toolbox.call('run', { a })).structured).toEqual(['log', a]);
  for (const binary of ['../victim', './victim', '/bin/sh', 'vic tim', '']) {
    workspace.skill('other', { 'tools.json': declare([], { tool: 'chosen', binary }) });
    expect((await workspace.toolbox().call('chosen', {})).error?.code, binary).toBe('not_found');
  }
});

const ALLOW = '[skills]\nallow-scripts = true\n';

function withAnswer(answer: string, mapping: Record<string, unknown> = {}): SkillWorkspace {
  const { workspace } = createVictim([{ param: 'a', resolveCommand: { script: 'answer' }, ...mapping }]);
  workspace.write('.agents/skills/own/scripts/answer', `printf '%b' '${answer}'\n`);
  workspace.config(ALLOW);
  return workspace;
}

spec('TJS-19 TJS-12 TJS-13', 'A12 checks resolved values by the same rules', async () => {
  for (const [answer, code] of [
    ['--output=/x', 'invalid_input'],
    ['  -c\\n', 'invalid_input'],
    ['a\\0000b', 'invalid_input'],
  ] as const) {
    const workspace = withAnswer(answer);
    const result = await workspace.toolbox().call('run', { a: 'x' });
    expect(result.error, answer).toMatchObject({ code, hint: expect.stringMatching(/./) });
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  }
  const joined = await withAnswer('-c', { kind: 'flag' }).toolbox().call('run', { a: 'x' });
  expect(joined.structured).toEqual(['log', '--a=-c']);
  const outside = await withAnswer('/etc/passwd', { readPath: true }).toolbox().call('run', { a: 'x' });
  expect(outside.error?.code).toBe('path_escape');
});

spec('TJS-19 TJS-18', 'A12 does not pass a value to a resolver as an option', async () => {
  const { workspace, toolbox, ran } = createVictim(
    [{ param: 'a', resolveCommand: { binary: 'victim', subcommand: 'log', args: ['$param'] } }],
    {},
  );
  expect((await toolbox.call('run', { a: '--output=/x' })).error).toMatchObject(isRefused);
  expect(ran()).toBe(false);
  const nul = await toolbox.call('run', { a: 'x\0y' });
  expect([nul.error?.code, ran()]).toEqual(['invalid_input', false]);
  expect(existsSync(join(workspace.dir, 'x'))).toBe(false);
});

spec('TJS-16', 'A12 does not follow a link that replaces scripts/', async () => {
  const workspace = withAnswer('fine');
  const outside = join(workspace.home, 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'evil'), 'echo evil\n');
  symlinkSync(join(outside, 'evil'), join(workspace.dir, '.agents/skills/own/scripts/answer.sh'));
  expect(textOf(await workspace.toolbox().call('run', { a: 'x' }))).toBe('["log","fine"]\n');
});
