// Faults of the machine: full tables, system limits, a deleted directory, no home, an open umask.

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { textOf } from '../../src/core/result.js';
import { binary, built } from '../support/built.js';
import { json, wieldProcess as wield } from '../support/cli.js';
import { hasProgram, notInstalled } from '../support/machine.js';
import { shellScript } from '../support/shell-script.js';
import { spec, specIf } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const hasPrlimit = hasProgram('prlimit');
const NO_PRLIMIT = notInstalled('prlimit');

specIf(hasPrlimit, NO_PRLIMIT, 'EXE-9', 'configured limits are in force, and doctor says which', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\nmemory = "512M"\ncpu = "7s"\nfiles = 50\nprocesses = 4000\n');
  workspace.script('limits', '#!/bin/bash\n# @description x\nulimit -n; ulimit -t; ulimit -v; ulimit -u\n');
  const toolbox = workspace.toolbox();
  expect(textOf(await toolbox.call('limits', {}))).toBe('50\n7\n524288\n4000\n');
  const { checks } = json(await wield(workspace, ['doctor', '--json']));
  const limits = checks.find((check: { about: string }) => check.about === 'limits');
  for (const name of ['memory', 'cpu', 'openFiles', 'processes']) expect(limits.message).toContain(name);
});

specIf(hasPrlimit, NO_PRLIMIT, 'EXE-9 EXE-70', 'limits are in force in a workdir around the system, too', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\nfiles = 50\n');
  workspace.script('limits', shellScript('ulimit -n'));
  const file = join(workspace.dir, '.agents/tools/limits');
  for (const workdir of ['/', '/usr']) {
    expect((await wield(workspace, ['--cwd', workdir, 'call', file])).stdout).toBe('50\n');
    const { checks } = json(await wield(workspace, ['--cwd', workdir, 'doctor', '--json']));
    expect(checks).toContainEqual(expect.objectContaining({ about: 'limits', message: 'enforced: openFiles' }));
  }
});

specIf(hasPrlimit, NO_PRLIMIT, 'EXE-9', 'F09 a tool that wants more memory than its limit fails alone', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\nmemory = "100M"\n');
  workspace.script('greedy', shellScript('x=$(head -c 400000000 /dev/zero | tr "\\0" x); echo "got it"'));
  const result = await workspace.toolbox().call('greedy', {});
  expect(result.error?.code).toBe('tool_failed');
  expect(textOf(result)).not.toContain('got it');
});

specIf.thorough(hasPrlimit, NO_PRLIMIT, 'EXE-9', 'a limit on processor time ends a tool that spins', async () => {
  const workspace = createWorkspace();
  workspace.config('[limits]\ncpu = "1s"\n');
  workspace.script('spins', shellScript('while :; do :; done', '@timeout 50s'));
  const result = await workspace.toolbox().call('spins', {});
  expect(result.error?.code).toBe('tool_failed');
});

spec('EXE-9', 'shows in doctor that no limit is configured', async () => {
  const workspace = createWorkspace();
  const { checks } = json(await wield(workspace, ['doctor', '--json']));
  expect(checks).toContainEqual(
    expect.objectContaining({ about: 'limits', message: expect.stringContaining('time and output only') }),
  );
});

specIf(hasPrlimit, NO_PRLIMIT, 'EXE-8', 'F08 a full table of descriptors is an answer and no crash', () => {
  const workspace = createWorkspace();
  workspace.script('hello', shellScript('echo hello'));
  const library = pathToFileURL(built('node.js')).href;
  const program = `
    import { closeSync, openSync } from 'node:fs';
    const { createNodeToolbox } = await import(${JSON.stringify(library)});
    const toolbox = createNodeToolbox({ workdir: ${JSON.stringify(workspace.dir)}, env: process.env });
    const codes = [];
    const call = async () => {
      const result = await toolbox.call('hello', {});
      codes.push(result.ok ? 'ok' : result.error.code + (result.error.hint ? '' : ' without a hint'));
    };
    await call();
    const open = [];
    for (let left = 0; left < 3; left++) {
      try { for (;;) open.push(openSync('/dev/null', 'r')); } catch {}
      for (let free = 0; free < left * 2 + 2; free++) closeSync(open.pop());
      await call();
    }
    for (const descriptor of open) closeSync(descriptor);
    await call();
    console.log(codes.join());`;
  const run = spawnSync('prlimit', ['--nofile=256', '--', process.execPath, '--input-type=module', '-e', program], {
    env: workspace.env,
    encoding: 'utf8',
  });
  expect(run.stderr).toBe('');
  const codes = run.stdout.trim().split(',');
  expect([codes.at(0), codes.at(-1)]).toEqual(['ok', 'ok']);
  expect(codes).toContain('exec_failed');
  expect(codes.every((code) => code === 'ok' || code === 'exec_failed')).toBe(true);
});

spec('RUN-1', 'F30 the current directory is deleted', () => {
  const workspace = createWorkspace();
  workspace.script('hello', shellScript('echo hello'));
  const gone = join(workspace.dir, 'gone');
  mkdirSync(gone);
  const inGone = (args: string): ReturnType<typeof spawnSync> =>
    spawnSync('/bin/sh', ['-c', `cd gone && rmdir ../gone && exec "$0" "$1" ${args}`, process.execPath, binary()], {
      cwd: workspace.dir,
      env: workspace.env,
      encoding: 'utf8',
    });
  const lost = inGone('call hello');
  expect(lost.stderr).toMatch(/the current directory no longer exists\n {2}hint {2}.*--cwd/);
  expect(lost.status).toBe(8);
  mkdirSync(gone);
  const found = inGone(`call --cwd '${workspace.dir}' hello`);
  expect([found.status, found.stdout]).toEqual([0, 'hello\n']);
});

spec('RUN-1', 'F30 the workdir is deleted while the toolbox lives', async () => {
  const workspace = createWorkspace();
  workspace.script('hello', shellScript('echo hello'));
  const toolbox = workspace.toolbox();
  expect((await toolbox.call('hello', {})).ok).toBe(true);
  rmSync(workspace.dir, { recursive: true });
  expect((await toolbox.call('hello', {})).error?.code).toBe('not_found');
});

spec('RUN-1', 'F30 runs a tool of the home directory if the workdir is deleted', async () => {
  const workspace = createWorkspace();
  workspace.write('../home/.agents/tools/mine', shellScript('echo mine'), 0o755);
  const toolbox = workspace.toolbox();
  expect(textOf(await toolbox.call('mine', {}))).toBe('mine\n');
  rmSync(workspace.dir, { recursive: true });
  expect((await toolbox.call('mine', {})).error).toMatchObject({
    code: 'exec_failed',
    hint: expect.stringMatching(/cwd/),
  });
});

spec('EXE-2', 'F30 HOME is unset, relative or empty', async () => {
  const workspace = createWorkspace();
  workspace.script('home', shellScript('printf %s "${HOME-none}"'));
  const { HOME: _, ...env } = workspace.env;
  for (const [home, seen] of [
    [{}, homedir()],
    [{ HOME: 'relative/home' }, 'none'],
    [{ HOME: '' }, 'none'],
  ] as const) {
    const result = await workspace.toolbox({ env: { ...env, ...home } }).call('home', {});
    expect(textOf(result)).toBe(seen);
  }
});

test('F30 with umask 000 state stays private', () => {
  const workspace = createWorkspace();
  workspace.script('hello', shellScript('echo hello'));
  const run = spawnSync(
    '/bin/sh',
    [
      '-c',
      'umask 000; "$0" "$1" list && "$0" "$1" call hello; rm -r .agents; "$0" "$1" init',
      process.execPath,
      binary(),
    ],
    { cwd: workspace.dir, env: workspace.env, encoding: 'utf8' },
  );
  expect(run.status).toBe(0);
  const entries = readdirSync(workspace.env.WIELD_HOME!, { recursive: true, withFileTypes: true });
  expect(entries.filter((entry) => entry.isFile()).length).toBeGreaterThan(0);
  expect(statSync(workspace.env.WIELD_HOME!).mode & 0o777).toBe(0o700);
  for (const entry of entries) {
    const { mode } = statSync(join(entry.parentPath, entry.name));
    expect([entry.name, mode & 0o777]).toEqual([entry.name, entry.isDirectory() ? 0o700 : 0o600]);
  }
});
