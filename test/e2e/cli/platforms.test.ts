// Other systems: macOS and Windows as far as a platform can be pretended, and a Linux without /proc.

import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect } from 'vitest';
import { createNodeToolbox } from '../../../src/node.js';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { ROOT } from '../../support/documents.js';
import { hasProgram } from '../../support/machine.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const actual = process.platform;
const pretend = (platform: string): void => void Object.defineProperty(process, 'platform', { value: platform });
afterEach(() => pretend(actual));

const MODULE = `import { defineTool } from 'wield';
export default defineTool({
  name: 'typed',
  description: 'A module.',
  inputSchema: { type: 'object' },
  execute: () => 'typed ran',
});
`;

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('shell', '#!/bin/sh\n# @description A shell script.\necho "shell ran"\n');
  workspace.script('other', '#!/usr/bin/env node\n// @description Another one.\nconsole.log("other ran");\n');
  workspace.script('boxed', '#!/bin/sh\n# @description In a sandbox.\n# @sandbox workdir\necho boxed\n');
  workspace.write('.agents/tools/typed.tool.ts', MODULE);
  workspace.config('[limits]\nprocesses = 100\n');
  return workspace;
}

spec('CLI-41', 'on Windows every command says that WSL is needed', async () => {
  const workspace = createTools();
  pretend('win32');
  for (const args of [['list'], ['call', 'shell'], ['init'], ['shell'], ['serve'], ['doctor'], ['connect', 'cursor']]) {
    const { status, stdout, stderr } = await wield(workspace, args);
    expect([args, status, stdout]).toEqual([args, 8, '']);
    expect(stderr).toContain('wield does not run on Windows');
    expect(stderr).toContain('wsl --install');
  }
  const failed = json(await wield(workspace, ['list', '--json']));
  expect(failed).toMatchObject({ ok: false, error: { code: 'unavailable', hint: expect.stringContaining('WSL') } });
  await expect((async () => createNodeToolbox({ workdir: workspace.dir }))()).rejects.toThrow('Windows');
});

spec('CLI-42', 'on an older Node every command says which one is needed, and loads nothing else', async () => {
  const workspace = createWorkspace();
  const start = async (version: string, ...args: string[]) => {
    // Names what is loaded after it.
    const text = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });
      process.on('exit', () => console.error(Object.keys(require.cache).filter((file) => file.includes('/cli/')).length));`;
    const preload = workspace.write('preload.cjs', text);
    const options = { cwd: workspace.dir, env: { ...workspace.env, PATH: process.env.PATH } };
    const ran = promisify(execFile)(process.execPath, ['--require', preload, binary(), ...args], options);
    return ran.catch((error: { code: number; stdout: string; stderr: string }) => error);
  };
  for (const version of ['16.20.2', '18.20.8', '20.18.3']) {
    for (const args of [['list'], ['call', 'shell'], ['serve'], ['doctor']])
      expect(await start(version, ...args)).toMatchObject({
        code: 8,
        stdout: '',
        stderr: expect.stringMatching(
          new RegExp(`^error  wield needs Node 20.19, 22 or 24; this is ${version}\n  hint  .+\n1\n$`),
        ),
      });
    const { stdout } = await start(version, 'list', '--json');
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, schema: 1, error: { code: 'unavailable' } });
  }
  for (const version of ['20.19.0', '22.0.0', '24.1.0', '30.0.0'])
    expect(await start(version, 'list')).toMatchObject({ stdout: expect.stringContaining('wield init') });
});

spec('EXE-83', 'on macOS tools run, and doctor names what is missing', async () => {
  const workspace = createTools();
  pretend('darwin');
  expect((await wield(workspace, ['trust', '--yes'])).status).toBe(0);
  for (const name of ['shell', 'other', 'typed'])
    expect((await wield(workspace, ['call', name])).stdout.trim()).toBe(`${name} ran`);
  const boxed = await wield(workspace, ['call', 'boxed']);
  expect([boxed.status, boxed.stderr]).toEqual([8, expect.stringContaining('sandbox-exec is not there')]);
  const { stdout } = await wield(workspace, ['doctor']);
  expect(stdout).toMatch(/limits +processes configured but not enforced: only Linux has them/);
  expect(stdout).toMatch(/consent +processes of tools are recognised by their environment only$/m);
  expect(stdout).not.toContain('util-linux');
});

const hasBubblewrap = actual === 'linux' && hasProgram('bwrap');

specIf(
  hasBubblewrap,
  'needs bwrap; to run: install bubblewrap',
  'EXE-83',
  'without /proc tools run, and nothing is consent',
  async () => {
    const workspace = createTools();
    const command = binary();
    // A root directory without /proc, in which everything else is as here.
    const places = readdirSync('/').filter((name) => name !== 'proc');
    const root = places.flatMap((name) => ['--dev-bind', `/${name}`, `/${name}`]);
    const run = (...args: string[]) =>
      promisify(execFile)('bwrap', [...root, '--', process.execPath, command, ...args], {
        cwd: workspace.dir,
        env: workspace.env,
      }).catch((error) => error as { stdout: string; stderr: string });
    expect(dirname(command).startsWith(ROOT)).toBe(true);
    expect((await run('call', 'shell')).stdout).toBe('shell ran\n');
    expect((await run('call', 'other')).stdout).toBe('other ran\n');
    const trusted = await run('trust', '--yes');
    expect(trusted.stderr).toContain('does not count');
    const { stdout } = await run('doctor');
    expect(stdout).toMatch(/consent +\/proc is not mounted/);
    expect(stdout).toContain('mount -t proc proc /proc');
  },
);
