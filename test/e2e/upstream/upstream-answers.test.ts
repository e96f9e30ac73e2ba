// Unusual but valid answers of servers, and log messages, through real clients in all combinations of protocol versions.

import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { connectHttp, connectProcess, connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { configureServers } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

const SERVER = fileURLToPath(new URL('../../support/odd-server.mjs', import.meta.url));
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const LEVEL_KEY = 'io.modelcontextprotocol/logLevel';

async function connect(server: string, version: ProtocolVersion): Promise<Client> {
  const workspace = createWorkspace();
  configureServers(workspace, { odd: { command: process.execPath, args: [SERVER, server] } });
  const client = await (version === 'older' ? connectStdio : connectHttp)(workspace, version);
  await client.listTools();
  return client;
}

const COMBINATIONS = [
  ['2025-11-25', 'older'],
  ['2025-11-25', 'newer'],
  ['2026-07-28', 'older'],
  ['2026-07-28', 'newer'],
] as const;

describe.concurrent('through wield', () => {
  for (const [server, version] of some(COMBINATIONS, 2)) {
    spec(
      'UPS-97 RSC-3',
      `answers keep _meta and empty contents, and gain no description: ${server} ${version}`,
      async () => {
        const client = await connect(server, version);
        const { resources } = await client.listResources();
        expect(resources).toEqual([{ uri: 'mcp://odd/urn:isbn:1', name: 'urn' }]);
        const { resourceTemplates } = await client.listResourceTemplates();
        expect(resourceTemplates).toEqual([{ uriTemplate: 'mcp://odd/note://{id}', name: 'note' }]);
        const { prompts } = await client.listPrompts();
        expect(prompts.at(-1)).toEqual({ name: 'odd_bare' });

        const read = await client.readResource({ uri: 'mcp://odd/urn:isbn:1' });
        expect(read.contents).toEqual([
          { uri: 'mcp://odd/urn:isbn:1', text: '', _meta: { b: 2 } },
          { uri: 'mcp://odd/urn:isbn:2', blob: '' },
        ]);
        expect(read._meta).toMatchObject({ c: 3 });
        expect((await client.readResource({ uri: 'mcp://odd/note://none' })).contents).toEqual([]);
        const made = await client.getPrompt({ name: 'odd_bare' });
        expect(made).toMatchObject({ messages: [{ role: 'assistant', content: { text: '' } }], _meta: { d: 4 } });

        const call = (name: string) => client.callTool({ name, arguments: {} });
        const parts = await call('odd_parts');
        expect(parts).toMatchObject({
          content: [{ text: '' }, { text: 'x', annotations: { priority: 0.3 } }],
          _meta: { a: 1 },
        });
        expect((await call('odd_nothing')).content).toEqual([]);
        const failed = await call('odd_fails');
        expect(failed.isError).toBe(true);
        expect(failed.content).toEqual([{ type: 'text', text: '{"error": "bad"}\n' }]);
        expect(failed._meta).toMatchObject({ 'example.com/why': [1], 'wield/error': { code: 'tool_failed' } });
      },
    );

    spec(
      'UPS-107 UPS-10',
      `errors, titles and descriptions are passed on unchanged: ${server} ${version}`,
      async () => {
        const client = await connect(server, version);
        const { tools } = await client.listTools();
        const find = (name: string) => tools.find((tool) => tool.name === `odd_${name}`);
        expect(find('padded')).toMatchObject({ title: ' Padded ', description: '\n  First line.\n\n  Second.\n' });
        expect(find('bare')).toBeDefined();
        expect([find('bare')!.title, find('bare')!.description]).toEqual([undefined, undefined]);
        expect(find('titled')).toMatchObject({ annotations: { title: 'In annotations' } });
        expect(find('titled')!.title).toBeUndefined();
        const data = { field: 'x', list: [1, null] };
        await expect(client.callTool({ name: 'odd_refuses', arguments: {} })).rejects.toMatchObject({
          code: -32099,
          message: expect.stringMatching(/^(MCP error -32099: )?Not {2}like\nthis. $/),
          data,
        });
        await expect(client.getPrompt({ name: 'odd_refuses' })).rejects.toMatchObject({ code: -32099, data });
      },
    );

    spec('RSC-4', `a server is asked for the log messages that the client wants: ${server} ${version}`, async () => {
      const client = await connect(server, version);
      const told: string[] = [];
      client.setNotificationHandler('notifications/message', ({ params }) => {
        expect(params).toMatchObject({ data: { one: params.level }, logger: 'odd.l' });
        told.push(params.level);
      });
      const expectLogs = async (level: string | undefined, expected: readonly string[]): Promise<void> => {
        told.length = 0;
        if (version === 'older' && level !== undefined) await client.setLoggingLevel(level as 'debug');
        const meta = version === 'newer' && level !== undefined ? { _meta: { [LEVEL_KEY]: level } } : {};
        await client.callTool({ name: 'odd_log', arguments: {}, ...meta });
        await until(() => told.length >= expected.length, 'the messages arrive');
        expect(told, level).toEqual(expected);
      };
      // Without a wish: nothing in the newer version, and in the older what the server sends, or the usual.
      const byDefault = server === '2025-11-25' ? 'error' : 'info';
      await expectLogs(undefined, version === 'newer' ? [] : LEVELS.slice(LEVELS.indexOf(byDefault)));
      for (const level of ['warning', 'debug', 'alert']) await expectLogs(level, LEVELS.slice(LEVELS.indexOf(level)));
    });
  }
});

spec('SRV-8', 'a response that is too large for stdio is an error, and the session goes on', async () => {
  const workspace = createWorkspace();
  configureServers(workspace, { odd: { command: process.execPath, args: [SERVER, '2025-11-25'] } });
  // The limit of the SDK's client is that of its process transport.
  const client = await connectProcess(workspace, 'older');
  const read = (id: string) => client.readResource({ uri: `mcp://odd/note://${id}` });
  await expect(read('big')).rejects.toThrow(/the response has 11 MiB, and clients read at most 9.5 MiB over stdio/);
  expect((await read('none')).contents).toEqual([]);
});
