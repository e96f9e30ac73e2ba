// Hostile servers and login servers: what they do with a login.

import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { isToolError, type ToolError } from '../../src/core/error.js';
import { textOf } from '../../src/core/result.js';
import type { DoorOptions } from '../../src/core/toolbox.js';
import type { HttpServer } from '../../src/core/upstream.js';
import type { Lookup } from '../../src/net/exchange.js';
import { createGuardedFetch } from '../../src/net/fetch.js';
import { listenForAnswer } from '../../src/upstream/login/callback.js';
import { findLoginFile, readLogin, type StoredLogin, writeLogin } from '../../src/upstream/login/file.js';
import { type LoginOptions, login, logout } from '../../src/upstream/login/index.js';
import { createLoginFetch, withLogin } from '../../src/upstream/login/oauth.js';
import { wield } from '../support/cli.js';
import { listen, readBody, sendJson } from '../support/http.js';
import { startLoginServer } from '../support/login-server.js';
import { createSetting, type Setting, toServer } from '../support/login-setting.js';
import { NOT_ROOT } from '../support/machine.js';
import { patience } from '../support/patience.js';
import { sleep } from '../support/processes.js';
import { until } from '../support/server.js';
import { spec, specIf } from '../support/spec.js';
import { configureServers } from '../support/upstream-servers.js';

/** Loads the page as a browser does, and follows its redirect. */
const browse = async (url: URL): Promise<void> => {
  const sent = await fetch(url, { redirect: 'manual' });
  await fetch(sent.headers.get('location')!);
};

const logIn = (server: HttpServer, { directory, world, createFetch }: Setting, more: Partial<LoginOptions> = {}) =>
  login(server, {
    directory,
    world,
    createFetch,
    timeoutMs: 30_000,
    signal: new AbortController().signal,
    show: browse,
    ...more,
  });

async function failure(work: () => Promise<unknown>): Promise<ToolError> {
  const thrown: unknown = await work().then(
    () => 'it did not fail',
    (error: unknown) => error,
  );
  expect(isToolError(thrown), String(thrown)).toBe(true);
  return thrown as ToolError;
}

const stored = (url: string, more: Partial<StoredLogin> = {}): StoredLogin => ({
  version: 1,
  server: 'notes',
  url,
  issuer: new URL(url).origin,
  tokenEndpoint: new URL('/token', url).href,
  authMethods: null,
  revocationEndpoint: null,
  resource: null,
  client: { id: 'client', secret: null },
  tokens: { access_token: 'access-of-the-login', refresh_token: 'refresh-of-the-login' },
  expiresAt: null,
  ...more,
});

describe('tokens', () => {
  // Answers with the token of each request, in every text that it sends.
  const startEcho = () =>
    listen(async (request, response) => {
      const body = await readBody(request);
      if (request.url === '/token')
        return sendJson(response, { access_token: 'access-renewed', token_type: 'Bearer', expires_in: 3600 });
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const { id, method } = JSON.parse(body) as { id?: unknown; method: string };
      const token = request.headers.authorization;
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'echo', version: '1' },
          instructions: `use ${token}`,
        },
        'tools/list': {
          tools: ['tell', 'fail', 'break'].map((name) => ({
            name,
            description: `${name} ${token}`,
            inputSchema: { type: 'object', description: token },
          })),
        },
      };
      if (method === 'tools/call') {
        if (body.includes('"fail"'))
          return sendJson(response, { jsonrpc: '2.0', id, error: { code: -32000, message: `no: ${token}` } });
        if (body.includes('"break"')) return void response.writeHead(500).end(`broken: ${token}`);
        const content = [{ type: 'text', text: `you sent ${token}` }];
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const message of [
          { method: 'notifications/message', params: { level: 'error', logger: token, data: token } },
          { id, result: { content, structuredContent: { token } } },
        ])
          response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
        return void response.end();
      }
      if (id === undefined) return void response.writeHead(202).end();
      if (results[method] !== undefined) return sendJson(response, { jsonrpc: '2.0', id, result: results[method] });
      sendJson(response, { jsonrpc: '2.0', id, error: { code: -32601, message: `unknown method, ${token}` } });
    });

  spec('UPS-100', 'redacts tokens that a server repeats, also renewed ones, in output and in files', async () => {
    const server = await startEcho();
    const { workspace, directory } = createSetting();
    const url = `${server.origin}/mcp`;
    configureServers(workspace, { notes: { url } });
    for (const [token, expiresAt] of [
      ['access-of-the-login', null],
      ['access-renewed', 1],
    ] as const) {
      writeLogin(directory, toServer(url), stored(url, { expiresAt }));
      let output = '';
      for (const args of [
        ['mcp', 'refresh', 'notes', '--verbose'],
        ['list', '--json'],
        ...['tell', 'fail', 'break'].map((name) => ['call', '--verbose', `notes_${name}`]),
        ['audit', '--json'],
      ]) {
        const run = await wield(workspace, args);
        output += run.stdout + run.stderr;
      }
      const onLog = (message: object): void => {
        output += JSON.stringify(message);
      };
      const toolbox = workspace.toolbox();
      await toolbox.call('notes_tell', {}, { onLog, logLevel: 'debug' } as DoorOptions);
      await toolbox.close();
      expect(output).toContain('"logger":"notes.Bearer [redacted]"');
      expect(output).toContain('you sent Bearer [redacted]');
      expect(server.requests.at(-1)!.headers.authorization).toBe(`Bearer ${token}`);
      expect(output).not.toContain(token);
      expect(filesWith(workspace.env.WIELD_HOME!, token)).toEqual([findLoginFile(directory, toServer(url))]);
    }
  });

  spec('UPS-100', 'a token that is a word is redacted in text of its own server only', async () => {
    const server = await startEcho();
    const { workspace, directory } = createSetting();
    const url = `${server.origin}/mcp`;
    configureServers(workspace, { notes: { url }, other: { url: `${server.origin}/other` } });
    // Chosen by a login server to change what others answer, and to hide calls in the audit log.
    const tokens = { access_token: 'undefined', refresh_token: 'notes_tell' };
    writeLogin(directory, toServer(url), stored(url, { tokens }));
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('notes_tell', {}))).toBe('you sent Bearer [redacted]');
    expect(textOf(await toolbox.call('other_tell', {}))).toBe('you sent undefined');
    await toolbox.close();
    expect((await wield(workspace, ['audit', '--json'])).stdout).toContain('"notes_tell"');
  });

  spec('UPS-100', 'remembers a renewed token before it is sent', async () => {
    const { origin } = await startEcho();
    const [setting, server, remembered] = [createSetting(), toServer(`${origin}/mcp`), [] as string[]];
    writeLogin(setting.directory, server, stored(server.url, { expiresAt: 1 }));
    const remember = (tokens: readonly string[]): void => void remembered.push(...tokens);
    const send = async (_: unknown, init?: RequestInit): Promise<Response> => {
      expect(remembered).toContain('access-renewed');
      return new Response(new Headers(init?.headers).get('authorization'));
    };
    const response = await withLogin(send, { server, ...setting, remember })(server.url);
    expect(await response.text()).toBe('Bearer access-renewed');
  });

  spec('UPS-100', 'refuses tokens that cannot be sent, and keeps the login', async () => {
    const setting = createSetting();
    const [secret, ...ends] = ['part-of-a-token', '\r\nX-Injected: 1', '\u0000', '€', ' x'];
    for (const end of [...ends, undefined]) {
      const token = end === undefined ? '' : `${secret}${end}`;
      const upstream = await startLoginServer({ tokens: { access_token: token } });
      const server = toServer(upstream.url);
      const refused = await failure(() => logIn(server, setting));
      expect(refused.message).toBe('cannot log in to notes: its login server sent an invalid access token');
      expect(JSON.stringify(refused)).not.toContain(secret);
      expect(readLogin(setting.directory, server)).toBeUndefined();
      // The same for a renewal, and for a login that an earlier version stored.
      const tokenEndpoint = `${upstream.issuer}/token`;
      const old = stored(upstream.url, { issuer: upstream.issuer, tokenEndpoint, expiresAt: 1 });
      writeLogin(setting.directory, server, { ...old, tokens: { ...old.tokens!, access_token: token } });
      expect((await failure(async () => readLogin(setting.directory, server))).hint).toBe('wield mcp login notes');
    }
    const renewing = await listen((_, response) =>
      sendJson(response, { access_token: `${secret}\n`, token_type: 'Bearer' }),
    );
    const server = toServer(`${renewing.origin}/mcp`);
    const before = stored(server.url, { expiresAt: 1 });
    writeLogin(setting.directory, server, before);
    const send = withLogin(createGuardedFetch({ url: server.url }), { server, ...setting });
    const renewed = await failure(() => send(server.url));
    expect(JSON.stringify(renewed)).not.toContain(secret);
    expect(readLogin(setting.directory, server)).toEqual(before);
  });

  spec('UPS-100', 'a lifetime that is no date is an unknown one', async () => {
    const setting = createSetting();
    const upstream = await startLoginServer({ tokens: { expires_in: 1e20 } });
    expect((await logIn(toServer(upstream.url), setting)).expiresAt).toBeNull();
  });
});

describe('a login', () => {
  spec('UPS-101', 'has one time limit, and ends when it is cancelled, at every step', async () => {
    const steps = ['/mcp', '/.well-known/oauth-protected-resource/mcp', '/.well-known/oauth-authorization-server'];
    const attempts = [...steps, '/register', '/token'].map(async (silent) => {
      const [upstream, setting] = [await startLoginServer({ silent }), createSetting()];
      const server = toServer(upstream.url);
      const began = performance.now();
      const { code } = await failure(() => logIn(server, setting, { timeoutMs: 300 }));
      expect([silent, code]).toEqual([silent, 'timeout']);
      // A request of its own ends after 30 seconds.
      expect(performance.now() - began, silent).toBeLessThan(patience(1500));
      const signal = AbortSignal.timeout(300);
      expect([silent, (await failure(() => logIn(server, setting, { signal }))).code]).toEqual([silent, 'cancelled']);
    });
    await Promise.all(attempts);
  });

  spec('UPS-101', 'a logout does not wait for a silent login server when it is cancelled', async () => {
    const [upstream, setting] = [await startLoginServer({ silent: '/revoke' }), createSetting()];
    const server = toServer(upstream.url);
    await logIn(server, setting);
    const began = performance.now();
    expect(await logout(server, { ...setting, signal: AbortSignal.timeout(100) })).toBe(true);
    expect(performance.now() - began).toBeLessThan(patience(10_000));
    expect(readdirSync(setting.directory)).toEqual([]);
  });

  spec('UPS-101', 'asks for metadata over TLS only', async () => {
    let lookups = 0;
    const lookup: Lookup = (_name, _options, callback) => {
      lookups++;
      callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), '', 0);
    };
    const ask = createLoginFetch({
      server: toServer('https://mcp.example.com/mcp'),
      createFetch: (options) => createGuardedFetch({ ...options, lookup }),
    });
    const url = 'http://login.example.com/.well-known/oauth-authorization-server';
    expect((await failure(() => ask(url))).message).toContain('unencrypted');
    expect(lookups).toBe(0);
  });

  spec('UPS-101', 'limits the size and the number of values of what a login server sends', async () => {
    const scopes = (count: number, scope: string) => ({ scopes_supported: Array(count).fill(scope) });
    const answers: Record<string, object> = { '/few': scopes(900, 'x'), '/many': scopes(1000, 'x') };
    const server = await listen(({ url }, response) =>
      sendJson(response, answers[url!] ?? scopes(100, 'x'.repeat(1000)), 203),
    );
    const ask = createLoginFetch({ server: toServer(`${server.origin}/mcp`), createFetch: createGuardedFetch });
    const few = await ask(`${server.origin}/few`);
    expect([few.status, await few.json()]).toEqual([203, answers['/few']]);
    expect((await failure(() => ask(`${server.origin}/many`))).message).toContain('more than 1000 values');
    expect((await failure(() => ask(`${server.origin}/long`))).message).toContain('more than 64 KiB');
  });

  spec('UPS-80', 'the scopes that a server requires are not collected while it is connected', async () => {
    const header = 'Bearer scope="more"';
    const server = await listen(({ url }, response) => {
      if (url === '/mcp') response.writeHead(401, { 'www-authenticate': header }).end();
      else sendJson(response, { access_token: 'renewed', token_type: 'Bearer' });
    });
    const url = `${server.origin}/mcp`;
    const setting = createSetting();
    // The SDK would collect those of a response.
    const send = withLogin(createGuardedFetch({ url }), { server: toServer(url), ...setting });
    expect((await failure(() => send(url))).message).toBe('notes: login required');
    writeLogin(setting.directory, toServer(url), stored(url));
    expect((await failure(() => send(url))).message).toBe('notes: the stored login was rejected');
  });

  spec('UPS-101', 'stops if the redirect names another login server, also one without metadata', async () => {
    const asked: string[] = [];
    const server = await listen(async (request, response) => {
      const { pathname, searchParams } = new URL(request.url!, server.origin);
      asked.push(pathname);
      if (pathname === '/register')
        return sendJson(response, { ...JSON.parse(await readBody(request)), client_id: 'client' }, 201);
      if (pathname !== '/authorize') return sendJson(response, 'no', 404);
      const back = new URL(searchParams.get('redirect_uri')!);
      back.search = String(
        new URLSearchParams({ code: 'x', state: searchParams.get('state')!, iss: 'https://login.example.com' }),
      );
      response.writeHead(302, { location: back.href }).end();
    });
    const refused = await failure(() => logIn(toServer(`${server.origin}/mcp`), createSetting()));
    expect(refused.message).toContain('name different issuers');
    expect(asked).toContain('/authorize');
    expect(asked).not.toContain('/token');
  });

  specIf(
    process.getuid?.() === 0,
    NOT_ROOT,
    'UPS-101',
    'is not completed by another user of the machine, who knows the state',
    async () => {
      const callback = await listenForAnswer('known');
      onTestFinished(callback.close);
      const program = `fetch('${callback.redirectUrl}?code=x&state=known').then(({ status }) => console.log(status))`;
      const ask = (uid: number): Promise<string> =>
        new Promise((resolve, reject) => {
          const options = { uid, gid: uid, cwd: '/', env: {} };
          execFile(process.execPath, ['-e', program], options, (error, stdout) =>
            error === null ? resolve(stdout.trim()) : reject(error),
          );
        });
      expect([await ask(65534), await ask(0)]).toEqual(['403', '200']);
    },
  );

  spec('UPS-101', 'does not show a page with a very long URL', async () => {
    const authorizationEndpoint = `https://login.example.com/?x=${'y'.repeat(20_000)}`;
    const upstream = await startLoginServer({ authorizationEndpoint });
    let shown = 0;
    const show = (): void => void shown++;
    const refused = await failure(() => logIn(toServer(upstream.url), createSetting(), { show, timeoutMs: 1000 }));
    expect(refused.message).toContain('more than 16384 characters');
    expect(shown).toBe(0);
  });
});

describe('logout', () => {
  spec('UPS-101', 'sends the secret of the entry to no other login server', async () => {
    const [upstream, setting] = [await startLoginServer(), createSetting()];
    await logIn(toServer(upstream.url), setting);
    const oauth = { clientId: 'mine', clientSecret: 'secret-of-the-entry', issuer: 'https://login.example.com' };
    const signal = new AbortController().signal;
    expect(await logout(toServer(upstream.url, { oauth }), { ...setting, signal })).toBe(true);
    expect(upstream.revocations.map(({ client_secret }) => client_secret)).toEqual([undefined]);
  });

  spec('UPS-21', 'removes a login that is not readable, and says so if it cannot', async () => {
    const [setting, server] = [createSetting(), toServer('https://mcp.example.com/mcp')];
    const options = { ...setting, signal: new AbortController().signal };
    writeLogin(setting.directory, server, { ...stored(server.url), url: 'https://other.example.com' });
    expect(await logout(server, options)).toBe(true);
    mkdirSync(findLoginFile(setting.directory, server), { recursive: true });
    expect((await failure(() => logout(server, options))).code).toBe('io');
  });
});

describe('a server without a login', () => {
  spec('UPS-102', 'fails at once if it answers with HTTP 404 only', async () => {
    const server = await listen((_, response) => sendJson(response, 'no', 404));
    const { workspace } = createSetting();
    configureServers(workspace, { notes: { url: `${server.origin}/mcp`, startTimeout: '5s' } });
    const { stderr } = await wield(workspace, ['mcp', 'refresh', 'notes']);
    expect(stderr).toContain('could not connect to the server notes: HTTP 404');
    expect(stderr).toContain('check that the server runs, and its url');
  });

  // A server whose stream ends at once, and how often it was opened.
  async function openStreams(retryMs: number) {
    const times: number[] = [];
    const server = await listen(async (request, response) => {
      if (request.method === 'GET') {
        times.push(performance.now());
        const head = response.writeHead(200, { 'content-type': 'text/event-stream' });
        return void head.end(`retry: ${retryMs}\ndata:\n\n`);
      }
      const { id, method } = JSON.parse(await readBody(request)) as { id?: unknown; method: string };
      const serverInfo = { name: 'streams', version: '1' };
      const opened = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo };
      const tools = [{ name: 'look', inputSchema: { type: 'object' } }];
      const result = { initialize: opened, 'tools/list': { tools }, 'tools/call': { content: [] } }[method];
      if (id === undefined) return void response.writeHead(202).end();
      if (result !== undefined) return sendJson(response, { jsonrpc: '2.0', id, result });
      sendJson(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'unknown method' } });
    });
    const { workspace } = createSetting();
    configureServers(workspace, { notes: { url: `${server.origin}/mcp` } });
    const toolbox = workspace.toolbox();
    expect((await toolbox.call('notes_look', {})).ok).toBe(true);
    return { times, toolbox };
  }

  spec('UPS-102', 'cannot make wield open its stream all the time', async () => {
    const { times, toolbox } = await openStreams(0);
    await until(() => times.length > 0, 'the stream is opened');
    // Five times after 0.1 s, then every second.
    await sleep(1500);
    expect(times.length).toBeLessThan(10);
    await toolbox.close();
  });

  spec('UPS-102', 'can say when its stream is opened again', async () => {
    const { times, toolbox } = await openStreams(400);
    await until(() => times.length > 6, 'the stream is opened again');
    // Not the second that would be waited for otherwise; the fastest of some, since a machine can be busy.
    const waited = times.slice(1, 7).map((time, at) => time - times[at]!);
    expect(Math.min(...waited)).toBeGreaterThan(390);
    expect(Math.min(...waited)).toBeLessThan(1000);
    await toolbox.close();
  });
});

function filesWith(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile() && readFileSync(path, 'latin1').includes(text));
}
