// Faults at the start of a process: error hints, and large values.

import { closeSync, existsSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { textOf } from '../../src/core/result.js';
import { json, wieldProcess as wield } from '../support/cli.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { openDescriptors, sleep } from '../support/processes.js';
import { nodeScript, READ_STDIN, shellScript } from '../support/shell-script.js';
import { spec, specIf } from '../support/spec.js';
import { hasStrace, NO_STRACE, underStrace } from '../support/strace.js';
import { createWorkspace } from '../support/workspace.js';

const KIB = 1024;

spec('EXE-8', 'A10 quotes a missing interpreter before spawning anything', async () => {
  const workspace = createWorkspace();
  workspace.script('absolute', '#!/opt/nowhere/ruby -w\n# @description x\n');
  workspace.script('by-env', '#!/usr/bin/env ruby-of-nowhere\n# @description x\n');
  workspace.script('by-env-s', '#!/usr/bin/env -S A=b ruby-of-nowhere --flag\n# @description x\n');
  const toolbox = workspace.toolbox();
  for (const [name, interpreter, shebang] of [
    ['absolute', '/opt/nowhere/ruby', '#!/opt/nowhere/ruby -w'],
    ['by-env', 'ruby-of-nowhere', '#!/usr/bin/env ruby-of-nowhere'],
    ['by-env-s', 'ruby-of-nowhere', '#!/usr/bin/env -S A=b ruby-of-nowhere --flag'],
  ] as const) {
    const { error } = await toolbox.call(name, {});
    expect(error).toMatchObject({ code: 'exec_failed', message: expect.stringContaining(interpreter) });
    expect(error?.hint).toContain(`"${shebang}"`);
  }
  const doctor = await wield(workspace, ['doctor', '--json']);
  expect(doctor.status).toBe(1);
  expect(json(doctor).problems).toHaveLength(3);
});

spec('SCR-3 EXE-8', 'A10 does not run a script whose first line ends in CR', async () => {
  const workspace = createWorkspace();
  workspace.script('crlf', '#!/bin/sh\r\n# @description x\r\ntouch ran\r\n');
  expect((await workspace.toolbox().call('crlf', {})).ok).toBe(false);
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
});

spec('EXE-8', 'A10 an interpreter that is the script itself', async () => {
  const workspace = createWorkspace();
  const path = join(workspace.dir, '.agents/tools/loop');
  workspace.script('loop', `#!${path}\n# @description x\n`);
  const result = await workspace.toolbox().call('loop', {});
  expect(result.error).toMatchObject({
    code: 'exec_failed',
    message: expect.stringContaining('interpreter'),
    hint: expect.stringContaining('first line'),
  });
  // Two scripts that name each other.
  const other = join(workspace.dir, '.agents/tools/other');
  workspace.script('other', `#!${path}\n# @description x\n`);
  workspace.script('loop', `#!${other}\n# @description x\n`);
  for (const name of ['loop', 'other'])
    expect([name, (await workspace.toolbox().call(name, {})).error?.code]).toEqual([name, 'exec_failed']);
});

spec('EXE-8', 'an interpreter that cannot be executed', async () => {
  const workspace = createWorkspace();
  const interpreter = workspace.write('interpreter', 'text', 0o644);
  workspace.script('odd', `#!${interpreter}\n# @description x\n`);
  expect((await workspace.toolbox().call('odd', {})).error?.code).toBe('exec_failed');
});

spec('EXE-8', 'F13 a script that another process holds open for writing', async () => {
  const workspace = createWorkspace();
  const path = workspace.script('busy', nodeScript("require('node:fs').writeFileSync('ran', '')"));
  const descriptor = openSync(path, 'r+');
  const toolbox = workspace.toolbox();
  try {
    const result = await toolbox.call('busy', {});
    expect(result.error).toMatchObject({
      code: 'exec_failed',
      message: expect.stringContaining('writing'),
      hint: expect.stringContaining('call again'),
    });
  } finally {
    closeSync(descriptor);
  }
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  expect((await toolbox.call('busy', {})).ok).toBe(true);
});

spec('EXE-8', 'F13 waits for a short write', async () => {
  const workspace = createWorkspace();
  const path = workspace.script('busy', nodeScript("console.log('ran')"));
  const descriptor = openSync(path, 'r+');
  setTimeout(() => closeSync(descriptor), 60);
  expect(textOf(await workspace.toolbox().call('busy', {}))).toBe('ran\n');
});

spec('EXE-8', 'F13 a shell script that is open for writing runs as it was read', async () => {
  const workspace = createWorkspace();
  const path = workspace.script('busy', shellScript('echo ran'));
  const descriptor = openSync(path, 'r+');
  try {
    expect(textOf(await workspace.toolbox().call('busy', {}))).toBe('ran\n');
  } finally {
    closeSync(descriptor);
  }
});

spec('SCR-11 EXE-8', 'F14 passes values over 96 KiB only on stdin', async () => {
  const workspace = createWorkspace();
  workspace.script(
    'sizes',
    nodeScript(
      `${READ_STDIN}
      const { WIELD_PARAM_SMALL = '', WIELD_PARAM_LIMIT = '', WIELD_PARAM_LARGE, WIELD_PARAM_LIST } = process.env;
      const stdin = Object.fromEntries(Object.entries(JSON.parse(input)).map(([key, value]) => [key, value.length]));
      console.log(JSON.stringify({
        stdin, small: WIELD_PARAM_SMALL.length, limit: WIELD_PARAM_LIMIT.length,
        large: WIELD_PARAM_LARGE ?? null, list: WIELD_PARAM_LIST ?? null,
      }));`,
      '@param small string',
      '@param limit string',
      '@param large string',
      '@param list array',
    ),
  );
  const result = await workspace.toolbox().call('sizes', {
    small: 'a',
    limit: 'b'.repeat(96 * KIB),
    large: 'c'.repeat(96 * KIB + 1),
    list: Array.from({ length: 30_000 }, () => 'dddd'),
  });
  expect(result.structured).toEqual({
    stdin: { small: 1, limit: 96 * KIB, large: 96 * KIB + 1, list: 30_000 },
    small: 1,
    limit: 96 * KIB,
    large: null,
    list: null,
  });
});

spec('SCR-11 EXE-8', 'F14 keeps all variables under 512 KiB, omitting the largest first', async () => {
  const workspace = createWorkspace();
  const names = Array.from({ length: 20 }, (_, index) => `p${index + 1}`);
  workspace.script(
    'names',
    nodeScript(
      `const set = Object.entries(process.env).filter(([name]) => name.includes('_PARAM_'));
      console.log(JSON.stringify({
        names: set.map(([name]) => name).filter((name) => name.startsWith('WIELD')),
        bytes: set.reduce((sum, [, value]) => sum + value.length, 0),
      }));`,
      ...names.map((name) => `@param ${name} string`),
    ),
  );
  const input = Object.fromEntries(names.map((name, index) => [name, 'x'.repeat((index + 1) * 4 * KIB)]));
  const result = await workspace.toolbox().call('names', input);
  const seen = result.structured as unknown as { names: string[]; bytes: number };
  expect(seen.bytes).toBeLessThanOrEqual(512 * KIB);
  expect(seen.bytes).toBeGreaterThan(400 * KIB);
  // The smallest are all there, without a gap.
  expect(seen.names.sort()).toEqual(
    names
      .slice(0, seen.names.length)
      .map((name) => `WIELD_PARAM_${name.toUpperCase()}`)
      .sort(),
  );
});

spec('TJS-13 EXE-8', 'F14 a command line that is too long for the system is an error', async () => {
  const workspace = createSkillWorkspace();
  const properties = { list: { type: 'array', items: { type: 'string' } } };
  const args = [{ param: 'one' }, { param: 'list' }];
  workspace.skill('own', { 'tools.json': declare(args, { properties }) });
  const toolbox = workspace.toolbox();
  for (const input of [
    { one: 'x'.repeat(200 * KIB) },
    { list: Array.from({ length: 40_000 }, () => 'x'.repeat(100)) },
  ]) {
    const { ok, error } = await toolbox.call('run', input);
    expect([ok, error]).toMatchObject([
      false,
      { code: expect.stringMatching(/^(?:invalid_input|too_large|exec_failed)$/), hint: expect.stringMatching(/./) },
    ]);
    expect(error!.message).not.toContain('xxxx');
  }
  expect((await toolbox.call('run', { one: 'x'.repeat(100 * KIB) })).ok).toBe(true);
});

spec('EXE-6', 'F28 ends normally if a tool is deleted or edited during a call', async () => {
  const workspace = createWorkspace();
  const toolbox = workspace.toolbox();
  const change = {
    deleted: (path: string) => rmSync(path),
    replaced: (path: string) => {
      rmSync(path);
      workspace.script('replaced', shellScript('echo new'));
    },
  };
  for (const name of ['deleted', 'replaced'] as const) {
    const path = workspace.script(name, shellScript('echo begun; sleep 0.5; echo ended'));
    let changed = false;
    const result = await toolbox.call(
      name,
      {},
      {
        onOutput: () => {
          if (!changed) change[name](path);
          changed = true;
        },
      },
    );
    expect(textOf(result), name).toBe('begun\nended\n');
  }
  expect((await toolbox.call('deleted', {})).error?.code).toBe('not_found');
  expect(textOf(await toolbox.call('replaced', {}))).toBe('new\n');
});

specIf(hasStrace, NO_STRACE, 'EXE-8', 'F10 no process can be forked', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', shellScript(': > ran'));
  // Threads are started by clone3.
  const status = await underStrace(workspace, 'clone,fork,vfork:error=EAGAIN', ['call', 'hello']);
  expect(status).toBe(1);
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  // A shortage that passes costs only a retry.
  expect(await underStrace(workspace, 'clone,fork,vfork:error=EAGAIN:when=1..2', ['call', 'hello'])).toBe(0);
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(true);
});

spec('SCR-13', 'F09 names the signal of a tool that was killed', async () => {
  const workspace = createWorkspace();
  workspace.script('killed', shellScript('echo begun; kill -9 $$'));
  const result = await workspace.toolbox().call('killed', {});
  expect(result.error).toMatchObject({ code: 'tool_failed', message: 'killed was ended by SIGKILL' });
  expect(textOf(result)).toBe('[stdout]\nbegun\n');
});

spec('EXE-6 EXE-8', 'leaves no descriptor open after failed starts', async () => {
  const workspace = createWorkspace();
  const path = join(workspace.dir, '.agents/tools/loop');
  workspace.script('loop', `#!${path}\n# @description x\n`);
  const toolbox = workspace.toolbox();
  await toolbox.call('loop', {});
  await sleep(20);
  const before = openDescriptors();
  for (let round = 0; round < 20; round++) await toolbox.call('loop', {});
  await expect.poll(openDescriptors).toBeLessThanOrEqual(before);
});
