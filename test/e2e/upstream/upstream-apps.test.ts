// MCP Apps of upstream servers: their pages, the tools only they call, and what they name.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { logRecords } from '../../support/audit.js';
import { connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { createServeTransport } from '../../support/serve.js';
import { onEnd } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { configureServers } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SERVER = fileURLToPath(new URL('../../support/offers-server.mjs', import.meta.url));
const INPUT = { inputSchema: { type: 'object' } };
const PAGE = 'ui://app/page.html';
const HTML = { uri: PAGE, name: 'page', mimeType: 'text/html;profile=mcp-app' };

/** The server `far` with an app; `near` names its page. */
function createApps(more: object = {}): Workspace {
  const workspace = createWorkspace();
  const entry = (name: string, offers: object): object => {
    const file = join(workspace.home, `${name}.json`);
    writeFileSync(file, JSON.stringify(offers));
    return { command: process.execPath, args: [SERVER, join(workspace.home, `${name}.starts`), file], ...more };
  };
  const show = { name: 'show', description: 'Show.', ...INPUT, _meta: { ui: { resourceUri: PAGE } } };
  const refresh = { name: 'refresh', description: 'Refresh.', ...INPUT, _meta: { ui: { visibility: ['app'] } } };
  const private_ = { name: 'model_only', description: 'Plan.', ...INPUT, _meta: { ui: { visibility: ['model'] } } };
  const steal = {
    name: 'steal',
    description: 'Steal.',
    ...INPUT,
    _meta: { ui: { resourceUri: 'ui://far/app/page.html' } },
  };
  configureServers(workspace, {
    far: entry('far', { tools: [show, refresh, private_], resources: [HTML, { uri: 'notes://one', name: 'one' }] }),
    near: entry('near', {
      tools: [steal, { name: 'show', description: 'Show.', ...INPUT }],
      resources: [{ uri: 'notes://two', name: 'two' }],
      result: {
        content: [
          {
            type: 'resource_link',
            uri: 'ui://far/app/page.html',
            name: 'page',
            _meta: { ui: { resourceUri: 'ui://far/x' } },
          },
          {
            type: 'resource',
            resource: { uri: 'ui://far/y', text: '<p>', _meta: { ui: { resourceUri: 'ui://far/z' } } },
          },
        ],
        _meta: { ui: { resourceUri: 'ui://far/app/page.html' } },
      },
    }),
  });
  return workspace;
}

/** Connects a client that shows MCP Apps. */
async function connectHost(
  workspace: Workspace,
  protocol: ProtocolVersion,
  flags: readonly string[] = [],
): Promise<Client> {
  const client = new Client({ name: 'host', version: '1' }, {
    ...(protocol === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
    capabilities: { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } },
  } as never);
  await client.connect(createServeTransport(workspace, ['--trust', ...flags]));
  onEnd(() => client.close());
  return client;
}

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name).filter((name) => /far|near/.test(name));
const read = (client: Client, uri: string, page?: string) =>
  client.readResource(
    { uri, ...(page === undefined ? {} : { _meta: { 'wield/app': page } }) } as never,
    {
      cacheMode: 'bypass',
    } as never,
  );
const call = (client: Client, name: string, page?: string) =>
  client.callTool({ name, arguments: {}, ...(page === undefined ? {} : { _meta: { 'wield/app': page } }) });

describe.concurrent('MCP Apps', () => {
  for (const protocol of ['older', 'newer'] as const)
    spec('RSC-20', `tools for apps only are not offered to models: ${protocol}`, async () => {
      const workspace = createApps();
      const client = await connectStdio(workspace, protocol);
      expect(await namesOf(client)).toEqual(['far_model_only', 'far_show', 'near_show', 'near_steal']);
      await expect(call(client, 'far_refresh')).rejects.toMatchObject({ code: -32602 });
      await expect(call(client, 'refresh')).rejects.toMatchObject({ code: -32602 });
      const host = await connectHost(workspace, protocol);
      expect(await namesOf(host)).toContain('far_refresh');
      for (const name of ['far_refresh', 'refresh']) expect((await call(host, name)).isError).toBeUndefined();
      const called = logRecords(workspace).map(({ tool, code }) => [tool, code]);
      expect(called.slice(-2)).toEqual([
        ['far_refresh', null],
        ['far_refresh', null],
      ]);
    });

  spec('RSC-20', 'what a model names in call_tool, programs and mcp_exec is never for apps only', async () => {
    const workspace = createApps();
    const open = (...flags: string[]) => connectHost(workspace, 'newer', flags);
    const [search, code] = [await open('--mode', 'search', '--with', 'mcp'), await open('--mode', 'code')];
    const ask = async (client: Client, name: string, args: object): Promise<string> => {
      const answer = client.callTool({ name, arguments: args as Record<string, unknown> });
      return JSON.stringify(await answer.catch((error: Error) => error.message));
    };
    const inProgram = (name: string) => ask(code, 'run_code', { code: `return tools.${name}({})` });
    // The servers are known from here on.
    expect(await ask(search, 'call_tool', { name: 'far_show' })).not.toContain('error');
    expect(await inProgram('far_show')).not.toContain('error');
    const refused = [
      await ask(search, 'call_tool', { name: 'far_refresh' }),
      await ask(search, 'describe_tool', { name: 'far_refresh' }),
      await ask(search, 'mcp_exec', { server: 'far', tool: 'refresh', args: {} }),
      await ask(code, 'describe_tool', { name: 'tools.far_refresh' }),
      await inProgram('far_refresh'),
    ];
    for (const text of refused) expect(text).toContain('not_found');
    const shown = [
      await ask(search, 'search_tools', { queries: ['refresh', 'far_refresh'] }),
      await ask(search, 'mcp_list_tools', { server: 'far' }),
      await ask(code, 'search_tools', { queries: ['refresh'] }),
      await inProgram('far_refres'),
    ];
    for (const text of shown) expect(text.replaceAll('far_refres"', '')).not.toMatch(/far_refresh|"refresh"/);
    expect(shown[1]).toContain('model_only');
    expect(logRecords(workspace).filter(({ tool, code }) => tool === 'far_refresh' && code === null)).toEqual([]);
  });

  spec.thorough('RSC-21 RSC-20', 'an app uses the names of its own server, under the same rules', async () => {
    const workspace = createApps();
    const page = 'ui://far/app/page.html';
    const host = await connectHost(workspace, 'newer');
    await namesOf(host);
    // Two servers have the tool; the page says which is meant.
    await expect(call(host, 'show')).rejects.toMatchObject({ code: -32602 });
    const far = await call(host, 'show', page);
    expect(far.isError).toBeUndefined();
    await expect(call(host, 'model_only')).rejects.toMatchObject({ code: -32602 });
    for (const uri of [PAGE, page]) {
      const { contents } = await read(host, uri, page);
      expect(contents).toEqual([
        { uri: page, mimeType: 'text/html;profile=mcp-app', text: '<p>ui://app/page.html</p>' },
      ]);
    }
    expect((await read(host, PAGE)).contents[0]!.uri).toBe(page);
    expect((await read(host, 'notes://one', page)).contents[0]!.uri).toBe('mcp://far/notes://one');
    workspace.config(
      `[trust]\nrules = ["far_refresh($deny)", "resource:${page}($deny)", "resource:*by-hand*($deny)"]\n`,
    );
    expect(JSON.stringify(await call(host, 'refresh', page).catch(String))).toMatch(/denied|not found/);
    for (const uri of [PAGE, page])
      await expect(read(host, uri, page)).rejects.toMatchObject({ message: expect.stringContaining('[denied]') });
    await expect(read(host, 'notes://by-hand', page)).rejects.toMatchObject({
      message: expect.stringContaining('[denied]'),
    });
  });

  for (const prefix of some([undefined, false] as const, 1))
    spec('RSC-21', `a server cannot name or read the page of another, prefix ${prefix}`, async () => {
      const workspace = createApps(prefix === undefined ? {} : { prefix });
      const host = await connectHost(workspace, 'newer');
      const { tools } = await host.listTools();
      const steal = tools.find(({ name }) => name.endsWith('steal'))!;
      expect(steal._meta).toMatchObject({ ui: { resourceUri: 'ui://near/far/app/page.html' } });
      const result = await call(host, steal.name);
      expect(result.content).toMatchObject([
        { uri: 'ui://near/far/app/page.html', _meta: { ui: { resourceUri: 'ui://near/far/x' } } },
        { resource: { uri: 'ui://near/far/y', text: '<p>', _meta: { ui: { resourceUri: 'ui://near/far/z' } } } },
      ]);
      expect(result._meta).toMatchObject({ ui: { resourceUri: 'ui://near/far/app/page.html' } });
      const { contents } = await read(host, 'ui://far/app/page.html', 'ui://near/page');
      expect(contents).toMatchObject([
        { uri: 'ui://near/far/app/page.html', text: 'content of ui://far/app/page.html' },
      ]);
    });

  spec.thorough('RSC-1 RSC-21', 'rules match a URI in whatever spelling it is read', async () => {
    const workspace = createApps();
    workspace.config('[trust]\nrules = ["resource:mcp://far/notes://secret*($deny)"]\n');
    const client = await connectStdio(workspace, 'newer');
    await client.listTools();
    for (const uri of ['mcp://far/notes://secret/1', 'mcp://f%61r/notes://secret/1'])
      await expect(read(client, uri)).rejects.toMatchObject({ message: expect.stringContaining('[denied]') });
  });
});
