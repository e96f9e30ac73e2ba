// Tests of access to the HTTP server: Host, Origin, token and content type.

import { expect, test } from 'vitest';
import { createToolbox } from '../toolbox.js';
import { type AccessOptions, authenticate, checkHost } from './access.js';
import { createMcpHttp } from './http.js';

const TOKEN = 'a-token-of-more-than-sixteen-characters';

function statusOf(headers: Record<string, string>, access: Partial<AccessOptions> = {}): number {
  return checkHost((name) => headers[name], { host: '127.0.0.1', ...access })?.status ?? 200;
}

test('a loopback server answers only to loopback hosts', () => {
  for (const host of ['127.0.0.1:8080', 'localhost', 'localhost:1', '[::1]:8080', '127.9.8.7'])
    expect([host, statusOf({ host })]).toEqual([host, 200]);
  for (const host of [
    '',
    'example.com',
    'x.localhost',
    'evil-localhost',
    'localhost.example.com',
    '127.0.0.1.example.com',
    '10.0.0.1',
    '0.0.0.0',
    'example.com@127.0.0.1',
    '127.0.0.1/.example.com',
    'localhost?example.com',
    'localhost, example.com',
  ])
    expect([host, statusOf({ host })]).toEqual([host, 403]);
  expect(statusOf({ host: '10.0.0.5:1' }, { host: '10.0.0.5' })).toBe(200);
  expect(statusOf({ host: 'example.com' }, { host: '10.0.0.5' })).toBe(403);
});

test('pages of other sites are refused', () => {
  const host = '127.0.0.1:8080';
  for (const origin of ['http://127.0.0.1:8080', 'http://localhost:8080'])
    expect([origin, statusOf({ host, origin })]).toEqual([origin, 200]);
  for (const origin of [
    'https://example.com',
    'null',
    '',
    'http://x.localhost:8080',
    'http://localhost.example.com:8080',
    'http://localhost:3000',
  ])
    expect([origin, statusOf({ host, origin })]).toEqual([origin, 403]);
});

test('a user must be a text', async () => {
  const ask = (found: unknown) =>
    authenticate(() => 'Bearer abc', { host: '127.0.0.1', users: async () => found as never });
  expect(await ask({ user: 'ada', groups: ['ops'], more: 1 })).toMatchObject({ identity: { user: 'ada' } });
  expect((await ask({ error: 'invalid_token', reason: 'it has expired' })).refusal?.status).toBe(401);
  for (const [found, part] of [
    [{ user: 5, groups: [] }, 'user must be a string'],
    [{ groups: [] }, 'user is missing'],
    [{ user: 'ada', groups: 'ops' }, 'groups must be an array of strings'],
  ] as const)
    await expect(ask(found)).rejects.toThrow(`what access.users returned: ${part}`);
});

test('the token must be the whole token', async () => {
  const access = { host: '127.0.0.1', tokens: () => [TOKEN] };
  const ask = async (authorization: string | undefined): Promise<number> =>
    (await authenticate((name) => (name === 'authorization' ? authorization : undefined), access)).refusal?.status ??
    200;
  expect(await ask(`Bearer ${TOKEN}`)).toBe(200);
  const other = 'x'.repeat(TOKEN.length);
  for (const sent of [
    '',
    'Bearer ',
    `Bearer ${other}`,
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(1)}`,
    `Basic ${TOKEN}`,
    TOKEN,
  ])
    expect([sent, await ask(sent)]).toEqual([sent, 401]);
  expect(await ask(undefined)).toBe(401);
});

test('the endpoint checks access before anything else, and takes JSON only', async () => {
  const http = createMcpHttp(createToolbox({ tools: [] }), {
    access: { host: '127.0.0.1', tokens: () => [TOKEN] },
  } as never);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const ask = async (headers: Record<string, string>): Promise<number> => {
    const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body });
    return (await http.fetch(request)).status;
  };
  const allowed = { host: '127.0.0.1', authorization: `Bearer ${TOKEN}` };
  expect(await ask({ ...allowed, 'content-type': 'application/json', host: 'example.com' })).toBe(403);
  expect(await ask({ host: '127.0.0.1', 'content-type': 'application/json' })).toBe(401);
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])
    expect([type, await ask({ ...allowed, 'content-type': type })]).toEqual([type, 415]);
  await http.close();
});

test('a body of unknown length is read up to the limit', async () => {
  const http = createMcpHttp(createToolbox({ tools: [] }), { access: { host: '127.0.0.1' } } as never);
  const mebibyte = new Uint8Array(2 ** 20).fill(32);
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      if (++sent < 100) controller.enqueue(mebibyte);
      else controller.close();
    },
  });
  const headers = { host: '127.0.0.1', 'content-type': 'application/json' };
  const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
  expect((await http.fetch(request)).status).toBe(413);
  expect(sent).toBeLessThan(20);
  await http.close();
});
