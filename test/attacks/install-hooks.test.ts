// Attacks through hooks: commands of a source that run before they are verified, or with other bytes than approved.

import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createInstallWorkspace, DETECT, type InstallWorkspace } from '../support/install.js';
import { hasPty, wieldAtTerminal } from '../support/pty.js';
import { finding, spec } from '../support/spec.js';

const marks = (workspace: InstallWorkspace): string[] => {
  const file = join(workspace.dir, 'marks');
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
};
const mark = (workspace: InstallWorkspace, text: string): string => `echo ${text} >> ${join(workspace.dir, 'marks')}\n`;

finding(
  'B4',
  'A32: runs no hook of a moved tag, by sync, upgrade, add or a program',
  async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', {
      ...DETECT,
      'wield.toml': '[[hooks]]\nrun = "sh setup.sh"\n',
      'setup.sh': mark(workspace, 'old'),
    });
    workspace.git('repo', 'tag', 'v1');
    await workspace.json('add', url, '--pin', 'tag=v1', '--yes', '--run-hooks');
    expect(marks(workspace)).toEqual(['old']);
    const before = workspace.snapshot();
    const move = (files: Record<string, string>): void => {
      workspace.source('repo', files);
      workspace.git('repo', 'add', '--all');
      workspace.git('repo', 'commit', '--quiet', '-m', 'Moved');
      workspace.git('repo', 'tag', '--force', 'v1');
    };
    const moves: readonly Record<string, string>[] = [
      { 'setup.sh': mark(workspace, 'evil') },
      // The moved tag asks for another pin.
      { 'wield.toml': '[source]\npin = "branch=main"\n[[hooks]]\nrun = "sh setup.sh"\n' },
    ];
    for (const files of moves) {
      move(files);
      for (const args of [
        ['sync', '--run-hooks'],
        ['upgrade', '--run-hooks', '--yes'],
        ['add', url, '--run-hooks', '--yes'],
        ['add', url, '--pin', 'v1', '--run-hooks', '--yes'],
      ]) {
        const error = await workspace.fail(...args);
        expect([args, error.code, error.status]).toEqual([args, 'integrity', 7]);
        expect(marks(workspace)).toEqual(['old']);
      }
    }
    expect(workspace.snapshot()).toEqual(before);
    // The registered commit still works, and a person can accept the new one.
    expect((await workspace.run('call', 'detect', '--path', '.')).status).toBe(0);
    await workspace.json('sync', '--accept', '--run-hooks');
    expect(marks(workspace)).toEqual(['old', 'evil']);
  },
  60_000,
);

finding(
  'B6',
  'A31: asks again if any file of a local source changed since its hook was approved',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('local', {
      ...DETECT,
      'wield.toml': '[[hooks]]\nrun = "sh setup.sh"\n',
      'setup.sh': '. lib/deep/part.sh\n',
      'lib/deep/part.sh': mark(workspace, 'first'),
    });
    await workspace.json('add', source, '--run-hooks');
    expect(marks(workspace)).toEqual(['first']);
    // Unchanged: approved, and it has already run.
    await workspace.json('sync');
    expect(marks(workspace)).toEqual(['first']);
    for (const change of [
      () => workspace.source('local', { 'setup.sh': mark(workspace, 'evil') }),
      () => workspace.source('local', { 'setup.sh': '. lib/deep/part.sh\n' }),
      () => workspace.source('local', { 'lib/deep/part.sh': mark(workspace, 'evil') }),
      () => workspace.source('local', { 'extra.sh!': mark(workspace, 'evil') }),
      () => {
        rmSync(join(source, 'setup.sh'));
        symlinkSync('extra.sh', join(source, 'setup.sh'));
      },
    ]) {
      change();
      const run = await workspace.run('sync');
      const { sources } = await workspace.json('sync');
      if (sources[0].hooks !== 'skipped') expect(marks(workspace).at(-1)).toBe('first');
      else expect(run.stderr).toContain('skipped the install hook of local');
      expect(marks(workspace)).not.toContain('evil');
    }
    const { sources } = await workspace.json('sync', '--run-hooks');
    expect([sources[0].hooks, marks(workspace).at(-1)]).toEqual(['ran', 'evil']);
  },
  60_000,
);

finding('B6', 'does not run a hook through a link that leads out of a local source', async () => {
  const workspace = createInstallWorkspace();
  const outside = join(workspace.dir, 'outside.sh');
  writeFileSync(outside, mark(workspace, 'outside'));
  const source = workspace.source('linked', { ...DETECT, 'wield.toml': '[[hooks]]\nrun = "sh setup.sh"\n' });
  symlinkSync(outside, join(source, 'setup.sh'));
  expect((await workspace.fail('add', source, '--run-hooks')).code).toBe('path_escape');
  expect(marks(workspace)).toEqual([]);
});

finding('B6', 'runs a hook in a private copy, and installs the files that it leaves there', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('made', {
    ...DETECT,
    'wield.toml': '[[hooks]]\nrun = "pwd > tools/detect/where"\n',
  });
  await workspace.json('add', source, '--yes', '--run-hooks');
  expect(workspace.stored('tool/detect/where')).toContain(join(workspace.wieldHome, 'sources'));
  expect(existsSync(join(source, 'tools/detect/where'))).toBe(false);
  expect((await workspace.json('doctor')).ok).toBe(true);
  await workspace.json('remove-source', 'made', '--yes');
  expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
});

if (hasPty)
  finding(
    'B6',
    'does not run bytes that replaced the approved ones while the question was open',
    async () => {
      const workspace = createInstallWorkspace();
      const evil = mark(workspace, 'evil');
      const local = workspace.source('local', {
        ...DETECT,
        'wield.toml': '[[hooks]]\nrun = "sh setup.sh"\n',
        'setup.sh': mark(workspace, 'good'),
      });
      await wieldAtTerminal(workspace, ['add', local, '--register-only'], {
        answers: [
          [
            'Run it?',
            async () => {
              writeFileSync(join(local, 'setup.sh'), evil);
              return 'y\n';
            },
          ],
        ],
      });
      expect(marks(workspace)).toEqual([]);
      const build = workspace.source('build', {
        'tools/b/TOOL.md': '---\nbuild: sh build.sh\n---\n',
        'tools/b/build.sh': mark(workspace, 'good'),
      });
      await workspace.json('add', build);
      await wieldAtTerminal(workspace, ['install', '--yes', 'b'], {
        answers: [
          [
            'Run it?',
            async () => {
              writeFileSync(join(build, 'tools/b/build.sh'), evil);
              return 'y\n';
            },
          ],
        ],
      });
      expect(marks(workspace)).toEqual([]);
      await workspace.json('install', '--yes', 'b', '--run-hooks');
      expect(marks(workspace)).toEqual(['evil']);
    },
    60_000,
  );

spec(
  'HOOK-6',
  'A31: asks again if a tool changed that the files of an approved build refer to, or an uninstall hook was edited',
  async () => {
    const workspace = createInstallWorkspace();
    const files = {
      'wield.toml':
        '[[items]]\nkind = "tool"\nname = "a"\npath = "a"\nbuild = "sh build.sh"\nuninstall = "sh bye.sh"\n[[items]]\nkind = "tool"\nname = "b"\npath = "b"\nbin = "b"\n',
      'a/build.sh': '{{tools:b}}\n',
      'a/bye.sh': mark(workspace, 'bye'),
      'b/b!': `#!/bin/sh\n${mark(workspace, 'first')}`,
    };
    await workspace.json('add', workspace.source('pair', files), '--yes');
    await workspace.json('install', '--yes', 'b', 'a', '--run-hooks');
    expect(marks(workspace)).toEqual(['first']);
    await workspace.json('uninstall', 'a', '--yes', '--run-hooks');
    expect(marks(workspace)).toEqual(['first', 'bye']);
    workspace.source('pair', { 'b/b!': `#!/bin/sh\n${mark(workspace, 'evil')}` });
    const { items } = await workspace.json('install', '--yes', 'b', 'a');
    expect(items.map(({ build }: { build: string }) => build)).toContain('skipped');
    expect(marks(workspace)).not.toContain('evil');
    writeFileSync(join(workspace.wieldHome, 'store/tool/a/bye.sh'), mark(workspace, 'evil'));
    mkdirSync(join(workspace.wieldHome, 'store/tool/a/more'));
    await workspace.json('uninstall', 'a', '--yes');
    expect(marks(workspace)).not.toContain('evil');
  },
  60_000,
);
