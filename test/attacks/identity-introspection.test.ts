// Attacks on opaque tokens: answers about other tokens, floods, and providers that are down or lie.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { createGuardedFetch } from '../../src/net/fetch.js';
import { createVerifier } from '../../src/net/tokens.js';
import { wield } from '../support/cli.js';
import { createProvider, type IdentityProvider } from '../support/identity-provider.js';
import { serveUrl } from '../support/serve.js';
import { spec } from '../support/spec.js';
import { callRaw, createTeam, type RawCall } from '../support/team.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const PUBLIC_URL = 'https://wield.example.com/mcp';
const SECRET = 'secret:of the/client';
const seconds = (): number => Math.floor(Date.now() / 1000);

interface Gateway {
  readonly provider: IdentityProvider;
  readonly workspace: Workspace;
  try(token: string): Promise<RawCall>;
}

async function createGateway(more = '', introspection?: string): Promise<Gateway> {
  const provider = await createProvider(PUBLIC_URL);
  const client = introspection ?? '{ client-id = "wield", client-secret = "file:~/secret" }';
  const workspace = createTeam(
    {},
    `[serve.auth]\nissuer = "${provider.issuer}"\nscopes = ["mcp"]\nintrospection = ${client}\n${more}`,
  );
  writeFileSync(join(workspace.home, 'secret'), `${SECRET}\n`);
  const url = await serveUrl(workspace, ['--public-url', PUBLIC_URL]);
  const host = { origin: 'https://wield.example.com' };
  const attempt = (token: string) => callRaw(url, { ...host, authorization: `Bearer ${token}` }, 'hello');
  return { provider, workspace, try: attempt };
}

// Without a server before it, to send as fast as possible.
async function createDirect() {
  const provider = await createProvider(PUBLIC_URL);
  const introspection = { clientId: 'wield', clientSecret: SECRET };
  const { issuer } = provider;
  const settings = { issuer, audience: undefined, userClaim: 'sub', groupsClaim: 'groups', scopes: ['mcp'] };
  const issuers = [{ ...settings, clientId: undefined, introspection }];
  const verify = createVerifier({
    issuers,
    audience: PUBLIC_URL,
    expand: async (secret) => secret,
    createFetch: createGuardedFetch,
    debug: () => {},
  });
  return { provider, verify };
}

describe.concurrent('opaque tokens', () => {
  spec('IDN-13', 'are accepted as the provider says, with its client, and asked about once a minute', async () => {
    const { provider, workspace, try: attempt } = await createGateway();
    provider.opaque.set('opaque-token', provider.active({ sub: 'grace', groups: ['ops'] }));
    const calls = await Promise.all([1, 2, 3].map(() => attempt('opaque-token')));
    expect(calls.map(({ text }) => text.trim())).toEqual(['ran hello', 'ran hello', 'ran hello']);
    await attempt('opaque-token');
    const credentials = `wield:${encodeURIComponent(SECRET)}`;
    expect(provider.asked).toEqual([{ token: 'opaque-token', credentials }]);
    const { stdout } = await wield(workspace, ['audit', '--user', 'grace', '--json']);
    expect(JSON.parse(stdout).records).toHaveLength(4);
    expect(stdout).not.toContain('opaque-token');
    expect((await attempt(await provider.sign())).text).toContain('ran hello');
    expect(provider.asked).toHaveLength(1);
  });

  spec('IDN-13', 'are refused if the answer is about another server, issuer or time, or lacks a scope', async () => {
    const { provider, try: attempt } = await createGateway();
    const answers: Readonly<Record<string, readonly [object, number]>> = {
      inactive: [{ active: false }, 401],
      'inactive with claims': [{ ...provider.active(), active: false }, 401],
      'of another audience': [provider.active({ aud: 'https://other.example.com/mcp' }), 401],
      'of a longer audience': [provider.active({ aud: `${PUBLIC_URL}/x` }), 401],
      'without an audience': [provider.active({ aud: undefined }), 401],
      'of a list of other audiences': [provider.active({ aud: ['https://a', 'https://b'] }), 401],
      'of another issuer': [provider.active({ iss: 'https://evil.example.com' }), 401],
      expired: [provider.active({ exp: seconds() - 90 }), 401],
      'without an end': [provider.active({ exp: undefined }), 401],
      'with an end as a text': [provider.active({ exp: '9999999999' }), 401],
      'that is too early': [provider.active({ nbf: seconds() + 600 }), 401],
      'without a user': [provider.active({ sub: undefined, username: 'root' }), 401],
      'whose user is not a name': [provider.active({ sub: 'a\u0000b' }), 401],
      'without the scope': [provider.active({ scope: 'other' }), 403],
      'with active as a text': [{ ...provider.active(), active: 'true' }, 503],
    };
    for (const [what, [answer, status]] of Object.entries(answers)) {
      // After a failure the provider is left alone for a second: the last one.
      const token = `opaque-${what.replaceAll(' ', '-')}`;
      provider.opaque.set(token, answer);
      expect([what, (await attempt(token)).status]).toEqual([what, status]);
    }
    const list = 'opaque-list';
    provider.opaque.set(list, provider.active({ aud: ['https://a', PUBLIC_URL], iss: undefined }));
    await vi.waitFor(async () => expect((await attempt(list)).status).toBe(200), { timeout: 10_000, interval: 300 });
  });

  spec('IDN-13', 'that look signed are never sent to the provider', async () => {
    const { provider, try: attempt } = await createGateway();
    const [header, payload] = (await provider.sign()).split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const token of [`${none}.${payload}.`, `${header}.${payload}.AAAA`, `${none}.e30.x`]) {
      provider.opaque.set(token, provider.active());
      expect((await attempt(token)).status).toBe(401);
    }
    expect(provider.asked).toHaveLength(0);
  });

  spec('IDN-13', 'of a flood do not reach the provider, nor lock out users who are known', async () => {
    const { provider, verify } = await createDirect();
    // Within the leeway, so that it is asked about every time.
    provider.opaque.set('opaque-token', provider.active({ exp: seconds() - 30 }));
    expect(await verify('opaque-token')).toMatchObject({ user: 'ada' });
    const since = performance.now();
    const flood = Array.from({ length: 2000 }, (_, at) => verify(`flood-${at}`));
    const during = verify('opaque-token');
    for (const found of await Promise.all(flood)) expect(found).toHaveProperty('error');
    expect(await during).toMatchObject({ user: 'ada' });
    const most = 43 + (performance.now() - since) / 100;
    expect(provider.asked.length).toBeLessThanOrEqual(Math.min(most, 1000));
    const before = provider.asked.length;
    await Promise.all(Array.from({ length: 100 }, () => verify('flood-0')));
    expect(provider.asked.length).toBe(before);
  });

  spec('IDN-13', 'are not let in if the provider is down, answers something else, or redirects', async () => {
    const broken: readonly (readonly [number, string?, Record<string, string>?])[] = [
      [500, '{"active":true}'],
      [401, '{"active":true}'],
      [200, 'active'],
      [200, '[true]'],
      [204],
      [307, '', { location: 'http://127.0.0.1:9/introspect' }],
      [302, '', { location: '/keys' }],
    ];
    for (const [status, body, headers] of broken) {
      const { provider, verify } = await createDirect();
      provider.opaque.set('opaque-token', provider.active());
      provider.breakIntrospection(status, body, headers);
      expect([status, await verify('opaque-token')]).toMatchObject([status, { error: 'unavailable' }]);
    }
    const { provider, try: attempt } = await createGateway();
    provider.opaque.set('opaque-token', provider.active());
    expect((await attempt('opaque-token')).status).toBe(200);
    provider.stop();
    expect((await attempt('opaque-token')).status).toBe(200);
    expect((await attempt('another-token')).status).toBe(503);
  });

  spec('IDN-13', 'are asked about with a secret, which is never sent unencrypted or guessed', async () => {
    const { provider, try: attempt } = await createGateway(
      '',
      '{ client-id = "wield", client-secret = "file:~/none" }',
    );
    provider.opaque.set('opaque-token', provider.active());
    expect((await attempt('opaque-token')).status).toBe(503);
    expect(provider.asked).toHaveLength(0);
    const check = async (config: string): Promise<string> => {
      const workspace = createWorkspace();
      workspace.config(config);
      return (await wield(workspace, ['doctor'])).stdout;
    };
    const auth = (issuer: string, introspection: string): string =>
      `[[serve.auth]]\nissuer = "${issuer}"\nintrospection = ${introspection}\n`;
    const valid = '{ client-id = "a", client-secret = "${S}" }';
    expect(await check(auth('https://a.example', '{ client-id = "a", client-secret = "plain" }'))).toContain(
      '${VARIABLE}',
    );
    expect(
      await check(auth('https://a.example', '{ client-id = "a", client-secret = "${S}", url = "http://b.example" }')),
    ).toContain('https://id.example.com/introspect');
    expect(await check(auth('https://a.example', valid) + auth('https://b.example', valid))).toContain(
      'introspection twice',
    );
  });

  spec('IDN-13', 'are refused without introspection', async () => {
    const provider = await createProvider(PUBLIC_URL);
    const workspace = createTeam({}, `[serve.auth]\nissuer = "${provider.issuer}"\n`);
    const url = await serveUrl(workspace, ['--public-url', PUBLIC_URL]);
    provider.opaque.set('opaque-token', provider.active());
    expect((await callRaw(url, { authorization: 'Bearer opaque-token' }, 'hello')).status).toBe(401);
    expect(provider.asked).toHaveLength(0);
  });
});

// Alone: the clock is that of all tests.
describe('an opaque token and the clock', () => {
  spec('IDN-13', 'is not valid for longer if the clock of the system is set back', async () => {
    const { provider, verify } = await createDirect();
    const [now, elapsed] = [Date.now(), performance.now()];
    provider.opaque.set('opaque-token', provider.active({ exp: seconds() + 3 * 86_400 }));
    expect(await verify('opaque-token')).toMatchObject({ user: 'ada' });
    provider.opaque.clear();
    const clocks = [vi.spyOn(Date, 'now'), vi.spyOn(performance, 'now')] as const;
    onTestFinished(() => void clocks.map((clock) => clock.mockRestore()));
    clocks[0].mockReturnValue(now - 7_200_000);
    clocks[1].mockReturnValue(elapsed + 59_000);
    expect(await verify('opaque-token')).toMatchObject({ user: 'ada' });
    clocks[1].mockReturnValue(elapsed + 120_000);
    expect(await verify('opaque-token')).toMatchObject({ error: 'invalid_token' });
  });
});
