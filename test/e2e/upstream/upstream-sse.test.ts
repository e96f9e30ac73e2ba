// Servers over the deprecated HTTP+SSE transport: calls, attacks by the event stream, and what doctor says.

import type { ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { describe, expect } from 'vitest';
import { z } from 'zod';
import { json, wield } from '../../support/cli.js';
import { SAMPLED, some } from '../../support/effort.js';
import { type LocalServer, listen } from '../../support/http.js';
import { until } from '../../support/server.js';
import { onEnd } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { configureServers, said } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

const TOKEN = 'a-token-of-the-entry-4711';

/** A server of the SDK; its event streams can be ended. */
async function sdkServer() {
  const open = new Map<string, SSEServerTransport>();
  const local = await listen(async (request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    if (request.method === 'GET') {
      const transport = new SSEServerTransport('/messages', response);
      open.set(transport.sessionId, transport);
      const server = new McpServer({ name: 'far', version: '1.0.0' });
      server.registerTool(
        'echo',
        { description: 'Repeats a text.', inputSchema: { text: z.string() } },
        ({ text }) => ({
          content: [{ type: 'text', text }],
        }),
      );
      await server.connect(transport);
      return;
    }
    const transport = open.get(url.searchParams.get('sessionId') ?? '');
    if (transport === undefined) response.writeHead(404).end();
    else await transport.handlePostMessage(request, response);
  });
  const end = async () => {
    for (const transport of open.values()) await transport.close();
    open.clear();
  };
  return { ...local, end };
}

const eventStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' });

function far(entry: object) {
  const workspace = createWorkspace();
  configureServers(workspace, { far: { headers: { authorization: `Bearer ${TOKEN}` }, ...entry } });
  const toolbox = workspace.toolbox();
  onEnd(() => toolbox.close());
  return { workspace, toolbox };
}

/** Returns what `wield mcp refresh` says about a server. */
async function refuse({ origin }: LocalServer, more: object = {}): Promise<string> {
  const { workspace } = far({ type: 'sse', url: `${origin}/sse`, startTimeout: '5m', ...more });
  const run = await wield(workspace, ['mcp', 'refresh', 'far']);
  expect(run.status).not.toBe(0);
  return run.stdout + run.stderr;
}

describe.concurrent('a server over SSE', () => {
  for (const key of ['type', 'transport'])
    spec('UPS-116', `is called, and again when its stream ended ("${key}")`, async () => {
      const server = await sdkServer();
      const { toolbox } = far({ [key]: 'sse', url: `${server.origin}/sse` });
      expect(said(await toolbox.call('far_echo', { text: 'one' }))).toBe('one');
      const many = Array.from({ length: 20 }, (_, at) => toolbox.call('far_echo', { text: `${at}` }));
      expect((await Promise.all(many)).map(said)).toEqual(many.map((_, at) => `${at}`));
      await server.end();
      // A call on the stream that ends at the same time is lost.
      await until(async () => said(await toolbox.call('far_echo', { text: 'two' })) === 'two', 'it is called again');
      expect(server.requests.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`)).toBe(true);
    });

  spec('UPS-116', 'is deprecated, which doctor says', async () => {
    const server = await sdkServer();
    const { workspace } = far({ type: 'sse', url: `${server.origin}/sse` });
    const { warnings } = json(await wield(workspace, ['doctor', '--json']));
    expect(JSON.stringify(warnings)).toMatch(/\\"sse\\" transport is deprecated.*streamable HTTP/);
  });

  spec('UPS-116', 'is not sent anything to an endpoint of another origin', async () => {
    const other = await listen((_, response) => response.writeHead(202).end());
    const endpoints = [
      `${other.origin}/messages`,
      `//127.0.0.1:${other.port}/messages`,
      `http://user:pass@127.0.0.1:${other.port}/`,
    ];
    for (const endpoint of endpoints) {
      const server = await listen((_, response) =>
        eventStream(response).write(`event: endpoint\ndata: ${endpoint}\n\n`),
      );
      expect(await refuse(server)).toMatch(/another origin|contains credentials/);
      expect(server.requests.map(({ method }) => method)).toEqual(['GET']);
    }
    expect(other.requests).toEqual([]);
  });

  spec('UPS-116', 'does not change its endpoint later', async () => {
    const moved: string[] = [];
    const server = await listen((request, response) => {
      if (request.method === 'GET')
        eventStream(response).write('event: endpoint\ndata: /one\n\nevent: endpoint\ndata: /two\n\n');
      else {
        moved.push(request.url!);
        response.writeHead(400).end();
      }
    });
    expect(await refuse(server)).toContain('HTTP 400');
    expect(new Set(moved)).toEqual(new Set(['/one']));
  });

  spec('UPS-116', 'is not followed to another origin by redirects', async () => {
    const other = await listen((_, response) => response.writeHead(202).end());
    for (const at of ['GET', 'POST']) {
      const server = await listen((request, response) => {
        if (request.method === at) response.writeHead(307, { location: `${other.origin}/x` }).end();
        else eventStream(response).write('event: endpoint\ndata: /messages\n\n');
      });
      expect(await refuse(server)).toContain('another origin');
    }
    expect(other.requests).toEqual([]);
  });

  const bad: [what: string, answer: (response: ServerResponse) => void, error: RegExp][] = [
    ['no endpoint', (response) => eventStream(response).write(': wait\n\n'), /did not respond within 1 s/],
    [
      'an invalid endpoint',
      (response) => eventStream(response).write('event: endpoint\ndata: http://[\n\n'),
      /not a URL/,
    ],
    ['a stream that ends', (response) => eventStream(response).end(': bye\n\n'), /ended the event stream/],
    ['another type', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('x'), /event stream/],
    ['status 500', (response) => response.writeHead(500).end('x'), /HTTP 500/],
    ['a large event', (response) => eventStream(response).write(`data: ${'x'.repeat(17 << 20)}`), /more than 16 MiB/],
    ['many events', (response) => eventStream(response).write(`data: ${'x'.repeat(9999)}\n\n`.repeat(1800)), /floods/],
    ['many comments', (response) => eventStream(response).write(`: ${'x'.repeat(9999)}\n\n`.repeat(1800)), /floods/],
  ];
  for (const [what, answer, error] of some(bad, 6))
    spec('UPS-116', `is unavailable with ${what}${SAMPLED}`, async () => {
      const server = await listen((_, response) => answer(response));
      expect(await refuse(server, what === 'no endpoint' ? { startTimeout: '1s' } : {})).toMatch(error);
    });

  spec('UPS-116', 'rejects contradicting fields', async () => {
    const { workspace } = far({ type: 'http', transport: 'sse', url: 'https://example.com/sse' });
    expect((await wield(workspace, ['doctor'])).stdout).toContain('contradict each other');
    const newer = far({ type: 'sse', protocol: '2026-07-28', url: 'https://example.com/sse' });
    expect((await wield(newer.workspace, ['doctor'])).stdout).toContain('does not have the version');
  });
});
