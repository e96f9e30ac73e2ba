// Skills of upstream servers at the doors of wield: listed, searched, called and read with `read_skill` by name.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { logRecords } from '../../support/audit.js';
import { wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { spec } from '../../support/spec.js';
import { trustNow } from '../../support/trusted.js';
import { createSkillServer, toSkill } from '../../support/upstream-skills.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

const NOTES = toSkill('skill://notes', {
  'SKILL.md': '---\nname: notes\n---\nRead references/a b.md first.\n',
  'references/a b.md': 'All about apples.',
  'scripts/run.sh': '#!/bin/sh\n',
});

describe.concurrent('skills of a server', () => {
  spec('SKL-14', 'are listed, found, called and read by name, with their files', async () => {
    const { workspace } = createSkillServer([
      NOTES,
      toSkill('skill://acme/billing/refunds', { 'SKILL.md': 'Pay back.' }),
    ]);
    const listed = await wield(workspace, ['list']);
    expect(listed.stdout).toMatch(/far_notes .*How to use notes\./);
    expect(listed.stdout).toContain('far_acme_billing_refunds');
    expect((await wield(workspace, ['search', 'how', 'to', 'use', 'notes'])).stdout).toContain('far_notes');
    expect((await wield(workspace, ['call', 'far_notes'])).stdout).toContain('Read references/a b.md first.');
    expect((await wield(workspace, ['show', 'far_notes'])).stdout).toContain('How to use notes.');

    const client = await connectStdio(workspace, 'newer');
    const names = (await client.listTools()).tools.map(({ name }) => name);
    expect(names).toContain('read_skill');
    expect(names).not.toContain('far_notes');
    expect(client.getInstructions()).toContain('- far_notes: How to use notes.');
    const read = async (input: object) =>
      textOf((await client.callTool({ name: 'read_skill', arguments: { ...input } })) as never);
    const text = await read({ skill_name: 'far_notes' });
    expect(text).toContain('Read references/a b.md first.');
    expect(text).toContain('A skill of the MCP server far');
    expect(text).toContain('references/a b.md (17 B)');
    expect(await read({ skill_name: 'far_notes', file: 'references/a b.md' })).toBe('All about apples.');
    expect(await read({ skill_name: 'far_notes', file: 'skill://far/notes/references/a b.md' })).toContain('apples');
    expect(await read({ skill_name: 'far_notes', file: 'references' })).toContain('references/a b.md');
    expect(await read({ skill_name: 'far_acme_billing_refunds' })).toContain('Pay back.');
    expect(await read({ skill_name: 'far_notes', file: 'b.md' })).toContain('has no file b.md');
    expect(await read({ skill_name: 'far_note' })).toContain('did you mean far_notes');
    // Each file is read in a nested call with its own decision.
    const records = logRecords(workspace).filter(({ parent }) => parent !== undefined);
    expect(records.map(({ tool, verdict }) => `${tool} ${verdict}`)).toContain(
      'resource:skill://far/notes/references/a%20b.md allow',
    );
  });

  spec('SKL-14', 'give way to tools and skills of their name', async () => {
    const tool = { name: 'notes', description: 'A tool.', inputSchema: { type: 'object' } };
    const { workspace } = createSkillServer([NOTES, toSkill('skill://own', { 'SKILL.md': 'Theirs.' })], {
      tools: [tool],
    });
    workspace.write('.agents/skills/far_own/SKILL.md', '---\nname: far_own\ndescription: Mine.\n---\nMine.\n');
    const toolbox = workspace.toolbox();
    const read = async (name: string) => textOf(await toolbox.call('read_skill', { skill_name: name }, MODEL));
    const found = (await toolbox.list()).filter(({ name }) => name.startsWith('far_'));
    expect(found.map(({ name, description }) => `${name} ${description}`).sort()).toEqual([
      'far_notes A tool.',
      'far_own Mine.',
    ]);
    expect((await toolbox.find('far_own')).description).toBe('Mine.');
    expect((await toolbox.find('far_notes')).description).toBe('A tool.');
    expect(await read('far_own')).toContain('Mine.');
    expect(await read('far_notes')).toContain('Read references');
    await toolbox.close();
  });

  spec('SKL-14 POL-8', 'are hidden and not read if a rule denies them, by any of their names', async () => {
    for (const rule of ['far_notes', 'resource:skill://far/notes/*', 'resource:mcp://far/*', 'far_*']) {
      const { workspace } = createSkillServer([NOTES]);
      workspace.config(`[trust]\nrules = ["${rule}($deny)"]\n`);
      const toolbox = workspace.toolbox();
      await toolbox.list();
      const { error } = await toolbox.call('read_skill', { skill_name: 'far_notes' }, MODEL);
      expect(error?.message, rule).toBe('skill not found: far_notes');
      expect((await toolbox.call('far_notes', {}, MODEL)).error?.code, rule).toBe('denied');
      for (const file of ['SKILL.md', 'references/a%20b.md', 'x/../references/a%20b.md']) {
        const uri = `skill://far/notes/${file}`;
        expect((await toolbox.catalog.resources.read(uri, MODEL)).error?.code, `${rule} ${file}`).toBe('denied');
      }
      expect(await toolbox.workspace.instructions()).not.toContain('far_notes');
      expect((await toolbox.search('notes', 10, MODEL)).map(({ name }) => name)).not.toContain('far_notes');
      await toolbox.close();
    }
  });

  spec('SKL-14', 'that are not denied whole are read file by file', async () => {
    const { workspace } = createSkillServer([NOTES]);
    workspace.config('[trust]\nrules = ["resource:skill://far/notes/references/*($deny)"]\n');
    const toolbox = workspace.toolbox();
    await toolbox.list();
    const read = async (file?: string) => toolbox.call('read_skill', { skill_name: 'far_notes', file }, MODEL);
    expect(textOf(await read())).toContain('Read references');
    expect((await read('references/a b.md')).error?.code).toBe('denied');
    await toolbox.close();
  });

  spec('SKL-14 POL-20', 'of a workspace need its trust', async () => {
    const { workspace } = createSkillServer([NOTES], { isProject: true });
    const toolbox = workspace.toolbox();
    trustNow(workspace);
    expect((await toolbox.list()).map(({ name }) => name)).toContain('far_notes');
    expect(await toolbox.workspace.instructions()).toContain('far_notes');
    rmSync(join(workspace.env.WIELD_HOME!, 'trust.json'));
    expect(await toolbox.workspace.instructions()).not.toContain('far_notes');
    for (const [name, input] of [
      ['far_notes', {}],
      ['read_skill', { skill_name: 'far_notes' }],
    ] as const)
      expect((await toolbox.call(name, input, MODEL)).error?.code, name).toBe('needs_trust');
    await toolbox.close();
  });
});
