// Several clients of one server, and clients and servers of both protocol versions, with nothing configured.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { PROTOCOL_SERVER } from '../../support/bundled-server.js';
import { connectPerson, type ProtocolVersion } from '../../support/clients.js';
import { serveUrl } from '../../support/serve.js';
import { until } from '../../support/server.js';
import { onEnd } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { configureServers, countedServer, protocolServer, said, type Wire } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

const RED = { action: 'accept', content: { colour: 'red' } } as const;

function createBoth() {
  const workspace = createWorkspace();
  const far = countedServer(workspace, 'far', { program: PROTOCOL_SERVER, args: ['both'] });
  configureServers(workspace, { far: far.entry });
  return { workspace, far };
}

describe.concurrent('a server of both protocol versions', () => {
  spec('UPS-105', 'is called in the version of the client, also if it was listed in the other', async () => {
    const { workspace } = createBoth();
    const older = await connectPerson(workspace, 'older', 'stdio', () => RED);
    await older.listTools();
    // It asks by a request, which only the older version has.
    expect(JSON.parse(said(await older.callTool({ name: 'far_ask', arguments: {} })))).toEqual(RED);
    const newer = await connectPerson(workspace, 'newer', 'stdio', () => RED);
    // It asks by results, which only the newer version has.
    expect(JSON.parse(said(await newer.callTool({ name: 'far_rounds', arguments: {} })))).toEqual([RED, RED, RED]);
  });

  spec('UPS-105', 'is called in the older version by a program whose user can be asked', async () => {
    const { workspace } = createBoth();
    const toolbox = workspace.toolbox();
    const result = await toolbox.call('far_ask', {}, { elicit: async () => RED });
    expect(JSON.parse(said(result))).toEqual(RED);
    await toolbox.close();
  });

  spec('UPS-105 UPS-12', 'announces changes on the connection of a client', async () => {
    const { workspace } = createBoth();
    let changes = 0;
    const options = { onListChanged: () => void changes++ };
    const client = await connectPerson(workspace, 'older', 'stdio', () => RED, options);
    await client.listTools();
    await client.callTool({ name: 'far_grow', arguments: {} });
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    await until(async () => (await names()).includes('far_grown'), 'the new tool is listed');
    expect(await names()).not.toContain('far_count');
    expect(await names()).toContain('far_ask');
    await until(() => changes > 0, 'the change is announced');
    expect(said(await client.callTool({ name: 'far_grown', arguments: {} }))).toBe('grown');
  });

  spec('UPS-105', 'is not asked for the older version again if it refused that', async () => {
    const workspace = createWorkspace();
    const far = await protocolServer(workspace, 'far', 'newer', 'stdio');
    configureServers(workspace, { far: far.entry });
    const call = async () => {
      const client = await connectPerson(workspace, 'older', 'stdio', () => RED);
      expect(JSON.parse(said(await client.callTool({ name: 'far_ask', arguments: {} })))).toEqual(RED);
      await client.close();
    };
    await call();
    const starts = far.starts().length;
    await call();
    expect(far.starts()).toHaveLength(starts + 1);
    expect(far.log().filter((line) => line === 'heard initialize')).toHaveLength(1);
  });
});

/** Connects a client with a name, whose user, model and log can be told from those of others. */
async function connectNamed(url: string, name: string, protocol: ProtocolVersion) {
  const heard: unknown[] = [];
  const client = new Client({ name, version: '1' }, {
    ...(protocol === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {}),
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
  } as never);
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { colour: name } }));
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file:///home/${name}` }] }));
  client.setRequestHandler(
    'sampling/createMessage',
    async () => ({ role: 'assistant', model: name, content: { type: 'text', text: name } }) as never,
  );
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data));
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onEnd(() => client.close());
  const call = async (tool: string, input: Record<string, unknown> = {}) =>
    said(await client.callTool({ name: `far_${tool}`, arguments: input }));
  return { client, call, heard };
}

describe.concurrent('clients of one older server', () => {
  const cases: readonly (readonly [Wire, ProtocolVersion])[] = [
    ['stdio', 'older'],
    ['http', 'newer'],
  ];
  for (const [wire, protocol] of cases)
    spec(
      'UPS-106',
      `get its questions, requests and log messages of their own calls: ${wire}, ${protocol}`,
      async () => {
        const workspace = createWorkspace();
        const far = await protocolServer(workspace, 'far', 'older', wire);
        configureServers(workspace, { far: far.entry });
        const url = await serveUrl(workspace, ['--trust']);
        const [ada, bob] = [await connectNamed(url, 'ada', protocol), await connectNamed(url, 'bob', protocol)];
        const stop = new AbortController();
        ada.client.callTool({ name: 'far_slow', arguments: { name: 'a' } }, { signal: stop.signal }).catch(() => {});
        await until(() => far.log().includes('began a'), 'the call of ada runs');
        expect(await bob.call('ask')).toContain('bob');
        expect(await bob.call('sample')).toContain('"model":"bob"');
        expect(await bob.call('roots')).toContain('file:///home/bob');
        expect(await bob.call('say', { text: 'for bob' })).toBe('said');
        expect(await Promise.all([ada.call('ask'), bob.call('ask')])).toEqual([
          expect.stringContaining('ada'),
          expect.stringContaining('bob'),
        ]);
        // Clients of the newer version ask for log messages in each request.
        if (protocol === 'older') await until(() => bob.heard.length > 0, 'the log message arrives');
        expect([ada.heard, bob.heard]).toEqual([[], protocol === 'older' ? ['for bob'] : []]);
        stop.abort();
        // Its own connection is kept, and no other is opened.
        if (wire === 'stdio') expect(far.starts()).toHaveLength(2);
      },
    );
});
