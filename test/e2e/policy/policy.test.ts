// Rules of the configuration: lists, denials, arguments and questions.

import { describe, expect } from 'vitest';
import { defineTool } from '../../../src/index.js';
import { createSkillWorkspace, declare } from '../../support/commands.js';
import { type Files, list, MODEL, outcome, PERSON, ruled, tool, trust, write } from '../../support/ruled.js';
import { shellScript } from '../../support/shell-script.js';
import { finding, spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

describe('allowed-tools', () => {
  spec('POL-2', 'allows everything if absent, and only what it selects if set', async () => {
    const workspace = createWorkspace();
    workspace.script('local', shellScript('echo ran'));
    const toolbox = workspace.toolbox({ tools: [tool('a'), tool('b')], trust: true });
    for (const name of ['a', 'b', 'local']) expect(await outcome(toolbox, name, {}, MODEL)).toBe('allow');
    write(workspace, { user: list('a', 'lo*') });
    expect(await outcome(toolbox, 'a')).toBe('allow');
    expect(await outcome(toolbox, 'local', {}, MODEL)).toBe('allow');
    expect(await outcome(toolbox, 'b')).toBe('deny');
    for (const empty of ['allowed-tools = ""\n', 'allowed-tools = []\n', 'allowed-tools = ["", " "]\n']) {
      write(workspace, { user: empty });
      for (const name of ['a', 'b', 'local']) expect(await outcome(toolbox, name)).toBe('deny');
    }
  });

  spec('POL-2 POL-11', 'every layer must select a call: a project can only narrow', async () => {
    const tools = [tool('a'), tool('b'), tool('c')];
    const each = async (files: Files) => {
      const toolbox = ruled(files, tools);
      return Promise.all(['a', 'b', 'c'].map((name) => outcome(toolbox, name)));
    };
    expect(await each({ user: list('a', 'b'), project: list('b', 'c') })).toEqual(['deny', 'allow', 'deny']);
    expect(await each({ user: list('a'), project: list('*') })).toEqual(['allow', 'deny', 'deny']);
    expect(await each({ project: list('c') })).toEqual(['deny', 'deny', 'allow']);
    expect(await each({ user: list('b($deny)', '*'), project: list('b', 'a') })).toEqual(['allow', 'deny', 'deny']);
  });

  spec('POL-3', '$deny wins over every allow, regardless of order, file and key', async () => {
    const tools = [tool('a'), tool('b')];
    const files: Files[] = [
      { user: list('*', 'a($deny)') },
      { user: list('a($deny)', '*', 'a') },
      { user: list('a', 'b', 'a($policy=deny)') },
      { user: list('*'), project: list('*', 'a($deny)') },
      { project: list('a($deny)', '*') },
      { user: trust('a($policy=allow)', 'a($deny)') },
      { user: trust('a($deny)', '*($policy=allow)') },
      { user: `${list('*')}${trust('*($policy=allow)')}`, project: trust('*($policy=allow)', 'a($deny)') },
    ];
    for (const one of files) {
      const toolbox = ruled(one, tools);
      expect([JSON.stringify(one), await outcome(toolbox, 'a')]).toEqual([JSON.stringify(one), 'deny']);
      const other = await outcome(toolbox, 'b');
      expect([JSON.stringify(one), other]).not.toEqual([JSON.stringify(one), 'deny']);
    }
  });

  spec('POL-12', 'reading tools are always allowed unless a rule denies them', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes');
    const toolbox = workspace.toolbox({ trust: true });
    const read = () => outcome(toolbox, 'read_skill', { skill_name: 'notes' }, MODEL);
    for (const user of [list(), list('other'), trust('*'), list('other') + trust('read_*($policy=ask)')]) {
      workspace.config(user);
      expect([user, await read()]).toEqual([user, 'allow']);
      expect((await toolbox.list({ caller: MODEL })).map(({ name }) => name)).toContain('read_skill');
    }
    for (const user of [list('*', 'read_skill($deny)'), list('$read_*($deny)'), trust('*($policy=deny)')]) {
      workspace.config(user);
      expect([user, await read()]).toEqual([user, 'deny']);
    }
    // Only built-in ones: a tool of that name defined in code is not exempt.
    const taken = ruled({ user: list('other') }, [tool('read_skill')]);
    expect(await outcome(taken, 'read_skill')).toBe('deny');
  });
});

describe('arguments', () => {
  spec('POL-4', 'match the input as the tool gets it, after repair and defaults', async () => {
    const git = defineTool({
      name: 'git',
      description: 'Version control.',
      inputSchema: {
        type: 'object',
        properties: {
          op: { type: 'string', default: 'push' },
          force: { type: 'boolean' },
          depth: { type: 'integer' },
        },
      },
      execute: () => 'ran',
    });
    const toolbox = ruled(
      { user: list('*', 'git(op={push,reset},$deny)', 'git(force=true,$deny)', 'git(depth=1?,$deny)') },
      [git],
    );
    expect(await outcome(toolbox, 'git', { op: 'log' })).toBe('allow');
    expect(await outcome(toolbox, 'git', { op: 'push' })).toBe('deny');
    expect(await outcome(toolbox, 'git', { op: 'reset' })).toBe('deny');
    // The default is push.
    expect(await outcome(toolbox, 'git', {})).toBe('deny');
    // Repair turns the text into the type of the schema.
    expect(await outcome(toolbox, 'git', { op: 'log', force: 'true' })).toBe('deny');
    expect(await outcome(toolbox, 'git', { op: 'log', force: false })).toBe('allow');
    expect(await outcome(toolbox, 'git', { op: 'log', depth: '12' })).toBe('deny');
    expect(await outcome(toolbox, 'git', { op: 'log', depth: 1 })).toBe('allow');
  });

  spec('POL-4', 'match values as the declaration of a command changes them', async () => {
    const workspace = createSkillWorkspace();
    const args = [
      { param: 'a', absentDefault: 'push' },
      { param: 'b', normalizeNewlines: true, optional: true },
    ];
    workspace.skill('own', { 'tools.json': declare(args) });
    workspace.config(`allowed-tools = ["*", 'run(a=push,$deny)', "run(b=x\\ny,$deny)"]\n`);
    const toolbox = workspace.toolbox({ trust: true });
    expect(await outcome(toolbox, 'run', { a: 'log' })).toBe('allow');
    expect(await outcome(toolbox, 'run', {})).toBe('deny');
    expect(await outcome(toolbox, 'run', { a: 'log', b: 'x\\ny' })).toBe('deny');
    const { verdict } = await toolbox.explain('run', {});
    expect(verdict.rule).toBe('run(a=push,$deny)');
  });
});

describe('trust.rules', () => {
  spec('POL-5', 'the first match decides: allow runs, a plain match asks, deny refuses', async () => {
    const tools = ['a', 'b', 'c', 'd'].map((name) => tool(name));
    const toolbox = ruled(
      { user: trust('a($policy=allow)', 'b', 'c($policy=ask)', 'd(op=x,$policy=allow)', '*($policy=deny)') },
      tools,
    );
    expect(await outcome(toolbox, 'a')).toBe('allow');
    expect(await outcome(toolbox, 'b')).toBe('ask');
    expect(await outcome(toolbox, 'c')).toBe('ask');
    expect(await outcome(toolbox, 'd')).toBe('deny');
    expect(await outcome(toolbox, 'd', { op: 'x' })).toBe('allow');
    const ordered = ruled({ user: trust('*($policy=ask)', 'a($policy=allow)') }, tools);
    expect(await outcome(ordered, 'a')).toBe('ask');
  });

  spec('POL-5 POL-11', "a project's rule counts only where it is stricter", async () => {
    const policies = ['allow', 'ask', 'deny'] as const;
    for (const [above, user] of policies.entries()) {
      for (const [below, project] of policies.entries()) {
        const toolbox = ruled({ user: trust(`a($policy=${user})`), project: trust(`a($policy=${project})`) }, [
          tool('a'),
        ]);
        expect([user, project, await outcome(toolbox, 'a')]).toEqual([user, project, policies[Math.max(above, below)]]);
      }
    }
    const own = ruled({ project: trust('a($policy=allow)', '*') }, [tool('a'), tool('b')]);
    expect(await outcome(own, 'a')).toBe('allow');
    expect(await outcome(own, 'b')).toBe('ask');
  });

  finding('B27', "a model's call of a destructive tool asks unless a rule allows it", async () => {
    const own = [tool('a', { destructive: true }), tool('b')];
    const workspace = createWorkspace();
    workspace.script('wipe', shellScript('echo wiped', '@destructive'));
    const scripts = workspace.toolbox({ trust: true });
    expect((await scripts.call('wipe', {}, { caller: MODEL })).error?.code).toBe('needs_approval');
    expect((await scripts.call('wipe', {}, { caller: PERSON })).ok).toBe(true);
    expect((await scripts.call('wipe', {})).ok).toBe(true);
    for (const files of [{}, { user: list('*') }, { user: trust('b($policy=allow)') }]) {
      const toolbox = ruled(files, own);
      expect(await outcome(toolbox, 'a', {}, MODEL)).toBe('ask');
      expect(await outcome(toolbox, 'a', {}, PERSON)).toBe('allow');
      expect(await outcome(toolbox, 'b', {}, MODEL)).toBe('allow');
    }
    for (const rule of ['a($policy=allow)', '#destructive($policy=allow)', '*($policy=allow)'])
      expect(await outcome(ruled({ user: trust(rule) }, own), 'a', {}, MODEL)).toBe('allow');
    // A project cannot allow it.
    const project = ruled({ project: trust('a($policy=allow)') }, own);
    expect(await outcome(project, 'a', {}, MODEL)).toBe('ask');
  });

  spec('POL-5', 'no rule: own tools run; a list may ask', async () => {
    const toolbox = ruled({}, [tool('a')]);
    expect(await outcome(toolbox, 'a', {}, MODEL)).toBe('allow');
    const asking = ruled({ user: list('*', 'a($policy=ask)') }, [tool('a'), tool('b')]);
    expect(await outcome(asking, 'a')).toBe('ask');
    expect(await outcome(asking, 'b')).toBe('allow');
  });
});
