// Attacks through path parameters: a program gets the canonical path that was checked, or nothing.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { textOf } from '../../src/index.js';
import { json, wield } from '../support/cli.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { finding } from '../support/spec.js';

const MODEL = { kind: 'model', door: 'test' } as const;

/** A workspace beside a directory `outside` with a secret, and links that lead there. */
function createLinked(key: 'readPath' | 'writePath', more: Parameters<typeof declare>[1] = {}) {
  const workspace = createSkillWorkspace();
  const outside = join(dirname(workspace.dir), 'outside');
  mkdirSync(join(outside, 'deep/er'), { recursive: true });
  writeFileSync(join(outside, 'secret'), 'outside');
  mkdirSync(join(workspace.dir, 'src/in'), { recursive: true });
  workspace.write('secret', 'inside');
  workspace.write('src/a', 'a');
  symlinkSync('../outside/deep', join(workspace.dir, 'vendor'));
  symlinkSync(join(outside, 'deep/er'), join(workspace.dir, 'src/absolute'));
  symlinkSync('src/absolute', join(workspace.dir, 'twice'));
  symlinkSync('src/in', join(workspace.dir, 'inner'));
  symlinkSync('../outside/planted', join(workspace.dir, 'dangling'));
  symlinkSync('nowhere/../../outside/planted', join(workspace.dir, 'dangling2'));
  symlinkSync('loop', join(workspace.dir, 'loop'));
  workspace.program('peek', '#!/bin/sh\nfor f; do cat "$f"; done\n');
  workspace.program('plant', '#!/bin/sh\nfor f; do echo planted > "$f"; done\n');
  const binary = key === 'readPath' ? 'peek' : 'plant';
  const args = [{ param: 'path', [key]: true }];
  const properties = { path: { type: ['string', 'array'], items: { type: 'string' } } };
  workspace.skill('own', { 'tools.json': declare(args, { binary, properties, ...more }) });
  return { workspace, outside, toolbox: workspace.toolbox({ trust: true }) };
}

/** Paths that are `secret` inside the workdir if read as text, and outside if followed. */
const LEADS_OUT = [
  'vendor/../secret',
  'src/absolute/../../secret',
  'twice/../../secret',
  'src/../twice/../../secret',
  'inner/../../vendor/../secret',
  './vendor/.././secret',
  'vendor//..//secret',
  'inner/../absolute/../../secret',
  'dangling',
  'dangling2',
  'vendor/er/../../secret',
  'loop/../secret',
  'loop',
];

for (const key of ['readPath', 'writePath'] as const) {
  finding('B1', `A20 no ${key} leads out through a link and ..`, async () => {
    const { workspace, outside, toolbox } = createLinked(key);
    for (const path of LEADS_OUT) {
      for (const value of [path, [path], ['src/a', path], `${workspace.dir}/${path}`]) {
        const { error } = await toolbox.call('run', { path: value }, { caller: MODEL });
        expect([value, error?.code]).toEqual([value, 'path_escape']);
      }
    }
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('outside');
    expect(existsSync(join(outside, 'planted'))).toBe(false);
    expect(readFileSync(join(workspace.dir, 'secret'), 'utf8')).toBe('inside');
  });
}

finding('B1', 'A18 A19 no sibling, backslash, case or Unicode form of a path leads out', async () => {
  for (const key of ['readPath', 'writePath'] as const) {
    const { workspace, outside, toolbox } = createLinked(key);
    for (const sibling of [`${workspace.dir}x`, `${workspace.dir}-2`, `${dirname(workspace.dir)}/proj`]) {
      mkdirSync(sibling);
      writeFileSync(join(sibling, 'secret'), 'outside');
      for (const path of [join(sibling, 'secret'), `../${basename(sibling)}/secret`])
        expect([path, (await toolbox.call('run', { path }, { caller: MODEL })).error?.code]).toEqual([
          path,
          'path_escape',
        ]);
    }
    // On this system these are names of files in the workdir, which do not exist; nothing decodes or folds them.
    for (const path of [
      '..\\outside\\secret',
      '%2e%2e/outside/secret',
      '\uff0e\uff0e/outside/secret',
      '\u2025/outside/secret',
      '..\u2215outside\u2215secret',
      'VENDOR/../secret2',
      `${workspace.dir.toUpperCase()}/../outside/secret`,
      `${workspace.dir}/../OUTSIDE/../outside/secret`,
      'file:///etc/passwd',
      '~/../outside/secret',
      ' ../outside/secret',
    ]) {
      const result = await toolbox.call('run', { path }, { caller: MODEL });
      expect([path, result.ok && textOf(result) !== '']).toEqual([path, false]);
    }
    for (const directory of [outside, `${workspace.dir}x`])
      expect(readFileSync(join(directory, 'secret'), 'utf8')).toBe('outside');
    expect(readdirSync(outside).sort()).toEqual(['deep', 'secret']);
  }
});

finding('B1', 'A19 a rule about a path applies to every form of it', async () => {
  const { workspace } = createLinked('readPath');
  workspace.write('caf\u00e9', 'composed');
  workspace.write('cafe\u0301', 'decomposed');
  workspace.config('[trust]\nrules = ["run(path=caf*,$deny)", "run(path=**/secret,$deny)"]\n');
  const toolbox = workspace.toolbox({ trust: true });
  for (const path of ['caf\u00e9', 'cafe\u0301', './caf\u00e9', 'src/../secret', 'src//..//secret', 'secret/.'])
    expect([path, (await toolbox.call('run', { path })).ok]).toEqual([path, false]);
});

finding('B1', 'A19 the plan, the program and the audit log have the canonical path', async () => {
  const { workspace, toolbox } = createLinked('readPath');
  for (const [path, real] of [
    ['secret', 'secret'],
    ['./secret', 'secret'],
    ['src/../secret', 'secret'],
    ['inner/../a', 'src/a'],
    ['inner/../../secret', 'secret'],
  ] as const) {
    const { plan } = await toolbox.plan('run', { path });
    expect([path, plan]).toMatchObject([path, { argv: ['peek', join(workspace.dir, real)] }]);
    expect(textOf(await toolbox.call('run', { path }))).toBe(readFileSync(join(workspace.dir, real), 'utf8'));
  }
  const dry = json(await wield(workspace, ['call', 'run', '--path', 'inner/../a', '--dry-run', '--json']));
  expect(JSON.stringify(dry)).toContain(join(workspace.dir, 'src/a'));
});

finding('B1', 'A20 a new file is written to the canonical directory', async () => {
  const { workspace, toolbox } = createLinked('writePath');
  for (const [path, real] of [
    ['inner/new', 'src/in/new'],
    ['inner/../new', 'src/new'],
    ['missing/../new2', 'new2'],
  ] as const) {
    expect((await toolbox.call('run', { path })).ok, path).toBe(true);
    expect(readFileSync(join(workspace.dir, real), 'utf8')).toBe('planted\n');
  }
});

finding('B1', 'A20 a rule about a path sees where it leads', async () => {
  const { workspace } = createLinked('readPath');
  workspace.config('[trust]\nrules = "run(path={secret,src/a},$deny)"\n');
  const toolbox = workspace.toolbox({ trust: true });
  for (const path of [
    'secret',
    './secret',
    'src/../secret',
    'inner/../../secret',
    join(workspace.dir, 'secret'),
    'inner/../a',
  ])
    expect([path, (await toolbox.call('run', { path })).error?.code]).toEqual([path, 'denied']);
  workspace.config(`[trust]\nrules = "run(path=${workspace.dir}/secret,$deny)"\n`);
  for (const path of ['secret', 'inner/../../secret', join(workspace.dir, 'secret')])
    expect([path, (await workspace.toolbox({ trust: true }).call('run', { path })).error?.code]).toEqual([
      path,
      'denied',
    ]);
  workspace.config('allowed-tools = "run(path=src/*)"\n');
  const listed = workspace.toolbox({ trust: true });
  expect((await listed.call('run', { path: 'src/a' })).ok).toBe(true);
  expect((await listed.call('run', { path: 'src/../secret' })).error?.code).toBe('denied');
});

finding('B1', 'A20 A26 the directory of a command and other parameters of resolvers are canonical', async () => {
  const { workspace } = createLinked('readPath');
  workspace.program('where', '#!/bin/sh\npwd\n');
  workspace.skill('own', {
    'tools.json': declare([{ param: 'dir', kind: 'workingdir' }], { binary: 'where' }),
  });
  const toolbox = workspace.toolbox();
  for (const dir of ['vendor/..', 'twice/../..', 'src/absolute/..', 'dangling/..', 'inner/../../../outside'])
    expect([dir, (await toolbox.call('run', { dir })).error?.code]).toEqual([dir, 'path_escape']);
  expect(textOf(await toolbox.call('run', { dir: 'inner/..' }))).toBe(`${workspace.dir}/src\n`);
  workspace.skill('own', {
    'tools.json': declare(
      [
        { param: 'dir', kind: 'workingdir' },
        { param: 'path', readPath: true },
      ],
      { binary: 'peek' },
    ),
  });
  const moved = workspace.toolbox();
  expect(textOf(await moved.call('run', { dir: 'src', path: 'a' }))).toBe('a');
  expect(textOf(await moved.call('run', { dir: 'src/in', path: '../../secret' }))).toBe('inside');
  expect((await moved.call('run', { dir: 'src/in', path: '../../../outside/secret' })).error?.code).toBe('path_escape');
  workspace.skill('own', {
    'tools.json': declare(
      [
        { param: 'path', readPath: true },
        { param: 'id', resolveCommand: { binary: 'peek', args: ['$path'] } },
      ],
      { allowlist: { args: [''], peek: [''] } },
    ),
  });
  const resolving = workspace.toolbox();
  expect((await resolving.call('run', { path: 'inner/../a', id: 'x' })).structured).toEqual([
    join(workspace.dir, 'src/a'),
    'a',
  ]);
  expect((await resolving.call('run', { path: 'vendor/../secret', id: 'x' })).error?.code).toBe('path_escape');
});

finding('B1', 'A21 a path that became a link after it was planned is refused', async () => {
  // Another file inside the workdir is not the approved one either.
  for (const target of ['../outside', 'other']) {
    const { workspace, outside, toolbox } = createLinked('readPath');
    writeFileSync(join(outside, 'a'), 'outside');
    workspace.write('other/a', 'other');
    workspace.config('[trust]\nrules = "run($policy=ask)"\n');
    const approve = async (): Promise<'once'> => {
      renameSync(join(workspace.dir, 'src'), join(workspace.dir, 'old'));
      symlinkSync(target, join(workspace.dir, 'src'));
      return 'once';
    };
    const result = await toolbox.call('run', { path: 'src/a' }, { caller: MODEL, approve });
    expect([target, result.error?.code]).toEqual([target, 'path_escape']);
  }
});

// Exchanges what a path is, as fast as it can, until it is killed.
const FLIP = `
const { renameSync, symlinkSync } = require('node:fs');
const [path, ...targets] = process.argv.slice(1);
for (let turn = 0; ; turn++) {
  if (turn === 1) console.log('ready');
  symlinkSync(targets[turn % 2], path + '~');
  renameSync(path + '~', path);
}`;

finding('B1', 'A21 a link that another process flips in a loop never shows a file outside', async () => {
  const { workspace, outside, toolbox } = createLinked('readPath');
  const flip = join(workspace.dir, 'flip');
  const child = spawn(process.execPath, ['-e', FLIP, flip, '.', outside], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const seen = new Set<string>();
  for (let call = 0; call < 300 && (call < 60 || seen.size < 2); call++) {
    const result = await toolbox.call('run', { path: call % 2 === 0 ? 'flip/secret' : 'flip/flip/../secret' });
    seen.add(result.ok ? textOf(result) : result.error!.code);
  }
  expect([...seen].filter((one) => one !== 'path_escape' && one !== 'inside')).toEqual([]);
  expect([...seen].sort()).toEqual(['inside', 'path_escape']);
});

finding('B1', 'A18 A26 no link and .. moves the workdir out of its roots', async () => {
  const { workspace } = createLinked('readPath');
  const toolbox = workspace.toolbox({ offer: ['workdir'] });
  for (const path of ['vendor/..', 'twice/../..', 'src/absolute/..', 'inner/../../../outside']) {
    const { error } = await toolbox.call('workdir', { path }, { caller: MODEL });
    expect([path, error?.code]).toEqual([path, 'path_escape']);
  }
  expect(textOf(await toolbox.call('workdir', { path: 'inner/..' }))).toBe(join(workspace.dir, 'src'));
});
