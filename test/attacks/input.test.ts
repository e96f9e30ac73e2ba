// No input ends a process: damaged lines, bodies and frames of clients, servers and modules.

import { Agent, request } from 'node:http';
import { describe, expect, vi } from 'vitest';
import { textOf } from '../../src/index.js';
import { rounds, SAMPLED, SEED } from '../support/effort.js';
import { createModuleWorkspace, moduleText } from '../support/modules.js';
import { createRandom, mutate } from '../support/mutate.mjs';
import { openPage } from '../support/page.js';
import { patience } from '../support/patience.js';
import { type HttpServer, OLDER, serveHttp, serveStdio } from '../support/server.js';
import { ROOT } from '../support/sources.js';
import { spec } from '../support/spec.js';
import { configureServers } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const NEWER = '2026-07-28';
const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': NEWER,
  'io.modelcontextprotocol/clientCapabilities': {},
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
};

type Version = 'older' | 'newer';

/** Messages that are damaged: the most frequent ones, and those that the SDK answers. */
function messagesOf(version: Version): string[] {
  const withParams = (params: object) => (version === 'newer' ? { ...params, _meta: ENVELOPE } : params);
  const requests: [string, object][] = [
    ['ping', {}],
    ['tools/list', {}],
    ['tools/call', { name: 'absent', arguments: { text: 'a' } }],
    ['tools/call', { name: 'list_tools', arguments: {}, requestState: 'x', inputResponses: {} }],
    ['resources/list', {}],
    ['resources/read', { uri: 'skill://x' }],
    ['resources/subscribe', { uri: 'skill://x' }],
    ['subscriptions/listen', { notifications: { resourceSubscriptions: ['skill://x'] } }],
    ['prompts/get', { name: 'x', arguments: {} }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: 'x' }, argument: { name: 'a', value: 'b' } }],
    ['tasks/get', { taskId: 'x' }],
    ['logging/setLevel', { level: 'info' }],
    ['initialize', { protocolVersion: OLDER, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }],
    ['server/discover', {}],
  ];
  const others = [
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, reason: 'x' } },
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } },
    { jsonrpc: '2.0', id: 1, result: { action: 'accept', content: {} } },
    { jsonrpc: '2.0', id: 'a', error: { code: -1, message: 'x', data: {} } },
  ];
  return [
    ...requests.map(([method, params], at) => ({ jsonrpc: '2.0', id: at, method, params: withParams(params) })),
    ...others,
  ].map((message) => JSON.stringify(message));
}

const valid = (version: Version, id: string) =>
  version === 'older'
    ? { jsonrpc: '2.0', id, method: 'ping' }
    : { jsonrpc: '2.0', id, method: 'tools/list', params: { _meta: ENVELOPE } };

// Each of four kinds takes a quarter of 3,000, and of 20,000 in `npm run thorough`.
const COUNT = rounds(750, 5000);
const BATCH = 250;
const TIMEOUT_MS = 600_000;

/** Known to have ended a process. */
const KNOWN = [
  '{"jsonrpc":"2.0","id":01,"method":"ping"}',
  '{"jsonrpc":"2.0","id":-00,"method":"ping"}',
  '{"jsonrpc":"2.0","id":"a\u0001b","method":"ping"}',
  '{"jsonrpc":"2.0","id":"a\tb","method":"ping"}',
  '{"method":"ping","jsonrpc":"2.0","id":007}',
  '{"method":"ping","jsonrpc":"2.0","id":"\u001f"}',
];

// Nothing got as far as the edge of the process, and no stack was printed.
const QUIET = /goes on|unexpected|^\s+at /m;

describe.concurrent('a server', () => {
  for (const version of ['older', 'newer'] as const)
    spec(
      'SRV-84',
      `over stdio goes on after damaged lines, ${version} version${SAMPLED}`,
      async () => {
        const server = serveStdio(createWorkspace());
        if (version === 'older') await server.initialize();
        else await server.request('first', 'tools/list', { _meta: ENVELOPE });
        const random = createRandom(SEED + (version === 'older' ? 1 : 2));
        const texts = messagesOf(version);
        const lines = [...KNOWN];
        for (let at = 0; at < COUNT; at++) lines.push(mutate(texts[Math.floor(random() * texts.length)]!, random));
        for (let at = 0; at < lines.length; at += BATCH) {
          for (const line of lines.slice(at, at + BATCH)) server.send(line);
          server.send(valid(version, `alive-${at}`));
          const answer = await server.receive(({ id, method }) => id === `alive-${at}` && method === undefined);
          expect(answer.result).toBeDefined();
        }
        expect(server.lines.every((line) => JSON.parse(line).jsonrpc === '2.0')).toBe(true);
        expect(server.stderr()).not.toMatch(QUIET);
      },
      TIMEOUT_MS,
    );

  spec('SRV-84', 'answers a malformed message with its id if that can be read', async () => {
    const server = serveStdio(createWorkspace());
    await server.initialize();
    // Notifications may come between.
    const errors = () => server.lines.map((line) => JSON.parse(line)).filter(({ error }) => error !== undefined);
    const idOf = async (line: string): Promise<unknown> => {
      const before = errors().length;
      server.send(line);
      // Not expect.poll(), which fails when a concurrent test ends.
      await vi.waitFor(() => expect(errors()).toHaveLength(before + 1), { timeout: patience(60_000) });
      const { id, error } = errors().at(-1);
      expect(error.code).toBe(-32700);
      return id;
    };
    expect(await idOf('{"jsonrpc":"2.0","id":12,"method":ping}')).toBe(12);
    expect(await idOf('{"jsonrpc":"2.0","id":"a b","method":ping}')).toBe('a b');
    expect(await idOf('{"method":ping,"jsonrpc":"2.0","id":-7}')).toBe(-7);
    expect(await idOf('{"jsonrpc":"2.0","id":01,"method":"ping"}')).toBe(null);
    expect(await idOf('{"jsonrpc":"2.0","id":"a\u0001b","method":"ping"}')).toBe('a\u0001b');
  });

  spec(
    'SRV-84',
    `over HTTP goes on after damaged bodies and headers, both versions${SAMPLED}`,
    async () => {
      const server = await serveHttp(createWorkspace());
      for (const version of ['older', 'newer'] as const) await fuzzHttp(server, version);
      expect(server.stderr()).not.toMatch(QUIET);
    },
    TIMEOUT_MS,
  );
});

async function fuzzHttp(server: HttpServer, version: Version): Promise<void> {
  const random = createRandom(SEED + (version === 'older' ? 3 : 4));
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const post = (body: string, headers: Record<string, string>, patienceMs = TIMEOUT_MS) =>
    new Promise<{ status: number; session?: string; text: string }>((resolve) => {
      const options = { agent, method: 'POST', headers: { ...json, ...headers } };
      const sent = request(server.url, options, (response) => {
        let text = '';
        const done = (): void => {
          const session = response.headers['mcp-session-id'] as string | undefined;
          resolve({ status: response.statusCode!, text, ...(session === undefined ? {} : { session }) });
        };
        response.on('data', (chunk) => {
          text += chunk;
        });
        response.once('close', done).once('error', done);
        // An accepted subscription stays open.
        if (response.headers['content-type'] === 'text/event-stream') setTimeout(() => response.destroy(), 200);
      });
      sent.once('error', () => resolve({ status: 0, text: '' }));
      sent.setTimeout(patienceMs, () => sent.destroy());
      sent.end(body);
    });
  const initialize = JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: OLDER, capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });
  const { session = '' } = version === 'older' ? await post(initialize, {}) : {};
  const headersOf = (text: string): Record<string, string> => {
    if (version === 'older') return { 'mcp-session-id': session, 'mcp-protocol-version': OLDER };
    const { method, params } = JSON.parse(text);
    return { 'mcp-protocol-version': NEWER, 'mcp-method': String(method), 'mcp-name': String(params?.name ?? 'x') };
  };
  // Headers contain visible ASCII only; the client refuses others.
  const damageHeaders = (headers: Record<string, string>) => {
    if (random() > 0.2) return headers;
    const [name = 'mcp-method', value = ''] = Object.entries(headers)[Math.floor(random() * 3)] ?? [];
    return { ...headers, [name]: mutate(value || 'x', random).replace(/[^\x20-\x7e]/g, '') };
  };
  const texts = messagesOf(version);
  const sendOne = async (): Promise<void> => {
    const text = texts[Math.floor(random() * texts.length)]!;
    const headers = damageHeaders(headersOf(text));
    // A client that uses an id twice at the same time gets one answer.
    await post(random() < 0.9 ? mutate(text, random) : text, headers, 3000);
  };
  for (let at = 0; at < COUNT; at += BATCH) {
    await Promise.all(Array.from({ length: BATCH }, sendOne));
    const text = JSON.stringify(valid(version, `alive-${at}`));
    const { status, text: body } = await post(text, headersOf(text));
    expect([status, body.includes(`"id":"alive-${at}"`)]).toEqual([200, true]);
  }
  agent.destroy();
}

describe('an upstream server', () => {
  spec('UPS-103', `that sends damaged lines fails its own calls at most${SAMPLED}`, async () => {
    const workspace = createWorkspace();
    const count = rounds(150, 1000);
    const program = workspace.write(
      'hostile.mjs',
      `import { createInterface } from 'node:readline';
      import { createRandom, mutate } from ${JSON.stringify(`${ROOT}/test/support/mutate.mjs`)};
      const random = createRandom(${SEED});
      const send = (message) => process.stdout.write(JSON.stringify(message) + '\\n');
      const tools = [{ name: 'say', description: 'Say.', inputSchema: { type: 'object' } }];
      createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method } = JSON.parse(line);
        if (id === undefined) return;
        const result = method === 'initialize'
          ? { protocolVersion: '2025-11-25', capabilities: { tools: { listChanged: true }, resources: {}, logging: {} }, serverInfo: { name: 'h', version: '1' } }
          : method === 'tools/list' ? { tools }
          : method === 'tools/call' ? { content: [{ type: 'text', text: 'said' }] } : undefined;
        if (result === undefined) return send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } });
        const answer = { jsonrpc: '2.0', id, result };
        if (method !== 'tools/call') return send(answer);
        const texts = [
          // Other ids: what is damaged must not answer the call by chance.
          { ...answer, id: 'other' },
          { jsonrpc: '2.0', id: 77, error: { code: -1, message: 'x' } },
          { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 'p', progress: 1, total: 2, message: 'x' } },
          { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x', logger: 'y' } },
          { jsonrpc: '2.0', method: 'notifications/tools/list_changed' },
          { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: 'x:y' } },
          { jsonrpc: '2.0', id: 5, method: 'elicitation/create', params: { message: 'm', requestedSchema: { type: 'object', properties: {} } } },
          { jsonrpc: '2.0', id: 6, method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
          { jsonrpc: '2.0', id: 7, method: 'roots/list' },
          { jsonrpc: '2.0', id: 8, method: 'ping' },
        ].map((message) => JSON.stringify(message));
        for (let at = 0; at < ${count}; at++) process.stdout.write(mutate(texts[Math.floor(random() * texts.length)], random) + '\\n');
        send(answer);
      });`,
    );
    configureServers(workspace, { hostile: { command: process.execPath, args: [program] } });
    const toolbox = workspace.toolbox();
    for (let call = 0; call < 5; call++) {
      const result = await toolbox.call('hostile_say', {});
      expect([call, result.error, textOf(result)]).toEqual([call, undefined, 'said']);
    }
  });
});

describe('a module', () => {
  spec('MOD-34', `that writes damaged frames loses its own host at most${SAMPLED}`, async () => {
    const workspace = createModuleWorkspace();
    workspace.module('good.tool.mjs', moduleText('good', `() => 'fine'`));
    workspace.module(
      'hostile.tool.mjs',
      moduleText(
        'hostile',
        `async ({ seed }) => {
          const { writeSync } = await import('node:fs');
          const { createRandom, mutate, restructureOnly } = await import(${JSON.stringify(`${ROOT}/test/support/mutate.mjs`)});
          const random = createRandom(seed);
          const frames = [1, 2, 3].flatMap((id) => [
            { id, type: 'progress', progress: { done: 1, total: 2, message: 'x' } },
            { id, type: 'log', message: 'x' },
            { id, type: 'call', call: 1, question: 1, ref: 'absent', input: {} },
            { id, type: 'elicit', question: 2, message: 'x', schema: { type: 'object' } },
            { id, type: 'output', base64: 'YQ==', from: 'stdout' },
            { id: 900 + id, type: 'result', content: [{ type: 'text', text: 'x' }] },
            { id: 900 + id, type: 'failed', error: { code: 'io', message: 'x' } },
          ]).map((frame) => JSON.stringify(frame));
          const pick = () => frames[Math.floor(random() * frames.length)];
          const write = (text) => {
            for (;;) try { return writeSync(3, text + '\\n'); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
          };
          for (let at = 0; at < 200; at++) write(restructureOnly(pick(), random));
          write(mutate(pick(), random));
          await new Promise((resolve) => setTimeout(resolve, 50));
          return 'end';
        }`,
      ),
    );
    const toolbox = workspace.toolbox();
    for (let seed = SEED; seed < SEED + rounds(6, 100); seed++) {
      const { ok, error } = await toolbox.call('hostile', { seed });
      if (!ok) expect([seed, error!.code]).toEqual([seed, expect.not.stringMatching('internal')]);
      expect([seed, textOf(await toolbox.call('good', {}))]).toEqual([seed, 'fine']);
    }
  });
});

describe('the page', () => {
  spec('UI-27', `goes on after damaged requests${SAMPLED}`, async () => {
    const workspace: Workspace = createWorkspace();
    workspace.script('hello', '#!/bin/sh\n# @description Say hello.\necho hello\n');
    const page = await openPage(workspace);
    const random = createRandom(SEED + 5);
    const bodies: [string, object][] = [
      ['/api/plan', { tool: 'hello', input: {} }],
      ['/api/run', { tool: 'hello', input: {}, digest: 'x' }],
      ['/api/answers', { question: 'q', action: 'accept', content: {} }],
      ['/api/approvals/x', { answer: 'once', digest: 'x' }],
      ['/api/approvals', { deny: [{ id: 'x', digest: 'y' }] }],
      ['/api/explain', { tool: 'hello', caller: { kind: 'model', door: 'mcp' } }],
      ['/api/cases', { call: 'c1', name: 'x' }],
      ['/api/changes', { tool: 'hello', digest: 'x' }],
    ];
    for (let at = 0; at < rounds(60, 2000); at++) {
      const [path, body] = bodies[Math.floor(random() * bodies.length)]!;
      const { status } = await page.request(path, { method: 'POST', body: mutate(JSON.stringify(body), random) });
      expect([path, status < 500]).toEqual([path, true]);
      const odd = `/${mutate(path.slice(1), random).replace(/[^\x21-\x7e]/g, '%')}`;
      expect((await page.request(odd)).status).toBeLessThan(500);
    }
    expect((await page.get('/api/session')).status).toBe(200);
  });
});
