// Details of calls to upstream servers: questions of several calls, headers, scopes, failures and tools for apps.

import type { Client } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { connectPerson, connectStdio, type Person } from '../../support/clients.js';
import { listen, readBody, sendJson } from '../../support/http.js';
import { serveHttp, until } from '../../support/server.js';
import { finding, spec } from '../../support/spec.js';
import { configureServers, protocolServer, said } from '../../support/upstream-servers.js';
import { createUpstreamWorkspace, remoteTool } from '../../support/upstream-workspace.js';
import { createWorkspace } from '../../support/workspace.js';

const RED: Person = () => ({ action: 'accept', content: { colour: 'red' } });

describe('questions of an older server', () => {
  async function open(person: Person, transport: 'stdio' | 'http') {
    const workspace = createWorkspace();
    const far = await protocolServer(workspace, 'far', 'older', 'stdio');
    configureServers(workspace, { far: far.entry });
    const client = await connectPerson(workspace, 'newer', transport, person);
    await client.listTools();
    return { workspace, client, far };
  }
  const startSlow = (client: Client) => {
    const stop = new AbortController();
    client.callTool({ name: 'far_slow', arguments: { name: 'a' } }, { signal: stop.signal }).catch(() => {});
    return stop;
  };
  const untilSlow = (far: { log(): readonly string[] }) =>
    until(() => far.log().includes('began a'), 'the slow call runs');

  finding('C4 UPS-10', 'reach the person while another of their calls runs', async () => {
    const messages: string[] = [];
    const { client, far } = await open((params) => {
      messages.push(params.message);
      return { action: 'accept', content: { colour: 'red' } };
    }, 'stdio');
    const slow = startSlow(client);
    await untilSlow(far);
    expect(said(await client.callTool({ name: 'far_ask', arguments: {} }))).toContain('red');
    expect(messages).toEqual([expect.stringContaining('far, during one of its calls: Which colour?')]);
    slow.abort();
  });
});

finding('C5 UPS-23', 'a pinned older version is used by a server of both, so that it can ask', async () => {
  const workspace = createWorkspace();
  const far = await protocolServer(workspace, 'far', 'older', 'stdio');
  configureServers(workspace, { far: { ...far.entry, protocol: '2025-11-25' } });
  const client = await connectPerson(workspace, 'newer', 'stdio', RED);
  await client.listTools();
  expect(said(await client.callTool({ name: 'far_ask', arguments: {} }))).toContain('red');
  expect(far.starts()).toHaveLength(1);
});

spec('UPS-4', 'a server that refuses the end of the handshake is not used, and asked nothing else', async () => {
  const workspace = createWorkspace();
  const asked: string[] = [];
  const far = await listen(async (request, response) => {
    const { id, method } = JSON.parse((await readBody(request)) || '{}') as Record<string, never>;
    asked.push(String(method));
    if (method === 'notifications/initialized') return void response.writeHead(500).end();
    const serverInfo = { name: 'far', version: '1' };
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo, tools: [] };
    sendJson(response, { jsonrpc: '2.0', id, result });
  });
  configureServers(workspace, { far: { url: `${far.origin}/mcp`, protocol: '2025-11-25' } });
  const { error } = await workspace.toolbox().call('far_echo', {});
  expect([error?.code, error?.message]).toEqual(['unavailable', expect.stringContaining('500')]);
  expect(asked).toEqual(['initialize', 'notifications/initialized']);
});

finding('C6 UPS-2', 'tools with an invalid x-mcp-header are not offered, and reported', async () => {
  const workspace = createUpstreamWorkspace({ far: { mode: 'changing' } });
  const withHeader = (name: string, property: object) =>
    remoteTool(name, { inputSchema: { type: 'object', properties: { a: property } } });
  workspace.tools('far', [
    withHeader('fine', { type: 'string', 'x-mcp-header': 'A' }),
    withHeader('spaces', { type: 'string', 'x-mcp-header': 'a b' }),
    withHeader('number', { type: 'number', 'x-mcp-header': 'A' }),
    withHeader('nested', { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } }),
    remoteTool('twice', {
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'string', 'x-mcp-header': 'A' }, b: { type: 'string', 'x-mcp-header': 'a' } },
      },
    }),
  ]);
  const client = await connectStdio(workspace, 'newer');
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['far_fine', 'query_result', 'read_result']);
  const problems = (await workspace.toolbox().catalog.problems()).map(({ message }) => message).join('\n');
  for (const name of ['spaces', 'number', 'nested', 'twice'])
    expect(problems).toContain(`the tool "${name}" is not offered`);
});

finding('C7 UPS-80', 'a missing scope is reported with the command that asks for it', async () => {
  let calls = 0;
  const server = await listen(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { id, method } = body === '' ? ({} as { id?: number; method?: string }) : JSON.parse(body);
    const answer = (result: object) => sendJson(response, { jsonrpc: '2.0', id, result });
    if (method === 'initialize')
      return answer({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'far', version: '1' },
      });
    if (method === 'tools/list') return answer({ tools: [remoteTool('write')] });
    if (method === 'tools/call') {
      calls++;
      response.setHeader('www-authenticate', 'Bearer error="insufficient_scope", scope="notes:write"');
      return sendJson(response, {}, 403);
    }
    if (id === undefined) return response.writeHead(request.method === 'GET' ? 405 : 202).end();
    return sendJson(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown' } });
  });
  const workspace = createWorkspace();
  configureServers(workspace, { far: { url: `${server.origin}/mcp` } });
  const toolbox = workspace.toolbox();
  const { error } = await toolbox.call('far_write', {});
  expect(error).toMatchObject({
    code: 'unavailable',
    message: 'far: the login lacks a required scope',
    hint: "wield mcp login far --scope 'notes:write'",
  });
  expect((await toolbox.call('far_write', {})).error?.code).toBe('unavailable');
  expect(calls).toBe(2);
});

spec('SRV-82', 'a capability that the client lacks is a protocol error in the newer version', async () => {
  const data = { requiredCapabilities: { sampling: {} } };
  const server = await listen(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { id, method } = body === '' ? ({} as { id?: number; method?: string }) : JSON.parse(body);
    const answer = (more: object) => sendJson(response, { jsonrpc: '2.0', id, ...more });
    const serverInfo = { name: 'far', version: '1' };
    if (method === 'initialize')
      return answer({ result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } });
    if (method === 'tools/list') return answer({ result: { tools: [remoteTool('sample')] } });
    if (method === 'tools/call') return answer({ error: { code: -32021, message: 'no sampling', data } });
    if (id === undefined) return response.writeHead(request.method === 'GET' ? 405 : 202).end();
    return answer({ error: { code: -32601, message: 'unknown' } });
  });
  const workspace = createWorkspace();
  configureServers(workspace, { far: { url: `${server.origin}/mcp` } });
  expect(
    await connectStdio(workspace, 'older').then((client) => client.callTool({ name: 'far_sample' })),
  ).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('far_sample needs a client with the capability sampling') }],
  });
  const { url } = await serveHttp(workspace);
  const version = '2026-07-28';
  const send = () =>
    fetch(url, {
      method: 'POST',
      headers: {
        ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        ...{ 'mcp-protocol-version': version, 'mcp-method': 'tools/call', 'mcp-name': 'far_sample' },
      },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: {
          name: 'far_sample',
          arguments: {},
          _meta: {
            'io.modelcontextprotocol/protocolVersion': version,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
  // The first call connects, and may take so long that its response becomes a stream.
  await (await send()).text();
  const response = await send();
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ id: 1, error: { code: -32021, data } });
});

describe('results and tools', () => {
  finding('C10', 'a failure is sent once, and no content stays no content', async () => {
    const workspace = createUpstreamWorkspace({ far: { mode: 'well' }, leaks: { mode: 'leaks' } });
    const client = await connectStdio(workspace, 'newer');
    await client.listTools();
    const failed = await client.callTool({ name: 'far_fails', arguments: {} });
    expect(JSON.stringify(failed.content).split('it did not work')).toHaveLength(2);
    const empty = await client.callTool({ name: 'leaks_structured', arguments: {} });
    expect(empty.content).toEqual([]);
  });

  finding('C10', 'tools for apps only are not offered to models', async () => {
    const workspace = createUpstreamWorkspace({ far: { mode: 'changing' } });
    workspace.tools('far', [
      remoteTool('all'),
      remoteTool('both', { _meta: { ui: { visibility: ['model', 'app'] } } }),
      remoteTool('page', { _meta: { ui: { visibility: ['app'] } } }),
    ]);
    const client = await connectStdio(workspace, 'newer');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      'far_all',
      'far_both',
      'query_result',
      'read_result',
    ]);
  });
});
