// Faults on the command line: signals during a call, closed and slow readers, output that cannot be written.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { binary } from '../support/built.js';
import { ALL_TESTS, some } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { processesWith, sleep } from '../support/processes.js';
import { until } from '../support/server.js';
import { nodeScript, shellScript } from '../support/shell-script.js';
import { spec, specIf } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const MIB = 1024 * 1024;
const SIZE = ALL_TESTS ? 40 : 10;

function start(workspace: Workspace, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [binary(), ...args], { cwd: workspace.dir, env: workspace.env });
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('exit', (code) => resolve(code)));
}

function firstOutput(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => child.stdout!.once('data', () => resolve()));
}

async function shell(workspace: Workspace, command: string): Promise<{ stdout: string; stderr: string }> {
  const child = spawn('/bin/bash', ['-c', command], {
    cwd: workspace.dir,
    env: { ...workspace.env, NODE: process.execPath, BINARY: binary() },
  });
  const read = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    read.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    read.stderr += chunk;
  });
  await new Promise((resolve) => child.once('close', resolve));
  return read;
}

for (const [signal, status] of some(
  [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const,
  2,
)) {
  spec('CLI-10 RUN-6', `F22 stops the group of the running tool on ${signal} and exits ${status}`, async () => {
    const workspace = createWorkspace();
    workspace.script(
      'forks',
      shellScript(`setsid sh -c 'sleep 4; touch late' & (sleep 4; touch late) & echo begun; wait`),
    );
    const child = start(workspace, ['call', 'forks']);
    const end = ended(child);
    await firstOutput(child);
    child.kill(signal);
    expect(await end).toBe(status);
    expect(processesWith(workspace.dir)).toEqual([]);
  });
}

spec('CLI-10 RUN-6', 'ends a tool that ignores SIGTERM on Ctrl-C', async () => {
  const workspace = createWorkspace();
  workspace.script('stubborn', shellScript(`trap '' TERM INT; echo begun; while :; do sleep 0.1; done`));
  const child = start(workspace, ['call', 'stubborn']);
  const end = ended(child);
  await firstOutput(child);
  child.kill('SIGINT');
  expect(await end).toBe(130);
  expect(processesWith(workspace.dir)).toEqual([]);
});

spec('CLI-10', 'ends a call that waits for stdin on Ctrl-C, and runs nothing', async () => {
  const workspace = createWorkspace();
  workspace.script('touch', shellScript('touch ran', '@param text string'));
  let status: unknown;
  // Before it waits, a signal ends it like any program.
  for (let waitMs = 1000; typeof status !== 'number' && waitMs < 60_000; waitMs *= 3) {
    const child = start(workspace, ['call', 'touch', '--input', '-']);
    const end = ended(child);
    await sleep(waitMs);
    child.kill('SIGINT');
    status = await end;
  }
  expect(status).toBe(130);
  expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
});

spec('CLI-10 EXE-6', 'F24 ends the tool silently and successfully if the reader closes the pipe', async () => {
  const workspace = createWorkspace();
  workspace.script('flood', shellScript('yes'));
  workspace.script('talks', shellScript('while echo x; do sleep 0.05; done'));
  const help = await shell(workspace, '"$NODE" "$BINARY" --help | true; echo "status ${PIPESTATUS[0]}"');
  expect(help).toEqual({ stdout: 'status 0\n', stderr: '' });
  for (const name of ['flood', 'talks']) {
    const began = performance.now();
    const run = await shell(workspace, `"$NODE" "$BINARY" call ${name} | head -c 4; echo "status \${PIPESTATUS[0]}"`);
    expect(run.stdout.endsWith('status 0\n')).toBe(true);
    expect(run.stderr).toBe('');
    expect(performance.now() - began).toBeLessThan(patience(60_000));
    expect(processesWith(`WIELD_TOOL_NAME=${name}`).filter(isOf(workspace))).toEqual([]);
  }
});

const hasFull = existsSync('/dev/full');
const NO_FULL = 'needs /dev/full; to run: use Linux';

specIf(hasFull, NO_FULL, 'CLI-10 ERR-6', 'output that cannot be written fails with io and a hint', async () => {
  const workspace = createWorkspace();
  workspace.script('big', shellScript('seq 1 200000'));
  const commands = [
    'call big',
    'call big --json',
    'show nobody --json',
    'version',
    '--help',
    '',
    'list',
    'audit --json',
  ];
  for (const command of [...commands, '__complete bash wield 6']) {
    const run = await shell(workspace, `"$NODE" "$BINARY" ${command} > /dev/full; echo "status $?"`);
    if (command.startsWith('__complete')) {
      expect(run).toEqual({ stdout: 'status 0\n', stderr: '' });
    } else if (command.includes('nobody')) {
      expect(run.stdout).toBe('status 3\n');
      expect(run.stderr).toMatch(/^error {2}tool not found/);
    } else {
      const stderr = /^error {2}could not write the output: no space left on device\n {2}hint {2}free space .*\n$/;
      expect([command, run.stdout, run.stderr]).toEqual([command, 'status 8\n', expect.stringMatching(stderr)]);
    }
  }
  const cut = await shell(workspace, '(ulimit -f 8; "$NODE" "$BINARY" call big > out; echo "status $?")');
  expect(cut).toEqual({ stdout: 'status 8\n', stderr: expect.stringMatching(/file too large\n {2}hint {2}raise/) });
});

function isOf(workspace: Workspace): (pid: number) => boolean {
  const own = new Set(processesWith(`WIELD_WORKDIR=${workspace.dir}`));
  return (pid) => own.has(pid);
}

spec('RUN-10', `streams ${SIZE} MB unchanged, also to a slow reader`, async () => {
  const workspace = createWorkspace();
  workspace.script(
    'bytes',
    nodeScript(`const block = Buffer.from(Array.from({ length: ${MIB} }, (_, index) => (index * 31 + (index >> 8)) % 256));
    const { writeSync } = require('node:fs');
    for (let round = 0; round < ${SIZE}; round++) {
      block.writeUInt32BE(round);
      for (let at = 0; at < block.length; ) at += writeSync(1, block, at);
    }`),
  );
  const block = Buffer.from(Array.from({ length: MIB }, (_, index) => (index * 31 + (index >> 8)) % 256));
  const hash = createHash('sha256');
  for (let round = 0; round < SIZE; round++) {
    block.writeUInt32BE(round);
    hash.update(block);
  }
  const expected = `${hash.digest('hex')}  -\n`;
  expect(await shell(workspace, '"$NODE" "$BINARY" call bytes | sha256sum')).toEqual({ stdout: expected, stderr: '' });
  const slowly = '"$NODE" "$BINARY" call bytes | (sleep 1; head -c 20000000; sleep 1; cat) | sha256sum';
  expect(await shell(workspace, slowly)).toEqual({ stdout: expected, stderr: '' });
});

spec('RUN-10', 'F24 loses no output of a tool that ends while its reader sleeps', async () => {
  const workspace = createWorkspace();
  workspace.script('numbers', shellScript('seq 1 40000'));
  const run = await shell(workspace, '"$NODE" "$BINARY" call numbers | (sleep 2; cat)');
  expect(run.stdout).toBe(Array.from({ length: 40_000 }, (_, index) => `${index + 1}\n`).join(''));
});

spec('EXE-5 CLI-10', 'F24 applies time limit and Ctrl-C even if the reader never reads', async () => {
  const workspace = createWorkspace();
  workspace.script('flood', shellScript('yes'));
  for (const [args, signal, status] of [
    [['call', 'flood', '--timeout', '1s'], undefined, 6],
    [['call', 'flood'], 'SIGINT', 130],
  ] as const) {
    const child = start(workspace, args);
    const end = ended(child);
    if (signal !== undefined) {
      await until(() => processesWith(`WIELD_WORKDIR=${workspace.dir}`).length > 0, 'the tool runs');
      child.kill(signal);
    }
    // child.stdout is not read, so its pipe is full.
    const answer = await Promise.race([end, sleep(60_000).then(() => 'held')]);
    child.kill('SIGKILL');
    expect(answer).toBe(status);
    expect(processesWith(workspace.dir)).toEqual([]);
  }
});
