// Fields of the newer layout: exit statuses, lines, hints, files, directories, conditions.

import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { type CommandOptions, createSkillWorkspace, declare, type SkillWorkspace } from '../../support/commands.js';
import { spec } from '../../support/spec.js';

function withCommand(args: Parameters<typeof declare>[0], options: CommandOptions = {}): SkillWorkspace {
  const workspace = createSkillWorkspace();
  workspace.skill('own', { 'tools.json': declare(args, options) });
  return workspace;
}

describe('output', () => {
  spec('TJS-24', 'succeeds with a status of successExitCodes', async () => {
    const workspace = withCommand([{ param: 'status' }], {
      binary: 'end',
      execution: { successExitCodes: [1] },
    });
    workspace.program('end', '#!/bin/sh\necho said\nexit "$1"\n');
    const toolbox = workspace.toolbox();
    expect(await toolbox.call('run', { status: '1' })).toMatchObject({ ok: true, meta: { exitCode: 1 } });
    expect((await toolbox.call('run', { status: '2' })).error?.code).toBe('tool_failed');
  });

  spec('TJS-24', 'is limited to maxOutputLines, with a notice', async () => {
    const execution = { maxOutputLines: 2 };
    const workspace = withCommand([{ param: 'n' }], { binary: 'count', execution });
    workspace.program('count', '#!/bin/sh\nseq 1 "$1"\n');
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('run', { n: '2' }))).toBe('1\n2\n');
    const cut = await toolbox.call('run', { n: '5' });
    expect(textOf(cut)).toBe('1\n2\n[truncated: 2 of 5 lines shown, 3 omitted; request less at a time]\n');
    expect(cut.structured).toBeUndefined();
    expect((await wield(workspace, ['call', 'run', '--n', '5'])).stdout).toBe(textOf(cut));
    const hinted = withCommand([], {
      binary: 'lines',
      execution: {
        maxOutputLines: 1,
        truncationHint: '{omitted} of {total} more, start at {next_start}, {else}',
      },
    });
    hinted.program('lines', '#!/bin/sh\nprintf "41\\ta\\n42\\tb\\n"\n');
    expect(textOf(await hinted.toolbox().call('run', {}))).toBe('41\ta\n[1 of 2 more, start at 42, {else}]\n');
  });

  spec('TJS-24', 'has a hint if all of its conditions hold', async () => {
    const workspace = withCommand([{ param: 'status' }, { param: 'word', absentDefault: 'none' }], {
      binary: 'say',
      execution: {
        successExitCodes: [1],
        hintConditions: [
          { match: 'CONFLICT', hint: 'resolve it' },
          { exitCode: 'nonzero', hint: 'status was not 0' },
          { exitCode: 0, notEmpty: true, hint: 'said {word} {unknown}' },
          { whenArg: { word: 'none' }, exitCode: 1, hint: 'give a word' },
        ],
      },
    });
    workspace.program('say', '#!/bin/sh\n[ "$2" = quiet ] || echo "$2"\nexit "$1"\n');
    const toolbox = workspace.toolbox();
    const hints = async (input: object) => textOf(await toolbox.call('run', input)).match(/^hint: .*$/gm);
    expect(await hints({ status: '0', word: 'CONFLICT' })).toEqual([
      'hint: resolve it',
      'hint: said CONFLICT {unknown}',
    ]);
    expect(await hints({ status: '1', word: 'x' })).toEqual(['hint: status was not 0']);
    expect(await hints({ status: '1' })).toEqual(['hint: status was not 0', 'hint: give a word']);
    expect(await hints({ status: '0', word: 'quiet' })).toBeNull();
  });

  spec('TJS-24 TJS-17', 'is processed by an allowlisted postProcess, and unchanged if that fails', async () => {
    const options = { binary: 'say', allowlist: { say: [''], upper: [''] } };
    const execution = { postProcess: { binary: 'upper', args: ['$who'] } };
    const workspace = withCommand([{ param: 'who' }], { ...options, execution });
    workspace.program('say', '#!/bin/sh\necho "hello $1"\n');
    workspace.program('upper', '#!/bin/sh\ntr a-z A-Z\necho "$1"\n');
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('run', { who: 'ada' }))).toBe('HELLO ADA\nada');
    workspace.program('upper', '#!/bin/sh\necho broken >&2\nexit 1\n');
    const kept = await toolbox.call('run', { who: 'ada' });
    expect(textOf(kept)).toBe('hello ada\n');
    expect(kept.meta.resolvers).toEqual([{ param: 'output', outcome: 'kept', reason: 'its resolver failed: broken' }]);
    const unlisted = withCommand([], { execution: { postProcess: { binary: 'upper' } } });
    expect(await unlisted.toolbox().catalog.problems()).toMatchObject([{ pointer: '/execution/0/postProcess/binary' }]);
  });

  spec('TJS-24 TJS-16', 'can be processed by a script, with an empty result if declared', async () => {
    for (const [emptyIsResult, expected] of [
      [false, '[]\n'],
      [true, ''],
    ] as const) {
      const workspace = withCommand([], { execution: { postProcess: { script: 'none', emptyIsResult } } });
      workspace.write('.agents/skills/own/scripts/none.sh', 'cat >/dev/null\n');
      expect(textOf(await workspace.toolbox().call('run', {}))).toBe('[]\n');
      workspace.config('[skills]\nallow-scripts = true\n');
      expect(textOf(await workspace.toolbox().call('run', {}))).toBe(expected);
    }
  });
});

describe('values', () => {
  spec('TJS-24', 'are passed on stdin or in a private temporary file that is removed', async () => {
    const stdin = withCommand([{ param: 'text', kind: 'stdin' }]);
    expect(textOf(await stdin.toolbox().call('run', { text: '-a\nb' }))).toBe('[]\n-a\nb');
    const file = withCommand([{ param: 'text', kind: 'tempfile', flag: 'body' }], { binary: 'read-it' });
    file.program('read-it', '#!/bin/sh\necho "$1"\necho "$2"\nstat -c %a "$2"\ncat "$2"\n[ "$(cat "$2")" != fail ]\n');
    for (const text of ['-body\n', 'fail']) {
      const lines = textOf(await file.toolbox().call('run', { text }))
        .replace('[stdout]\n', '')
        .split('\n');
      expect(lines.slice(0, 1).concat(lines.slice(2, 4))).toEqual(['--body', '600', text.trim()]);
      expect(existsSync(lines[1]!)).toBe(false);
    }
    const { plan } = await file.toolbox().plan('run', { text: 'x' });
    expect(plan).toMatchObject({ argv: ['read-it', '--body', '{temporary file}'] });
  });

  spec('TJS-24', 'set the working directory, only inside the workdir', async () => {
    const workspace = withCommand([{ param: 'dir', kind: 'workingdir' }], { binary: 'where' });
    workspace.program('where', '#!/bin/sh\npwd\n');
    mkdirSync(join(workspace.dir, 'sub'));
    symlinkSync(workspace.home, join(workspace.dir, 'out'));
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('run', {}))).toBe(`${workspace.dir}\n`);
    expect(textOf(await toolbox.call('run', { dir: 'sub' }))).toBe(`${workspace.dir}/sub\n`);
    expect(textOf(await toolbox.call('run', { dir: `${workspace.dir}/sub` }))).toBe(`${workspace.dir}/sub\n`);
    for (const dir of ['..', '/', 'out', 'sub/../..', 'out/nowhere', workspace.home])
      expect((await toolbox.call('run', { dir })).error?.code, dir).toBe('path_escape');
    expect((await toolbox.call('run', { dir: 'missing' })).error?.code).toBe('exec_failed');
  });

  spec('TJS-24', 'are restricted to the workdir by readPath and writePath, after following links and ..', async () => {
    for (const key of ['readPath', 'writePath']) {
      const workspace = withCommand([{ param: 'path', [key]: true, split: key === 'writePath' }], {
        properties: { path: { type: ['string', 'array'] } },
      });
      symlinkSync(workspace.home, join(workspace.dir, 'out'));
      symlinkSync('nowhere', join(workspace.dir, 'dangling'));
      const toolbox = workspace.toolbox();
      for (const [path, real] of [
        ['new/file', 'new/file'],
        ['./x', 'x'],
        ['sub/../x', 'x'],
        [join(workspace.dir, 'x'), 'x'],
      ] as const)
        expect((await toolbox.call('run', { path })).structured, path).toEqual([join(workspace.dir, real)]);
      for (const path of ['../x', '/etc/passwd', 'out', 'out/x', 'new/../../x', ['ok', '/etc/passwd']]) {
        const { error } = await toolbox.call('run', { path });
        expect(error, String(path)).toMatchObject({
          code: 'path_escape',
          hint: expect.stringMatching(/./),
        });
      }
      if (key === 'writePath')
        expect((await toolbox.call('run', { path: 'ok /etc/passwd' })).error?.code).toBe('path_escape');
    }
    const free = withCommand([{ param: 'path', readPath: true, unsafePath: true }]);
    expect((await free.toolbox().call('run', { path: '/etc/passwd' })).structured).toEqual(['/etc/passwd']);
  });

  spec('TJS-24', 'are resolved from the directory that the program runs in', async () => {
    const workspace = withCommand([
      { param: 'dir', kind: 'workingdir' },
      { param: 'path', readPath: true },
    ]);
    mkdirSync(join(workspace.dir, 'sub'));
    symlinkSync(workspace.home, join(workspace.dir, 'sub/out'));
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('run', { dir: 'sub', path: 'out/x' })).error?.code).toBe('path_escape');
    expect((await toolbox.call('run', { dir: 'sub', path: '../x' })).structured).toEqual([join(workspace.dir, 'x')]);
    expect((await toolbox.call('run', { dir: 'sub', path: '../../x' })).error?.code).toBe('path_escape');
  });
});

describe('conditions', () => {
  const both = (conditions: readonly Record<string, unknown>[]) => {
    const descriptor = declare([{ param: 'id' }, { param: 'name' }]);
    const execution = conditions.map((more, index) => ({
      tool: 'run',
      binary: 'args',
      subcommand: '',
      args: [{ kind: 'literal', value: `way ${index}` }, { param: 'id' }, { param: 'name' }],
      ...more,
    }));
    const workspace = createSkillWorkspace();
    workspace.skill('own', { 'tools.json': { ...descriptor, execution } });
    return workspace;
  };

  spec('TJS-24 TJS-4', 'select the execution by present and absent parameters', async () => {
    const toolbox = both([
      { paramCondition: { present: ['id'] } },
      { paramCondition: { present: ['name'], absent: ['id'] } },
    ]).toolbox();
    expect((await toolbox.call('run', { id: '1' })).structured).toEqual(['way 0', '1']);
    expect((await toolbox.call('run', { name: 'n' })).structured).toEqual(['way 1', 'n']);
    expect((await toolbox.call('run', {})).error).toMatchObject({
      code: 'invalid_input',
      hint: 'use id, or name',
    });
    const two = both([{ paramCondition: { present: ['id'] } }, { paramCondition: { present: ['name'] } }]);
    expect((await two.toolbox().call('run', { id: '1', name: 'n' })).error?.code).toBe('invalid_input');
  });

  spec('TJS-24', 'select the execution by installed programs', async () => {
    const workspace = both([{ condition: { binGroup: 0 } }, { condition: { binGroup: 1 } }]);
    const bins = (text: string) =>
      workspace.write(
        '.agents/skills/own/SKILL.md',
        `---\nname: own\ndescription: Own.\nmetadata:\n  requires:\n    bins: ${text}\n---\n`,
      );
    bins('[[not-here], [args]]');
    expect((await workspace.toolbox().call('run', {})).structured).toEqual(['way 1']);
    bins('[[args], [args]]');
    expect((await workspace.toolbox().call('run', {})).structured).toEqual(['way 0']);
    bins('[[args, not-here]]');
    const { error } = await workspace.toolbox().call('run', {});
    expect(error).toMatchObject({ code: 'exec_failed', hint: 'install args and not-here' });
  });
});
