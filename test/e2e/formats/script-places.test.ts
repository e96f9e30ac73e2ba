// Precedence of scripts, the workdir and home, and changes of the workdir.

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { defineTool, textOf } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL = { kind: 'model', door: 'test' } as const;
const saying = (word: string): string => `#!/bin/sh\n# @description Say ${word}.\necho ${word}\n`;

function homeScript(workspace: Workspace, name: string, text: string): string {
  const path = join(workspace.home, '.agents/tools', name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  return path;
}

describe('precedence', () => {
  spec('SCR-17 RES-8 RES-12', 'prefers a programmatic tool, and lists the script as shadowed', async () => {
    const workspace = createWorkspace();
    workspace.script('greet', saying('script'));
    workspace.script('alpha', saying('alpha'));
    const greet = defineTool({ name: 'greet', description: 'Ours.', execute: () => 'program' });
    const zulu = defineTool({ name: 'zulu', description: 'Ours.', execute: () => 'zulu' });
    const toolbox = workspace.toolbox({ tools: [zulu, greet] });
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['greet', 'zulu', 'alpha']);
    expect(textOf(await toolbox.call('greet', {}))).toBe('program');
    const { shadowed } = await toolbox.catalog.survey();
    expect(shadowed).toHaveLength(1);
    expect(shadowed[0]!.tool.origin).toMatchObject({ format: 'script' });
    expect(shadowed[0]!.by.origin).toMatchObject({ format: 'module', uri: null });
  });

  spec('SCR-17 RES-12 CLI-6', 'marks a shadowed script in list --all', async () => {
    const workspace = createWorkspace();
    const winner = workspace.script('greet', saying('workdir'));
    homeScript(workspace, 'greet', saying('home'));
    workspace.script('workdir', saying('never'));
    const plain = json(await wield(workspace, ['list', '--json']));
    expect(plain.tools.map((tool: { name: string }) => tool.name)).toEqual(['greet']);
    const { tools } = json(await wield(workspace, ['list', '--all', '--json']));
    expect(tools).toMatchObject([
      { name: 'greet', description: 'Say workdir.', shadowedBy: null },
      { name: 'workdir', shadowedBy: 'builtin' },
      { name: 'greet', description: 'Say home.', shadowedBy: `file://${winner}` },
    ]);
    expect((await wield(workspace, ['list', '--all'])).stdout).toContain('shadowed by file://');
  });

  spec('SCR-25', "a person's own scripts come after the workdir's, for every workdir, and need no trust", async () => {
    const workspace = createWorkspace();
    workspace.script('both', saying('workdir'));
    workspace.script('zz', saying('zz'));
    homeScript(workspace, 'both', saying('home'));
    homeScript(workspace, 'mine', '#!/bin/sh\n# @description Where.\npwd\n');
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['both', 'zz', 'mine']);
    expect(textOf(await toolbox.call('both', {}))).toBe('workdir\n');
    expect(textOf(await toolbox.call('mine', {}, { caller: MODEL }))).toBe(`${workspace.dir}\n`);
    expect((await toolbox.call('both', {}, { caller: MODEL })).error?.code).toBe('needs_trust');
    expect((await toolbox.find('mine')).origin.owner).toBe('user');
    const elsewhere = join(workspace.dir, 'elsewhere');
    mkdirSync(elsewhere);
    toolbox.workspace.setWorkdir(elsewhere);
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['both', 'mine']);
    expect(textOf(await toolbox.call('both', {}))).toBe('home\n');
  });

  spec('SCR-25', 'lists the scripts once, as those of the user, if the workdir is the home directory', async () => {
    const workspace = createWorkspace();
    homeScript(workspace, 'mine', saying('mine'));
    const toolbox = workspace.toolbox({ workdir: workspace.home });
    expect(await toolbox.list()).toHaveLength(1);
    expect((await toolbox.catalog.survey()).shadowed).toEqual([]);
    expect((await toolbox.call('mine', {}, { caller: MODEL })).ok).toBe(true);
  });

  spec('SCR-25 RES-8', 'is not affected by a broken script of the workdir', async () => {
    const workspace = createWorkspace();
    workspace.script('both', '#!/bin/sh\necho no header\n');
    homeScript(workspace, 'both', saying('home'));
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map((tool) => tool.description)).toEqual(['Say home.']);
    expect(textOf(await toolbox.call('both', {}))).toBe('home\n');
    expect(await toolbox.catalog.problems()).toHaveLength(1);
  });
});

describe('the workdir tool', () => {
  spec('SCR-22', 'is listed if offered; callable by people always, by models only if offered', async () => {
    const workspace = createWorkspace();
    const quiet = workspace.toolbox();
    expect(await quiet.list()).toEqual([]);
    expect(textOf(await quiet.call('workdir', {}))).toBe(workspace.dir);
    expect((await quiet.call('workdir', {}, { caller: MODEL })).error?.code).toBe('not_found');
    const offering = workspace.toolbox({ offer: ['workdir'] });
    expect((await offering.list()).map((tool) => tool.name)).toEqual(['workdir']);
    expect(textOf(await offering.call('workdir', {}, { caller: MODEL }))).toBe(workspace.dir);
  });

  spec('SCR-22 SCR-16', 'changes to directories below the first workdir, and scripts follow', async () => {
    const workspace = createWorkspace();
    workspace.write('sub/.agents/tools/there', saying('there'), 0o755);
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('workdir', { path: 'sub' }))).toBe(join(workspace.dir, 'sub'));
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['there']);
    expect(textOf(await toolbox.call('there', {}))).toBe('there\n');
    expect(textOf(await toolbox.call('workdir', { path: '..' }))).toBe(workspace.dir);
  });

  spec('SCR-22', 'rejects paths outside, including sibling prefixes and links, and stays', async () => {
    const workspace = createWorkspace();
    mkdirSync(`${workspace.dir}-sibling`);
    symlinkSync('/', join(workspace.dir, 'out'));
    workspace.write('file', 'no directory');
    const toolbox = workspace.toolbox();
    const move = async (path: string) => (await toolbox.call('workdir', { path })).error?.code;
    for (const path of ['/', '..', `${workspace.dir}-sibling`, 'out', 'out/tmp', workspace.home, 'sub/../..']) {
      expect([path, await move(path)]).toEqual([path, 'path_escape']);
    }
    expect(await move('nowhere')).toBe('not_found');
    expect(await move('file')).toBe('not_found');
    expect(toolbox.workspace.workdir).toBe(workspace.dir);
  });

  spec('SCR-22', "the user's configuration names other roots, and a project's cannot", async () => {
    const workspace = createWorkspace();
    workspace.write('.agents/config.toml', '[workdir]\nroots = ["/"]\n');
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('workdir', { path: '/' })).error?.code).toBe('path_escape');
    workspace.config(`[workdir]\nroots = ["${workspace.home}"]\n`);
    expect((await toolbox.call('workdir', { path: '.' })).error?.code).toBe('path_escape');
    expect(textOf(await toolbox.call('workdir', { path: workspace.home }))).toBe(workspace.home);
  });
});
