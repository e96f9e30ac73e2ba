// Installed skills, agents and rules at the doors of wield.

import { readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { runAnthropicCall, toAnthropicTools } from '../../../src/adapters/anthropic/index.js';
import { textOf } from '../../../src/index.js';
import { connectStdio } from '../../support/clients.js';
import { createInstallWorkspace } from '../../support/install.js';
import { spec } from '../../support/spec.js';

const MODEL = { caller: { kind: 'model', door: 'mcp' } } as const;

const FILES = {
  'wield.toml': '[source]\nnamespace = "acme"\n',
  'skills/review/SKILL.md':
    '---\nname: review\ndescription: Review a change.\n---\nFollow references/rules.md. See {{self}}/references.\n',
  'skills/review/references/rules.md': 'Be kind.\n',
  'skills/bare/SKILL.md': 'No frontmatter.\n',
  'agents/helper.md': '---\nname: helper\ndescription: Helps with tests.\ntools: Read\n---\nYou help.\n',
  'rules/style.md': '# Style\n\nTabs.\n',
};

describe('installed texts', () => {
  spec('INS-80 RES-43', 'are listed, searched, read and called like skills', async () => {
    const workspace = createInstallWorkspace();
    workspace.source('kit', FILES);
    await workspace.json('add', '../sources/kit', '--yes');
    await workspace.json('install', '--all', '--yes');
    const { stdout } = await workspace.run('list');
    expect(stdout).toMatch(/acme:review +skill +Review a change\./);
    expect(stdout).toMatch(/acme:helper +agent +Helps with tests\./);
    expect(stdout).toMatch(/acme:style +rule /);
    expect((await workspace.run('list', '--format', 'agent')).stdout).not.toContain('acme:review');
    expect((await workspace.run('search', 'review a change')).stdout).toContain('acme:review');
    expect((await workspace.run('call', 'acme:style')).stdout).toContain('Tabs.');
    const toolbox = workspace.toolbox();
    expect((await toolbox.catalog.problems()).filter(({ path }) => path.includes('.wield'))).toEqual([]);
    const read = async (input: object) => textOf(await toolbox.call('read_skill', input, MODEL));
    const text = await read({ skill_name: 'acme:review' });
    const store = join(workspace.wieldHome, 'store/skill/acme:review');
    expect(text).toContain(`Directory of the skill: ${store}\n`);
    expect(text).toContain('references/rules.md (9 B)');
    expect(await read({ skill_name: 'acme:review', file: 'references/rules.md' })).toBe('Be kind.\n');
    // The path that the installed text itself names.
    const [, named = ''] = /See (\S+)\/references/.exec(readFileSync(join(store, 'SKILL.md'), 'utf8'))!;
    for (const at of [named, named.replace(/^~/, workspace.home)])
      expect(await read({ skill_name: 'acme:review', file: `${at}/references/rules.md` })).toBe('Be kind.\n');
    expect(await read({ skill_name: 'acme:helper' })).toContain('You help.');
    const instructions = await toolbox.workspace.instructions();
    for (const line of ['- acme:review: Review a change.', '- acme:helper: Helps with tests.', '- acme:style: '])
      expect(instructions).toContain(line);
    // A model is told of texts, and not offered a tool for each.
    expect((await toolbox.list(MODEL)).map(({ name }) => name).filter((name) => name.startsWith('acme'))).toEqual([]);
    const client = await connectStdio(workspace, 'newer');
    const uris = (await client.listResources()).resources.map(({ uri }) => uri);
    expect(uris).toContain('skill://acme/review/SKILL.md');
    const [content] = (await client.readResource({ uri: 'skill://acme/review/references/rules.md' })).contents;
    expect(content).toMatchObject({ text: 'Be kind.\n', mimeType: 'text/markdown' });
  });

  spec('RSC-22 INS-80', 'of agents are prompts, and tools of adapters read all of them', async () => {
    const workspace = createInstallWorkspace();
    workspace.source('kit', FILES);
    await workspace.json('add', '../sources/kit', '--yes');
    await workspace.json('install', '--all', '--yes');
    const client = await connectStdio(workspace, 'newer');
    const { prompts } = await client.listPrompts();
    expect(prompts.find(({ name }) => name === 'acme:helper')).toEqual({
      name: 'acme:helper',
      description: 'Helps with tests.',
    });
    expect(prompts.map(({ name }) => name).filter((name) => name.startsWith('acme'))).toEqual(['acme:helper']);
    const { description, messages } = await client.getPrompt({ name: 'acme:helper' });
    expect(description).toBe('Helps with tests.');
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'You help.\n' } }]);
    await expect(client.getPrompt({ name: 'acme:style' })).rejects.toThrow();

    const toolbox = workspace.toolbox();
    expect((await toAnthropicTools(toolbox)).map(({ name }) => name)).toContain('read_skill');
    const block = (skill: string) =>
      ({ type: 'tool_use', id: skill, name: 'read_skill', input: { skill_name: skill } }) as const;
    for (const [name, text] of [
      ['acme:helper', 'You help.'],
      ['acme:style', 'Tabs.'],
    ] as const)
      expect(JSON.stringify(await runAnthropicCall(toolbox, block(name)))).toContain(text);
    workspace.config('[trust]\nrules = ["acme:helper($deny)"]\n');
    const names = (await toolbox.catalog.prompts.list(MODEL)).map(({ name }) => name);
    expect(names).not.toContain('acme:helper');
    expect((await toolbox.catalog.prompts.get('acme:helper', {}, MODEL)).error?.code).toBe('denied');
  });

  spec('INS-80', 'change with the next install, and disappear with an uninstall', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('kit', FILES);
    await workspace.json('add', '../sources/kit', '--yes');
    await workspace.json('uninstall', 'acme:bare', 'acme:helper', 'acme:style', '--yes');
    const toolbox = workspace.toolbox();
    const names = async () => (await toolbox.list()).map(({ name }) => name);
    expect(await names()).toEqual(['read_skill', 'acme:review']);
    rmSync(join(source, 'skills/review/references'), { recursive: true });
    workspace.source('kit', { 'skills/review/SKILL.md': '---\nname: review\ndescription: Changed.\n---\nNew.\n' });
    await workspace.json('upgrade', '--yes');
    expect(textOf(await toolbox.call('acme:review', {}, MODEL))).toContain('New.');
    expect((await toolbox.find('acme:review')).description).toBe('Changed.');
    await workspace.json('uninstall', 'acme:review', '--yes');
    expect(await names()).toEqual([]);
  });

  spec('INS-80 POL-8', 'can be denied like tools, and run no code of their own', async () => {
    const workspace = createInstallWorkspace();
    workspace.source('kit', {
      'skills/code/SKILL.md':
        '---\nname: code\ndescription: Runs.\nmetadata:\n  delegate:\n    code: export default () => "RAN"\n---\nText.\n',
      'skills/other/SKILL.md': '---\nname: other\ndescription: Other.\n---\nText.\n',
    });
    await workspace.json('add', '../sources/kit', '--yes');
    await workspace.json('install', '--all', '--yes');
    workspace.config('[trust]\nrules = ["other($deny)"]\n');
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('code', {}, MODEL)).error?.code).toBe('not_found');
    expect(textOf(await toolbox.call('read_skill', { skill_name: 'code' }, MODEL))).toContain('Text.');
    expect((await toolbox.call('read_skill', { skill_name: 'other' }, MODEL)).error?.code).toBe('not_found');
  });

  spec('INS-81', 'are linked by a name of the skill format', async () => {
    const workspace = createInstallWorkspace();
    workspace.source('kit', FILES);
    await workspace.json('add', '../sources/kit', '--yes');
    const skills = join(workspace.home, '.claude/skills');
    expect(readdirSync(skills)).toEqual(['acme-bare', 'acme-review']);
    expect(readFileSync(join(skills, 'acme-review/references/rules.md'), 'utf8')).toBe('Be kind.\n');
    // A home on the search path has the same skills, not more, and nothing to warn of.
    workspace.config('paths = ["~/.claude/skills", "..."]\n');
    expect((await workspace.run('doctor')).stdout).not.toMatch(/warning|problem/);
    const names = (await workspace.toolbox().list()).map(({ name }) => name);
    expect(names.filter((name) => /review/.test(name))).toEqual(['acme:review']);
    workspace.source('other', {
      'wield.toml': '[source]\nnamespace = "acme-review"\n',
      'skills/x/SKILL.md': '---\nname: x\ndescription: D.\n---\n',
    });
    workspace.source('third', {
      'wield.toml': '[source]\nnamespace = "acme"\n',
      'skills/review-x/SKILL.md': '---\nname: review-x\ndescription: D.\n---\n',
    });
    await workspace.json('add', '../sources/other', '--yes');
    expect(await workspace.fail('add', '../sources/third', '--yes')).toMatchObject({ code: 'conflict' });
  });

  spec('INS-82', 'a link may leave the item, but not the source', async () => {
    const workspace = createInstallWorkspace();
    const files = (name: string) => ({
      [`skills/${name}/SKILL.md`]: `---\nname: ${name}\ndescription: D.\n---\nText.\n`,
    });
    const source = workspace.source('kit', {
      ...Object.assign({}, ...['good', 'out', 'loop', 'git', 'gone'].map(files)),
      'shared/style.md': 'Shared.\n',
      'shared/deep/a.md': 'Deep.\n',
      '.git/config': 'SECRET',
    });
    const link = (target: string, path: string) => symlinkSync(target, join(source, 'skills', path));
    link('../../shared/style.md', 'good/style.md');
    link('../../shared', 'good/shared');
    link(workspace.write('secret.txt', 'SECRET'), 'out/secret.txt');
    link('..', 'loop/all');
    link('../../.git', 'git/config');
    link('nowhere', 'gone/x');
    const { stdout } = await workspace.run('add', '../sources/kit', '--yes');
    expect(stdout).toContain('installed  skill good');
    const { items } = await workspace.json('list', '--installed');
    expect(items.map(({ effective }: { effective: string }) => effective)).toEqual(['good']);
    const toolbox = workspace.toolbox();
    for (const [file, text] of [
      ['style.md', 'Shared.\n'],
      ['shared/deep/a.md', 'Deep.\n'],
    ])
      expect(textOf(await toolbox.call('read_skill', { skill_name: 'good', file }, MODEL))).toBe(text);
    const again = await workspace.run('install', '--all', '--yes');
    expect(again.stdout + again.stderr).toMatch(/leads out of its directory/);
    expect(again.stdout).not.toContain('up to date');
    expect((await workspace.run('upgrade', '--yes')).stdout).toContain('up to date');
  });
});
