// An upgrade killed, or out of room, at each system call that changes something: the old state or the new one.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { BINARY } from '../support/cli.js';
import { createInstallWorkspace, type InstallWorkspace, WORKED } from '../support/install.js';
import { specIf } from '../support/spec.js';

const hasStrace = existsSync('/usr/bin/strace');
const skill = (text: string): string => `---\nname: scan\ndescription: S.\n---\n{{tools:detect}} ${text}\n`;
const VERSION = (text: string) => ({
  ...WORKED,
  'skills/scan/SKILL.md': skill(text),
  'tools/detect/lib.sh': `detect() { echo ${text}; }\n`,
});

function underStrace(
  workspace: InstallWorkspace,
  injection: string,
  args: readonly string[],
): Promise<number | null> {
  const trace = [
    '-f',
    '-o',
    '/dev/null',
    '-e',
    `trace=${injection.split(':')[0]}`,
    '-e',
    `inject=${injection}`,
  ];
  const child = spawn('/usr/bin/strace', [...trace, process.execPath, BINARY, ...args], {
    cwd: workspace.dir,
    env: workspace.env,
    stdio: 'ignore',
  });
  return new Promise((resolve) => child.once('close', (status) => resolve(status)));
}

const isEnded = (status: number | null): boolean => status === 0;

/** Which version is there: all of it is of one, whatever it is looked at through. */
async function look(workspace: InstallWorkspace): Promise<string> {
  expect((await workspace.run('list', '--installed')).status).toBe(0);
  expect((await workspace.run('verify')).status).toBe(0);
  const [text] = workspace.stored('skill/scan/SKILL.md').trim().split(' ').slice(-1);
  expect(workspace.stored('tool/detect/lib.sh')).toBe(`detect() { echo ${text}; }\n`);
  expect((await workspace.run('call', 'detect', '--path', '.')).stdout).toBe(`${text}\n`);
  expect(existsSync(join(workspace.wieldHome, 'install.journal'))).toBe(false);
  return text!;
}

describe('each step of an upgrade', () => {
  for (const [how, injection, steps] of [
    ['killed', 'signal=KILL', 'rename,symlink,unlink,rmdir'],
    ['out of room', 'error=ENOSPC', 'rename,symlink,mkdir,fsync'],
  ] as const) {
    specIf(
      hasStrace,
      'no strace',
      'INS-31',
      `F01 F02 F06: ${how}`,
      async () => {
        const workspace = createInstallWorkspace();
        await workspace.json('add', workspace.source('tooling', VERSION('v0')), '--yes');
        const outcomes = new Set<string>();
        let version = 'v0';
        let step = 1;
        for (; step < 60; step++) {
          const next = `v${step}`;
          workspace.source('tooling', VERSION(next));
          const status = await underStrace(workspace, `${steps}:${injection}:when=${step}`, [
            'upgrade',
            '--yes',
          ]);
          const now = await look(workspace);
          expect([version, next]).toContain(now);
          outcomes.add(now === next ? 'new' : 'old');
          version = now;
          if (isEnded(status)) break;
        }
        expect(step).toBeGreaterThan(5);
        expect(step).toBeLessThan(60);
        expect(outcomes).toContain('old');
        expect(outcomes).toContain('new');
      },
      240_000,
    );
  }
});
