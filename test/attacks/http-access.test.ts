// Access to the HTTP server: Host, Origin and tokens in combination.

import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { describe, expect } from 'vitest';
import { wield } from '../support/cli.js';
import { connectUrl } from '../support/clients.js';
import { type HttpServer, serveHttp } from '../support/server.js';
import { spec, specIf } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
const TOKEN = 'a-token-of-more-than-sixteen-characters';

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', '#!/bin/sh\n# @description Greet.\necho hi\n');
  return workspace;
}

/** Returns the status of a request with exactly these headers; fetch does not allow setting Host. */
function ask(
  server: HttpServer,
  headers: Record<string, string>,
  { path = '/mcp', host = '127.0.0.1', body = BODY } = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host,
        port: server.port,
        path,
        method: path === '/' ? 'GET' : 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
      },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode!));
      },
    );
    asked.once('error', reject);
    asked.end(path === '/' ? undefined : body);
  });
}

describe('Host and Origin', () => {
  spec('SRV-5', 'rejects foreign hosts and origins on every path (A46)', async () => {
    const server = await serveHttp(createTools());
    const port = server.port;
    const own = [`127.0.0.1:${port}`, `localhost:${port}`, '127.0.0.1', `[::1]:${port}`, 'LOCALHOST'];
    const foreign = [
      'x.localhost',
      `x.localhost:${port}`,
      'xlocalhost',
      'localhost.',
      `x.127.0.0.1.nip.io:${port}`,
      '127.0.0.1x.example',
      '[::2]',
      'evil.example',
      `evil.example:${port}`,
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      `0.0.0.0:${port}`,
    ];
    for (const host of own) expect(await ask(server, { host }), host).toBe(400);
    for (const host of foreign) {
      // 400 would be the response to a request without a session; a foreign host never gets that far.
      expect(await ask(server, { host }), host).toBe(403);
      expect(await ask(server, { host }, { path: '/' }), host).toBe(403);
    }
    for (const host of ['evil.example#@127.0.0.1', 'a b'])
      expect([400, 403], host).toContain(await ask(server, { host }, { path: '/' }));
    expect(await ask(server, { host: `127.0.0.1:${port}` }, { path: '/' })).toBe(200);
    const pages: [string, number][] = [
      [`http://127.0.0.1:${port}`, 200],
      [`http://localhost:${port}`, 200],
      // Another page of this machine.
      ['http://localhost:3000', 403],
      ['http://x.localhost', 403],
      ['http://localhost.', 403],
      ['http://evil.example', 403],
      [`http://evil.example:${port}`, 403],
      ['https://localhost.evil.example', 403],
      ['http://127.0.0.1.evil.example', 403],
      ['null', 403],
      ['', 403],
      ['file://', 403],
    ];
    for (const [origin, status] of pages) {
      expect(await ask(server, { host: `127.0.0.1:${port}`, origin }, { path: '/' }), origin).toBe(status);
    }
  });

  spec('SRV-5', 'are checked before the body is read (A46 A52)', async () => {
    const server = await serveHttp(createTools());
    const broken = { body: '{ not json' };
    expect(await ask(server, { host: 'evil.example' }, broken)).toBe(403);
    expect(await ask(server, { origin: 'http://evil.example' }, broken)).toBe(403);
    expect(await ask(server, { 'content-type': 'text/plain', origin: 'http://evil.example' })).toBe(403);
    expect(await ask(server, { 'content-type': 'text/plain' })).toBe(415);
    expect(await ask(server, {}, broken)).toBe(400);
  });
});

describe('tokens', () => {
  const foreign = 'another-token-of-more-than-sixteen-characters';
  const wrong = [
    ...[
      `Bearer ${foreign}`,
      `Bearer ${TOKEN.toUpperCase()}`,
      `Bearer ${TOKEN}, Bearer ${TOKEN}`,
      `Bearer ${TOKEN}\u00e9`,
    ],
    ...[undefined, '', 'Bearer', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`, TOKEN],
  ];
  const expectToken = async (server: HttpServer, host: string): Promise<void> => {
    for (const authorization of wrong) {
      const headers = { host, ...(authorization === undefined ? {} : { authorization }) };
      expect(await ask(server, headers), String(authorization)).toBe(401);
      expect(await ask(server, headers, { path: '/' }), String(authorization)).toBe(401);
    }
    expect(await ask(server, { host, authorization: `Bearer ${TOKEN}` }, { path: '/' })).toBe(200);
  };

  spec('SRV-5', 'are read from WIELD_TOKEN or --token-file; missing and wrong ones return 401 (A47)', async () => {
    const workspace = createTools();
    const fromVariable = await serveHttp(workspace, { env: { WIELD_TOKEN: TOKEN } });
    await expectToken(fromVariable, '127.0.0.1');
    const file = workspace.write('token', `${TOKEN}\n`, 0o600);
    const fromFile = await serveHttp(workspace, { args: ['--trust', '--token-file', file] });
    await expectToken(fromFile, '127.0.0.1');
    const client = await connectUrl(fromFile.url, 'newer', () => {}, { authorization: `Bearer ${TOKEN}` });
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['greet', 'query_result', 'read_result']);
    expect(fromFile.stderr()).not.toContain(TOKEN);
  });

  spec('SRV-5', 'are required for any address but loopback, before listening (A47)', async () => {
    const workspace = createTools();
    for (const address of ['0.0.0.0:0', '[::]:0', '192.0.2.1:0', 'example.com:0']) {
      const run = await wield(workspace, ['serve', '--http', address]);
      expect(run.status, address).toBe(2);
      expect(run.stderr).toContain('WIELD_TOKEN');
      expect(run.stdout).toBe('');
    }
    const short = await wield(workspace, ['serve', '--http', '0'], { env: { WIELD_TOKEN: 'short' } });
    expect(short.status).toBe(2);
    const missing = await wield(workspace, ['serve', '--http', '0', '--token-file', 'no-such-file']);
    expect(missing.status).not.toBe(0);
    expect(missing.stderr).toContain('no-such-file');
  });

  spec('SRV-5', 'allow access on every address', async () => {
    const server = await serveHttp(createTools(), { address: '0.0.0.0:0', env: { WIELD_TOKEN: TOKEN } });
    await expectToken(server, 'any.name.example');
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
  specIf(
    outside !== undefined,
    'no network interface but loopback; to run: npm test with a network',
    'SRV-5',
    'listens only on loopback by default',
    async () => {
      const server = await serveHttp(createTools());
      await expect(ask(server, {}, { host: outside! })).rejects.toThrow();
    },
  );
});
