// Tests of the search path: default, configuration, programs and precedence.

import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { registerTool } from '../../../src/helpers.js';
import { isToolError, textOf } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { json, wield } from '../../support/cli.js';
import { createSkillWorkspace, MODEL, type SkillWorkspace, writeSkill } from '../../support/search.js';
import { spec } from '../../support/spec.js';

const DEFAULTS = ['.agents/skills', 'skills', 'tools'] as const;

const saying = (word: string): string => `#!/bin/sh\n# @description Says ${word}.\necho ${word}\n`;
const wordOf = async (toolbox: NodeToolbox, ref: string, caller = {}): Promise<string> => {
  const result = await toolbox.call(ref, {}, caller);
  const text = textOf(result).trim();
  return result.error?.code ?? (text.startsWith('[') ? JSON.parse(text)[1] : text);
};
const names = async (toolbox: NodeToolbox): Promise<string[]> => (await toolbox.list()).map((tool) => tool.name);
const project = (workspace: SkillWorkspace, text: string): void => {
  workspace.write('.agents/config.toml', text);
};

describe('the default', () => {
  spec.thorough(
    'RES-6 RES-3 SCR-17',
    'is searched in order, before the scripts; registered tools come first',
    async () => {
      const workspace = createSkillWorkspace();
      const toolbox = workspace.toolbox({ offer: ['workdir'] });
      const own = join(workspace.home, '.agents/skills/x');
      mkdirSync(join(workspace.home, '.agents/tools'), { recursive: true });
      const steps: [string, () => void][] = [
        [
          'own-script',
          () => writeFileSync(join(workspace.home, '.agents/tools/pick'), saying('own-script'), { mode: 0o755 }),
        ],
        ['script', () => workspace.script('pick', saying('script'))],
        ['own', () => writeSkill(own, 'own', ['pick'])],
        ...[...DEFAULTS]
          .reverse()
          .map((dir): [string, () => void] => [dir, () => writeSkill(join(workspace.dir, dir, 'x'), dir, ['pick'])]),
        ['program', () => registerTool(toolbox, { name: 'pick', fn: () => 'program' })],
      ];
      for (const [at, [word, step]] of steps.entries()) {
        step();
        expect(await wordOf(toolbox, 'pick')).toBe(word);
        expect((await names(toolbox)).filter((name) => name === 'pick')).toEqual(['pick']);
        expect((await toolbox.catalog.survey()).shadowed.filter(({ tool }) => tool.name === 'pick')).toHaveLength(at);
      }
    },
  );

  spec('RES-3 SRV-14', 'reserves built-in names on disk; code may take one that is not offered', async () => {
    const workspace = createSkillWorkspace();
    workspace.script('workdir', saying('script'));
    writeSkill(join(workspace.dir, 'skills/x'), 'skill', ['workdir']);
    const quiet = workspace.toolbox();
    expect(await wordOf(quiet, 'workdir')).toBe(workspace.dir);
    registerTool(quiet, { name: 'workdir', fn: () => 'mine' });
    expect(await wordOf(quiet, 'workdir')).toBe('mine');
    const offering = workspace.toolbox({ offer: ['workdir'] });
    expect(() => registerTool(offering, { name: 'workdir', fn: () => 'mine' })).toThrow(
      expect.objectContaining({ code: 'conflict' }),
    );
    expect(await wordOf(offering, 'workdir')).toBe(workspace.dir);
  });

  spec('RES-7', 'identifies a tool by its declared name, not by its directory', async () => {
    const workspace = createSkillWorkspace();
    const toolbox = workspace.toolbox();
    const skills = join(workspace.dir, 'skills');
    writeSkill(join(skills, 'folder'), 'one', ['declared', 'second']);
    expect(await names(toolbox)).toEqual(['declared', 'second']);
    expect((await toolbox.call('folder', {})).error?.code).toBe('not_found');
    renameSync(join(skills, 'folder'), join(skills, 'other'));
    expect(await wordOf(toolbox, 'second')).toBe('one');
    writeSkill(join(skills, 'other'), 'two', ['renamed']);
    expect(await names(toolbox)).toEqual(['renamed']);
    expect((await toolbox.call('declared', {})).error?.code).toBe('not_found');
    // Two of one directory: the first entry by name wins.
    writeSkill(join(skills, 'aaa'), 'first', ['renamed']);
    expect(await wordOf(toolbox, 'renamed')).toBe('first');
  });

  spec('RES-5', 'ignores node_modules, .git, dist and .cache, but not scripts of these names', async () => {
    const workspace = createSkillWorkspace();
    for (const dir of ['node_modules', '.git', 'dist', '.cache', 'fine'])
      writeSkill(join(workspace.dir, 'skills', dir), dir, [`in_${dir.replace('.', '')}`]);
    workspace.script('dist', saying('dist'));
    expect(await names(workspace.toolbox())).toEqual(['in_fine', 'dist']);
  });
});

describe('configuration', () => {
  spec('RES-6 RES-5', "replaces it, or extends it with ..., in the user's file, at once", async () => {
    const workspace = createSkillWorkspace();
    const shared = join(workspace.home, 'shared');
    writeSkill(join(shared, 'x'), 'shared', ['pick', 'more']);
    writeSkill(join(workspace.dir, 'skills/x'), 'local', ['pick']);
    const toolbox = workspace.toolbox();
    expect(await names(toolbox)).toEqual(['pick']);
    workspace.config('paths = ["~/shared"]\n');
    expect(await names(toolbox)).toEqual(['more', 'pick']);
    expect(await wordOf(toolbox, 'pick')).toBe('shared');
    workspace.config('paths = ["...", "~/shared"]\n');
    expect(await wordOf(toolbox, 'pick')).toBe('local');
    expect((await toolbox.find('more')).origin.owner).toBe('user');
    workspace.config('paths = ["~/shared", "..."]\n');
    expect(await wordOf(toolbox, 'pick')).toBe('shared');
    workspace.config('paths = []\n');
    expect(await names(toolbox)).toEqual([]);
    workspace.config('');
    expect(await wordOf(toolbox, 'pick')).toBe('local');
  });

  spec('RES-5', 'ignores entries by name and by path, in a mixed array', async () => {
    const workspace = createSkillWorkspace();
    for (const dir of ['skills/draft-a', 'skills/kept', 'tools/draft-b', 'tools/kept2'])
      writeSkill(join(workspace.dir, dir), 'x', [dir.replace('/', '_')]);
    const toolbox = workspace.toolbox();
    expect(await names(toolbox)).toHaveLength(4);
    workspace.config('paths = ["...", { ignore = "draft-*" }]\n');
    expect(await names(toolbox)).toEqual(['skills_kept', 'tools_kept2']);
    expect((await toolbox.call('skills_draft-a', {})).error?.code).toBe('not_found');
    workspace.config('paths = ["...", { ignore = "skills/*" }]\n');
    expect(await names(toolbox)).toEqual(['tools_draft-b', 'tools_kept2']);
    // It is still found by its path.
    expect(await wordOf(toolbox, './skills/kept')).toBe('x');
  });

  spec('RES-6 POL-11', 'of a project can name directories of its workdir only; others are a problem', async () => {
    const workspace = createSkillWorkspace();
    writeSkill(join(workspace.dir, 'lib/x'), 'lib', ['from_lib']);
    writeSkill(join(workspace.home, 'secret/x'), 'secret', ['from_secret']);
    const named = ['lib', '../home/secret', join(workspace.home, 'secret'), '~/secret', 'lib/../../home/secret'];
    const entries = [...named.map((dir) => JSON.stringify(dir)), '{ external = "~/secret" }'];
    project(workspace, `paths = ["...", ${entries.join(', ')}]\n`);
    const toolbox = workspace.toolbox();
    expect(await names(toolbox)).toEqual(['from_lib']);
    const problems = await toolbox.catalog.problems();
    expect(problems).toHaveLength(5);
    for (const problem of problems) {
      expect(problem).toMatchObject({
        severity: 'error',
        path: join(workspace.dir, '.agents/config.toml'),
        message: expect.stringContaining('outside its workdir'),
        hint: expect.stringContaining('~/.wield/config.toml'),
      });
    }
    expect(json(await wield(workspace, ['doctor', '--json'])).problems).toHaveLength(5);
  });

  spec('RES-6 POL-11', "keeps directories of the user's file, regardless of the project", async () => {
    const workspace = createSkillWorkspace();
    writeSkill(join(workspace.home, 'shared/x'), 'shared', ['from_user']);
    writeSkill(join(workspace.dir, 'lib/x'), 'lib', ['from_project']);
    workspace.config('paths = ["~/shared"]\n');
    const toolbox = workspace.toolbox();
    project(workspace, 'paths = ["lib"]\n');
    expect(await names(toolbox)).toEqual(['from_user']);
    project(workspace, 'paths = ["...", "lib"]\n');
    expect(await names(toolbox)).toEqual(['from_user', 'from_project']);
    workspace.config('');
    project(workspace, 'paths = ["lib"]\n');
    expect(await names(toolbox)).toEqual(['from_project']);
  });

  spec('RES-6', 'reports a missing directory unless it is a default', async () => {
    const workspace = createSkillWorkspace();
    const toolbox = workspace.toolbox();
    expect(await toolbox.catalog.problems()).toEqual([]);
    workspace.config('paths = ["...", "~/nowhere"]\n');
    expect(await toolbox.catalog.problems()).toMatchObject([
      { severity: 'warning', path: join(workspace.home, 'nowhere'), hint: expect.stringContaining('paths') },
    ]);
    for (const wrong of ['paths = "skills"', 'paths = [3]', 'paths = [{ ignore = "[" }]', 'paths = [{ a = "b" }]']) {
      workspace.config(`${wrong}\n`);
      expect(await toolbox.catalog.problems()).toMatchObject([{ message: expect.stringContaining('paths must be') }]);
    }
  });
});

describe('the owner', () => {
  spec('RES-5 POL-20', 'is a library outside the workspace, which needs no trust; inside it does', async () => {
    const workspace = createSkillWorkspace();
    const outside = join(workspace.home, 'lib');
    writeSkill(join(outside, 'x'), 'outside', ['outside']);
    writeSkill(join(workspace.dir, 'vendor/x'), 'inside', ['inside']);
    symlinkSync(join(workspace.dir, 'vendor'), join(workspace.home, 'link'));
    const open = (dir: string) => workspace.toolbox({ paths: ['...', { external: dir }] });
    const library = open(outside);
    expect((await library.find('outside')).origin.owner).toBe('library');
    expect(await wordOf(library, 'outside', { caller: MODEL })).toBe('outside');
    for (const dir of ['vendor', join(workspace.dir, 'vendor'), join(workspace.home, 'link')]) {
      const toolbox = open(dir);
      expect([dir, (await toolbox.find('inside')).origin.owner]).toEqual([dir, 'workspace']);
      expect(await wordOf(toolbox, 'inside', { caller: MODEL })).toBe('needs_trust');
      expect(await wordOf(toolbox, 'inside')).toBe('inside');
    }
  });

  spec('RES-5 POL-20', 'is not a library for a checkout after the workdir moved', async () => {
    const workspace = createSkillWorkspace();
    writeSkill(join(workspace.dir, 'vendor/x'), 'inside', ['inside']);
    mkdirSync(join(workspace.dir, 'sub'));
    const toolbox = workspace.toolbox({ paths: [{ external: join(workspace.dir, 'vendor') }] });
    toolbox.workspace.setWorkdir(join(workspace.dir, 'sub'));
    expect(await wordOf(toolbox, 'inside', { caller: MODEL })).toBe('needs_trust');
  });
});

describe('a program', () => {
  spec('RES-6', 'passes its own search path, with ... for that of the configuration', async () => {
    const workspace = createSkillWorkspace();
    writeSkill(join(workspace.dir, 'skills/x'), 'local', ['local']);
    writeSkill(join(workspace.dir, 'extra/x'), 'extra', ['extra']);
    expect(await names(workspace.toolbox({ paths: ['extra'] }))).toEqual(['extra']);
    expect(await names(workspace.toolbox({ paths: ['extra', '...'] }))).toEqual(['extra', 'local']);
    try {
      workspace.toolbox({ paths: [{ ignore: '[' }] });
      expect.unreachable();
    } catch (error) {
      expect(isToolError(error) && error.code).toBe('invalid_definition');
    }
  });

  spec('RES-11 RES-6', 'gets all searched directories in not_found', async () => {
    const workspace = createSkillWorkspace();
    const { error } = await workspace.toolbox().call('nothing', {});
    expect(error?.data?.searched).toEqual([
      ...DEFAULTS.map((dir) => join(workspace.dir, dir)),
      join(workspace.home, '.agents/skills'),
      join(workspace.dir, '.agents/tools'),
      join(workspace.home, '.agents/tools'),
    ]);
  });
});
