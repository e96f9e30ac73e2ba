// Attacks on the login of a server: tokens that are forged, stale, of others, or sent in other places.

import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { generateKeyPair } from 'jose';
import { describe, expect } from 'vitest';
import { wield } from '../support/cli.js';
import { createProvider, type IdentityProvider } from '../support/identity-provider.js';
import { serveUrl } from '../support/serve.js';
import { spec } from '../support/spec.js';
import { trustNow } from '../support/trusted.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const PUBLIC_URL = 'https://wield.example.com/mcp';

interface Gateway {
  readonly url: string;
  readonly provider: IdentityProvider;
  readonly workspace: Workspace;
  /** Sends `initialize` with these headers, each line a header. */
  ask(headers: readonly string[], path?: string): Promise<{ status: number; challenge: string; body: string }>;
  /** Sends it with a token. */
  try(token: string): Promise<{ status: number; challenge: string; body: string }>;
}

async function createGateway(more = 'scopes = ["mcp"]'): Promise<Gateway> {
  const provider = await createProvider(PUBLIC_URL);
  const workspace = createWorkspace();
  workspace.config(`[serve.auth]\nissuer = "${provider.issuer}"\n${more}\n`);
  workspace.script('hello', '#!/bin/sh\n# @description Says hello\necho hello\n');
  trustNow(workspace);
  const url = await serveUrl(workspace, ['--public-url', PUBLIC_URL]);
  const ask: Gateway['ask'] = (headers, path = '/mcp') => send(Number(new URL(url).port), headers, path);
  return { url, provider, workspace, ask, try: (token) => ask([`Authorization: Bearer ${token}`]) };
}

// Also several headers of one name.
function send(port: number, lines: readonly string[], path: string): ReturnType<Gateway['ask']> {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  const headers = [
    `Host: 127.0.0.1:${port}`,
    'Accept: application/json, text/event-stream',
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
    ...lines,
  ].flatMap((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]);
  return new Promise((resolve, reject) => {
    const sent = request({ port, host: '127.0.0.1', path, method: 'POST', headers });
    sent.on('response', (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      const challenge = String(response.headers['www-authenticate'] ?? '');
      response.on('end', () => resolve({ status: response.statusCode!, challenge, body }));
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const seconds = (): number => Math.floor(Date.now() / 1000);

describe.concurrent('a login by an identity provider', () => {
  spec('IDN-6 IDN-7', 'accepts its tokens, and says where to get one', async () => {
    const gateway = await createGateway();
    const { provider } = gateway;
    for (const header of [{}, { typ: 'JWT' }, { typ: undefined }])
      expect((await gateway.try(await provider.sign({}, header))).status, JSON.stringify(header)).toBe(200);
    const refused = await gateway.ask([]);
    expect(refused.status).toBe(401);
    const address = 'https://wield.example.com/.well-known/oauth-protected-resource/mcp';
    expect(refused.challenge).toBe(`Bearer realm="wield", resource_metadata="${address}", scope="mcp"`);
    for (const path of ['', '/mcp']) {
      const { origin } = new URL(gateway.url);
      const answer = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`, {
        headers: { origin: 'https://client.example.com' },
      });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(await answer.json()).toMatchObject({
        resource: PUBLIC_URL,
        authorization_servers: [provider.issuer],
        scopes_supported: ['mcp'],
      });
    }
  });

  const forged: Readonly<Record<string, (provider: IdentityProvider) => Promise<string>>> = {
    'that is expired': (provider) => provider.sign({ exp: seconds() - 90 }),
    'without an end': (provider) => provider.sign({ exp: undefined }),
    'that is not valid yet': (provider) => provider.sign({ nbf: seconds() + 120 }),
    'for another audience': (provider) => provider.sign({ aud: 'https://other.example.com/mcp' }),
    'for no audience': (provider) => provider.sign({ aud: undefined }),
    'of another issuer': (provider) => provider.sign({ iss: 'https://evil.example.com' }),
    'whose issuer is a longer address': (provider) => provider.sign({ iss: `${provider.issuer}/x` }),
    'of another type': (provider) => provider.sign({}, { typ: 'logout+jwt' }),
    'signed by a key that is not published': async (provider) =>
      provider.sign({}, {}, (await generateKeyPair('ES256')).privateKey),
    'with the key in its header': async (provider) => {
      const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
      const { exportJWK } = await import('jose');
      return provider.sign({}, { jwk: await exportJWK(publicKey), kid: undefined }, privateKey);
    },
    'without a signature': async (provider) => {
      const [, payload] = (await provider.sign()).split('.');
      return `${encode({ alg: 'none', typ: 'at+jwt' })}.${payload}.`;
    },
    'signed with the public key as a secret': async (provider) => {
      const [, payload] = (await provider.sign()).split('.');
      const body = `${encode({ alg: 'HS256', kid: 'key-1', typ: 'at+jwt' })}.${payload}`;
      return `${body}.${createHmac('sha256', JSON.stringify(provider.publicKey())).update(body).digest('base64url')}`;
    },
    'whose claims were changed': async (provider) => {
      const [header, payload, signature] = (await provider.sign()).split('.');
      const claims = JSON.parse(Buffer.from(payload!, 'base64url').toString());
      return [header, encode({ ...claims, sub: 'root', groups: ['ops'] }), signature].join('.');
    },
    'without a user': (provider) => provider.sign({ sub: undefined }),
    'whose user is not a name': (provider) => provider.sign({ sub: 'a\nb' }),
    'whose groups are not names': (provider) => provider.sign({ groups: [{ ops: true }] }),
    'of more than 12 KiB': (provider) => provider.sign({ note: 'x'.repeat(9_500) }),
    'that is not one': async () => 'a.b.c',
    'with a critical extension': (provider) =>
      provider.sign({}, { crit: ['exp'], exp: 1 }).catch(async () => 'e30.e30.x'),
  };
  spec('IDN-6', 'refuses a token that is forged, stale or for others', async () => {
    const gateway = await createGateway();
    for (const [what, forge] of Object.entries(forged)) {
      const token = await forge(gateway.provider);
      const { status, challenge, body } = await gateway.try(token);
      expect([what, status], body).toEqual([what, 401]);
      expect(challenge, what).toContain('error="invalid_token"');
      expect(body, what).not.toContain(token.slice(0, 40));
    }
    expect((await gateway.try(await gateway.provider.sign())).status).toBe(200);
  });

  spec('IDN-7', 'refuses a token without the scope by 403, and tokens in other places', async () => {
    const gateway = await createGateway();
    const { provider } = gateway;
    const without = await gateway.try(await provider.sign({ scope: 'other' }));
    expect(without.status).toBe(403);
    expect(without.challenge).toContain('error="insufficient_scope"');
    expect(without.challenge).toContain('scope="mcp"');
    expect((await gateway.try(await provider.sign({ scope: undefined, scp: ['mcp'] }))).status).toBe(200);
    const token = await provider.sign();
    const none = ['Authorization: Basic abc'];
    expect((await gateway.ask([], `/mcp?access_token=${token}`)).status).toBe(401);
    expect((await gateway.ask(none)).status).toBe(401);
    const twice = [`Authorization: Bearer ${token}`, `Authorization: Bearer ${token}`];
    expect((await gateway.ask(twice)).status).toBe(401);
    expect((await gateway.ask([...none, `Authorization: Bearer ${token}`])).status).toBe(401);
  });

  spec('IDN-6', 'reads keys again for an unknown one, rarely, and keeps them if the provider is gone', async () => {
    const gateway = await createGateway();
    const { provider } = gateway;
    const first = await provider.sign();
    expect((await gateway.try(first)).status).toBe(200);
    const before = provider.reads();
    const flood = Array.from({ length: 50 }, async (_, at) =>
      gateway.try(await provider.sign({}, { kid: `no-${at}` })),
    );
    expect(new Set((await Promise.all(flood)).map(({ status }) => status))).toEqual(new Set([401]));
    expect(provider.reads() - before).toBeLessThanOrEqual(1);
    provider.stop();
    expect((await gateway.try(await provider.sign({ sub: 'bob' }))).status).toBe(200);
  });

  spec('IDN-6', 'does not write a token into the debug log, nor pass it to a tool', async () => {
    const gateway = await createGateway();
    gateway.workspace.script('env', '#!/bin/sh\n# @description Prints all\nenv; cat /proc/$PPID/environ\n');
    const token = await gateway.provider.sign();
    const began = await fetch(gateway.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-method': 'tools/call',
        'mcp-name': 'env',
        'mcp-protocol-version': '2026-07-28',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'env',
          arguments: {},
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    });
    const text = await began.text();
    expect(text).toContain('PATH=');
    expect(text).not.toContain(token);
    const { stdout } = await wield(gateway.workspace, ['audit', '--json']);
    expect(JSON.parse(stdout).records.at(-1)).toMatchObject({ user: 'ada', tool: 'env' });
    expect(stdout).not.toContain(token.slice(0, 40));
  });

  spec('IDN-1 IDN-6', 'needs to know for whom tokens are made', async () => {
    const workspace = createWorkspace();
    workspace.config('[serve.auth]\nissuer = "https://id.example.com"\n');
    const { status, stderr } = await wield(workspace, ['serve', '--http', '0']);
    expect(status).toBe(2);
    expect(stderr).toContain('--public-url');
    workspace.config('[serve.auth]\nissuer = "http://id.example.com"\n');
    expect((await wield(workspace, ['doctor'])).stdout).toContain('https://id.example.com');
  });
});
