// Attacks on the logins of users at servers behind a gateway: stolen links, foreign answers, tokens of others.

import { describe, expect } from 'vitest';
import type { HttpServer } from '../../src/core/upstream.js';
import { createGuardedFetch } from '../../src/net/fetch.js';
import { createIdTokenVerifier } from '../../src/net/tokens.js';
import { createLoginPages } from '../../src/upstream/login/pages.js';
import { startExchange } from '../support/exchange-gateway.js';
import { listen } from '../support/http.js';
import { createProvider } from '../support/identity-provider.js';
import { createSetting, toServer } from '../support/login-setting.js';
import { createBrowser } from '../support/oidc.js';
import { findLink, logInAt, type OwnLogins, startOwnLogins } from '../support/own-logins.js';
import { share } from '../support/share.js';
import { spec } from '../support/spec.js';

const NEEDS_LOGIN = 'has to log in there first';

// Confirms a link of Ada, logs in, and returns the answer of the login server, which no browser has brought back yet.
async function answerFor(gateway: OwnLogins, account: string) {
  const browser = createBrowser();
  const confirmed = await browser.open(findLink(await gateway.call('ada')), {});
  const page = new URL(confirmed.headers.get('location')!);
  page.searchParams.set('account', account);
  return { browser, answer: new URL((await browser.open(page)).headers.get('location')!) };
}

describe('a login link', () => {
  const shared = share(() => startOwnLogins());

  spec('IDN-21', 'is used once, and reading it does not use it up', async () => {
    const link = findLink(await shared().call('ada'));
    for (const method of ['GET', 'HEAD', 'GET']) expect((await fetch(link, { method })).status).toBe(200);
    expect((await fetch(link, { method: 'POST', redirect: 'manual' })).status).toBe(303);
    for (const method of ['POST', 'GET']) expect((await fetch(link, { method, redirect: 'manual' })).status).toBe(404);
  });

  spec('IDN-21', 'of one user is never given to another', async () => {
    const [ada, bob] = [findLink(await shared().call('ada')), findLink(await shared().call('bob'))];
    expect(ada.href).not.toBe(bob.href);
    expect(await (await fetch(bob)).text()).toContain('for bob only');
    expect(ada.pathname.length).toBeGreaterThanOrEqual('/login/'.length + 22);
  });

  spec('IDN-21', 'is not confirmed by a page of another site, nor by another method or a guess', async () => {
    const link = findLink(await shared().call('ada'));
    const confirm = (headers: Record<string, string>, url = link, method = 'POST') =>
      fetch(url, { method, headers, redirect: 'manual' });
    expect((await confirm({ origin: 'https://evil.example.com' })).status).toBe(403);
    expect((await confirm({}, link, 'PUT')).status).toBe(405);
    for (const other of [`${link.href.slice(0, -1)}`, `${link.href}x`, new URL('/login/', link).href])
      expect((await confirm({}, new URL(other))).status).toBe(404);
    expect((await fetch(link)).status).toBe(200);
  });

  spec('IDN-21', 'is not shown in a frame, nor kept, nor told to other sites', async () => {
    const { headers } = await fetch(findLink(await shared().call('ada')));
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('same-origin');
  });

  spec('IDN-21', 'takes no answer of another browser, another path, or a second time', async () => {
    const { browser, answer } = await answerFor(shared(), 'first');
    const other = new URL(answer.href.replace('/callback/notes', '/callback/other'));
    expect((await createBrowser().open(answer)).status).toBe(400);
    expect((await browser.open(other)).status).toBe(400);
    const unknown = new URL(answer);
    unknown.searchParams.set('state', 'x'.repeat(43));
    expect((await browser.open(unknown)).status).toBe(400);
    expect(await shared().call('ada')).toContain(NEEDS_LOGIN);
    expect((await browser.open(answer)).status).toBe(200);
    expect((await browser.open(answer)).status).toBe(400);
    expect(await shared().call('ada')).toBe('hello first');
  });
});

describe.concurrent('a login on a page', () => {
  spec('IDN-21', 'does not take the code of another login', async () => {
    const gateway = await startOwnLogins();
    const [own, foreign] = [await answerFor(gateway, 'own'), await answerFor(gateway, 'foreign')];
    const mixed = new URL(own.answer);
    mixed.searchParams.set('code', foreign.answer.searchParams.get('code')!);
    expect((await own.browser.open(mixed)).status).toBe(502);
    expect(await gateway.call('ada')).toContain(NEEDS_LOGIN);
  });

  spec('IDN-21', 'does not take the answer of another login server', async () => {
    const gateway = await startOwnLogins({ wrongIssuer: 'https://evil.example.com' }, '', false);
    const client = await gateway.connect('ada', 'older');
    const said: string[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void said.push(String(params.data)));
    await client.listTools();
    expect((await logInAt(findLink(said.join('\n')), 'own')).status).toBe(502);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain('notes_whoami');
  });

  spec('IDN-21', 'does not send anybody to a page without TLS', async () => {
    const gateway = await startOwnLogins({ authorizationEndpoint: 'http://evil.example.com/authorize' }, '', false);
    const client = await gateway.connect('ada', 'older');
    const said: string[] = [];
    client.setNotificationHandler('notifications/message', ({ params }) => void said.push(String(params.data)));
    await client.listTools();
    const answer = await createBrowser().open(findLink(said.join('\n')), {});
    expect(answer.status).toBe(502);
    expect(answer.headers.get('location')).toBeNull();
  });

  spec('IDN-21', 'is over after ten minutes, and shows names as text', async () => {
    let now = 1_800_000_000_000;
    const { world, directory } = createSetting();
    const pages = createLoginPages({
      origin: () => 'https://a.example',
      now: () => now,
      identify: async () => undefined,
      createFetch: createGuardedFetch,
    });
    const server: HttpServer = toServer('https://notes.example.com/mcp', { oauth: { per: 'user' } });
    const user = { user: '<script>alert(1)</script>', issuer: undefined };
    const wanted = { server, user, directory, world, expand: async () => server };
    const { url } = pages.open(wanted)!;
    const target = new URL(url).pathname;
    const page = await pages.answer({ method: 'GET', target, cookie: undefined });
    expect(page.body).not.toContain('<script');
    expect(page.body).toContain('&#60;script&#62;');
    now += 10 * 60_000;
    for (const method of ['GET', 'POST'])
      expect((await pages.answer({ method, target, cookie: undefined })).status).toBe(404);
    expect(pages.open(wanted)!.url).not.toBe(url);
  });

  spec('IDN-26', 'takes no ID token of another login, client or issuer, nor one that is over', async () => {
    const provider = await createProvider('x');
    const settings = { issuer: provider.issuer, audience: undefined, userClaim: 'sub', groupsClaim: '', scopes: [] };
    const verify = createIdTokenVerifier(settings, { createFetch: createGuardedFetch, debug: () => {} });
    const given = async (claims: object) =>
      verify(await provider.sign({ aud: 'gateway', nonce: 'n', ...claims }), { clientId: 'gateway', nonce: 'n' });
    expect(await given({})).toBe('ada');
    const wrong = { nonce: 'other', aud: 'other', iss: 'https://evil.example.com', sub: 5, exp: 1 };
    for (const [claim, value] of Object.entries(wrong)) expect(await given({ [claim]: value }), claim).toBeUndefined();
  });

  spec('IDN-22', 'belongs to its user: concurrent calls never use the token of another', async () => {
    const gateway = await startOwnLogins();
    for (const user of ['ada', 'bob'] as const) await logInAt(findLink(await gateway.call(user)), `of ${user}`);
    const users = Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? 'ada' : 'bob'));
    const texts = await Promise.all(users.map((user) => gateway.call(user)));
    expect(texts).toEqual(users.map((user) => `hello of ${user}`));
  });

  spec('IDN-22', 'is not that of a user of the same name at another issuer, nor that of the machine', async () => {
    const audience = 'https://audience.example.com/mcp';
    const provider = await createProvider(audience);
    const auth = `[serve.auth]\nissuer = "${provider.issuer}"\naudience = "${audience}"\n`;
    const gateway = await startOwnLogins({}, auth);
    await logInAt(findLink(await gateway.call('ada')), 'of ada');
    expect(await gateway.call('ada')).toBe('hello of ada');
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'notes_whoami', arguments: {}, _meta: META },
    };
    const headers = {
      authorization: `Bearer ${await provider.sign({ sub: 'ada' })}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'notes_whoami',
    };
    const answer = await fetch(gateway.url, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(await answer.text()).toContain(NEEDS_LOGIN);
  });
});

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

describe.concurrent('the token of a caller', () => {
  spec('IDN-27', 'is not sent to an identity provider that did not make it', async () => {
    const evil = await createProvider('x');
    const idp = { issuer: evil.issuer, clientId: 'gateway', clientSecret: 'idp-secret' };
    const { call, provider } = await startExchange('token_exchange', (oauth) => ({ ...oauth, idp }));
    expect(await call('ada')).not.toContain('hello');
    expect([evil.exchanges, provider.exchanges]).toEqual([[], []]);
  });

  spec('IDN-27', 'is not exchanged for a server of a project', async () => {
    const { call, provider } = await startExchange('token_exchange', undefined, { owner: 'project' });
    expect(await call('ada')).not.toContain('hello');
    expect(provider.exchanges).toEqual([]);
  });

  spec('IDN-27', 'is not sent on by a redirect', async () => {
    const evil = await listen((_, response) => void response.end('{}'));
    const { call, provider } = await startExchange('token_exchange');
    provider.answerExchangesWith({}, 307, { location: `${evil.origin}/token` });
    expect(await call('ada')).not.toContain('hello');
    expect(provider.exchanges.length).toBeGreaterThan(0);
    expect(evil.requests).toEqual([]);
  });

  spec('IDN-27', 'is exchanged for an access token and nothing else', async () => {
    const { call, provider } = await startExchange('token_exchange');
    provider.answerExchangesWith({ issued_token_type: 'urn:ietf:params:oauth:token-type:id_token' });
    expect(await call('ada')).not.toContain('hello');
  });

  spec('IDN-27', 'is not exchanged for a server that belongs to another login server', async () => {
    const { call } = await startExchange('token_exchange', undefined, { namedIssuer: 'https://other.example.com' });
    expect(await call('ada')).not.toContain('hello');
  });

  spec('IDN-27', 'is exchanged for each user: concurrent calls never use the token of another', async () => {
    const { call, provider } = await startExchange('token_exchange');
    const users = Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? 'ada' : 'bob'));
    // The first call lists the tools.
    await call('ada');
    expect(await Promise.all(users.map(call))).toEqual(users.map((user) => `hello ${user}`));
    expect(provider.exchanges).toHaveLength(2);
  });
});
