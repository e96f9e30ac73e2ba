// Tests of wield search over the tools of a workspace.

import { expect } from 'vitest';
import type { Json } from '../../../src/core/json.js';
import { defineTool } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { finding, spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const script = (...header: string[]): string => `#!/bin/sh\n${header.map((line) => `# ${line}\n`).join('')}`;

spec('CLI-11', 'ranks visible tools by name, description, tags and parameters', async () => {
  const workspace = createWorkspace();
  workspace.script('deploy', script('@description Publish the site to staging.', '@param branch string Branch'));
  workspace.script('status', script('@description Tell whether the deployed site is up.'));
  workspace.script('invoice', script('@description Make one.', '@tag accounting'));
  workspace.script('secret', script('@description Deploy in secret.', '@hidden'));
  const find = async (...words: string[]) => {
    const found = json(await wield(workspace, ['search', ...words, '--json']));
    return found.results.map(({ name }: { name: string }) => name);
  };
  expect(await find('deploy')).toEqual(['deploy', 'status']);
  expect(await find('publishing', 'sites')).toEqual(['deploy', 'status']);
  expect(await find('which', 'branch')).toEqual(['deploy']);
  expect(await find('accounting')).toEqual(['invoice']);
  expect(json(await wield(workspace, ['search', 'invoice', '--json']))).toEqual({
    ok: true,
    installed: [],
    offers: [],
    schema: 1,
    query: 'invoice',
    results: [{ name: 'invoice', description: 'Make one.', format: 'script', group: null, tags: ['accounting'] }],
    unanswered: [],
  });
  expect((await wield(workspace, ['search', 'branch'])).stdout).toContain('Publish the site to staging.');
  expect((await wield(workspace, ['search', 'zebra'])).stdout).toContain('No matching tools');
  expect(await find('site', '--limit', '1')).toHaveLength(1);
  expect(json(await wield(workspace, ['search', '--json'])).results).not.toEqual([]);
  expect((await wield(workspace, ['search', 'x', '--limit', 'many'])).status).toBe(2);
});

spec('CLI-11', 'finds choices, nested parameters and compounds', async () => {
  const text = { type: 'string' } as const;
  const define = (name: string, properties: Record<string, Json>) =>
    defineTool({ name, description: 'Make one.', inputSchema: { type: 'object', properties }, execute: () => name });
  const toolbox = createWorkspace().toolbox({
    tools: [
      define('draw', { kind: { type: 'string', enum: ['treemap', 'sankey', 7] } }),
      define('book', { guests: { type: 'array', items: { type: 'object', properties: { passport: text } } } }),
      define('order', { address: { type: 'object', properties: { zip: { ...text, description: 'Postcode' } } } }),
      define('get_cashflow', {}),
      define('file_system', {}),
    ],
  });
  const find = async (query: string) => (await toolbox.search(query, 5)).map(({ name }) => name);
  expect(await find('a sankey diagram')).toEqual(['draw']);
  expect(await find('with a passport')).toEqual(['book']);
  expect(await find('postcodes')).toEqual(['order']);
  expect(await find('cash flow statement')).toEqual(['get_cashflow']);
  expect(await find('the filesystem')).toEqual(['file_system']);
});

spec('CLI-11', 'ranks an exact name first', async () => {
  const workspace = createWorkspace();
  const names = ['send', 'send_mail', 'send_mail_all', 'mail-send', 'mail'];
  for (const name of names) workspace.script(name, script('@description Send mail, send all mail, send mail to all.'));
  const toolbox = workspace.toolbox();
  for (const name of names) expect((await toolbox.search(name, 5))[0]?.name).toBe(name);
  expect((await toolbox.search('Send Mail All', 5))[0]?.name).toBe('send_mail_all');
});

spec('CLI-11', 'finds names by stop words if a query has nothing else', async () => {
  const workspace = createWorkspace();
  for (const name of ['get_user', 'getOrder', 'send_mail'])
    workspace.script(name, script('@description Get all of it.'));
  const find = async (query: string) => (await workspace.toolbox().search(query, 5)).map(({ name }) => name);
  for (const query of ['get', 'Get the']) expect(await find(query)).toEqual(['getOrder', 'get_user']);
  expect(await find('get mail')).toEqual(['send_mail']);
  expect(await find('make')).toEqual([]);
});

spec('CLI-11', 'finds tools of a skill by the current description of the skill', async () => {
  const workspace = createWorkspace();
  const describe = (text: string) =>
    workspace.write('.agents/skills/vault/SKILL.md', `---\nname: vault\ndescription: ${text}\n---\nText.\n`);
  describe('Notes about astronomy.');
  workspace.write(
    '.agents/skills/vault/tools.json',
    JSON.stringify({
      tools: [{ name: 'vault_list', description: 'List all.', parameters: { type: 'object', properties: {} } }],
      allowlist: { ls: [''] },
      execution: [{ tool: 'vault_list', binary: 'ls', subcommand: '', args: [] }],
    }),
  );
  const toolbox = workspace.toolbox();
  const find = async (query: string) => (await toolbox.search(query, 5)).map((tool) => tool.name);
  expect(await find('astronomy')).toEqual(['vault', 'vault_list']);
  describe('Notes about geology, and rocks.');
  expect(await find('astronomy')).toEqual([]);
  expect(await find('geology')).toEqual(['vault', 'vault_list']);
});

finding('D6 CLI-11', 'finds a tool by the description of a parameter, after tools that are about it', async () => {
  const workspace = createWorkspace();
  workspace.script('send', script('@description Send it.', '@param to string Postcode of the recipient'));
  workspace.script('postcode', script('@description Check one.', '@param q string Any text'));
  const found = json(await wield(workspace, ['search', 'postcode', '--json'])).results;
  expect(found.map(({ name }: { name: string }) => name)).toEqual(['postcode', 'send']);
});
