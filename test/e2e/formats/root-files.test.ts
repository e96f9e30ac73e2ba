// A format from outside for a file in the root of the workdir, here a list of tasks.

import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createRootFormat, type Format } from '../../../src/formats/index.js';
import { ToolError, textOf } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { wield } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

/** Each line of a Taskfile is `name: text`; the tool prints the text and a word. */
function createTaskFormat(): Format {
  return createRootFormat({
    name: 'tasks',
    claims: (file) => file === 'Taskfile',
    parse: (text) =>
      text.split('\n').flatMap((line) => {
        if (line === '') return [];
        const [name, said] = line.split(': ');
        if (said === undefined)
          throw new ToolError('invalid_definition', `"${line}" is not a task`, { hint: 'write name: text' });
        return [
          {
            name: name!,
            description: `Say ${said}`,
            argv: ['echo', '-n', said, { param: 'word' }] as const,
            input: { type: 'object', properties: { word: { type: 'string' } } },
          },
        ];
      }),
  });
}

const MODEL = { kind: 'model', door: 'mcp', name: 'cursor' } as const;

function createTaskWorkspace(
  text = 'build: one two\ntest unit: x\n',
): Workspace & { open(trust?: boolean): NodeToolbox } {
  const workspace = createWorkspace();
  workspace.write('Taskfile', text);
  return { ...workspace, open: (trust = false) => workspace.toolbox({ formats: [createTaskFormat()], trust }) };
}

spec('RES-63', 'lists and calls the commands of the file, with exact arguments', async () => {
  const workspace = createTaskWorkspace();
  const toolbox = workspace.open();
  expect(await toolbox.list()).toMatchObject([
    { name: 'build', description: 'Say one two', origin: { format: 'tasks', owner: 'workspace' } },
  ]);
  expect(await toolbox.catalog.problems()).toMatchObject([
    { severity: 'warning', path: join(workspace.dir, 'Taskfile'), message: expect.stringContaining('"test unit"') },
  ]);
  expect(textOf(await toolbox.call('build', {}))).toBe('one two');
  expect(textOf(await toolbox.call('build', { word: 'a b' }))).toBe('one two a b');
  expect((await toolbox.call('build', { word: '-e' })).error?.code).toBe('invalid_input');
  expect((await toolbox.call('build', { other: 'x' })).error?.code).toBe('invalid_input');
  expect(toolbox.state.formats).toContain('tasks');
  // A script of the same name comes first.
  workspace.script('build', '#!/bin/sh\n# @description Build.\necho script\n');
  expect(textOf(await toolbox.call('build', {}))).toBe('script\n');
});

spec('RES-63', 'sees a changed file, and notifies watchers', async () => {
  const workspace = createTaskWorkspace();
  const toolbox = workspace.open();
  await toolbox.list();
  const woken = new Promise<void>((resolve) => {
    toolbox.catalog.watch(resolve);
  });
  workspace.write('Taskfile', 'deploy: three\n');
  await woken;
  expect((await toolbox.list()).map(({ name }) => name)).toEqual(['deploy']);
  expect((await toolbox.call('build', {})).error?.code).toBe('not_found');
  expect(textOf(await toolbox.call('deploy', {}))).toBe('three');
  workspace.write('Taskfile', 'deploy\n');
  expect(await toolbox.catalog.problems()).toMatchObject([
    { severity: 'error', message: '"deploy" is not a task', hint: 'write name: text' },
  ]);
});

spec('RES-63 POL-20', 'needs trust for a model', async () => {
  const workspace = createTaskWorkspace();
  expect((await workspace.open().call('build', {}, { caller: MODEL })).error?.code).toBe('needs_trust');
  expect(textOf(await workspace.open(true).call('build', {}, { caller: MODEL }))).toBe('one two');
});

spec('RES-63 POL-7', 'binds an approval to the bytes of the file', async () => {
  const workspace = createTaskWorkspace();
  workspace.config('[trust]\nrules = "build"\n');
  const call = (): ReturnType<NodeToolbox['call']> => workspace.open(true).call('build', {}, { caller: MODEL });
  const { error } = await call();
  expect(error?.code).toBe('needs_approval');
  expect((await wield(workspace, ['approvals', 'approve', String(error?.data?.id)])).status).toBe(0);
  // The same command, in another file.
  workspace.write('Taskfile', 'build: one two\nother: x\n');
  expect((await call()).error?.code).toBe('needs_approval');
  workspace.write('Taskfile', 'build: one two\ntest unit: x\n');
  expect(textOf(await call())).toBe('one two');
});

spec('RES-63 RES-46', 'is found by path in the workdir only, and does not follow a link out', async () => {
  const workspace = createTaskWorkspace();
  workspace.write('below/Taskfile', 'build: below\n');
  const toolbox = workspace.open();
  expect(textOf(await toolbox.call('./Taskfile#build', {}))).toBe('one two');
  expect((await toolbox.call('./below/Taskfile#build', {})).error?.code).toBe('not_found');
  toolbox.workspace.setWorkdir(join(workspace.dir, 'below'));
  expect(textOf(await toolbox.call('./Taskfile#build', {}))).toBe('below');

  const outside = createWorkspace();
  mkdirSync(join(outside.dir, 'elsewhere'));
  outside.write('elsewhere/Taskfile', 'build: secret\n');
  const checkout = createWorkspace();
  symlinkSync(join(outside.dir, 'elsewhere/Taskfile'), join(checkout.dir, 'Taskfile'));
  const linked = checkout.toolbox({ formats: [createTaskFormat()] });
  expect(await linked.list()).toEqual([]);
  expect(await linked.catalog.problems()).toMatchObject([
    { message: expect.stringContaining('outside the workspace') },
  ]);
});

spec('RES-63 RES-46', 'does not make files below a home directory those of the user', async () => {
  const workspace = createWorkspace();
  const script = join(workspace.home, 'checkout/hello');
  mkdirSync(join(workspace.home, 'checkout'));
  writeFileSync(script, '#!/bin/sh\n# @description Hello.\necho hi\n', { mode: 0o755 });
  writeFileSync(join(workspace.home, 'Taskfile'), 'build: mine\n');
  const toolbox = workspace.toolbox({ workdir: workspace.home, formats: [createTaskFormat()] });
  expect((await toolbox.find('build')).origin.owner).toBe('user');
  expect((await toolbox.find(script)).origin.owner).toBe('workspace');
});

spec('RES-63', 'refuses a second format of a name, and never starts a program of the checkout', async () => {
  const workspace = createTaskWorkspace();
  const twice = { formats: [createTaskFormat(), createTaskFormat()] };
  expect(() => workspace.toolbox(twice)).toThrow('there are two formats named "tasks"');
  workspace.write('bin/tool', '#!/bin/sh\ntouch started\n', 0o755);
  const format = createRootFormat({
    name: 'own',
    claims: (file) => file === 'Taskfile',
    parse: () => [{ name: 'run', description: 'Run it.', argv: ['tool'] }],
  });
  const env = { ...workspace.env, PATH: `${workspace.dir}/bin:${workspace.env.PATH}` };
  expect((await workspace.toolbox({ formats: [format], env }).call('run', {})).error?.code).toBe('exec_failed');
  expect(existsSync(join(workspace.dir, 'started'))).toBe(false);
});
