// Attacks by references: a model can reach by path or URI only what it is offered by name.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { registerTool } from '../../src/helpers.js';
import { textOf } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { connectStdio } from '../support/clients.js';
import { createSkillWorkspace, MODEL, type SkillWorkspace, writeSkill } from '../support/search.js';
import { spec } from '../support/spec.js';

const saying = (word: string, tag = ''): string => `#!/bin/sh\n# @description Says ${word}.\n${tag}echo ${word}\n`;

const ask = async (toolbox: NodeToolbox, ref: string): Promise<string> => {
  const result = await toolbox.call(ref, {}, { caller: MODEL });
  return result.error?.code ?? textOf(result).trim();
};

function create(): SkillWorkspace {
  const workspace = createSkillWorkspace();
  workspace.script('offered', saying('offered'));
  workspace.script('hidden', saying('hidden', '# @hidden\n'));
  workspace.write('lab/evil', saying('evil'), 0o755);
  workspace.write('node_modules/lib/evil', saying('evil'), 0o755);
  writeSkill(join(workspace.dir, 'lab/skill'), 'evil', ['evil']);
  writeSkill(join(workspace.dir, '.agents/skills/dist'), 'evil', ['ignored']);
  return workspace;
}

spec('RES-2 RES-19', 'A19 A45: a model cannot run a file by path that it is not offered', async () => {
  const workspace = create();
  const outside = join(workspace.home, 'evil');
  writeFileSync(outside, saying('evil'), { mode: 0o755 });
  symlinkSync(outside, join(workspace.dir, 'lab/link'));
  const toolbox = workspace.toolbox({ trust: true });
  const tools = join(workspace.dir, '.agents/tools');
  for (const ref of [
    'lab/evil',
    join(workspace.dir, 'lab/evil'),
    pathToFileURL(join(workspace.dir, 'lab/evil')).href,
    'lab/skill',
    'lab/skill/tools.json#evil',
    'lab/link',
    'node_modules/lib/evil',
    '.agents/skills/dist',
    '.agents/skills/dist/tools.json',
    `${tools}/../../lab/evil`,
    outside,
    '~/evil',
    '/bin/sh',
    'evil',
    `${tools}/hidden`,
    pathToFileURL(join(tools, 'hidden')).href,
    'hidden',
  ])
    expect([ref, await ask(toolbox, ref)]).toEqual([ref, 'not_found']);
  for (const ref of ['offered', '.agents/tools/offered', join(tools, 'offered')])
    expect([ref, await ask(toolbox, ref)]).toEqual([ref, 'offered']);
  expect(await ask(toolbox, pathToFileURL(join(tools, 'offered')).href)).toBe('offered');
});

spec('RES-2 POL-20', 'A45: a path or a URI does not bypass trust', async () => {
  const workspace = create();
  const toolbox = workspace.toolbox();
  const file = join(workspace.dir, '.agents/tools/offered');
  for (const ref of ['offered', '.agents/tools/offered', file, pathToFileURL(file).href])
    expect([ref, await ask(toolbox, ref)]).toEqual([ref, 'needs_trust']);
});

spec('RES-2', 'A36: a path to a shadowed file does not reach it for a model', async () => {
  const workspace = createSkillWorkspace();
  workspace.script('deploy', saying('checkout'));
  mkdirSync(join(workspace.home, '.agents/tools'), { recursive: true });
  const own = join(workspace.home, '.agents/tools/deploy');
  writeFileSync(own, saying('own'), { mode: 0o755 });
  const toolbox = workspace.toolbox({ trust: true });
  expect(await ask(toolbox, 'deploy')).toBe('checkout');
  expect(await ask(toolbox, own)).toBe('not_found');
  // A person gets the file they name.
  expect(textOf(await toolbox.call(own, {})).trim()).toBe('own');
});

spec('RES-2', 'A20: the error for a model does not reveal whether a file exists', async () => {
  const workspace = create();
  const toolbox = workspace.toolbox({ trust: true });
  const errorOf = async (ref: string) =>
    JSON.stringify((await toolbox.call(ref, {}, { caller: MODEL })).error).replaceAll(ref, 'REF');
  expect(await errorOf('lab/evil')).toBe(await errorOf('lab/nothing'));
  expect(await errorOf('/etc/passwd')).toBe(await errorOf('/etc/nothing'));
  expect(await errorOf(join(workspace.dir, '.agents/tools/hidden'))).toBe(
    await errorOf(join(workspace.dir, '.agents/tools/absent')),
  );
});

spec('RES-2 RES-9', 'a model finds a registered tool by its URI only if it is not hidden', async () => {
  const toolbox = create().toolbox();
  registerTool(toolbox, { name: 'shown', src: 'inline://shown', fn: () => 'shown' });
  registerTool(toolbox, { name: 'secret', src: 'inline://secret', visibility: 'hidden', fn: () => 'secret' });
  expect(await ask(toolbox, 'inline://shown')).toBe('shown');
  expect(await ask(toolbox, 'inline://secret')).toBe('not_found');
  expect(textOf(await toolbox.call('inline://secret', {}))).toBe('secret');
});

spec('RES-2 SRV-14', 'an MCP client cannot reach files either', async () => {
  const workspace = create();
  const client = await connectStdio(workspace, 'newer');
  for (const name of ['lab/evil', './lab/evil', join(workspace.dir, 'lab/evil'), 'evil']) {
    const result = await client.callTool({ name, arguments: {} }).catch((error: Error) => error);
    expect([name, JSON.stringify(result)]).not.toEqual([name, expect.stringContaining('"evil\\\\n"')]);
    expect([name, result instanceof Error || result.isError]).toEqual([name, true]);
  }
});
