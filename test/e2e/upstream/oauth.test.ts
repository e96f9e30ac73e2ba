// Tests of logins to upstream servers: browser flow, renewal, storage, no leaks.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, onTestFinished } from 'vitest';
import { createTerminal } from '../../../src/cli/terminal.js';
import type { VerbCall } from '../../../src/cli/verb.js';
import { loginTo, logoutOf } from '../../../src/cli/verbs/mcp/login.js';
import { isToolError, type ToolError } from '../../../src/core/error.js';
import type { HttpServer } from '../../../src/core/upstream.js';
import type { Lookup } from '../../../src/net/exchange.js';
import { createGuardedFetch } from '../../../src/net/fetch.js';
import { readLogin } from '../../../src/upstream/login/file.js';
import { type LoginOptions, login, logout } from '../../../src/upstream/login/index.js';
import { withLogin } from '../../../src/upstream/login/oauth.js';
import { built } from '../../support/built.js';
import { createIo, wield } from '../../support/cli.js';
import { listen, sendJson } from '../../support/http.js';
import { startLoginServer } from '../../support/login-server.js';
import { createSetting, type Setting, toServer } from '../../support/login-setting.js';
import { sleep } from '../../support/processes.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';

const CALLS = fileURLToPath(new URL('../../support/login-calls.mjs', import.meta.url));

/** Acts as a browser: loads the page and follows the redirect. */
async function browse(url: URL, change: (url: URL) => void = () => {}): Promise<Response> {
  const page = new URL(url);
  change(page);
  const sent = await fetch(page, { redirect: 'manual' });
  expect(sent.status).toBe(302);
  return fetch(sent.headers.get('location')!);
}

const logIn = (server: HttpServer, setting: Setting, more: Partial<LoginOptions> = {}) =>
  login(server, {
    directory: setting.directory,
    world: setting.world,
    createFetch: setting.createFetch,
    timeoutMs: 30_000,
    signal: new AbortController().signal,
    show: async (url) => void (await browse(url)),
    ...more,
  });

async function connect(server: HttpServer, { directory, world, createFetch }: Setting): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  onTestFinished(() => client.close());
  const { url, headers } = server;
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), {
      fetch: withLogin(createFetch({ url, headers }), { server, directory, world, createFetch }),
    }),
  );
  return client;
}

const whoami = async (client: Client): Promise<unknown> =>
  (await client.callTool({ name: 'whoami', arguments: {} })).content;
const HELLO = [{ type: 'text', text: 'hello' }];

async function failure(work: () => Promise<unknown>): Promise<ToolError> {
  try {
    await work();
  } catch (thrown) {
    // The SDK wraps errors of its version probe.
    const error = isToolError(thrown) ? thrown : (thrown as Error).cause;
    expect(isToolError(error), String(thrown)).toBe(true);
    return error as ToolError;
  }
  throw new Error('it did not fail');
}

const filesOf = ({ directory }: Setting): string[] => readdirSync(directory).map((name) => join(directory, name));

function callInProcess(
  server: HttpServer,
  { directory, workspace }: Setting,
  plan: { times: number; rounds: number; pauseMs: number },
): Promise<{ outcomes: string[]; output: string }> {
  return new Promise((resolve, reject) => {
    built('upstream/login/oauth.js');
    const child = spawn(process.execPath, [CALLS, JSON.stringify({ server, directory, ...plan })], {
      env: workspace.env,
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString();
    });
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once('error', reject);
    child.once('close', () => {
      try {
        resolve({ outcomes: JSON.parse(stdout) as string[], output: stdout + stderr });
      } catch {
        reject(new Error(stdout + stderr));
      }
    });
  });
}

describe('a login', () => {
  spec('UPS-21', 'is required, made in a browser, used, and stored in a private file', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const server = toServer(upstream.url);
    const before = await failure(() => connect(server, setting));
    expect(before.toJSON()).toEqual({
      code: 'unavailable',
      message: 'notes: login required',
      hint: 'wield mcp login notes',
      data: { server: 'notes' },
    });
    const facts = await logIn(server, setting);
    expect(facts).toMatchObject({
      server: 'notes',
      url: upstream.url,
      issuer: upstream.issuer,
      scope: 'tools',
    });
    expect(facts.renewable).toBe(true);
    expect(readLogin(setting.directory, server)).toMatchObject({ issuer: facts.issuer, scope: facts.scope });
    const client = await connect(server, setting);
    expect(await whoami(client)).toEqual(HELLO);
    expect(upstream.registrations).toMatchObject([
      {
        client_name: 'wield',
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
      },
    ]);
    const [file, ...others] = filesOf(setting);
    expect(others).toEqual([]);
    expect(statSync(setting.directory).mode & 0o777).toBe(0o700);
    expect(statSync(file!).mode & 0o777).toBe(0o600);
    // Another name or URL does not get these tokens.
    for (const other of [toServer(upstream.url, { name: 'other' }), toServer(`${upstream.url}/elsewhere`)])
      expect(readLogin(setting.directory, other)).toBeUndefined();
  });

  spec.thorough('UPS-21', 'is renewed automatically until the login server rejects it', async () => {
    const upstream = await startLoginServer({ expiresIn: 1 });
    const setting = createSetting();
    const server = toServer(upstream.url);
    await logIn(server, setting);
    const client = await connect(server, setting);
    expect(await whoami(client)).toEqual(HELLO);
    await sleep(1200);
    expect(await whoami(client)).toEqual(HELLO);
    const renewed = upstream.refreshes.length;
    expect(renewed).toBeGreaterThan(0);
    expect(upstream.refreshes.every(({ ok }) => ok)).toBe(true);
    upstream.revokeAll();
    await sleep(1200);
    const error = await failure(() => whoami(client));
    expect(error.toJSON()).toMatchObject({
      code: 'unavailable',
      message: 'notes: the login has expired',
      hint: 'wield mcp login notes',
    });
    // It is not retried.
    const asked = upstream.refreshes.length;
    expect((await failure(() => whoami(client))).hint).toBe('wield mcp login notes');
    expect(upstream.refreshes.length).toBe(asked);
    expect(readLogin(setting.directory, server)?.tokens).toBeNull();
    await logIn(server, setting);
    expect(await whoami(client)).toEqual(HELLO);
  });

  spec('UPS-21', 'renews a token when it is rejected early', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const server = toServer(upstream.url);
    await logIn(server, setting);
    const client = await connect(server, setting);
    upstream.expireAll();
    expect(await whoami(client)).toEqual(HELLO);
    expect(upstream.refreshes.length).toBe(1);
  });

  spec.thorough('UPS-21', 'twenty concurrent calls renew once', async () => {
    const upstream = await startLoginServer({ renewalMs: 200, lateRefusalMs: 600 });
    const setting = createSetting();
    const server = toServer(upstream.url);
    await logIn(server, setting);
    const clients = [await connect(server, setting), await connect(server, setting)];
    for (let round = 1; round <= 3; round++) {
      upstream.expireAll();
      const calls = Array.from({ length: 20 }, (_, at) => whoami(clients[at % 2]!));
      expect(await Promise.all(calls)).toEqual(Array(20).fill(HELLO));
      expect(upstream.refreshes.length).toBe(round);
    }
  });

  spec.thorough('UPS-21', 'processes share a login and its renewals', async () => {
    const upstream = await startLoginServer({ expiresIn: 2, renewalMs: 100 });
    const setting = createSetting();
    const server = toServer(upstream.url);
    await logIn(server, setting);
    const plan = { times: 5, rounds: 6, pauseMs: 700 };
    const runs = await Promise.all([1, 2, 3].map(() => callInProcess(server, setting, plan)));
    for (const { outcomes } of runs) expect(outcomes).toEqual(Array(30).fill('ok'));
    expect(upstream.refreshes.length).toBeGreaterThan(0);
    // Using a refresh token twice would have ended the login.
    expect(upstream.refreshes.filter(({ ok }) => !ok)).toEqual([]);
    for (const { output } of runs) for (const secret of upstream.secrets) expect(output).not.toContain(secret);
    expect(filesOf(setting).length).toBe(1);
  });

  spec('UPS-110', 'uses its registered client again, and asks again for what was granted', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const server = toServer(upstream.url);
    await logIn(server, setting, { scope: 'a b' });
    const asked: (string | null)[] = [];
    const again = (more: Partial<LoginOptions> = {}) =>
      logIn(server, setting, {
        show: async (url) => {
          asked.push(url.searchParams.get('scope'));
          await browse(url);
        },
        ...more,
      });
    await again();
    expect(upstream.registrations).toHaveLength(1);
    expect(asked.at(-1)?.split(' ')).toEqual(expect.arrayContaining(['a', 'b']));
    // A wish is followed as it is.
    await again({ scope: 'c' });
    expect(asked.at(-1)).toBe('c');
    // The redirect URL of the client cannot be used.
    const [file] = filesOf(setting);
    const { redirect } = JSON.parse(readFileSync(file!, 'utf8')).client as { redirect: string };
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(Number(new URL(redirect).port), '127.0.0.1', resolve));
    onTestFinished(() => void other.close());
    await again();
    expect(upstream.registrations).toHaveLength(2);
    // A login that fails is not tried again with the same client.
    await failure(() =>
      again({ show: async (url) => void (await browse(url, (page) => page.searchParams.set('client_id', 'gone'))) }),
    );
    await again();
    expect(upstream.registrations).toHaveLength(3);
  });

  spec('UPS-21', 'uses a configured client instead of registering one', async () => {
    const secret = 'client-secret-of-the-test';
    const upstream = await startLoginServer({ clients: { mine: { secret } }, registration: false });
    const setting = createSetting();
    const oauth = { clientId: 'mine', clientSecret: secret, scope: 'a b' };
    const server = toServer(upstream.url, { oauth });
    expect((await logIn(server, setting)).scope).toBe('a b');
    const client = await connect(server, setting);
    upstream.expireAll();
    expect(await whoami(client)).toEqual(HELLO);
    expect(upstream.registrations).toEqual([]);
    // The secret is not copied.
    expect(readFileSync(filesOf(setting)[0]!, 'utf8')).not.toContain(secret);
    const unknown = toServer(upstream.url, { oauth: { clientId: 'other' } });
    expect((await failure(() => connect(unknown, setting))).hint).toBe('wield mcp login notes');
    const none = await failure(() => logIn(toServer(upstream.url), setting));
    expect(none.hint).toContain('oauth.clientId');
  });

  spec('UPS-21', 'logout revokes the token', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const server = toServer(upstream.url);
    await logIn(server, setting);
    const [file] = filesOf(setting);
    const stored = JSON.parse(readFileSync(file!, 'utf8')) as { tokens: { refresh_token: string } };
    const options = { ...setting, signal: new AbortController().signal };
    expect(await logout(server, options)).toBe(true);
    expect(filesOf(setting)).toEqual([]);
    expect(upstream.revoked).toEqual([stored.tokens.refresh_token]);
    expect(await logout(server, options)).toBe(false);
    expect((await failure(() => connect(server, setting))).hint).toBe('wield mcp login notes');
  });

  spec('UPS-21', 'messages never contain tokens', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const server = toServer(upstream.url);
    const facts = await logIn(server, setting);
    const client = await connect(server, setting);
    await whoami(client);
    upstream.revokeAll();
    upstream.expireAll();
    const ended = await failure(() => whoami(client));
    const [file] = filesOf(setting);
    writeFileSync(file!, readFileSync(file!, 'utf8').slice(0, -40));
    const broken = await failure(() => whoami(client));
    expect(broken.hint).toBe('wield mcp login notes');
    const shown = JSON.stringify([facts, ended, broken, ended.stack, broken.stack, setting.said]);
    expect(upstream.secrets.length).toBe(3);
    for (const secret of upstream.secrets) expect(shown).not.toContain(secret);
  });
});

describe('the browser flow', () => {
  spec('UPS-21', 'accepts the redirect once, with the right state and Host only', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const statuses: number[] = [];
    await logIn(toServer(upstream.url), setting, {
      show: async (url) => {
        const back = new URL(url.searchParams.get('redirect_uri')!);
        expect(back.hostname).toBe('127.0.0.1');
        const look = async (query: string, init?: RequestInit): Promise<void> => {
          statuses.push((await fetch(`${back.href}${query}`, init)).status);
        };
        await look('?code=stolen&state=guess');
        await look('?code=stolen');
        await look(`?code=stolen&state=${url.searchParams.get('state')}`, { method: 'POST' });
        statuses.push(
          (
            await fetch(`http://localhost:${back.port}/callback?state=${url.searchParams.get('state')}`).catch(() => ({
              status: 404,
            }))
          ).status,
        );
        const page = await browse(url);
        statuses.push(page.status);
        expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
        expect(await page.text()).toContain('You can close this window');
      },
    });
    expect(statuses).toEqual([400, 400, 404, 404, 200]);
    expect(readLogin(setting.directory, toServer(upstream.url))?.tokens).toBeDefined();
  });

  spec('UPS-21', 'rejects redirects with another Host header, even with the right state', async () => {
    const upstream = await startLoginServer();
    const statuses: number[] = [];
    await logIn(toServer(upstream.url), createSetting(), {
      show: async (url) => {
        const { port } = new URL(url.searchParams.get('redirect_uri')!);
        const path = `/callback?code=stolen&state=${url.searchParams.get('state')}`;
        const foreign = ['evil.example', `evil.example:${port}`, `localhost:${port}`, `x.127.0.0.1:${port}`];
        for (const host of [...foreign, '127.0.0.1', `127.0.0.1:${port}.evil.example`, `127.0.0.1:1`])
          statuses.push(await statusWithHost(Number(port), path, host));
        await browse(url);
      },
    });
    expect(statuses).toEqual(Array(7).fill(404));
  });

  spec('UPS-21', 'the redirect URL can be pasted', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    let page: URL | undefined;
    const refused: boolean[] = [];
    await logIn(toServer(upstream.url), setting, {
      show: (url) => {
        page = url;
      },
      paste: async (accept) => {
        const sent = await fetch(page!, { redirect: 'manual' });
        const answer = sent.headers.get('location')!;
        refused.push(accept('no address'), accept(answer.replace('state=', 'state=x')));
        expect(accept(` ${answer}\n`)).toBe(true);
        expect(accept(answer)).toBe(false);
      },
    });
    expect(refused).toEqual([false, false]);
    expect(readLogin(setting.directory, toServer(upstream.url))?.tokens).toBeDefined();
  });

  spec('UPS-21', 'a denied, late or cancelled login keeps the previous one', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const server = toServer(upstream.url);
    await logIn(server, setting);
    const tokens = () => JSON.parse(readFileSync(filesOf(setting)[0]!, 'utf8')).tokens as unknown;
    const before = tokens();
    const denied = await failure(() =>
      logIn(server, setting, {
        show: async (url) => void (await browse(url, (page) => page.searchParams.set('deny', '1'))),
      }),
    );
    expect(denied.toJSON()).toMatchObject({
      code: 'denied',
      message: 'the login to notes was refused: access_denied',
    });
    const late = await failure(() => logIn(server, setting, { show: () => {}, timeoutMs: 50 }));
    expect(late.code).toBe('timeout');
    const stop = new AbortController();
    const stopped = await failure(() => logIn(server, setting, { show: () => stop.abort(), signal: stop.signal }));
    expect(stopped.code).toBe('cancelled');
    expect(tokens()).toEqual(before);
  });

  spec('UPS-21', 'stops on another issuer or an invalid page', async () => {
    const setting = createSetting();
    const mixed = await startLoginServer({ wrongIssuer: 'https://evil.example' });
    const error = await failure(() => logIn(toServer(mixed.url), setting));
    expect(error.message).toContain('name different issuers');
    for (const authorizationEndpoint of [
      'http://evil.example/authorize',
      'file:///etc/passwd',
      'javascript:alert(1)',
    ]) {
      const upstream = await startLoginServer({ authorizationEndpoint });
      let shown = 0;
      const server = toServer(upstream.url);
      const refused = await failure(() => logIn(server, setting, { show: () => void shown++ }));
      expect(refused.code).toBe('unavailable');
      expect(shown).toBe(0);
    }
  });

  spec('UPS-21', 'reports a server without login, or with its own header', async () => {
    const setting = createSetting();
    const plain = await listen((_, response) => sendJson(response, { error: 'no' }, 404));
    const none = await failure(() => logIn(toServer(`${plain.origin}/mcp`), setting));
    expect(none.message).toBe('notes does not support login');
    const upstream = await startLoginServer();
    const own = toServer(upstream.url, { headers: { Authorization: 'Bearer wrong' } });
    expect((await failure(() => logIn(own, setting))).code).toBe('usage');
    const refused = await failure(() => connect(own, setting));
    expect(refused.message).toBe('notes: the configured Authorization header was rejected');
    expect(refused.hint).toContain('Authorization header');
  });

  spec('UPS-21', 'login metadata must not lead to private addresses or get configured headers', async () => {
    const secret = await listen((_, response) => sendJson(response, {}));
    const setting = createSetting();
    const upstream = await startLoginServer();
    const server = toServer(upstream.url, { headers: { 'X-Key': 'key-of-the-test' } });
    await logIn(server, setting);
    expect(upstream.seen.length).toBeGreaterThan(2);
    for (const request of upstream.seen) expect(request.headers['x-key']).toBeUndefined();
    // A public server whose metadata URL is a loopback address.
    const lookup: Lookup = (_name, options, callback) => {
      if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
      else callback(null, '127.0.0.1', 4);
    };
    const port = new URL(upstream.url).port;
    const far = toServer(`http://mcp.example.com:${port}/mcp`);
    const error = await failure(() =>
      logIn(far, setting, { createFetch: (options) => createGuardedFetch({ ...options, lookup }) }),
    );
    expect(error.message).toContain('a loopback address');
    expect(secret.requests).toEqual([]);
  });
});

describe('stored logins', () => {
  spec(
    'UPS-21 STA-8',
    'ignores a login of another URL, refuses one of a newer version, which logging in replaces',
    async () => {
      const upstream = await startLoginServer();
      const setting = createSetting();
      const server = toServer(upstream.url);
      await logIn(server, setting);
      const [file] = filesOf(setting);
      const stored = JSON.parse(readFileSync(file!, 'utf8')) as Record<string, unknown>;
      mkdirSync(setting.directory, { recursive: true });
      for (const change of [{ url: 'http://127.0.0.1:1/mcp' }, { version: 0 }, { tokenEndpoint: 7 }]) {
        writeFileSync(file!, JSON.stringify({ ...stored, ...change }));
        const error = await failure(() => connect(server, setting));
        expect(error.message).toBe('notes: the stored login is not readable');
      }
      const newer = JSON.stringify({ ...stored, version: 2 });
      writeFileSync(file!, newer);
      const error = await failure(() => connect(server, setting));
      expect(error).toMatchObject({
        code: 'unavailable',
        message: `${file} was written by a newer version of wield`,
        hint: expect.stringContaining('update wield'),
      });
      expect(readFileSync(file!, 'utf8')).toBe(newer);
      await logIn(server, setting);
      expect(JSON.parse(readFileSync(file!, 'utf8'))).toMatchObject({ version: 1 });
    },
  );
});

describe('the command', () => {
  /** Runs the verb and returns its output. */
  function createCall(
    { workspace }: Setting,
    args: Record<string, string | true> = {},
    env: Record<string, string> = {},
  ) {
    const collected = createIo(workspace);
    const terminal = createTerminal(collected.io, { plain: true });
    const printed = {
      get out() {
        return collected.stdout();
      },
      get err() {
        return collected.stderr();
      },
    };
    const toolbox = workspace.toolbox({ env: { ...workspace.env, ...env } });
    const call: VerbCall = {
      terminal,
      typed: [],
      flags: new Map(Object.entries(args)),
      repeated: () => [],
      positionals: [],
      rest: [],
      json: args.json === true,
      dryRun: args['dry-run'] === true,
      cwd: workspace.dir,
      env: workspace.env,
      reserved: new Set(),
      load: () => Promise.reject(new Error('unused')),
      settleFlags: () => {},
      onHangup: () => {},
      stoppedBy: () => undefined,
      signal: new AbortController().signal,
      toolbox: () => toolbox,
    };
    return { call, printed };
  }
  const addressIn = (text: string): string | undefined => /^ {2}(http\S+)$/m.exec(text)?.[1];

  spec('UPS-21', 'prints the URL, waits and reports success without a token', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const server = toServer(upstream.url);
    for (const json of [false, true]) {
      const { call, printed } = createCall(setting, { 'no-browser': true, ...(json ? { json } : {}) });
      const done = loginTo(call, server);
      await until(() => addressIn(printed.err) !== undefined, 'an address is printed');
      expect(printed.out).toBe('');
      await browse(new URL(addressIn(printed.err)!));
      expect(await done).toBe(0);
      if (json) {
        expect(JSON.parse(printed.out)).toMatchObject({
          ok: true,
          login: {
            server: 'notes',
            url: upstream.url,
            issuer: upstream.issuer,
            scope: 'tools',
            renewable: true,
          },
        });
      } else expect(printed.out).toBe(`Logged in to notes (${upstream.url}), renewed automatically.\n`);
      for (const secret of upstream.secrets) expect(printed.out + printed.err).not.toContain(secret);
    }
    const { call, printed } = createCall(setting);
    expect(await logoutOf(call, server)).toBe(0);
    expect(await logoutOf(call, server)).toBe(0);
    expect(printed.out).toBe('Logged out of notes.\nNot logged in to notes.\n');
  });

  spec('UPS-21 UPS-22', 'opens the browser with the opener of the platform, outside the process group', async () => {
    const upstream = await startLoginServer();
    const setting = createSetting();
    const { workspace } = setting;
    const seen = join(workspace.dir, 'seen');
    const opener = `#!/bin/sh\nprintf '%s\\n' "$#" "$1" "\${WIELD_CALL-none}" "\${SECRET-none}" >"${seen}.part"\nmv "${seen}.part" "${seen}"\n`;
    workspace.write('bin/xdg-open', opener, 0o755);
    const env = { PATH: `${join(workspace.dir, 'bin')}:${workspace.env.PATH}`, DISPLAY: ':0', SECRET: 'x' };
    const { call, printed } = createCall(setting, {}, env);
    const done = loginTo(call, toServer(upstream.url));
    await until(() => existsSync(seen), 'the opener has run');
    const [count, address, mark, secret] = readFileSync(seen, 'utf8').trim().split('\n');
    expect([count, mark, secret]).toEqual(['1', 'none', 'none']);
    await browse(new URL(address!));
    expect(await done).toBe(0);
    expect(addressIn(printed.err)).toBe(address);
  });

  spec('UPS-21', 'is refused inside a tool, and validates its flags', async () => {
    const setting = createSetting();
    const server = toServer('http://127.0.0.1:1/mcp');
    const inside = createCall(setting, {}, { WIELD_CALL: '1-2-3' });
    expect((await failure(() => loginTo(inside.call, server))).code).toBe('denied');
    expect((await failure(() => logoutOf(inside.call, server))).code).toBe('denied');
    const { call } = createCall(setting, { timeout: 'long' });
    expect((await failure(() => loginTo(call, server))).code).toBe('usage');
    for (const flag of ['--port=0', '--port=x'])
      expect((await wield(setting.workspace, ['mcp', 'login', 'server', flag])).status).toBe(2);
  });
});

/** Sends a request with this Host header, which fetch does not allow. */
function statusWithHost(port: number, path: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    })
      .once('error', reject)
      .end();
  });
}
