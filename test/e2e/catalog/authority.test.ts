// Tests of authority and cascade: main skills upward, `$inherit`, permissions that only narrow.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { findAuthority } from '../../../src/helpers.js';
import { createToolbox } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { json, wield } from '../../support/cli.js';
import { createSkillWorkspace, declare, writeSkill } from '../../support/commands.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MINUTE = 60_000;

/** A `SKILL.md` at the root of a directory below the workdir. */
function govern(workspace: Workspace, directory: string, name: string, header = ''): string {
  return workspace.write(join(directory, 'SKILL.md'), `---\nname: ${name}\ndescription: x\n${header}\n---\nText.\n`);
}

const authorityOf = async (toolbox: NodeToolbox, tool: string): Promise<string | undefined> =>
  (await findAuthority(toolbox, tool))?.name;

const timeoutOf = async (toolbox: NodeToolbox, tool: string): Promise<number> =>
  (await toolbox.plan(tool, {}, { checkInput: false })).plan.timeoutMs;

describe('authority', () => {
  spec('RES-16', 'is the main skill of the nearest directory upward', async () => {
    const workspace = createSkillWorkspace();
    workspace.script('run-it', shellScript('true'));
    workspace.skill('notes', { 'tools.json': declare([], { tool: 'note' }) });
    const toolbox = workspace.toolbox();
    expect(await authorityOf(toolbox, 'run-it')).toBeUndefined();
    expect(await authorityOf(toolbox, 'notes')).toBeUndefined();
    expect(await authorityOf(toolbox, 'note')).toBe('notes');

    govern(workspace, '.', 'project');
    expect(await authorityOf(toolbox, 'run-it')).toBe('project');
    expect(await authorityOf(toolbox, 'notes')).toBe('project');
    expect(await authorityOf(toolbox, 'note')).toBe('notes');

    govern(workspace, '.agents', 'agents');
    govern(workspace, '.agents/tools', 'tools');
    expect(await authorityOf(toolbox, 'run-it')).toBe('tools');
    expect(await authorityOf(toolbox, 'notes')).toBe('agents');
    expect(await findAuthority(toolbox, await toolbox.find('notes'))).toMatchObject({
      file: join(workspace.dir, '.agents/SKILL.md'),
      owner: 'workspace',
    });
  });

  spec('RES-16', 'of a tool that is not on disk is the main skill of the project', async () => {
    const workspace = createWorkspace();
    const tools = [{ name: 'given', description: 'x', execute: () => 1 }];
    const toolbox = workspace.toolbox({ tools });
    expect(await authorityOf(toolbox, 'given')).toBeUndefined();
    govern(workspace, '.', 'project');
    expect(await authorityOf(toolbox, 'given')).toBe('project');
    expect(await authorityOf(toolbox, 'workdir')).toBe('project');
    const plain = createToolbox({ tools });
    expect(await findAuthority(plain, 'given')).toBeNull();
    await expect(findAuthority(plain, 'other')).rejects.toMatchObject({ code: 'not_found' });
  });

  spec('RES-16', 'stops at the workdir and at the user directory', async () => {
    const workspace = createWorkspace();
    const own = join(workspace.home, '.agents');
    mkdirSync(join(own, 'tools'), { recursive: true });
    writeFileSync(join(own, 'tools/mine'), shellScript('true'), { mode: 0o755 });
    workspace.script('run-it', shellScript('true'));
    for (const directory of [join(workspace.dir, '..'), workspace.home])
      writeFileSync(join(directory, 'SKILL.md'), '---\nname: above\ndescription: x\n---\n');
    govern(workspace, '.', 'project');
    const toolbox = workspace.toolbox();
    expect(await authorityOf(toolbox, 'mine')).toBeUndefined();
    writeFileSync(join(own, 'SKILL.md'), '---\nname: own\ndescription: x\n---\n');
    expect(await findAuthority(toolbox, 'mine')).toMatchObject({ name: 'own', owner: 'user' });
    rmSync(join(workspace.dir, 'SKILL.md'));
    expect(await authorityOf(toolbox, 'run-it')).toBeUndefined();
  });

  spec('RES-16', 'that cannot be read is a problem, and the tools it governs may not call anything', async () => {
    const workspace = createWorkspace();
    workspace.script('run-it', shellScript('true'));
    const path = workspace.write('SKILL.md', 'allowed-tools: everything\n');
    const toolbox = workspace.toolbox();
    expect(await toolbox.catalog.problems()).toMatchObject([
      { severity: 'error', path, message: 'has no frontmatter' },
    ]);
    expect(await toolbox.catalog.cascade('run-it')).toMatchObject({ authority: null, permissions: [[]] });
  });
});

describe('the cascade', () => {
  spec(
    'RES-17',
    'applies own settings first, then those of the authority, then inherited ones, then defaults',
    async () => {
      const workspace = createSkillWorkspace();
      workspace.skill('notes', { 'tools.json': declare([], { tool: 'note' }) });
      workspace.script('own', shellScript('true', '@timeout 7s'));
      workspace.script('bare', shellScript('true'));
      const toolbox = workspace.toolbox({ trust: true });
      expect(await timeoutOf(toolbox, 'note')).toBe(5 * MINUTE);

      writeSkill(workspace, 'base', { header: 'metadata:\n  timeout: 4m\n  paths: [base]' });
      writeSkill(workspace, 'notes', { header: 'metadata:\n  $inherit: base' });
      expect(await timeoutOf(toolbox, 'note')).toBe(4 * MINUTE);
      writeSkill(workspace, 'notes', { header: 'metadata:\n  $inherit: [base]\n  timeout: 3m' });
      expect(await timeoutOf(toolbox, 'note')).toBe(3 * MINUTE);

      govern(workspace, '.', 'project', 'metadata:\n  timeout: 2m\n  trust: { rules: "*" }');
      expect(await timeoutOf(toolbox, 'own')).toBe(7000);
      expect(await timeoutOf(toolbox, 'bare')).toBe(2 * MINUTE);
      expect(await timeoutOf(toolbox, 'note')).toBe(3 * MINUTE);
      expect((await toolbox.catalog.cascade('note')).settings).toEqual({
        paths: { value: ['base'], from: 'base' },
      });
      expect((await toolbox.catalog.cascade('notes')).settings).toEqual({
        paths: { value: ['base'], from: 'base' },
        trust: { value: { rules: '*' }, from: 'project' },
      });
      workspace.config('[tools.note]\ntimeout = "9s"\n');
      expect(await timeoutOf(toolbox, 'note')).toBe(9000);
    },
  );

  spec('RES-17', 'continues upward without $inherit, and stops at false', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes', { 'tools.json': declare([], { tool: 'note' }) });
    govern(workspace, '.', 'project', 'metadata:\n  timeout: 2m\n  middleware: [retry]');
    govern(workspace, '.agents', 'agents', 'metadata:\n  timeout: 3m');
    const toolbox = workspace.toolbox({ trust: true });
    expect(await timeoutOf(toolbox, 'note')).toBe(3 * MINUTE);
    expect((await toolbox.catalog.cascade('note')).settings.middleware?.from).toBe('project');
    writeSkill(workspace, 'notes', { header: 'metadata:\n  $inherit: false' });
    expect(await timeoutOf(toolbox, 'note')).toBe(5 * MINUTE);
    // The skill itself still has an authority, but nothing above it.
    expect((await toolbox.catalog.cascade('notes')).timeout).toMatchObject({ from: 'agents' });
    expect((await toolbox.catalog.cascade('notes')).settings).toEqual({});
  });

  spec('RES-17', 'intersects the permissions of all levels', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('notes', { 'tools.json': declare([], { tool: 'note' }) });
    govern(workspace, '.', 'project', 'allowed-tools: a b');
    govern(workspace, '.agents', 'agents', 'allowed-tools: a c\nmetadata:\n  $inherit: base');
    writeSkill(workspace, 'base', { header: 'allowed-tools: [a, d]' });
    for (const inherit of ['', 'metadata:\n  $inherit: false', 'metadata:\n  $inherit: other']) {
      writeSkill(workspace, 'other', { header: 'allowed-tools: "*"' });
      writeSkill(workspace, 'notes', { header: `allowed-tools: a e\n${inherit}` });
      const toolbox = workspace.toolbox();
      for (const tool of ['note', 'notes']) {
        const { permissions } = await toolbox.catalog.cascade(tool);
        for (const list of [
          ['a', 'b'],
          ['a', 'c'],
          ['a', 'e'],
        ])
          expect(permissions).toContainEqual(list);
      }
      expect((await toolbox.catalog.cascade('notes')).permissions).toContainEqual(['a', 'd']);
    }
    const shown = json(await wield(workspace, ['show', 'notes', '--json']));
    expect(shown.cascade).toMatchObject({ authority: join(workspace.dir, '.agents/SKILL.md') });
    expect(shown.cascade.permissions).toContainEqual(['a', 'e']);
    expect((await wield(workspace, ['show', 'notes'])).stdout).toMatch(/governed +by agents, .*\n +may call +a e; and/);
  });

  spec('RES-17', 'does not inherit tags, visibility or the name', async () => {
    const workspace = createWorkspace();
    workspace.script('bare', shellScript('true'));
    govern(workspace, '.', 'project', 'metadata:\n  tags: [api]\n  visibility: hidden\n  role: x');
    const toolbox = workspace.toolbox();
    expect((await toolbox.find('bare')).traits).toMatchObject({ tags: [], hidden: false });
    expect((await toolbox.catalog.cascade('bare')).settings).toEqual({});
    expect((await toolbox.list()).map(({ name }) => name)).toContain('bare');
  });

  spec('RES-17', 'lets a workspace shorten time limits of others, and raise only its own when trusted', async () => {
    const workspace = createWorkspace();
    workspace.script('local', shellScript('true'));
    const tools = [{ name: 'given', description: 'x', execute: () => 1 }];
    const untrusted = workspace.toolbox({ tools });
    const trusted = workspace.toolbox({ tools, trust: true });
    govern(workspace, '.', 'project', 'metadata:\n  timeout: 60m');
    expect(await timeoutOf(trusted, 'local')).toBe(60 * MINUTE);
    expect(await timeoutOf(trusted, 'given')).toBe(5 * MINUTE);
    expect(await timeoutOf(untrusted, 'local')).toBe(5 * MINUTE);
    govern(workspace, '.', 'project', 'metadata:\n  timeout: 1m');
    for (const toolbox of [trusted, untrusted])
      for (const tool of ['local', 'given']) expect(await timeoutOf(toolbox, tool)).toBe(MINUTE);
  });

  spec('RES-15', 'with a cycle or a missing skill is a problem, and its tools do not run', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('a', { 'tools.json': declare([], { tool: 'one' }) });
    writeSkill(workspace, 'a', { header: 'metadata:\n  $inherit: b' });
    writeSkill(workspace, 'b', { header: 'metadata:\n  $inherit: [c, a]' });
    writeSkill(workspace, 'c');
    writeSkill(workspace, 'lost', { header: 'metadata:\n  $inherit: nowhere' });
    const toolbox = workspace.toolbox();
    expect((await toolbox.catalog.problems()).map(({ severity, message }) => [severity, message])).toEqual([
      ['error', 'skills inherit from each other in a cycle: a → b → a'],
      ['error', 'skills inherit from each other in a cycle: b → a → b'],
      ['error', 'lost inherits from "nowhere", which does not exist'],
    ]);
    for (const [tool, data] of [
      ['a', { circle: ['a', 'b', 'a'] }],
      ['one', { circle: ['a', 'b', 'a'] }],
      ['lost', { ref: 'nowhere' }],
    ] as const) {
      expect((await toolbox.call(tool, {})).error).toMatchObject({ code: 'invalid_ref', data });
    }
    expect(await authorityOf(toolbox, 'one')).toBe('a');
    writeSkill(workspace, 'b');
    expect((await toolbox.call('one', {})).ok).toBe(true);
  });

  spec.thorough('RES-15', 'resolves a dense graph of skills quickly', async () => {
    const workspace = createWorkspace();
    const names = Array.from({ length: 24 }, (_, index) => `s${index}`);
    for (const [index, name] of names.entries()) {
      const inherit = names.slice(index + 1);
      writeSkill(workspace, name, {
        header: `metadata:\n  $inherit: [${inherit.join(', ')}]\nallowed-tools: ${name}`,
      });
    }
    const { permissions } = await workspace.toolbox().catalog.cascade('s0');
    expect(permissions).toHaveLength(24);
  });

  spec('RES-18', 'follows every change of its dependencies', async () => {
    const workspace = createWorkspace();
    workspace.script('bare', shellScript('true'));
    const toolbox = workspace.toolbox({ trust: true });
    expect(await toolbox.catalog.cascade('bare')).toMatchObject({ authority: null, timeout: null });
    const file = govern(workspace, '.', 'project', 'metadata:\n  timeout: 2m\n  $inherit: base');
    expect((await toolbox.call('bare', {})).error?.code).toBe('invalid_ref');
    writeSkill(workspace, 'base', { header: 'allowed-tools: x' });
    expect(await toolbox.catalog.cascade('bare')).toMatchObject({
      timeout: { ms: 2 * MINUTE },
      permissions: [['x']],
    });
    writeSkill(workspace, 'base', { header: 'allowed-tools: y' });
    expect((await toolbox.catalog.cascade('bare')).permissions).toEqual([['y']]);
    govern(workspace, '.', 'project', 'metadata:\n  timeout: 3m');
    expect(await toolbox.catalog.cascade('bare')).toMatchObject({
      timeout: { ms: 3 * MINUTE },
      permissions: [],
    });
    govern(workspace, '.agents', 'nearer', 'metadata:\n  timeout: 4m');
    expect(await timeoutOf(toolbox, 'bare')).toBe(4 * MINUTE);
    rmSync(join(workspace.dir, '.agents/SKILL.md'));
    expect(await timeoutOf(toolbox, 'bare')).toBe(3 * MINUTE);
    rmSync(file);
    expect(await timeoutOf(toolbox, 'bare')).toBe(5 * MINUTE);

    workspace.write('other/SKILL.md', '---\nname: other\ndescription: x\nmetadata:\n  timeout: 1m\n---\n');
    workspace.write('other/.agents/tools/bare', shellScript('true'), 0o755);
    toolbox.workspace.setWorkdir(join(workspace.dir, 'other'));
    expect(await timeoutOf(toolbox, 'bare')).toBe(MINUTE);
  });
});
