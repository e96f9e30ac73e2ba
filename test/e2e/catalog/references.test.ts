// Tests of references in the toolbox, nested calls and the command line: names, paths, URIs, fragments.

import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect } from 'vitest';
import { isToolError, textOf } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { json, wield } from '../../support/cli.js';
import { createSkillWorkspace, type SkillWorkspace, writeSkill } from '../../support/search.js';
import { spec } from '../../support/spec.js';

const saying = (word: string): string => `#!/bin/sh\n# @description Says ${word}.\necho ${word}\n`;

async function refuse(toolbox: NodeToolbox, ref: string) {
  try {
    const { origin } = await toolbox.find(ref);
    return expect.unreachable(`${ref} is ${origin.uri}`);
  } catch (error) {
    if (!isToolError(error)) throw error;
    return { code: error.code, message: error.message, hint: error.hint, data: error.data };
  }
}

const say = async (toolbox: NodeToolbox, ref: string): Promise<string> => {
  const result = await toolbox.call(ref, {});
  return result.error?.code ?? textOf(result).trim();
};

function create(): { workspace: SkillWorkspace; toolbox: NodeToolbox } {
  const workspace = createSkillWorkspace();
  return { workspace, toolbox: workspace.toolbox() };
}

describe('a path', () => {
  spec('RES-2 RES-1', 'finds a script outside the search path, relative, absolute and below home', async () => {
    const { workspace, toolbox } = create();
    workspace.script('greet', saying('listed'));
    const path = workspace.write('lab/greet', saying('direct'), 0o755);
    mkdirSync(join(workspace.home, 'own'));
    symlinkSync(path, join(workspace.home, 'own/greet'));
    expect(await say(toolbox, 'greet')).toBe('listed');
    for (const ref of ['lab/greet', './lab/greet', './lab/../lab/greet', path, '~/own/greet'])
      expect([ref, await say(toolbox, ref)]).toEqual([ref, 'direct']);
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['greet']);
    expect((await toolbox.find('lab/greet')).origin).toMatchObject({
      uri: pathToFileURL(path).href,
      owner: 'workspace',
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  spec('RES-2', 'below home is not found without a home directory', async () => {
    const { workspace } = create();
    const toolbox = workspace.toolbox({ env: { ...workspace.env, HOME: '' } });
    expect((await refuse(toolbox, '~/own/greet')).code).toBe('not_found');
  });

  spec('RES-2', 'finds the tools of a skill by its directory or its tools.json', async () => {
    const { workspace, toolbox } = create();
    writeSkill(join(workspace.dir, 'lab/one'), 'single', ['alone']);
    for (const ref of ['lab/one', 'lab/one/', './lab/one/tools.json'])
      expect([ref, await say(toolbox, ref)]).toEqual([ref, '["say","single"]']);
    expect((await refuse(toolbox, './lab/one/other.json')).code).toBe('not_found');
  });

  spec('RES-2', 'with several tools needs a fragment, and lists them', async () => {
    const { workspace, toolbox } = create();
    writeSkill(join(workspace.dir, 'lab/two'), 'pair', ['first', 'second']);
    const { code, hint, data } = await refuse(toolbox, 'lab/two');
    expect([code, data]).toEqual(['ambiguous', { names: ['first', 'second'] }]);
    expect(hint).toContain('lab/two#first');
    expect((await toolbox.find('lab/two#second')).name).toBe('second');
    expect((await toolbox.find('./lab/two/tools.json#first')).name).toBe('first');
    expect(await refuse(toolbox, 'lab/two#third')).toMatchObject({
      code: 'not_found',
      data: { names: ['first', 'second'] },
      hint: expect.stringContaining('lab/two#first'),
    });
  });

  spec('RES-2', 'distinguishes missing files, directories without tools and broken files', async () => {
    const { workspace, toolbox } = create();
    workspace.write('lab/plain', 'no script\n', 0o755);
    workspace.write('lab/text', saying('x'), 0o644);
    expect(await refuse(toolbox, './nothing')).toMatchObject({ code: 'not_found' });
    expect(await refuse(toolbox, './lab')).toMatchObject({ code: 'not_found' });
    expect(await refuse(toolbox, './lab/plain')).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining('shebang'),
    });
    expect(await refuse(toolbox, './lab/text')).toMatchObject({
      code: 'not_found',
      hint: expect.stringContaining('chmod +x'),
    });
    for (const ref of ['/', '/dev/null', '~', '..', '/proc/self/mem'])
      expect([ref, (await refuse(toolbox, ref)).code]).toEqual([ref, 'not_found']);
  });

  spec('RES-2 RES-14', 'reflects an edit, a removal and a restore at once', async () => {
    const { workspace, toolbox } = create();
    const write = (word: string) => workspace.write('lab/greet', saying(word), 0o755);
    write('one');
    expect(await say(toolbox, 'lab/greet')).toBe('one');
    write('two');
    expect(await say(toolbox, 'lab/greet')).toBe('two');
    workspace.write('lab/greet', saying('three'), 0o644);
    expect(await say(toolbox, 'lab/greet')).toBe('not_found');
    write('four');
    expect(await say(toolbox, 'lab/greet')).toBe('four');
  });
});

describe('a URI', () => {
  spec('RES-2', 'of a file is decoded to its path, also with a fragment', async () => {
    const { workspace, toolbox } = create();
    const odd = workspace.write('la b/#1/greet', saying('odd'), 0o755);
    const skill = writeSkill(join(workspace.dir, 'la b/two'), 'pair', ['first', 'second']);
    expect(await say(toolbox, pathToFileURL(odd).href)).toBe('odd');
    expect((await toolbox.find(`${pathToFileURL(skill).href}#second`)).name).toBe('second');
    expect((await refuse(toolbox, pathToFileURL(skill).href)).code).toBe('ambiguous');
    expect((await refuse(toolbox, 'file:///nothing')).code).toBe('not_found');
    for (const ref of ['file:greet', 'file://elsewhere/greet', 'file:///a%2Fb', 'file:///a%00b'])
      expect([ref, (await refuse(toolbox, ref)).code]).toEqual([ref, 'invalid_ref']);
  });

  spec('RES-2', 'from a listing finds the same tool', async () => {
    const { workspace, toolbox } = create();
    workspace.script('greet', saying('listed'));
    writeSkill(join(workspace.dir, '.agents/skills/one'), 'single', ['alone']);
    for (const tool of await toolbox.list()) expect((await toolbox.find(tool.origin.uri!)).name).toBe(tool.name);
  });
});

describe('a name', () => {
  spec('RES-1', 'that is in no catalog is tried as a file of the workdir', async () => {
    const { workspace, toolbox } = create();
    workspace.write('Say_It', saying('file'), 0o755);
    expect(await say(toolbox, 'Say_It')).toBe('file');
    writeSkill(join(workspace.dir, 'pack'), 'pair', ['first', 'second']);
    expect((await refuse(toolbox, 'pack')).code).toBe('ambiguous');
    expect((await toolbox.find('pack#second')).name).toBe('second');
    workspace.script('Say_It', saying('tool'));
    expect(await say(toolbox, 'Say_It')).toBe('tool');
  });

  spec(
    'RES-1 RES-11',
    'that does not exist is not_found with similar names; an invalid one is invalid_ref',
    async () => {
      const { workspace, toolbox } = create();
      workspace.script('greet', saying('x'));
      workspace.write('README', 'text\n');
      expect(await refuse(toolbox, 'gret')).toMatchObject({
        code: 'not_found',
        data: { nearest: ['greet'] },
      });
      expect((await refuse(toolbox, 'README')).code).toBe('not_found');
      for (const ref of ['a b', 'gr€t', 'greet#x', '-x'])
        expect([ref, (await refuse(toolbox, ref)).code]).toEqual([ref, 'invalid_ref']);
    },
  );
});

spec('RES-19', 'find, plan, call and nested calls accept the same references', async () => {
  const workspace = createSkillWorkspace();
  const path = workspace.write('lab/greet', saying('direct'), 0o755);
  const outer = {
    name: 'outer',
    description: 'Calls another.',
    inputSchema: { type: 'object', properties: { ref: { type: 'string' } } } as const,
    execute: async ({ ref }: { ref: string }, context: { toolbox: { call(ref: string, input: unknown): unknown } }) =>
      context.toolbox.call(ref, {}),
  };
  const toolbox = workspace.toolbox({ tools: [outer] });
  for (const ref of ['lab/greet', path, pathToFileURL(path).href]) {
    expect((await toolbox.find(ref)).origin.uri).toBe(pathToFileURL(path).href);
    expect((await toolbox.plan(ref, {})).plan.tool.name).toBe('greet');
    expect(textOf(await toolbox.call(ref, {})).trim()).toBe('direct');
    expect(textOf(await toolbox.call('outer', { ref }))).toContain('direct');
  }
  expect((await toolbox.call('./nothing', {})).error?.code).toBe('not_found');
});

describe('the command line', () => {
  spec(
    'RES-19 RES-2',
    'accepts the same references; a relative path is resolved against the current directory',
    async () => {
      const { workspace } = create();
      workspace.script('hello', saying('hello'));
      const path = workspace.write('lab/greet', saying('direct'), 0o755);
      writeSkill(join(workspace.dir, 'lab/two'), 'pair', ['first', 'second']);
      const lab = join(workspace.dir, 'lab');
      const call = async (ref: string, cwd = workspace.dir) => {
        const run = await wield(workspace, ['call', ref], { cwd });
        return run.stdout.trim() || run.status;
      };
      expect(await call('./lab/greet')).toBe('direct');
      expect(await call('./greet', lab)).toBe('direct');
      expect(await call(pathToFileURL(path).href, lab)).toBe('direct');
      expect(await call('two/tools.json#first', lab)).toBe('["say","pair"]');
      expect(await call('./two', lab)).toBe(4);
      expect(await call('hello', lab)).toBe('hello');
      expect(await call('./hello', lab)).toBe(3);
      const shown = json(await wield(workspace, ['show', './greet', '--json'], { cwd: lab }));
      expect(shown).toMatchObject({ name: 'greet', action: { file: path }, verdict: { verdict: 'allow' } });
      const help = await wield(workspace, ['call', './greet', '--help'], { cwd: lab });
      expect(help.stdout).toContain('wield call ./greet');
      expect(json(await wield(workspace, ['call', './two', '--json'], { cwd: lab })).error).toMatchObject({
        code: 'ambiguous',
        data: { names: ['first', 'second'] },
      });
    },
  );
});
