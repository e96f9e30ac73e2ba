// How git is started: its settings and environment, and that it must return the pinned commit.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createInstallWorkspace, DETECT, type InstallWorkspace } from '../support/install.js';
import { spec } from '../support/spec.js';

const GIT = execFileSync('/bin/sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();

/** Puts a program named git first on the path, which logs how it was started. */
function wrapGit(workspace: InstallWorkspace, before = ''): { env: Record<string, string>; log(): string[] } {
  const directory = join(workspace.home, 'bin');
  const file = join(workspace.home, 'git.log');
  mkdirSync(directory);
  const log = `{ env | grep '^GIT_'; printf 'argument %s\\n' "$@"; echo end; } >> ${file}`;
  writeFileSync(join(directory, 'git'), `#!/bin/sh\n${log}\n${before}\nexec ${GIT} "$@"\n`);
  chmodSync(join(directory, 'git'), 0o755);
  return {
    env: { PATH: `${directory}:${workspace.env.PATH}` },
    log: () =>
      readFileSync(file, 'utf8')
        .split('end\n')
        .filter((one) => one !== ''),
  };
}

spec('INS-7', 'A29 every git runs without configuration, hooks, prompts and other protocols', async () => {
  const workspace = createInstallWorkspace();
  const url = workspace.repository('one', DETECT);
  const { env, log } = wrapGit(workspace);
  expect((await workspace.runWith({ env }, 'add', url)).status).toBe(0);
  expect(log().some((one) => one.includes('argument fetch\n'))).toBe(true);
  const expected = [
    'GIT_CONFIG_NOSYSTEM=1',
    'GIT_CONFIG_GLOBAL=/dev/null',
    'GIT_TERMINAL_PROMPT=0',
    'argument core.hooksPath=/dev/null',
    'argument core.fsmonitor=false',
    'argument fetch.fsckObjects=true',
    'argument fetch.recurseSubmodules=false',
  ];
  for (const one of log()) {
    expect(one.split('\n')).toEqual(expect.arrayContaining(expected));
    expect(one).toMatch(/^GIT_ALLOW_PROTOCOL=(?:file|none)$/m);
  }
});

spec('INS-7', 'A32 another commit than the pinned one is refused', async () => {
  const workspace = createInstallWorkspace();
  const url = workspace.repository('one', DETECT);
  const pinned = workspace.git('one', 'rev-parse', 'HEAD').trim();
  const other = workspace.git('one', 'commit-tree', 'HEAD^{tree}', '-m', 'other').trim();
  const { env } = wrapGit(workspace, `case "$*" in *rev-parse*) echo ${other}; exit 0;; esac`);
  const refused = await workspace.runWith({ env }, 'add', url, '--pin', pinned, '--json');
  expect(refused.status).not.toBe(0);
  expect(refused.stdout + refused.stderr).toContain('integrity');
});
