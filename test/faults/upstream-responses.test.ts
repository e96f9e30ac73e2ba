// Responses of HTTP servers that are no answers: each fails its own call, next to others of the same server.

import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { onEnd } from '../support/share.js';
import { spec } from '../support/spec.js';
import { configureServers } from '../support/upstream-servers.js';
import { createWorkspace } from '../support/workspace.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const STREAM = { 'content-type': 'text/event-stream' };

const toAnswer = (id: unknown, text: string): string =>
  JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });

/** By tool: how the server responds, and what a caller is told. */
const ODD: Record<string, [respond: (response: ServerResponse, id: unknown) => unknown, told: RegExp]> = {
  two: [
    (response, id) => response.writeHead(200, JSON_TYPE).end(`${toAnswer(id, 'a')}\n${toAnswer(id, 'b')}`),
    /to far_two: it is not JSON$/,
  ],
  empty: [(response) => response.writeHead(200, JSON_TYPE).end(), /to far_empty: it is not JSON$/],
  page: [
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello'),
    /to far_page: Unexpected content type: text\/html$/,
  ],
  other: [(response) => response.writeHead(200, JSON_TYPE).end('{"ok":true}'), /it is not a JSON-RPC message$/],
  fails: [(response) => response.writeHead(500, JSON_TYPE).end('{}'), /to far_fails: HTTP 500$/],
  teapot: [(response) => response.writeHead(418).end(), /to far_teapot: HTTP 418$/],
  ends: [(response) => response.writeHead(200, STREAM).end('event: message\n\n'), /it ended before the answer$/],
};
const TOOLS = ['good', 'slow', ...Object.keys(ODD)];

async function startServer() {
  const methods: string[] = [];
  const waiting: (() => void)[] = [];
  const answer = (
    response: ServerResponse,
    id: unknown,
    { method, params }: { method: string; params: { name: string } },
  ): unknown => {
    if (method === 'tools/call' && ODD[params.name] !== undefined) return ODD[params.name]![0](response, id);
    if (params?.name === 'slow')
      return waiting.push(() => response.writeHead(200, JSON_TYPE).end(toAnswer(id, 'at last')));
    if (method === 'tools/call') return response.writeHead(200, JSON_TYPE).end(toAnswer(id, 'fine'));
    const tools = TOOLS.map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
    const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    const result =
      method === 'server/discover'
        ? { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, serverInfo: { name: 'far', version: '1' } }
        : { tools };
    return response
      .writeHead(200, JSON_TYPE)
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: { ...result, ...cached } }));
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { id, ...message } = JSON.parse(body);
    methods.push(message.method);
    answer(response, id, message);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, methods, release: () => waiting.splice(0).map((act) => act()).length };
}

spec('UPS-96', 'a response that is no answer fails its own call only', async () => {
  const server = await startServer();
  const workspace = createWorkspace();
  configureServers(workspace, { far: { url: server.url, protocol: '2026-07-28' } });
  const toolbox = workspace.toolbox();
  const slow = toolbox.call('far_slow', {});
  for (const [name, [, told]] of Object.entries(ODD)) {
    const { error } = await toolbox.call(`far_${name}`, {});
    expect([error?.code, error?.message], name).toEqual(['exec_failed', expect.stringMatching(told)]);
    expect(error?.data, name).toMatchObject({ server: 'far', kind: 'bad-response' });
    expect(textOf(await toolbox.call('far_good', {})), name).toBe('fine');
  }
  expect(server.release()).toBe(1);
  expect(textOf(await slow)).toBe('at last');
  expect(server.methods.filter((method) => method === 'server/discover')).toHaveLength(1);
});
