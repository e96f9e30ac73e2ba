// Parsing tools.json: both layouts, and problems with their JSON pointers.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { createSkillWorkspace, declare, withValue } from '../../support/commands.js';
import { spec } from '../../support/spec.js';

const SEED = {
  tools: [
    {
      name: 'notesmd_search',
      description: 'Search notes.',
      parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    },
  ],
  allowlist: { 'notesmd-cli': ['search'] },
  execution: [
    {
      tool: 'notesmd_search',
      binary: 'notesmd-cli',
      subcommand: 'search',
      args: [{ param: 'query', kind: 'positional' }],
    },
  ],
};

async function problemsOf(descriptor: unknown, more: Record<string, unknown> = {}) {
  const workspace = createSkillWorkspace();
  workspace.skill('notes', { 'tools.json': descriptor, ...more });
  const toolbox = workspace.toolbox();
  expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['read_skill', 'notes']);
  return (await toolbox.catalog.problems()).map(({ path, pointer, message, hint, severity }) => {
    expect(severity).toBe('error');
    expect(hint).toMatch(/\S/);
    return { file: path.split('/skills/notes/')[1], pointer, message };
  });
}

describe('layouts', () => {
  spec('TJS-1 TJS-6', 'run exactly `notesmd-cli search <query>` for the minimal example', async () => {
    const workspace = createSkillWorkspace();
    workspace.program('notesmd-cli');
    workspace.skill('notes', { 'tools.json': SEED });
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('notesmd_search', { query: 'two words' }))).toBe('["search","two words"]\n');
    const run = await wield(workspace, ['call', 'notesmd_search', '--query', 'meeting']);
    expect(run).toMatchObject({ status: 0, stdout: '["search","meeting"]\n', stderr: '' });
  });

  spec('TJS-1', 'give the same tool, in one file or split', async () => {
    const workspace = createSkillWorkspace();
    workspace.program('notesmd-cli');
    workspace.skill('notes', {
      'tools.json': SEED.tools,
      'allowlist.json': SEED.allowlist,
      'execution.json': SEED.execution,
    });
    const toolbox = workspace.toolbox();
    expect(await toolbox.catalog.problems()).toEqual([]);
    expect((await toolbox.find('notesmd_search')).origin).toMatchObject({
      format: 'tools-json',
      directory: join(workspace.dir, '.agents/skills/notes'),
    });
    expect(textOf(await toolbox.call('notesmd_search', { query: 'q' }))).toBe('["search","q"]\n');
  });

  spec('TJS-1', 'list only the skill without tools.json, in each of three directories', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('plain');
    workspace.write('skills/second/tools.json', JSON.stringify(declare([], { tool: 'second' })));
    mkdirSync(join(workspace.home, '.agents/skills/own'), { recursive: true });
    writeFileSync(join(workspace.home, '.agents/skills/own/tools.json'), JSON.stringify(declare([], { tool: 'own' })));
    const tools = await workspace.toolbox().list();
    expect(tools.map(({ name, origin }) => [name, origin.owner])).toEqual([
      ['read_skill', 'program'],
      ['second', 'workspace'],
      ['own', 'user'],
      ['plain', 'workspace'],
    ]);
  });

  spec('TJS-1', 'reflect an edit, a removal and a new file at the next call', async () => {
    const workspace = createSkillWorkspace();
    const skill = workspace.skill('notes', { 'tools.json': declare([{ kind: 'literal', value: 'one' }]) });
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('run', {}))).toBe('["one"]\n');
    const { tools, allowlist, execution } = declare([{ kind: 'literal', value: 'two' }]);
    writeFileSync(join(skill, 'tools.json'), JSON.stringify(tools));
    expect((await toolbox.call('run', {})).error?.code).toBe('not_found');
    writeFileSync(join(skill, 'allowlist.json'), JSON.stringify(allowlist));
    writeFileSync(join(skill, 'execution.json'), JSON.stringify(execution));
    expect(textOf(await toolbox.call('run', {}))).toBe('["two"]\n');
    rmSync(join(skill, 'tools.json'));
    expect((await toolbox.call('run', {})).error?.code).toBe('not_found');
  });

  spec('TJS-2', 'allow description, parameters and args to be absent or null', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('bare', {
      'tools.json': {
        tools: [{ name: 'bare', description: null }],
        allowlist: { args: [''] },
        execution: [
          {
            tool: 'bare',
            binary: 'args',
            subcommand: '',
            args: null,
            postProcess: null,
            hintConditions: null,
          },
        ],
      },
    });
    workspace.skill('nulls', {
      'tools.json': declare(
        [
          {
            param: 'a',
            flag: null,
            resolveCommand: { script: null, binary: 'args', subcommand: null, onFailure: null },
          },
        ],
        { tool: 'nulls' },
      ),
    });
    const toolbox = workspace.toolbox();
    expect(await toolbox.catalog.problems()).toEqual([]);
    expect(textOf(await toolbox.call('bare', {}))).toBe('[]\n');
    expect(textOf(await toolbox.call('nulls', { a: 'x' }))).toBe('["[]"]\n');
  });
});

describe('problems', () => {
  const base = declare([{ param: 'a', resolveCommand: { binary: 'args' } }], {
    execution: {
      paramCondition: { present: ['a'] },
      postProcess: { binary: 'args' },
      hintConditions: [{ hint: 'h', match: 'm' }],
    },
  });

  spec('TJS-2 TJS-24', 'reports an unknown key anywhere except in parameters, with its JSON pointer', async () => {
    for (const pointer of [
      '/allowlists',
      '/tools/0/descripton',
      '/execution/0/timeout',
      '/execution/0/args/0/flagg',
      '/execution/0/args/0/resolveCommand/argz',
      '/execution/0/paramCondition/presents',
      '/execution/0/postProcess/onFailure',
      '/execution/0/hintConditions/0/exit',
    ]) {
      const problems = await problemsOf(withValue(base, pointer, 'x'));
      expect(problems).toEqual([
        { file: 'tools.json', pointer, message: `${pointer}  unknown key "${pointer.split('/').pop()}"` },
      ]);
    }
    const workspace = createSkillWorkspace();
    workspace.skill('notes', {
      'tools.json': withValue(base, '/tools/0/parameters/x-anything', { deep: true }),
    });
    expect(await workspace.toolbox().catalog.problems()).toEqual([]);
  });

  spec('TJS-2', 'reports the file and the pointer within it in the split layout', async () => {
    const { tools, allowlist, execution } = declare([{ param: 'a', knd: 'flag' }]);
    const split = { 'allowlist.json': allowlist, 'execution.json': execution };
    expect(await problemsOf(tools, split)).toMatchObject([{ file: 'execution.json', pointer: '/0/args/0/knd' }]);
    const good = declare([{ param: 'a' }]);
    expect(await problemsOf(good.tools, { 'execution.json': good.execution })).toMatchObject([
      { file: 'allowlist.json', message: '"allowlist" is missing' },
    ]);
    expect(await problemsOf(good.tools, { 'allowlist.json': good.allowlist })).toMatchObject([
      { file: 'execution.json', message: '"execution" is missing' },
    ]);
  });

  spec('TJS-3', 'reports invalid JSON and invalid descriptors with a reason', async () => {
    expect(await problemsOf('{ "tools": [,] }')).toMatchObject([{ file: 'tools.json' }]);
    expect(await problemsOf('')).toMatchObject([{ file: 'tools.json' }]);
    expect(await problemsOf('null')).toMatchObject([{ message: 'must be an object' }]);
    expect(await problemsOf('"text"')).toMatchObject([{ message: 'must be an object' }]);
    expect(await problemsOf({})).toMatchObject([
      { pointer: '/tools' },
      { pointer: '/allowlist' },
      { pointer: '/execution' },
    ]);
    expect(await problemsOf(`${'['.repeat(5000)}`)).toMatchObject([{ file: 'tools.json' }]);
    expect(await problemsOf(withValue(base, '/tools/0/parameters/properties/a', { pattern: '(' }))).toMatchObject([
      { pointer: '/tools/0/parameters' },
    ]);
  });

  spec('TJS-4', 'reports inconsistent parts', async () => {
    const cases: [string, unknown, string, string][] = [
      ['/execution/0/tool', 'rnu', '/execution/0/tool', 'is not declared'],
      ['/execution', [], '/tools/0', 'has no execution'],
      ['/execution/0/binary', 'arg', '/execution/0/binary', 'is not in the allowlist'],
      ['/execution/0/subcommand', 'sub', '/execution/0/subcommand', 'is not in allowlist["args"]'],
      ['/allowlist/args', [], '/execution/0/subcommand', 'is not in allowlist["args"]'],
      ['/allowlist/args', 'all', '/allowlist/args', 'must be an array of subcommands'],
      ['/allowlist/~1bin~1sh', [''], '/allowlist/~1bin~1sh', 'is not a program name'],
      ['/execution/0/args/0/flag', '', '/execution/0/args/0/flag', 'must be a non-empty string'],
      ['/execution/0/args/0/flagIfTrue', ' ', '/execution/0/args/0/flagIfTrue', 'must be a non-empty string'],
      ['/execution/0/args/0/kind', 'flags', '/execution/0/args/0/kind', 'is not a kind'],
      ['/execution/0/args/0/subcommandOverride', 'x', '/execution/0/args/0/subcommandOverride', 'is not in allowlist'],
      ['/execution/0/hintConditions/0/match', undefined, '/execution/0/hintConditions/0', 'a hint without a condition'],
      ['/execution/1', base.execution[0], '/execution/1', 'a second execution'],
      ['/tools/0/name', 'has space', '/tools/0/name', 'is not a tool name'],
    ];
    for (const [at, value, pointer, message] of cases) {
      const problems = await problemsOf(withValue(base, at, value));
      expect(problems, at).toContainEqual({
        file: 'tools.json',
        pointer,
        message: expect.stringContaining(message),
      });
    }
    const twice = { ...base, tools: [...base.tools, ...base.tools] };
    expect(await problemsOf(twice)).toMatchObject([{ pointer: '/tools/1/name' }]);
  });
});
