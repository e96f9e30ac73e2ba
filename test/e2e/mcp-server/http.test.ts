// The server over HTTP: sessions, bodies, slow and broken clients.

import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { logRecords } from '../../support/audit.js';
import { wield } from '../../support/cli.js';
import { connectUrl } from '../../support/clients.js';
import { patience } from '../../support/patience.js';
import { sleep } from '../../support/processes.js';
import { type HttpServer, type Message, OLDER, serveHttp, until } from '../../support/server.js';
import { onEnd, share } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const GREET = '#!/bin/sh\n# @description Greet.\n# @param who string Whom\necho "hi $WIELD_PARAM_WHO"\n';
const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', GREET);
  return workspace;
}

const post = (url: string, body: string | object, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** Reads the only message of a response, which is JSON or a stream. */
async function messageOf(response: Response): Promise<Message> {
  const text = await response.text();
  const data = /^data: (\{.*)$/m.exec(text)?.[1];
  return JSON.parse(data ?? text);
}

async function openSession(url: string, version = OLDER): Promise<string> {
  const response = await post(url, {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });
  expect(response.status).toBe(200);
  await response.text();
  const session = response.headers.get('mcp-session-id')!;
  const accepted = await post(
    url,
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { 'mcp-session-id': session, 'mcp-protocol-version': version },
  );
  expect(accepted.status).toBe(202);
  return session;
}

const callGreet = (url: string, session: string, id: number, who: string): Promise<Response> =>
  post(
    url,
    { jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'greet', arguments: { who } } },
    { 'mcp-session-id': session, 'mcp-protocol-version': OLDER },
  );

async function expectServing({ url }: HttpServer): Promise<void> {
  const client = await connectUrl(url, 'newer');
  const result = await client.callTool({ name: 'greet', arguments: { who: 'you' } });
  expect(result.content).toEqual([{ type: 'text', text: 'hi you\n' }]);
}

// For tests that leave nothing behind.
const shared = share(() => serveHttp(createTools()));

describe('sessions of the older protocol version', () => {
  spec('RUN-15', 'refuse a call with a number that reading would change, as stdio does', async () => {
    const workspace = createTools();
    workspace.script('show', '#!/bin/sh\n# @description Show.\n# @param id integer x\n# @param text string x\ncat\n');
    const toCall = (id: number, given: string): string =>
      `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"show","arguments":${given}}}`;
    const [changed, exact, text] = [
      toCall(1, '{"id":9007199254740993}'),
      toCall(2, '{"id":9007199254740991}'),
      toCall(3, '{"text":"9007199254740993"}'),
    ];
    const { url } = await serveHttp(workspace);
    const headers = { 'mcp-session-id': await openSession(url), 'mcp-protocol-version': OLDER };
    const refused = await post(url, changed!, headers);
    const message = expect.stringContaining(
      'the number 9007199254740993, beyond 2^53, which would be changed; pass it as text',
    );
    expect([refused.status, await refused.json()]).toMatchObject([400, { id: 1, error: { message } }]);
    expect((await messageOf(await post(url, exact!, headers))).result).toMatchObject({
      content: [{ text: '{"id":9007199254740991}' }],
    });
    const begin =
      '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}';
    const { stdout } = await wield(workspace, ['serve', '--trust'], {
      stdin: `${[begin, changed, text].join('\n')}\n`,
    });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Message);
    expect(lines.find(({ id }) => id === 1)).toMatchObject({ error: { message } });
    expect(lines.find(({ id }) => id === 3)).toMatchObject({
      result: { content: [{ text: '{"text":"9007199254740993"}' }] },
    });
  });

  spec('SRV-5', 'returns 404 for unknown and ended sessions, 400 without a session (A48)', async () => {
    const { url } = shared();
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await post(url, list, { 'mcp-session-id': 'guessed' })).status).toBe(404);
    expect((await post(url, list)).status).toBe(400);
    const session = await openSession(url);
    expect(session).toMatch(/^[0-9a-f-]{36}$/);
    expect((await callGreet(url, session, 1, 'Ada')).status).toBe(200);
    const ended = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } });
    expect(ended.status).toBe(200);
    expect((await callGreet(url, session, 2, 'Ada')).status).toBe(404);
    // Neither an ended session nor a part or another spelling of a living one is accepted, by any method.
    const living = await openSession(url);
    const guesses = [
      session,
      living.slice(0, -1),
      `${living}0`,
      living.toUpperCase(),
      living.replaceAll('-', ''),
      `${living}, ${living}`,
      '00000000-0000-0000-0000-000000000000',
      '__proto__',
      '*',
    ];
    for (const guess of guesses) {
      expect([guess, (await callGreet(url, guess, 3, 'Ada')).status]).toEqual([guess, 404]);
      for (const method of ['GET', 'DELETE']) {
        const headers = { 'mcp-session-id': guess, accept: 'text/event-stream' };
        expect([guess, method, (await fetch(url, { method, headers })).status]).toEqual([guess, method, 404]);
      }
    }
    expect((await callGreet(url, living, 4, 'Ada')).status).toBe(200);
    const sessions = await Promise.all(Array.from({ length: 20 }, () => openSession(url)));
    expect(new Set(sessions).size).toBe(20);
  });

  spec('SRV-5', 'separates equal request ids of two sessions (A49)', async () => {
    const { url } = shared();
    const [one, two] = [await openSession(url), await openSession(url)];
    expect(one).not.toBe(two);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const [session, who] = index % 2 === 0 ? [one, `one${index}`] : [two, `two${index}`];
        return callGreet(url, session, Math.floor(index / 2), who).then(messageOf);
      }),
    );
    for (const [index, { id, result }] of answers.entries()) {
      expect(id).toBe(Math.floor(index / 2));
      expect(result.content[0].text).toBe(`hi ${index % 2 === 0 ? 'one' : 'two'}${index}\n`);
    }
    // Clients of the newer version all count from zero, too.
    const newer = await Promise.all(Array.from({ length: 6 }, () => connectUrl(url, 'newer')));
    const texts = await Promise.all(
      newer.flatMap((client, at) =>
        [0, 1, 2].map(async (turn) => {
          const result = await client.callTool({ name: 'greet', arguments: { who: `${at}-${turn}` } });
          return [`hi ${at}-${turn}\n`, (result.content as { text: string }[])[0]!.text];
        }),
      ),
    );
    for (const [expected, text] of texts) expect(text).toBe(expected);
  });

  spec('SRV-16 RUN-6', 'cancels a request before and after it arrives, and ends its response', async () => {
    const workspace = createTools();
    workspace.script('hang', '#!/bin/sh\n# @description Hang.\ntouch started\nsleep 600\n');
    const { url } = await serveHttp(workspace);
    const headers = { 'mcp-session-id': await openSession(url), 'mcp-protocol-version': OLDER };
    const cancel = (requestId: number) =>
      post(url, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } }, headers);
    const hang = async (id: number): Promise<string> => {
      const params = { name: 'hang', arguments: {} };
      const response = await post(url, { jsonrpc: '2.0', id, method: 'tools/call', params }, headers);
      // A stream begins with an event that has only an id.
      return (await response.text()).replace(/^id: \S+\ndata: \n\n/, '');
    };
    const codes = () => logRecords(workspace).map(({ tool, code }) => [tool, code]);
    expect((await cancel(7)).status).toBe(202);
    expect(await hang(7)).toBe('');
    await until(() => codes().length === 1, 'the early call ends');
    const late = hang(8);
    await until(() => existsSync(join(workspace.dir, 'started')), 'the late call starts');
    await cancel(8);
    expect(await late).toBe('');
    await until(() => codes().length === 2, 'the late call ends');
    expect(codes()).toEqual([
      ['hang', 'cancelled'],
      ['hang', 'cancelled'],
    ]);
    // A cancellation that came too late affects no other request.
    expect(await messageOf(await callGreet(url, headers['mcp-session-id'], 9, 'Ada'))).toMatchObject({ id: 9 });
    await cancel(9);
    expect(await messageOf(await callGreet(url, headers['mcp-session-id'], 9, 'Ada'))).toMatchObject({ id: 9 });
  });

  spec('SRV-90', 'accepts a batch in the version that has them, and answers it with a list', async () => {
    const { url } = shared();
    const ping = [{ jsonrpc: '2.0', id: 1, method: 'ping' }];
    const send = async (version: string) => {
      const session = { 'mcp-session-id': await openSession(url, version), 'mcp-protocol-version': version };
      return post(url, ping, session);
    };
    const batch = await send('2025-03-26');
    expect(await batch.json()).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
    for (const version of ['2025-06-18', OLDER]) {
      const refused = await send(version);
      expect([refused.status, ((await refused.json()) as { error: { code: number } }).error.code]).toEqual([
        400, -32600,
      ]);
    }
  });

  spec('SRV-16 SRV-90 SRV-96', 'answers the other requests of a batch if one is cancelled', async () => {
    const workspace = createTools();
    workspace.script(
      'wait',
      '#!/bin/sh\n# @description Wait.\ntouch started\nwhile [ ! -e go ]; do sleep 0.05; done\necho waited\n',
    );
    const { url } = await serveHttp(workspace);
    const version = '2025-03-26';
    const headers = { 'mcp-session-id': await openSession(url, version), 'mcp-protocol-version': version };
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'wait', arguments: {} },
    });
    const cancel = (requestId: number) => ({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId },
    });
    const ping = { jsonrpc: '2.0', id: 8, method: 'ping' };
    const answers = post(url, [call(30), call(31)], headers).then((response) => response.text());
    await until(() => existsSync(join(workspace.dir, 'started')), 'the calls start');
    await post(url, cancel(30), headers);
    workspace.write('go', '');
    expect([...(await answers).matchAll(/"id":(\d+)/g)].map(([, id]) => id)).toEqual(['31']);
    const own = await post(url, [ping, call(9), cancel(9)], headers);
    expect([...(await own.text()).matchAll(/"id":(\d+)/g)].map(([, id]) => id)).toEqual(['8']);
    expect(await (await post(url, [call(10), cancel(10)], headers)).text()).toBe('');
  });

  spec.thorough('SRV-5', 'accepts new clients when too many sessions were never ended', async () => {
    const server = await serveHttp(createTools());
    const first = await openSession(server.url);
    const used = await openSession(server.url);
    const listening = await openSession(server.url);
    const headers = { 'mcp-session-id': listening, accept: 'text/event-stream' };
    const stream = await fetch(server.url, { headers });
    onEnd(() => stream.body?.cancel());
    for (let count = 0; count < 30; count++) {
      await Promise.all(Array.from({ length: 10 }, () => openSession(server.url)));
      if (count === 20) expect((await callGreet(server.url, used, 1, 'x')).status).toBe(200);
    }
    const last = await openSession(server.url);
    expect((await messageOf(await callGreet(server.url, last, 1, 'x'))).result.content[0].text).toBe('hi x\n');
    expect((await callGreet(server.url, listening, 1, 'x')).status).toBe(200);
    // The least recently used session that nobody listened to was dropped.
    expect((await callGreet(server.url, first, 1, 'x')).status).toBe(404);
    expect((await callGreet(server.url, used, 1, 'x')).status).toBe(200);
  });
});

describe('rejected requests', () => {
  spec('SRV-5', 'returns 415 for the content type, 400 for invalid JSON, 413 for too large bodies (A52)', async () => {
    const server = shared();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'text/json']) {
      expect((await post(server.url, body, { 'content-type': type })).status, type).toBe(415);
    }
    for (const bad of ['{', '', 'null x', '{"a":1,"a":2}', '['.repeat(100) + ']'.repeat(100)]) {
      const response = await post(server.url, bad);
      expect(response.status, bad).toBe(400);
      expect((await messageOf(response)).error.code).toBe(-32700);
    }
    const large = await post(server.url, JSON.stringify({ a: 'x'.repeat(13 * 1024 * 1024) })).catch(() => undefined);
    // The server may respond and disconnect while the client is still writing.
    if (large !== undefined) expect(large.status).toBe(413);
    await expectServing(server);
    expect(server.memory()).toBeLessThan(300);
  });

  spec('SRV-5', 'returns 413 for a too large Content-Length', async () => {
    const server = shared();
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(server.port, '127.0.0.1', () => {
        socket.write(
          `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 1000000000\r\n\r\n{`,
        );
      });
      socket.once('data', (chunk) => {
        resolve(chunk.toString('utf8'));
        socket.destroy();
      });
      socket.once('error', reject);
    });
    expect(answer).toContain('HTTP/1.1 413');
  });

  spec('SRV-5', 'returns 404 for other paths, 405 for other methods, and a description for GET /', async () => {
    const { url } = shared();
    const at = (path: string, init?: RequestInit) => fetch(new URL(path, url), init);
    expect((await at('/nothing')).status).toBe(404);
    expect((await at('/mcp/x', { method: 'POST', headers: HEADERS, body: '{}' })).status).toBe(404);
    expect((await at('/mcp', { method: 'PUT', body: '{}' })).status).toBe(405);
    expect((await at('/', { method: 'POST', body: '{}' })).status).toBe(405);
    const home = await at('/');
    expect(home.status).toBe(200);
    expect(home.headers.get('content-type')).toContain('text/plain');
    const text = await home.text();
    for (const part of ['wield', url, '1 tool: greet']) expect(text).toContain(part);
  });
});

// They mostly wait.
describe.concurrent('misbehaving clients', () => {
  spec.thorough('SRV-5', 'do not delay others', async () => {
    const server = await serveHttp(createTools());
    const sockets = Array.from({ length: 100 }, (_, index) => {
      const socket = connect(server.port, '127.0.0.1');
      socket.on('error', () => {});
      onEnd(() => void socket.destroy());
      // Half a header, half a body, no HTTP at all, and nothing.
      const head = `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n`;
      const texts = [
        head,
        `${head}Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"jsonrpc":`,
        '\u0016\u0003\u0001\u0002nonsense\r\n\r\n',
        '',
      ];
      socket.write(texts[index % 4]!);
      return socket;
    });
    await expectServing(server);
    for (const socket of sockets.slice(0, 50)) socket.resetAndDestroy();
    await expectServing(server);
  });

  spec.thorough('SRV-5', 'are disconnected if they never finish their headers', async () => {
    const server = shared();
    const began = performance.now();
    await new Promise<void>((resolve) => {
      const socket = connect(server.port, '127.0.0.1', () => socket.write('POST /mcp HTTP/1.1\r\nHost: a\r\n'));
      socket.on('error', () => {});
      socket.resume();
      socket.once('close', () => resolve());
    });
    expect(performance.now() - began).toBeLessThan(patience(50_000));
  });

  spec.thorough('SRV-5', 'can reuse a connection for longer than the announced time', async () => {
    const { url, port } = shared();
    const stream = await fetch(url, { headers: { ...HEADERS, 'mcp-session-id': await openSession(url) } });
    expect(stream.headers.get('content-type')).toContain('event-stream');
    expect(stream.headers.get('keep-alive')).toBe('timeout=5');
    await stream.body!.cancel();
    const socket = connect(port, '127.0.0.1');
    onEnd(() => void socket.destroy());
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk.toString('utf8');
    });
    const answers = () => received.split('HTTP/1.1 200').length - 1;
    const ask = () => socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    ask();
    await until(() => answers() === 1, 'the first response');
    expect(received).toMatch(/^keep-alive: timeout=5\r$/im);
    await sleep(6000);
    ask();
    await until(() => answers() === 2, 'the second response');
    await new Promise((resolve) => socket.once('close', resolve));
  });

  spec.thorough('SRV-5', 'answers many concurrent requests', async () => {
    const { url } = shared();
    const session = await openSession(url);
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, id) => callGreet(url, session, id, String(id)).then(messageOf)),
    );
    expect(answers.map(({ result }) => result.content[0].text)).toEqual(answers.map((_, id) => `hi ${id}\n`));
  });

  spec('SRV-5', 'reports a port that is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    onEnd(() => void taken.close());
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    const run = await wield(createTools(), ['serve', '--http', String(port)]);
    expect(run.status).not.toBe(0);
    expect(run.stderr).toContain(`port ${port} is in use`);
    expect(run.stderr).toContain('hint');
    expect(run.stdout).toBe('');
  });
});
