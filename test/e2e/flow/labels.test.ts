// Labels of tools: where they come from, where they are shown, and that results carry them.

import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { defineTool } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { callTool, connectStdio } from '../../support/clients.js';
import { declare } from '../../support/commands.js';
import { createLabelled, inSession } from '../../support/labelled.js';
import { createModuleWorkspace } from '../../support/modules.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const SERVER = `
const tools = [
  { name: 'browse', inputSchema: { type: 'object' }, annotations: { openWorldHint: true, readOnlyHint: true } },
  { name: 'post', inputSchema: { type: 'object' }, annotations: { openWorldHint: true } },
  { name: 'add', inputSchema: { type: 'object' }, annotations: { openWorldHint: false } },
];
const info = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'web', version: '1' } };
const results = { initialize: info, 'tools/list': { tools }, 'tools/call': { content: [{ type: 'text', text: 'hi' }] } };
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'unknown' } };
  console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
});
`;
const OFFERS = `import { definePrompt, defineResource } from 'wield';
export const listed = defineResource({ uri: 'notes://all', name: 'all', read: () => 'tea' });
export const other = defineResource({ uri: 'other://all', name: 'other', read: () => 'tea' });
export const review = definePrompt({
  name: 'review',
  description: 'Review.',
  get: async (_: unknown, { toolbox }: any) => String((await toolbox.call('fetch_page', {})).ok),
});
`;
const OPENAPI = {
  openapi: '3.0.3',
  info: { title: 'T', version: '1' },
  servers: [{ url: 'http://127.0.0.1:9' }],
  paths: {
    '/people': {
      get: { operationId: 'people', 'x-wield-labels': ['private'], responses: {} },
      post: { operationId: 'invite', responses: {} },
    },
  },
};

function createSources() {
  const workspace = createWorkspace();
  const server = workspace.write('server.cjs', SERVER);
  const api = workspace.write('api.json', JSON.stringify(OPENAPI));
  workspace.config(
    `[labels]
untrusted = ["#web", "plain"]
[mcpServers.web]
command = ${JSON.stringify(process.execPath)}
args = [${JSON.stringify(server)}]
[openapi.api]
spec = ${JSON.stringify(api)}
`,
  );
  workspace.script('headed', shellScript('echo hi', '@label untrusted, Company-Data'));
  workspace.script('tagged', shellScript('echo hi', '@tag web'));
  workspace.script('plain', shellScript('echo hi'));
  workspace.write(
    '.agents/tools/defined.tool.mjs',
    `import { defineTool } from 'wield';
export default defineTool({ name: 'defined', description: 'D.', labels: ['egress'], execute: () => 'hi' });\n`,
  );
  const declared = declare([], { tool: 'declared', binary: 'true', allowlist: { true: [''] } });
  const tools = declared.tools.map((tool) => ({ ...tool, labels: ['private'] }));
  workspace.write('.agents/skills/declaring/SKILL.md', '---\nname: declaring\ndescription: D.\n---\nText.\n');
  workspace.write('.agents/skills/declaring/tools.json', JSON.stringify({ ...declared, tools }));
  workspace.write('.agents/config.toml', '[labels]\nprivate = ["plain"]\nuntrusted = []\n');
  return workspace;
}

const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  headed: ['company-data', 'untrusted'],
  tagged: ['untrusted'],
  plain: ['private', 'untrusted'],
  defined: ['egress'],
  declared: ['private'],
  web_browse: ['untrusted'],
  web_post: ['egress', 'untrusted'],
  web_add: [],
  people: ['private', 'untrusted'],
  invite: ['egress', 'untrusted'],
};

describe.concurrent('labels of tools', () => {
  spec(
    'FLW-1 FLW-2',
    'come from headers, definitions, hints and all files; list, show and explain show them',
    async () => {
      const workspace = createSources();
      await wield(workspace, ['trust', '--yes']);
      const { tools } = json(await wield(workspace, ['list', '--json']));
      const labels = Object.fromEntries(tools.map(({ name, labels }: never) => [name, labels]));
      expect(labels).toMatchObject(EXPECTED);
      expect(json(await wield(workspace, ['show', 'headed', '--json'])).labels).toEqual(EXPECTED.headed);
      expect((await wield(workspace, ['show', 'headed'])).stdout).toMatch(/labels +company-data, untrusted/);
      expect(json(await wield(workspace, ['explain', 'web_post', '--json'])).labels).toEqual(EXPECTED.web_post);
      const client = await connectStdio(workspace, 'older');
      for (const name of ['headed', 'web_browse'])
        expect(await callTool(client, name, {})).toMatchObject({ _meta: { 'wield/labels': EXPECTED[name] } });
      expect(await callTool(client, 'web_add', {})).not.toHaveProperty(['_meta', 'wield/labels']);
    },
    120_000,
  );

  for (const protocol of ['older', 'newer'] as const)
    spec('FLW-1', `resources and prompts have them too (${protocol} protocol)`, async () => {
      const workspace = createModuleWorkspace();
      workspace.config('[labels]\nuntrusted = ["resource:notes:*"]\nprivate = ["prompt:review"]\n');
      workspace.script('fetch_page', shellScript('echo obey', '@label untrusted'));
      workspace.module('notes.tool.ts', OFFERS);
      const client = await connectStdio(workspace, protocol, ['--trust']);
      const read = (uri: string) => client.readResource({ uri });
      expect(await read('notes://all')).toMatchObject({ _meta: { 'wield/labels': ['untrusted'] } });
      expect(await read('other://all')).not.toHaveProperty(['_meta', 'wield/labels']);
      // Also those of the calls that make it.
      expect(await client.getPrompt({ name: 'review' })).toMatchObject({
        _meta: { 'wield/labels': ['private', 'untrusted'] },
      });
      const { sessions } = json(await wield(workspace, ['approvals', 'sessions', '--json']));
      expect(sessions).toMatchObject([{ labels: [{ tool: 'resource:notes://all' }, { tool: 'prompt:review' }] }]);
    });

  spec('FLW-1', 'a result has those of the calls inside it, also if it failed or is from a cache', async () => {
    const workspace = createLabelled('[[middleware]]\nuse = "cache"\nfor = "digest"\n');
    const digest = defineTool({
      name: 'digest',
      description: 'Reads.',
      readOnly: true,
      execute: async (_, { toolbox }) => {
        await toolbox.call('fetch_page', {});
        return 'short';
      },
    });
    const failing = defineTool({
      name: 'failing',
      description: 'Fails.',
      labels: ['untrusted'],
      execute: () => {
        throw new Error('obey me');
      },
    });
    const toolbox = workspace.open([digest, failing]);
    const first = await toolbox.call('digest', {}, { caller: inSession('one') });
    expect(first.meta.labels).toEqual(['untrusted']);
    const again = await toolbox.call('digest', {}, { caller: inSession('two') });
    expect(again.meta).toMatchObject({ cached: true, labels: ['untrusted'] });
    expect(await toolbox.call('failing', {})).toMatchObject({ ok: false, meta: { labels: ['untrusted'] } });
    expect((await toolbox.call('note', {})).meta).not.toHaveProperty('labels');
    const sessions = await toolbox.state.labels.list();
    expect(sessions.map(({ labels }) => labels.map(({ label }) => label))).toEqual([
      ['untrusted'],
      ['untrusted'],
      ['untrusted'],
    ]);
  });

  spec(
    'FLW-2',
    'a selector with arguments, a directive or a condition, and an invalid name, deny everything',
    async () => {
      const workspace = createLabelled();
      const toolbox = workspace.open();
      const lines = [
        'untrusted = ["x(a=b)"]',
        'untrusted = ["x($deny)"]',
        'untrusted = ["x($after=private)"]',
        'untrusted = ["x("]',
        'Untrusted = ["x"]',
        '"a b" = ["x"]',
        'untrusted = 1',
      ];
      for (const line of lines) {
        workspace.config(`[labels]\n${line}\n`);
        const { error } = await toolbox.call('note', {}, { caller: inSession('one') });
        expect([line, error?.code]).toEqual([line, 'denied']);
        expect(error?.message).toContain(join(workspace.env.WIELD_HOME!, 'config.toml:2'));
      }
    },
  );

  spec('FLW-2', 'a label that selects nothing is reported by doctor', async () => {
    const workspace = createLabelled('[labels]\nuntrusted = ["fech_*"]\n');
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toContain('fech_* matches no tool');
  });
});
