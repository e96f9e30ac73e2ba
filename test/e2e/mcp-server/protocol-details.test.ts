// Details of the protocol that the server keeps: headers, origins, unknown tools, questions, sessions, empty and large results.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { type Answer, connectAsking, connectHttp, connectStdio } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { patience } from '../../support/patience.js';
import { serveHere, serveUrl } from '../../support/serve.js';
import { OLDER } from '../../support/server.js';
import { finding, spec } from '../../support/spec.js';
import { createSkillServer } from '../../support/upstream-skills.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const ACCEPTED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const NEWER = '2026-07-28';

const send = (
  url: string,
  body: object,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { ...ACCEPTED, ...headers }, body: JSON.stringify(body), signal });

async function openSession(url: string): Promise<Record<string, string>> {
  const params = { protocolVersion: OLDER, capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const response = await send(url, { jsonrpc: '2.0', id: 0, method: 'initialize', params });
  await response.text();
  return { 'mcp-session-id': response.headers.get('mcp-session-id')!, 'mcp-protocol-version': OLDER };
}

const call = (id: number, name: string, input: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: input },
});

function createTyped(source: string): Workspace {
  const workspace = createWorkspace();
  workspace.write('.agents/tools/own.tool.mjs', `import { defineTool } from 'wield';\n${source}`);
  return workspace;
}

describe('parameters in headers', () => {
  const REGION = `export const own = defineTool({
    name: 'region', description: 'Take a region.',
    inputSchema: { type: 'object', properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' }, count: { type: 'integer', 'x-mcp-header': 'Count' } } },
    execute: ({ region }) => 'in ' + region });
  export const wrong = defineTool({
    name: 'wrong', description: 'Declare a header that is not a name.',
    inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': 'not a name' } } },
    execute: () => 'no' });`;
  const asModern = (input: object) => ({
    ...call(1, 'region', input),
    params: {
      name: 'region',
      arguments: input,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': NEWER,
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });
  const HEADERS = { 'mcp-protocol-version': NEWER, 'mcp-method': 'tools/call', 'mcp-name': 'region' };

  finding('C6 SRV-18', 'must be sent and equal to the body', async () => {
    const url = await serveUrl(createTyped(REGION), ['--trust']);
    const ask = async (input: object, headers: Record<string, string>) => {
      const response = await send(url, asModern(input), { ...HEADERS, ...headers });
      const text = await response.text();
      const { result, error } = JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text);
      return [response.status, error?.code ?? result.content[0].text];
    };
    expect(await ask({ region: 'north' }, { 'mcp-param-region': 'north' })).toEqual([200, 'in north']);
    const encoded = `=?base64?${Buffer.from('süd').toString('base64')}?=`;
    expect(await ask({ region: 'süd' }, { 'mcp-param-region': encoded })).toEqual([200, 'in süd']);
    expect(await ask({ region: 'n', count: 3 }, { 'mcp-param-region': 'n', 'mcp-param-count': '3.0' })).toEqual([
      200,
      'in n',
    ]);
    expect(await ask({ region: 'north' }, {})).toEqual([400, -32020]);
    expect(await ask({ region: 'north' }, { 'mcp-param-region': 'south' })).toEqual([400, -32020]);
    expect(await ask({ region: 'north' }, { 'mcp-param-region': '=?base64?!?=' })).toEqual([400, -32020]);
    expect(await ask({ region: 'n', count: 3 }, { 'mcp-param-region': 'n', 'mcp-param-count': '4' })).toEqual([
      400, -32020,
    ]);
    // A parameter that is absent needs no header.
    expect((await ask({}, {}))[0]).toBe(200);
  });

  finding.thorough('C6 SRV-18', 'exclude a tool whose declaration is invalid', async () => {
    const client = await connectHttp(createTyped(REGION), 'newer');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['region', 'query_result', 'read_result']);
    expect(await client.callTool({ name: 'region', arguments: { region: 'east', count: 1 } })).toMatchObject({
      content: [{ text: 'in east' }],
    });
  });
});

describe('access', () => {
  finding('C10 SRV-5', 'pages of other servers of this machine are refused', async () => {
    const url = await serveUrl(createWorkspace(), []);
    const { port } = new URL(url);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    for (const [origin, status] of [
      [`http://127.0.0.1:${port}`, 400],
      [`http://localhost:${port}`, 400],
      ['http://localhost:3000', 403],
      ['http://127.0.0.1', 403],
    ] as const)
      expect([origin, (await send(url, ping, { origin })).status]).toEqual([origin, status]);
  });
});

describe('results', () => {
  for (const protocol of ['older', 'newer'] as const) {
    finding('C10 SRV-3', `an unknown tool is a protocol error: ${protocol}`, async () => {
      const client = await connectStdio(createWorkspace(), protocol);
      await client.listTools();
      await expect(client.callTool({ name: 'absent', arguments: {} })).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining('tool not found: absent'),
      });
    });
  }

  finding.thorough('C10', 'a model learns no path of this machine from an unknown or broken tool', async () => {
    const workspace = createWorkspace();
    workspace.write('.agents/tools/broken.tool.mjs', 'export const broken = 1 +;\n');
    workspace.script('bad', '#!/bin/sh\n# @param *\necho\n');
    const client = await connectStdio(workspace, 'newer');
    for (const name of ['absent', 'broken', 'bad', './bad', '.agents/tools/bad']) {
      const error = await client.callTool({ name, arguments: {} }).then(JSON.stringify, (thrown) => thrown);
      const text = typeof error === 'string' ? error : JSON.stringify([error.message, error.data]);
      expect([name, text.includes(workspace.dir), text.includes(workspace.home)]).toEqual([name, false, false]);
    }
  });

  finding('C10', 'a tool that prints nothing has no content', async () => {
    const workspace = createWorkspace();
    workspace.script('silent', '#!/bin/sh\n# @description Say nothing.\n:\n');
    const client = await connectStdio(workspace, 'newer');
    expect((await client.callTool({ name: 'silent', arguments: {} })).content).toEqual([]);
  });

  const ROWS = JSON.stringify({ rows: Array.from({ length: 20_000 }, (_, at) => `row ${at}`) });
  const SCHEMA = '{"type":"object","properties":{"rows":{"type":"array","items":{"type":"string"}}}}';

  finding('C9 CTX-9', 'structured content beside a handle is a choice', async () => {
    const workspace = createTyped(`export const own = defineTool({
      name: 'rows', description: 'List rows.', outputSchema: ${SCHEMA}, execute: () => (${ROWS}) });`);
    const before = await connectStdio(workspace, 'newer');
    expect((await before.listTools()).tools[0]).toHaveProperty('outputSchema');
    const whole = await before.callTool({ name: 'rows', arguments: {} });
    expect(JSON.stringify(whole).length).toBeGreaterThan(200_000);
    workspace.config('[results]\nschemas = false\n');
    for (const protocol of ['older', 'newer'] as const) {
      const client = await connectStdio(workspace, protocol);
      expect((await client.listTools()).tools[0]).not.toHaveProperty('outputSchema');
      const small = await client.callTool({ name: 'rows', arguments: {} });
      expect(small.isError).toBeUndefined();
      expect(JSON.stringify(small)).toContain('stored as r_');
      expect(JSON.stringify(small).length).toBeLessThan(5000);
    }
  });
});

describe('questions', () => {
  const ASK = `export const own = defineTool({
    name: 'ask', description: 'Ask.',
    execute: async (_input, { elicit }) => elicit({ id: 'pizza', message: 'What?', schema: { type: 'object', properties: {
      size: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
      count: { type: 'integer', default: 2 }, hot: { type: 'boolean', default: true } }, required: ['size'] } }) });`;

  for (const protocol of some(['older', 'newer'] as const, 1)) {
    finding('C10 MOD-18', `keep enumNames, and defaults are filled in: ${protocol}`, async () => {
      let shown: unknown;
      const answer: Answer = (_message, params) => {
        shown = 'requestedSchema' in params ? params.requestedSchema : undefined;
        return { action: 'accept', content: { size: 'l' } };
      };
      const client = await connectAsking(createTyped(ASK), protocol, 'stdio', answer);
      const result = await client.callTool({ name: 'ask', arguments: {} });
      expect(shown).toMatchObject({ properties: { size: { enum: ['s', 'l'], enumNames: ['Small', 'Large'] } } });
      expect(JSON.stringify(result.content)).toContain('\\"count\\":2,\\"hot\\":true');
    });
  }

  finding('C10 SRV-15', 'have the key that their tool chose', async () => {
    const url = await serveUrl(createTyped(ASK), ['--trust']);
    const client = new Client({ name: 'raw', version: '1' }, {
      versionNegotiation: { mode: 'auto' },
      capabilities: { elicitation: { form: {} } },
      inputRequired: { autoFulfill: false },
    } as never);
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    onTestFinished(() => client.close());
    const result = await client.callTool({ name: 'ask', arguments: {} }, { allowInputRequired: true } as never);
    expect(Object.keys((result as { inputRequests?: object }).inputRequests ?? {})).toEqual(['pizza']);
  });
});

describe('sessions of the older protocol version', () => {
  const GATED =
    '#!/bin/sh\n# @description Wait for a file.\n# @param *file string File\nwhile ! [ -e "$WIELD_PARAM_FILE" ]; do sleep 0.05; done\necho through\n';

  finding('C8 SRV-5', 'with a running call are never dropped for new ones', async () => {
    const workspace = createWorkspace();
    workspace.script('gated', GATED);
    const url = await serveUrl(workspace, ['--trust']);
    const busy = await openSession(url);
    const running = send(url, call(1, 'gated', { file: `${workspace.dir}/open` }), busy);
    const idle = await openSession(url);
    for (let at = 0; at < 300; at++) await openSession(url);
    expect((await send(url, { jsonrpc: '2.0', id: 2, method: 'ping' }, idle)).status).toBe(404);
    workspace.write('open', '');
    expect(await (await running).text()).toContain('through');
  });

  finding('C10 SRV-17', 'a result is kept for a client whose stream was cut', async () => {
    const workspace = createWorkspace();
    workspace.script('gated', GATED);
    const url = await serveUrl(workspace, ['--trust']);
    const session = await openSession(url);
    const cut = new AbortController();
    const response = await send(url, call(1, 'gated', { file: `${workspace.dir}/open` }), session, cut.signal);
    const first = await response.body!.getReader().read();
    const id = /^id: (\S+)$/m.exec(Buffer.from(first.value!).toString('utf8'))![1]!;
    cut.abort();
    workspace.write('open', '');
    const resume = () =>
      fetch(url, {
        headers: { accept: 'text/event-stream', 'last-event-id': id, ...session },
        signal: AbortSignal.timeout(90_000),
      });
    let resumed = await resume();
    // Until the server has noticed that the stream was cut.
    while (resumed.status === 409) resumed = await resume();
    expect(resumed.status).toBe(200);
    const reader = resumed.body!.getReader();
    let text = '';
    while (!text.includes('through')) {
      const { value, done } = await reader.read();
      if (done) break;
      text += Buffer.from(value).toString('utf8');
    }
    expect(text).toContain('through');
    await reader.cancel();
    const unknown = await fetch(url, { headers: { accept: 'text/event-stream', 'last-event-id': 'x_1', ...session } });
    expect(unknown.ok).toBe(false);
  });
});

describe('a resource that does not exist', () => {
  const MISSING = ['skill://nosuch/SKILL.md', 'context://nosuch', 'nosuch:x', 'mcp://far/notes://missing'];

  spec('RSC-1', 'has the code of the older protocol version, here and at a server', async () => {
    const server = serveHere(createSkillServer([]).workspace);
    await server.initialize();
    await server.request('list', 'resources/list');
    for (const method of ['resources/read', 'resources/subscribe'])
      for (const uri of MISSING.filter((one) => method === 'resources/read' || !one.startsWith('mcp:')))
        expect((await server.request(`${method} ${uri}`, method, { uri })).error?.code, `${method} ${uri}`).toBe(
          -32002,
        );
  });

  spec('RSC-1', 'has the code of the newer protocol version, here and at a server', async () => {
    const client = await connectStdio(createSkillServer([]).workspace, 'newer');
    await client.listResources();
    for (const uri of MISSING) await expect(client.readResource({ uri }), uri).rejects.toMatchObject({ code: -32602 });
  });
});

describe('log messages', () => {
  for (const version of some(['older', 'newer'] as const, 1))
    spec('RUN-7 MOD-5', `of a tool that another one calls reach the client: ${version}`, async () => {
      const { workspace } = createSkillServer([], { tools: [{ name: 'link', inputSchema: { type: 'object' } }] });
      workspace.write(
        '.agents/tools/own.tool.mjs',
        `import { defineTool } from 'wield';
         export const own = defineTool({
           name: 'outer', description: 'Calls.', inputSchema: { type: 'object' },
           execute: async (_input, { toolbox }) => (await toolbox.call('far_link', {})).ok });`,
      );
      const client = await connectStdio(workspace, version);
      const heard: unknown[] = [];
      client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(params.data));
      if (version === 'older') await client.setLoggingLevel('info');
      const _meta = version === 'newer' ? { 'io.modelcontextprotocol/logLevel': 'info' } : {};
      await client.callTool({ name: 'outer', arguments: {}, _meta } as never);
      await vi.waitFor(() => expect(heard).toContain('called link'), { timeout: patience(5000) });
    });
});
