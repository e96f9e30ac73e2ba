// Who can use the page: addresses, hosts, tokens, origins and what requests may contain.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { openPage, type PageRequest, toCredentials } from '../../support/page.js';
import { share } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; require-trusted-types-for 'script'";

const HELLO = '#!/bin/sh\n# @description Say hello.\n# @param *name string Whom\necho "Hello, $WIELD_PARAM_NAME!"\n';

const opened = share(async () => {
  const workspace = createWorkspace();
  workspace.script('hello', HELLO);
  return { workspace, page: await openPage(workspace, ['ui', '--json', '--verbose']) };
});

/** Sends bytes and returns the beginning of the answer. */
function exchange(host: string, sent: string): Promise<string> {
  const [address, port] = host.split(':');
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), address, () => socket.write(sent));
    socket.setEncoding('utf8').once('data', (text: string) => {
      socket.destroy();
      resolve(text);
    });
    socket.once('error', reject);
  });
}

describe('the page', () => {
  spec('UI-1', 'is served on 127.0.0.1 only, with a code in the fragment', async () => {
    const { page, workspace } = opened();
    expect(page.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}$/);
    for (const port of ['0.0.0.0:8080', '[::]:8080', '*', '-1', '65536']) {
      const refused = await wield(workspace, ['ui', '--json', `--port=${port}`]);
      expect([port, refused.status, json(refused).error.hint]).toEqual([
        port,
        2,
        'for example --port 7080; the page is served on 127.0.0.1 only',
      ]);
    }
    expect((await wield(workspace, ['ui', '--host', '0.0.0.0'])).status).toBe(2);
    const inside = await wield(workspace, ['ui', '--json'], { env: { WIELD_CALL: '1' } });
    expect([inside.status, json(inside).error.code]).toEqual([5, 'denied']);
  });

  spec('UI-2', 'checks the exact Host before routing: DNS rebinding', async () => {
    const { page } = opened();
    const { port } = new URL(page.url);
    const hosts = [
      'evil.example',
      `evil.example:${port}`,
      `localhost:${port}`,
      '127.0.0.1',
      `127.0.0.1:1`,
      `127.1:${port}`,
    ];
    for (const host of [...hosts, `127.0.0.1.:${port}`, `127.0.0.1:${port}.evil.example`, '']) {
      for (const path of ['/', '/index.html', '/api/session', '/nothing']) {
        const { status, text } = await page.request(path, { headers: { host } });
        expect([host, path, status, text]).toEqual([host, path, 403, 'Host header not allowed\n']);
      }
    }
    expect((await page.get('/api/session')).status).toBe(200);
  });

  spec('UI-3', 'gives a browser a cookie and a key for the code of its address, once', async () => {
    const workspace = createWorkspace();
    const page = await openPage(workspace);
    const { port, hash } = new URL(page.url);
    const code = hash.slice(1);
    for (const wrong of ['', 'x', page.token, `${code}x`, code.slice(1)])
      expect((await page.logIn(wrong)).status).toBe(403);
    // Also the code is for the page itself only.
    for (const headers of [{ origin: 'http://127.0.0.1:1' }, { 'sec-fetch-site': 'same-site' }, { origin: undefined }])
      expect((await page.logIn(code, headers)).status).toBe(403);
    expect((await page.logIn(code, { host: `localhost:${port}` })).status).toBe(403);
    const [first, second] = await Promise.all([page.logIn(code), page.logIn(code)]);
    expect([first.status, second.status].sort()).toEqual([200, 403]);
    const login = first.status === 200 ? first : second;
    expect(login.headers['set-cookie']).toEqual([
      expect.stringMatching(new RegExp(`^wield-${port}=[\\w-]{43}; Path=/api; HttpOnly; SameSite=Strict$`)),
    ]);
    expect(login.headers['cache-control']).toBe('no-store');
    // A new address was printed, and is the only one that works.
    const printed = /a new one: (http:\S+)/.exec(page.stderr())?.[1] ?? '';
    expect((await page.logIn(code)).status).toBe(403);
    expect(page.stderr().match(/a new one/g)).toHaveLength(1);
    const credentials = toCredentials(login);
    const ask = async (headers: PageRequest['headers']) =>
      (await page.request('/api/session', { headers: { authorization: undefined, ...headers } })).status;
    expect(await ask(credentials)).toBe(200);
    const { cookie, 'x-wield-key': key } = credentials as { cookie: string; 'x-wield-key': string };
    // Both are needed, and only the page itself can send both.
    expect(await ask({ cookie })).toBe(401);
    expect(await ask({ 'x-wield-key': key })).toBe(401);
    expect(await ask({ cookie, 'x-wield-key': `${key}x` })).toBe(401);
    expect(await ask({ cookie: cookie.replace(port, '1'), 'x-wield-key': key })).toBe(401);
    expect(await ask({ authorization: `Bearer ${key}` })).toBe(401);
    expect(await ask({ ...credentials, 'sec-fetch-site': undefined })).toBe(401);
    expect(await ask({ ...credentials, 'sec-fetch-site': 'same-site' })).toBe(403);
    // Another server of this address can set cookies, but not take ours away.
    expect(await ask({ ...credentials, cookie: `wield-${port}=x; a=b; ${cookie}; wield-${port}=` })).toBe(200);
    // Another tab that opens a new address has the same login.
    const again = await page.logIn(new URL(printed).hash.slice(1), { cookie });
    expect([again.status, again.json.key, again.headers['set-cookie']]).toEqual([200, key, undefined]);
    const plan = { method: 'POST', body: JSON.stringify({ tool: 'x', input: {} }) };
    const write = async (headers: PageRequest['headers']) =>
      (await page.request('/api/plan', { ...plan, headers: { authorization: undefined, ...headers } })).status;
    expect(await write(credentials)).toBe(404);
    expect(await write({ cookie })).toBe(401);
    expect(await write({ ...credentials, origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' })).toBe(403);
  });

  spec('UI-3', 'takes the code from the body of a login only, and keeps it valid if it was elsewhere', async () => {
    const page = await openPage(createWorkspace());
    const code = new URL(page.url).hash.slice(1);
    const login = { method: 'POST', body: '{}' };
    const elsewhere: [string, Record<string, string>][] = [
      ['/api/login', { referer: `${page.origin}/#${code}` }],
      ['/api/login', { referer: `${page.origin}/?code=${code}` }],
      ['/api/login', { cookie: `wield-${new URL(page.url).port}=${code}`, 'x-wield-key': code }],
      [`/api/login?code=${code}`, {}],
    ];
    for (const [path, headers] of elsewhere)
      expect((await page.request(path, { ...login, headers: { authorization: undefined, ...headers } })).status).toBe(
        400,
      );
    for (const headers of [{ authorization: `Bearer ${code}` }, { 'x-wield-key': code }, { referer: page.url }])
      expect((await page.request('/api/session', { headers: { authorization: undefined, ...headers } })).status).toBe(
        401,
      );
    // An unknown field beside it is refused before the code is looked at.
    const more = JSON.stringify({ code, next: 'https://evil.example' });
    expect((await page.request('/api/login', { ...login, body: more })).status).toBe(400);
    expect((await page.logIn(code)).status).toBe(200);
  });

  spec('UI-2 UI-3 UI-4', 'refuses a login that is used by another host, origin or process', async () => {
    const workspace = createWorkspace();
    const first = await openPage(workspace);
    const { port, hash } = new URL(first.url);
    const login = await first.logIn(hash.slice(1));
    const old = { authorization: undefined, ...toCredentials(login) };
    const plan = { method: 'POST', body: JSON.stringify({ tool: 'x', input: {} }) };
    expect((await first.request('/api/plan', { ...plan, headers: old })).status).toBe(404);
    // DNS rebinding: the browser has no cookie for that name, and would be refused with it.
    for (const host of [`localhost:${port}`, `evil.example:${port}`, `[::1]:${port}`])
      for (const request of [{}, plan])
        expect((await first.request('/api/session', { ...request, headers: { ...old, host } })).status).toBe(403);
    for (const origin of [`http://localhost:${port}`, 'http://127.0.0.1:1', 'null'])
      expect((await first.request('/api/plan', { ...plan, headers: { ...old, origin } })).status).toBe(403);
    // A form of another port: the browser sends the cookie, and nothing else of the login.
    const form = { ...old, 'x-wield-key': undefined, 'sec-fetch-site': 'same-site', 'content-type': 'text/plain' };
    expect((await first.request('/api/plan', { ...plan, headers: form })).status).toBe(403);
    await first.stop();
    const second = await openPage(workspace, ['ui', '--json', '--port', port]);
    expect((await second.request('/api/session', { headers: old })).status).toBe(401);
    expect((await second.request('/api/plan', { ...plan, headers: old })).status).toBe(401);
    expect((await second.logIn(hash.slice(1))).status).toBe(403);
    // The browser sends the old cookie with the new code, and gets a new one.
    const again = await second.logIn(new URL(second.url).hash.slice(1), old);
    expect(again.headers['set-cookie']).toHaveLength(1);
    expect((await second.request('/api/session', { headers: { ...old, ...toCredentials(again) } })).status).toBe(200);
  });

  spec('UI-3', 'needs the token in the header, and nowhere else', async () => {
    const { page } = opened();
    const { token } = page;
    const wrong = [
      undefined,
      '',
      token,
      'Bearer ',
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      `Basic ${token}`,
      `Bearer ${'x'.repeat(43)}`,
    ];
    for (const authorization of wrong)
      expect([authorization, (await page.request('/api/session', { headers: { authorization } })).status]).toEqual([
        authorization,
        401,
      ]);
    const elsewhere: [string, Record<string, string>][] = [
      [`/api/session?token=${token}`, {}],
      [`/api/session?access_token=${token}`, {}],
      ['/api/session', { cookie: `token=${token}` }],
      ['/api/session', { 'x-token': token }],
    ];
    for (const [path, headers] of elsewhere)
      expect((await page.request(path, { headers: { authorization: undefined, ...headers } })).status).toBe(401);
  });

  const WRITE: PageRequest = { method: 'POST', body: JSON.stringify({ tool: 'hello', input: { name: 'Ada' } }) };

  spec('UI-4', 'refuses writes of other sites', async () => {
    const { page } = opened();
    const { port } = new URL(page.url);
    expect((await page.request('/api/plan', WRITE)).status).toBe(200);
    const cases: [number, Record<string, string | undefined>][] = [
      [403, { origin: undefined }],
      [403, { origin: 'null' }],
      [403, { origin: 'https://evil.example' }],
      [403, { origin: `http://localhost:${port}` }],
      [403, { origin: `https://127.0.0.1:${port}` }],
      [403, { origin: 'http://127.0.0.1' }],
      [403, { 'sec-fetch-site': undefined }],
      [403, { 'sec-fetch-site': 'cross-site' }],
      [403, { 'sec-fetch-site': 'same-site' }],
      [403, { 'sec-fetch-site': 'none' }],
      [415, { 'content-type': undefined }],
      [415, { 'content-type': 'text/plain' }],
      [415, { 'content-type': 'application/x-www-form-urlencoded' }],
      [415, { 'content-type': 'text/plain; application/json' }],
      [401, { authorization: undefined }],
    ];
    for (const [status, headers] of cases) {
      const response = await page.request('/api/plan', { ...WRITE, headers });
      expect([headers, response.status]).toEqual([headers, status]);
    }
    for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
      expect((await page.request('/api/session', { headers })).status).toBe(403);
    for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH'])
      expect((await page.request('/api/plan', { ...WRITE, method })).status).toBe(404);
    const preflight = await page.request('/api/plan', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example' },
    });
    expect(preflight.status).toBe(403);
    expect(Object.keys(preflight.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  spec('UI-5', 'sends the security headers with every response, and only files of the page', async () => {
    const { page } = opened();
    const requests: [string, PageRequest][] = [
      ['/', {}],
      ['/nothing', {}],
      ['/api/session', {}],
      ['/api/nothing', {}],
      ['/api/session', { headers: { host: 'evil.example' } }],
      ['/api/session', { headers: { authorization: undefined } }],
      ['/api/plan', { ...WRITE, body: '{' }],
      ['/api/run', { ...WRITE, body: JSON.stringify({ tool: 'hello', input: {}, digest: 'x' }) }],
    ];
    for (const [path, options] of requests) {
      const { headers } = await page.request(path, options);
      expect(headers['content-security-policy']).toBe(POLICY);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['set-cookie']).toBeUndefined();
    }
    // What Node would answer itself.
    const { host } = new URL(page.url);
    for (const [sent, status] of [
      ['GET / HTTP/1.1\r\n\r\n', 403],
      ['GET / HTTP/1.0\r\n\r\n', 403],
      [`GET / HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\n\r\n`, 403],
      ['GET / HTTP/1.1\r\nHost: evil.example\r\nExpect: something\r\n\r\n', 403],
      [`GET / HTTP/1.1\r\nHost: ${host}\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
      ['nothing that is known\r\n\r\n', 400],
    ] as const) {
      const answer = await exchange(host, sent);
      expect([sent.slice(0, 60), answer.slice(0, 13)]).toEqual([sent.slice(0, 60), `HTTP/1.1 ${status} `]);
      expect(answer).toContain(`content-security-policy: ${POLICY}\r\nx-content-type-options: nosniff\r\n`);
    }
    for (const path of [
      '/../package.json',
      '/..%2fpackage.json',
      '/%2e%2e/cli/wield.cjs',
      '/./index.html',
      '//etc/passwd',
    ])
      expect([path, (await page.get(path)).status]).toEqual([path, 404]);
  });

  spec('UI-6', 'accepts no command, path or URL to start', async () => {
    const { page, workspace } = opened();
    const evil = workspace.write('evil.sh', '#!/bin/sh\n# @description Evil.\ntouch ran\n', 0o755);
    const refs = [evil, `file://${evil}`, './evil.sh', 'evil.sh', 'mcp://x/y', 'https://evil.example/tool', '/bin/sh'];
    for (const tool of refs) {
      for (const [path, body] of [
        ['/api/plan', { tool, input: {} }],
        ['/api/run', { tool, input: {}, digest: 'x' }],
        ['/api/explain', { tool, caller: { kind: 'model', door: 'mcp' } }],
      ] as const)
        expect([tool, path, (await page.post(path, body)).status]).toEqual([tool, path, 404]);
      expect((await page.get(`/api/tools/${encodeURIComponent(tool)}`)).status).toBe(404);
    }
    const more = {
      command: '/bin/sh',
      args: ['-c', 'touch ran'],
      cwd: '/',
      env: {},
      url: 'http://evil.example',
      path: evil,
    };
    const writes: Record<string, object> = {
      '/api/plan': { tool: 'hello', input: { name: 'Ada' } },
      '/api/run': { tool: 'hello', input: { name: 'Ada' }, digest: 'x' },
      '/api/explain': { tool: 'hello', caller: { kind: 'model', door: 'mcp' } },
      '/api/approvals': { deny: [] },
      '/api/approvals/x': { answer: 'once', digest: 'x' },
    };
    for (const [path, body] of Object.entries(writes))
      for (const [name, value] of Object.entries(more))
        expect([path, name, (await page.post(path, { ...body, [name]: value })).status]).toEqual([path, name, 400]);
    expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
  });

  spec('UI-3 UI-6', 'answers malformed requests with a clear error, without the token', async () => {
    const { page } = opened();
    const bodies = [
      '',
      '{',
      '[]',
      'null',
      '{"tool":"hello"}',
      '{"tool":1,"input":{}}',
      '{"tool":"hello","tool":"x","input":{}}',
    ];
    for (const body of [...bodies, `{"tool":"hello","input":${'['.repeat(100)}${']'.repeat(100)}}`]) {
      const response = await page.request('/api/plan', { method: 'POST', body });
      expect([body.slice(0, 40), response.status]).toEqual([body.slice(0, 40), 400]);
      expect(response.json.error.message).toBeTruthy();
    }
    expect((await page.request(`/api/tools/%zz`)).status).toBe(404);
    expect((await page.request(`/api/${'a/'.repeat(2000)}`)).status).toBe(404);
  });

  spec('UI-3', 'has the token in no response and no file', async () => {
    const { page, workspace } = opened();
    const paths = [
      '/',
      '/api/session',
      '/api/catalog/model',
      '/api/tools/hello',
      '/api/approvals',
      '/api/health',
      '/api/settings',
    ];
    for (const path of paths) {
      const { text, headers } = await page.get(path);
      expect([path, `${text}${JSON.stringify(headers)}`.includes(page.token)]).toEqual([path, false]);
    }
    const refused = await page.request('/api/session', { headers: { authorization: `Bearer ${page.token}x` } });
    expect(refused.text).not.toContain(page.token);
    expect(page.stderr()).not.toContain(page.token);
    const files = readdirSync(workspace.env.WIELD_HOME!, { recursive: true, withFileTypes: true });
    for (const file of files.filter((entry) => entry.isFile()))
      expect(readFileSync(join(file.parentPath, file.name), 'latin1')).not.toContain(page.token);
  });
});
