// Attacks through names of files in skills: a skill that names what is not its source's, and a model that asks for it.

import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { createInstallWorkspace, type InstallWorkspace } from '../support/install.js';
import { spec } from '../support/spec.js';

const MODEL = { caller: { kind: 'model', door: 'mcp' } } as const;
const NAMES = [
  '../../../secret.txt',
  '../../../../../../../../../../etc/hostname',
  '../../out.txt',
  '../../up/secret.txt',
  '../../self/../secret.txt',
  '../../inner/out.txt',
  '../../.env',
  '../../.git/config',
  '../../conf/.env',
  '../../link-env',
  '../../link-git',
  '../../node_modules/x/index.js',
  '../../pipe',
  '/etc/hostname',
  '%2e%2e/%2e%2e/%2e%2e/secret.txt',
  '..%2f..%2f..%2fsecret.txt',
  '..\\..\\..\\secret.txt',
  'references/../../../../secret.txt',
  '../../docs/fine.md',
];

function createSource(workspace: InstallWorkspace): string {
  const directory = workspace.source('kit', {
    'skills/one/SKILL.md': `---\nname: one\ndescription: One.\n---\n${NAMES.map((name) => `[x](${name}) \`${name}\``).join('\n')}\n`,
    'skills/one/references/deep.md': NAMES.join('\n'),
    '.env': 'SECRET',
    'conf/.env': 'SECRET',
    'node_modules/x/index.js': 'SECRET',
    'docs/fine.md': 'Fine.',
  });
  const outside = dirname(directory);
  writeFileSync(join(outside, 'secret.txt'), 'SECRET');
  mkdirSync(join(directory, '.git'), { recursive: true });
  writeFileSync(join(directory, '.git/config'), 'SECRET');
  mkdirSync(join(directory, 'inner'));
  symlinkSync('../secret.txt', join(directory, 'out.txt'));
  symlinkSync('..', join(directory, 'up'));
  symlinkSync('.', join(directory, 'self'));
  symlinkSync(join(outside, 'secret.txt'), join(directory, 'inner/out.txt'));
  symlinkSync('.env', join(directory, 'link-env'));
  symlinkSync('.git/config', join(directory, 'link-git'));
  return directory;
}

spec('INS-89', 'a skill gets only files of its source by naming them, and no hidden ones', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('add', createSource(workspace), '--yes', '--register-only');
  await workspace.json('install', 'one', '--yes');
  const store = join(workspace.wieldHome, 'store/skill/one/.source');
  const files = readdirSync(store, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
  expect(files.map(({ name }) => name)).toEqual(['fine.md']);
  expect(JSON.stringify(workspace.snapshot())).not.toContain('SECRET');
});

spec('INS-89', 'of a repository it gets only files of the commit', async () => {
  const workspace = createInstallWorkspace();
  const url = workspace.repository('kit', {
    'wield.toml': '[[hooks]]\nevent = "install"\nrun = "echo SECRET > made.txt"\n',
    'skills/one/SKILL.md': '---\nname: one\ndescription: One.\n---\n../../made.txt and ../../docs/fine.md',
    'docs/fine.md': 'Fine.',
  });
  await workspace.json('add', url, '--yes', '--run-hooks');
  const toolbox = workspace.toolbox();
  const read = (file: string) => toolbox.call('read_skill', { skill_name: 'one', file }, MODEL);
  expect((await read('../../docs/fine.md')).ok).toBe(true);
  expect((await read('../../made.txt')).error?.code).toBe('not_found');
});

spec('SKL-15', 'no path leads out of an installed skill and the files that came with it', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('add', createSource(workspace), '--yes', '--register-only');
  await workspace.json('install', 'one', '--yes');
  const store = join(workspace.wieldHome, 'store/skill/one');
  // What a program of the user left there is no way out either.
  symlinkSync(workspace.home, join(store, '.source/home'));
  symlinkSync(join(workspace.home, 'own.txt'), join(store, '.source/docs/link.md'));
  writeFileSync(join(workspace.home, 'own.txt'), 'SECRET');
  writeFileSync(join(workspace.wieldHome, 'store/secret.txt'), 'SECRET');
  writeFileSync(join(workspace.wieldHome, 'secret.txt'), 'SECRET');
  const toolbox = workspace.toolbox();
  for (const file of [
    ...NAMES.slice(0, -1),
    '../../home/own.txt',
    '../../home',
    '../../docs/link.md',
    '../../../../secret.txt',
    '../../docs/../../../secret.txt',
    '.source/../../secret.txt',
    '.source/home/own.txt',
    '~/own.txt',
    join(workspace.home, 'own.txt'),
    '../../docs/fine.md\0',
    '%2e%2e/%2e%2e/docs/../../own.txt',
  ]) {
    const result = await toolbox.call('read_skill', { skill_name: 'one', file }, MODEL);
    expect([file, result.ok, JSON.stringify(result).includes('SECRET')]).toEqual([file, false, false]);
    expect([file, result.error?.code]).toEqual([file, expect.stringMatching(/^(?:path_escape|not_found)$/)]);
    const uri = `skill://one/${encodeURIComponent(file)}`;
    expect([uri, (await toolbox.catalog.resources.read(uri, MODEL)).ok]).toEqual([uri, false]);
  }
  const outOfSource = ['../../../secret.txt', '../../../../x', '../../docs/../../../x'];
  for (const file of outOfSource)
    expect((await toolbox.call('read_skill', { skill_name: 'one', file }, MODEL)).error?.code).toBe('path_escape');
});
