// Tests of how a process is started: no shell, its own group, only the given environment.

import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import type { World } from '../core/snapshot.js';
import { watchLifeline } from './group.js';
import { runProcess } from './spawn.js';

const world: World = {
  env: {},
  home: undefined,
  platform: process.platform,
  now: () => Date.now(),
  monotonic: () => performance.now(),
  debug: () => {},
  debugging: false,
};

async function outputOf(argv: readonly string[], environment: Record<string, string> = {}): Promise<string> {
  const request = { argv, cwd: '/', environment, stdin: '', timeoutMs: 20_000, outputBytes: 1e6 };
  return (await runProcess(request, world)).stdout.toString('utf8');
}

test('arguments reach the program byte for byte, without a shell', async () => {
  const odd = ['$(id)', '`id`', '; id', '* ~', '"\'\\', 'a\nb', '&& id'];
  const shown = await outputOf(['/usr/bin/printf', '%s|', ...odd]);
  expect(shown).toBe(`${odd.join('|')}|`);
});

test('the environment is the given one and the mark of the call', async () => {
  process.env.WIELD_TEST_LEAK = 'leaked';
  try {
    const names = (await outputOf(['/usr/bin/env'], { ONE: '1' }))
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names.sort()).toEqual(['ONE', 'WIELD_CALL']);
  } finally {
    delete process.env.WIELD_TEST_LEAK;
  }
});

test('a process has its own group, which ends with it', async () => {
  // Without the inherited descriptor and the mark in its environment only the group identifies the process.
  const script =
    '/usr/bin/env -i /bin/sleep 600 >/dev/null 2>&1 </dev/null 3>&- & echo "$$ $!"; cut -d" " -f5 /proc/self/stat';
  const [ids, group] = (await outputOf(['/bin/sh', '-c', script], { PATH: '/usr/bin:/bin' })).split('\n');
  const [leader, child] = ids!.split(' ');
  expect(group).toBe(leader);
  try {
    await expect.poll(() => isRunning(Number(child))).toBe(false);
  } finally {
    if (isRunning(Number(child))) process.kill(Number(child), 'SIGKILL');
  }
});

test('what a program opened in place of its lifeline ends no other process that has it open', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'wield-lifeline-'));
  const shared = openSync(join(directory, 'shared'), 'w');
  const [own, other] = [1, 2].map(() => spawn('sleep', ['60'], { stdio: ['ignore', 'ignore', 'ignore', shared] }));
  try {
    await watchLifeline(new PassThrough(), own!.pid!, 3, process.platform).killHolders();
    expect(isRunning(other!.pid!)).toBe(true);
  } finally {
    for (const child of [own!, other!]) child.kill('SIGKILL');
    closeSync(shared);
    rmSync(directory, { recursive: true });
  }
});

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return false;
  }
}
