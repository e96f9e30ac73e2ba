// Source hooks that build tools: rebuilt results reach the store, and output is shown.

import { expect } from 'vitest';
import { createInstallWorkspace, type Files } from '../../support/install.js';
import { finding } from '../../support/spec.js';

const BUILT = (version: string): Files => ({
  'wield.toml':
    "[[hooks]]\nrun = '''echo building; echo to-stderr >&2; mkdir -p tools/c && cp src/c tools/c/c && chmod +x tools/c/c'''\n",
  'src/c': `#!/bin/sh\necho ${version}\n`,
  'tools/c/TOOL.md': '---\ndescription: C.\nbin: c\n---\n',
  '.gitignore': 'tools/c/c\n',
});

for (const [row, kind] of [
  ['000-54', 'repository'],
  ['000-55', 'source'],
] as const)
  finding(`${row} HOOK-7`, `a rebuilt result is installed by upgrade: ${kind}`, async () => {
    const workspace = createInstallWorkspace();
    const place = workspace[kind]('built', BUILT('v1'));
    await workspace.json('add', place, '--yes', '--run-hooks');
    expect((await workspace.run('call', 'c')).stdout).toBe('v1\n');
    expect((await workspace.json('upgrade', '--yes', '--run-hooks')).items).toEqual([]);
    workspace.source('built', BUILT('v2'));
    if (kind === 'repository') workspace.git('built', 'commit', '-qam', 'v2');
    // Without approval the built version stays.
    expect((await workspace.run('upgrade', '--yes')).stdout).toMatch(
      /^ {2}everything is up to date, except for what the hooks of \S*built build: wield upgrade --run-hooks$/m,
    );
    expect((await workspace.run('call', 'c')).stdout).toBe('v1\n');
    await workspace.json('sync', '--run-hooks');
    expect((await workspace.json('recall')).items).toMatchObject([{ states: ['upstream changed'] }]);
    const upgraded = await workspace.run('upgrade', '--yes', '--run-hooks');
    expect([upgraded.status, upgraded.stdout]).toEqual([0, expect.stringContaining('installed  tool c')]);
    expect((await workspace.run('call', 'c')).stdout).toBe('v2\n');
    expect((await workspace.json('recall')).items).toMatchObject([{ states: ['clean'] }]);
  });

finding('000-57 HOOK-7', 'the output of hooks is shown with a prefix, and bounded', async () => {
  const workspace = createInstallWorkspace();
  const run = await workspace.run('add', workspace.source('built', BUILT('v1')), '--yes', '--run-hooks');
  expect(run.stderr).toContain('  | building\n');
  expect(run.stderr).toContain('  | to-stderr\n');
  const loud = workspace.source('loud', {
    'wield.toml': "[[hooks]]\nrun = '''seq 1 2000; printf '\\033[31mred'; printf end'''\n",
    'rules/r.md': 'R.',
  });
  const { stderr } = await workspace.run('add', loud, '--run-hooks');
  expect(stderr).toContain('  | 500\n  | … more output is not shown\n');
  expect(stderr).not.toContain('\u001b[31m');
  const endless = workspace.source('endless', { 'wield.toml': "[[hooks]]\nrun = 'yes'\n", 'rules/s.md': 'S.' });
  workspace.config('[limits]\noutput = "1M"\n');
  expect((await workspace.fail('add', endless, '--run-hooks')).message).toContain('exceeded the output limit');
});
