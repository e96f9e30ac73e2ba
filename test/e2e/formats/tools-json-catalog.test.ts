// tools.json in the catalog: broken descriptors, duplicate names, unusual entries, schemas.

import { existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { createSkillWorkspace, declare, type SkillWorkspace, withValue } from '../../support/commands.js';
import { spec } from '../../support/spec.js';
import { LATER } from '../../support/workspace.js';

function createFifty(): SkillWorkspace {
  const workspace = createSkillWorkspace();
  for (let index = 0; index < 50; index++) {
    const descriptor = declare([{ param: 'a' }], { tool: `tool-${index}` });
    workspace.skill(`skill-${index}`, {
      'tools.json': index === 20 ? withValue(descriptor, '/execution/0/binray', 'x') : descriptor,
    });
  }
  return workspace;
}

spec.thorough('TJS-3', 'keeps 49 of fifty skills working if one is broken, through every door', async () => {
  const workspace = createFifty();
  const path = join(workspace.dir, '.agents/skills/skill-20/tools.json');
  const names = Array.from({ length: 50 }, (_, index) => `tool-${index}`).filter((name) => name !== 'tool-20');
  const isFit = (found: readonly string[]) =>
    expect(found.filter((name) => !name.endsWith('_result')).sort()).toEqual([...names, 'read_skill'].sort());
  const expected = [
    {
      severity: 'error',
      path,
      pointer: '/execution/0/binray',
      message: '/execution/0/binray  unknown key "binray"',
      hint: 'did you mean "binary"?',
    },
  ];
  const listed = json(await wield(workspace, ['list', '--format', 'tools-json', '--format', 'builtin', '--json']));
  isFit(listed.tools.map((tool: { name: string }) => tool.name));
  expect(listed.problems).toEqual(expected);
  expect(json(await wield(workspace, ['doctor', '--json'])).problems).toEqual(expected);
  const client = await connectStdio(workspace, 'newer');
  isFit((await client.listTools()).tools.map((tool) => tool.name));
  const result = await client.callTool({ name: 'tool-49', arguments: { a: 'x' } });
  expect(result.content).toEqual([{ type: 'text', text: '["x"]\n' }]);
});

spec('TJS-5', 'publishes the parameters object unchanged, and validates input against it', async () => {
  const workspace = createSkillWorkspace();
  const parameters = {
    type: 'object',
    properties: { n: { type: 'integer', minimum: 1 }, mode: { enum: ['fast', 'slow'] } },
    required: ['n'],
    $comment: 'as it is',
  };
  const marker = join(workspace.dir, 'ran');
  workspace.program('touch-it', `#!/bin/sh\ntouch ${marker}\n`);
  workspace.skill('notes', {
    'tools.json': withValue(
      declare([{ param: 'n' }, { param: 'mode' }], { binary: 'touch-it' }),
      '/tools/0/parameters',
      parameters,
    ),
  });
  const toolbox = workspace.toolbox();
  expect((await toolbox.find('run')).input.json).toEqual(parameters);
  for (const input of [{}, { n: 0 }, { n: 'x' }, { n: 1, mode: 'other' }, { n: 1, more: 1 }])
    expect((await toolbox.call('run', input)).error?.code, JSON.stringify(input)).toBe('invalid_input');
  expect(existsSync(marker)).toBe(false);
  expect((await toolbox.call('run', { n: 1 })).ok).toBe(true);
  expect(existsSync(marker)).toBe(true);
});

spec('TJS-22', 'prefers the first of two skills with one tool name, and lists the other as shadowed', async () => {
  const workspace = createSkillWorkspace();
  for (const name of ['b-second', 'a-first'])
    workspace.skill(name, { 'tools.json': declare([{ kind: 'literal', value: name }]) });
  workspace.write('skills/a-later/tools.json', JSON.stringify(declare([])));
  const toolbox = workspace.toolbox();
  expect(textOf(await toolbox.call('run', {}))).toBe('["a-first"]\n');
  const { tools } = json(await wield(workspace, ['list', '--all', '--json']));
  const ours = tools.filter((tool: { name: string }) => tool.name === 'run');
  expect(
    ours.map((tool: { uri: string; shadowedBy: unknown }) => [tool.uri.split('/').at(-2), tool.shadowedBy !== null]),
  ).toEqual([
    ['a-first', false],
    ['b-second', true],
    ['a-later', true],
  ]);
  const client = await connectStdio(workspace, 'older');
  expect((await client.listTools()).tools.filter((tool) => tool.name === 'run')).toHaveLength(1);
});

spec('TJS-3', 'ignores unusual entries of a skills directory', async () => {
  const workspace = createSkillWorkspace();
  workspace.skill('good', { 'tools.json': declare([]) });
  workspace.write('.agents/skills/README.md', 'no skill');
  workspace.write('.agents/skills/dir-as-file/tools.json/inner', '');
  symlinkSync(join(workspace.dir, '.agents/skills/README.md'), join(workspace.dir, '.agents/skills/link-to-file'));
  symlinkSync('nowhere', join(workspace.dir, '.agents/skills/dangling'));
  symlinkSync('circle', join(workspace.dir, '.agents/skills/circle'));
  const toolbox = workspace.toolbox();
  expect((await toolbox.list()).map((tool) => tool.name)).toContain('run');
  expect((await toolbox.catalog.problems()).map(({ path, message }) => [path.split('/skills/')[1], message])).toEqual([
    ['dir-as-file/tools.json', expect.stringContaining('cannot be read')],
  ]);
});

spec('TJS-1 TJS-3 RES-13', 'lists the same from the index on disk', async () => {
  const workspace = createFifty();
  const said: string[] = [];
  const survey = async () => {
    const toolbox = workspace.toolbox({ now: LATER, debug: (message) => said.push(message) });
    const tools = (await toolbox.list()).map(({ name, description, input, action, origin, traits }) => ({
      ...{ name, description, origin, traits },
      ...{ input: input.json, action: action.kind === 'process' ? action : undefined },
    }));
    const shown = await toolbox.call('read_skill', { skill_name: 'skill-3' });
    return { tools, problems: await toolbox.catalog.problems(), skill: textOf(shown) };
  };
  const first = await survey();
  expect(said.join('\n')).not.toContain('listed from the index');
  expect(await survey()).toEqual(first);
  expect(said.join('\n')).toContain('listed from the index');
});
