// Kills an upgrade, or fails it with ENOSPC, at each system call that changes files.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createInstallWorkspace, type InstallWorkspace, WORKED } from '../support/install.js';
import { specIf } from '../support/spec.js';
import { chooseSteps, hasStrace, traceSteps, underStrace } from '../support/strace.js';

const skill = (text: string): string => `---\nname: scan\ndescription: S.\n---\n{{tools:detect}} ${text}\n`;
const VERSION = (text: string) => ({
  ...WORKED,
  'skills/scan/SKILL.md': skill(text),
  'tools/detect/lib.sh': `detect() { echo ${text}; }\n`,
});

/** Returns the installed version, and asserts that all files are of that version. */
async function readVersion(workspace: InstallWorkspace): Promise<string> {
  expect((await workspace.run('list', '--installed')).status).toBe(0);
  expect((await workspace.run('verify')).status).toBe(0);
  const [text] = workspace.stored('skill/scan/SKILL.md').trim().split(' ').slice(-1);
  expect(workspace.stored('tool/detect/lib.sh')).toBe(`detect() { echo ${text}; }\n`);
  expect((await workspace.run('call', 'detect', '--path', '.')).stdout).toBe(`${text}\n`);
  expect(existsSync(join(workspace.wieldHome, 'install.journal'))).toBe(false);
  return text!;
}

describe('each step of an upgrade', () => {
  for (const [how, injection, calls] of [
    ['killed', 'signal=KILL', 'rename,symlink,unlink,rmdir'],
    ['out of space', 'error=ENOSPC', 'rename,symlink,mkdir,fsync'],
  ] as const) {
    specIf(
      hasStrace,
      'no strace',
      'INS-31',
      `F01 F02 F06: leaves the old or the new state when ${how}`,
      async () => {
        const workspace = createInstallWorkspace();
        await workspace.json('add', workspace.source('tooling', VERSION('v0')), '--yes');
        const upgrade = ['upgrade', '--yes'];
        workspace.source('tooling', VERSION('v1'));
        const { steps } = await traceSteps(workspace, calls, upgrade);
        let version = await readVersion(workspace);
        expect(version).toBe('v1');
        const outcomes = new Set<string>();
        const failedAt = new Set<string>();
        for (const [at, { call, when }] of chooseSteps(steps, 10).entries()) {
          const next = `v${at + 2}`;
          workspace.source('tooling', VERSION(next));
          const status = await underStrace(workspace, `${call}:${injection}:when=${when}`, upgrade);
          // Not an internal error.
          expect([call, when, status]).not.toEqual([call, when, 70]);
          const now = await readVersion(workspace);
          expect([version, next]).toContain(now);
          outcomes.add(now === next ? 'new' : 'old');
          version = now;
          if (status !== 0) failedAt.add(call);
        }
        expect(failedAt.size).toBeGreaterThan(2);
        expect(outcomes).toContain('old');
        expect(outcomes).toContain('new');
      },
      240_000,
    );
  }
});
