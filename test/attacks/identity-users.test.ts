// Attacks of one user of a server on another: their sessions, tasks, programs, questions, results and limits.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { createGuardedFetch } from '../../src/net/fetch.js';
import { createVerifier } from '../../src/net/tokens.js';
import { json, wield } from '../support/cli.js';
import { listen, sendJson } from '../support/http.js';
import { createProvider } from '../support/identity-provider.js';
import { moduleText } from '../support/modules.js';
import { serveUrl } from '../support/serve.js';
import { onEnd } from '../support/share.js';
import { spec } from '../support/spec.js';
import { asUser, callRaw, createTeam, sendRaw, tokenOf } from '../support/team.js';
import { trustNow } from '../support/trusted.js';

const TEAM = { ada: ['ops'], bob: ['dev'] };
const PUBLIC_URL = 'https://wield.example.com/mcp';
const TASKS = { capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
const FORM = { capabilities: { elicitation: { form: {} } } };
const UNKNOWN = (text: string, ...ids: readonly string[]): string =>
  ids.reduce((left, id) => left.replaceAll(id, 'ID'), text);

describe.concurrent('a user of a server', () => {
  spec('IDN-4', 'does not end the sessions of others by opening many', async () => {
    const url = await serveUrl(createTeam(TEAM), []);
    const send = (user: string, message: object, session?: string): Promise<Response> =>
      fetch(url, {
        method: 'POST',
        headers: {
          ...asUser(user),
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(session === undefined ? {} : { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      });
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const open = async (user: string): Promise<string> => {
      const response = await send(user, { method: 'initialize', params });
      await response.text();
      return response.headers.get('mcp-session-id')!;
    };
    const ping = async (user: string, session: string) => (await send(user, { method: 'ping' }, session)).status;
    const [first, own] = [await open('ada'), await open('bob')];
    for (let at = 0; at < 256; at += 32) await Promise.all(Array.from({ length: 32 }, () => open('bob')));
    expect([await ping('ada', first), await ping('bob', own)]).toEqual([200, 404]);
  });

  spec('IDN-4', 'does not keep others from subscribing, or from asking for approval', async () => {
    const url = await serveUrl(createTeam(TEAM), []);
    const ending = new AbortController();
    onEnd(() => ending.abort());
    // The first event of a subscription.
    const subscribe = async (user: string): Promise<string> => {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          ...asUser(user),
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-method': 'subscriptions/listen',
          'mcp-protocol-version': '2026-07-28',
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'subscriptions/listen',
          params: {
            notifications: { toolsListChanged: true },
            _meta: {
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
              'io.modelcontextprotocol/clientCapabilities': {},
            },
          },
        }),
        signal: ending.signal,
      });
      const { value } = await response.body!.getReader().read();
      return Buffer.from(value!).toString();
    };
    const repeat = async <T>(times: number, work: (at: number) => Promise<T>): Promise<T[]> => {
      const done: T[] = [];
      while (done.length < times)
        done.push(...(await Promise.all(Array.from({ length: 32 }, (_, at) => work(done.length + at)))));
      return done;
    };
    const first = await repeat(256, () => subscribe('bob'));
    expect(first.filter((event) => event.includes('subscriptions/acknowledged'))).toHaveLength(256);
    expect([await subscribe('bob'), await subscribe('ada')]).toEqual([
      expect.stringContaining('Subscription limit reached'),
      expect.stringContaining('subscriptions/acknowledged'),
    ]);
    // Nor from answering a question.
    const params = { name: 'deploy', arguments: { text: 'asked' } };
    const question = async (user: string) => (await sendRaw(url, asUser(user), 'tools/call', params, FORM)).result;
    const { requestState } = await question('ada');
    await repeat(256, () => question('bob'));
    const inputResponses = { consent: { action: 'accept', content: { decision: 'run it once' } } };
    const more = { ...FORM, more: { requestState, inputResponses } };
    const answered = await sendRaw(url, asUser('ada'), 'tools/call', params, more);
    expect(answered.result.content).toMatchObject([{ text: 'ran deploy asked\n' }]);
    const ask = async (user: string, text: string) => (await callRaw(url, asUser(user), 'deploy', { text })).text;
    await repeat(64, (at) => ask('bob', `${at}`));
    expect([await ask('bob', 'more'), await ask('ada', 'one')]).toEqual([
      expect.stringContaining('64 of your calls are already pending'),
      expect.stringContaining('wield approvals approve'),
    ]);
  });

  spec('IDN-4', 'neither resumes nor ends the suspended program of another one', async () => {
    const workspace = createTeam(TEAM);
    const url = await serveUrl(workspace, ['--with', 'run_code']);
    const run = (user: string, input: object) => callRaw(url, asUser(user), 'run_code', input, { client: 'same' });
    const { text } = await run('ada', { code: 'return await tools.deploy({ text: "program" })' });
    const resume = /p_\w+/.exec(text)![0];
    const approval = /approvals approve (\w+)/.exec(text)![1]!;
    const foreign = await run('bob', { resume });
    const unknown = await run('bob', { resume: 'p_00000000000000000000' });
    expect(foreign.isError).toBe(true);
    expect(UNKNOWN(foreign.text, resume)).toBe(UNKNOWN(unknown.text, 'p_00000000000000000000'));
    await wield(workspace, ['approvals', 'approve', approval]);
    expect((await run('bob', { resume })).text).not.toContain('ran deploy');
    expect((await run('ada', { resume })).text).toContain('ran deploy program');
    expect((await run('bob', { resume })).text).not.toContain('ran deploy');
  });

  spec('IDN-4', 'neither reads, answers nor cancels the task of another one', async () => {
    const workspace = createTeam(TEAM);
    const go = join(workspace.home, 'go');
    workspace.script('slow', `#!/bin/sh\n# @description Waits\nwhile [ ! -e ${go} ]; do sleep 0.05; done; echo slow\n`);
    trustNow(workspace);
    const url = await serveUrl(workspace, []);
    const { result } = await callRaw(url, asUser('ada'), 'slow', {}, TASKS);
    const taskId = String(result.taskId);
    expect(result.resultType).toBe('task');
    const ask = (user: string, method: string, id = taskId) =>
      sendRaw(url, asUser(user), method, { taskId: id }, { ...TASKS, more: { inputResponses: {} } });
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const foreign = await ask('bob', method);
      const unknown = await ask('bob', method, 'none');
      expect([method, foreign.error]).toEqual([method, unknown.error]);
      expect(foreign.error).toBeDefined();
    }
    expect((await ask('ada', 'tasks/get')).result.status).toBe('working');
    writeFileSync(go, '');
  });

  spec('IDN-4', 'neither answers nor ends a question of a tool to another one', async () => {
    const workspace = createTeam(TEAM);
    const schema = '{ type: "object", properties: { word: { type: "string" } }, required: ["word"] }';
    const body = `async (_, context) => JSON.stringify(await context.elicit({ message: 'Word?', schema: ${schema} }))`;
    workspace.write('.agents/tools/asks.tool.mjs', moduleText('asks', body));
    trustNow(workspace);
    const url = await serveUrl(workspace, []);
    const asked = await callRaw(url, asUser('ada'), 'asks', {}, FORM);
    const { requestState, inputRequests } = asked.result as { requestState: string; inputRequests: object };
    const key = Object.keys(inputRequests)[0]!;
    const answer = (word: string) => ({
      ...FORM,
      more: { requestState, inputResponses: { [key]: { action: 'accept', content: { word } } } },
    });
    const stolen = await callRaw(url, asUser('bob'), 'asks', {}, answer('stolen'));
    expect(stolen.isError).toBe(true);
    expect(stolen.text).not.toContain('stolen');
    expect((await callRaw(url, asUser('ada'), 'asks', {}, answer('own'))).text).toContain('own');
    expect((await callRaw(url, asUser('ada'), 'asks', {}, answer('again'))).isError).toBe(true);
  });

  spec('IDN-3', 'does not evade a limit by another client, session or token', async () => {
    const workspace = createTeam(TEAM, '[limits]\ncalls-per-minute = 3\n');
    const second = 'second-token-of-ada-0000000000';
    writeFileSync(join(workspace.home, 'ada.token'), `${tokenOf('ada')}\n${second}\n`);
    const url = await serveUrl(workspace, []);
    const outcomes: boolean[] = [];
    for (const [at, token] of [tokenOf('ada'), second, tokenOf('ada'), second, second].entries()) {
      const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': `203.0.113.${at}` };
      outcomes.push((await callRaw(url, headers, 'hello', {}, { client: `client ${at}` })).isError);
    }
    expect(outcomes).toEqual([false, false, false, true, true]);
    expect((await callRaw(url, asUser('bob'), 'hello')).isError).toBe(false);
  });

  spec('IDN-3 IDN-4', 'is not another one with the same name of another issuer', async () => {
    const [provider, other] = await Promise.all([createProvider(PUBLIC_URL), createProvider(PUBLIC_URL)]);
    const tables = [provider, other].map(({ issuer }) => `[[serve.auth]]\nissuer = "${issuer}"\n`);
    const workspace = createTeam(TEAM, `[results]\ninline = 100\n${tables.join('')}`);
    const url = await serveUrl(workspace, ['--public-url', PUBLIC_URL]);
    const logins = await Promise.all([provider, other].map((one) => one.sign({ sub: 'ada' })));
    const users = [asUser('ada'), ...logins.map((token) => ({ authorization: `Bearer ${token}` }))];
    const approvals: string[] = [];
    for (const headers of users) approvals.push((await callRaw(url, headers, 'deploy')).approval);
    expect(new Set(approvals).size).toBe(3);
    await wield(workspace, ['approvals', 'approve', approvals[0]!]);
    expect((await callRaw(url, users[1]!, 'deploy')).isError).toBe(true);
    expect((await callRaw(url, users[2]!, 'deploy')).isError).toBe(true);
    const { text } = await callRaw(url, users[1]!, 'hello', { text: 'x'.repeat(500) });
    const id = /r_[\w-]+/.exec(text)![0];
    expect((await callRaw(url, users[1]!, 'read_result', { id })).text).toContain('xxx');
    for (const headers of [users[0]!, users[2]!])
      expect((await callRaw(url, headers, 'read_result', { id })).isError).toBe(true);
    expect((await callRaw(url, users[0]!, 'deploy')).text).toContain('ran deploy');
  });

  spec('IDN-2', 'gets no rights by what the client says: name, arguments, headers, metadata', async () => {
    const workspace = createTeam(TEAM, '');
    workspace.config(
      '[trust]\nrules = ["deploy($group=ops,$policy=allow)", "deploy($deny)"]\n[serve.tokens.bob]\nfile = "~/bob.token"\n',
    );
    const url = await serveUrl(workspace, []);
    const forged = { 'x-user': 'ada', 'x-groups': 'ops', 'x-forwarded-groups': 'ops', cookie: 'user=ada' };
    const more = { caller: { user: 'ada', groups: ['ops'] }, user: 'ada', groups: ['ops'] };
    const call = await callRaw(
      url,
      { ...asUser('bob'), ...forged },
      'deploy',
      {},
      { client: 'user ada at token', more },
    );
    expect(call.text).not.toContain('ran deploy');
    const { records } = json(await wield(workspace, ['audit', '--json']));
    for (const { user } of records) expect(user).toBe('bob');
  });
});

const settings = (issuer: string) => ({
  issuer,
  audience: undefined,
  userClaim: 'sub',
  groupsClaim: 'groups',
  clientId: undefined,
  scopes: [],
});
const create = (...issuers: readonly string[]) =>
  createVerifier({
    issuers: issuers.map(settings),
    audience: PUBLIC_URL,
    expand: async (secret) => secret,
    createFetch: createGuardedFetch,
    debug: () => {},
  });

const createKey = async (alg: string) => {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), alg } };
};
const signWith = async (issuer: string, key: Awaited<ReturnType<typeof createKey>>, more: object = {}) => {
  const claims = { iss: issuer, aud: PUBLIC_URL, sub: 'ada', exp: Math.floor(Date.now() / 1000) + 300, ...more };
  return new SignJWT(claims).setProtectedHeader({ alg: key.jwk.alg, typ: 'at+jwt' }).sign(key.privateKey);
};

describe.concurrent('keys of an identity provider', () => {
  spec('IDN-6', 'are its own: a token of one provider is not signed by the key of another', async () => {
    const [provider, other] = await Promise.all([createProvider(PUBLIC_URL), createProvider(PUBLIC_URL)]);
    const verify = create(provider.issuer, other.issuer);
    expect(await verify(await provider.sign())).toMatchObject({ issuer: provider.issuer });
    expect(await verify(await other.sign())).toMatchObject({ issuer: other.issuer });
    expect(await verify(await other.sign({ iss: provider.issuer }))).toMatchObject({ error: 'invalid_token' });
    const both = { iss: [provider.issuer, other.issuer] };
    expect(await verify(await other.sign(both))).toMatchObject({ error: 'invalid_token' });
  });

  spec('IDN-6', 'are not those that a token, or metadata of another issuer, names', async () => {
    const provider = await createProvider(PUBLIC_URL);
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'evil', alg: 'ES256' };
    const evil = await listen((request, response) =>
      sendJson(
        response,
        request.url === '/keys' ? { keys: [jwk] } : { issuer: provider.issuer, jwks_uri: `${evil.origin}/keys` },
      ),
    );
    const verify = create(provider.issuer, evil.origin);
    for (const header of [{ jku: `${evil.origin}/keys` }, { x5u: `${evil.origin}/keys` }, { jwk }, {}])
      for (const kid of ['evil', 'key-1'])
        expect(await verify(await provider.sign({}, { kid, ...header }, privateKey))).toHaveProperty('error');
    // Its metadata says that it is another issuer.
    expect(await verify(await provider.sign({ iss: evil.origin }, { kid: 'evil' }, privateKey))).toHaveProperty(
      'error',
    );
    expect(evil.requests.map(({ url }) => url)).not.toContain('/keys');
    expect(await verify(await provider.sign())).toMatchObject({ user: 'ada' });
  });

  spec('IDN-6', 'may have no kid, if there are several of one algorithm', async () => {
    const keys = await Promise.all([1, 2, 3].map(() => createKey('ES256')));
    const provider = await listen((request, response) =>
      sendJson(
        response,
        request.url === '/keys'
          ? { keys: keys.slice(0, 2).map(({ jwk }) => jwk) }
          : { issuer: provider.origin, jwks_uri: `${provider.origin}/keys` },
      ),
    );
    const verify = create(provider.origin);
    for (const key of keys.slice(0, 2))
      expect(await verify(await signWith(provider.origin, key))).toMatchObject({ user: 'ada' });
    // Each of them is checked as a single one is.
    for (const wrong of [
      await signWith(provider.origin, keys[2]!),
      await signWith(provider.origin, keys[1]!, { aud: 'https://other.example.com' }),
      await signWith(provider.origin, keys[0]!, { exp: 1 }),
    ])
      expect(await verify(wrong)).toMatchObject({ error: 'invalid_token' });
  });

  spec('IDN-6', 'are found by the second metadata document, if the first is a page', async () => {
    const key = await createKey('RS256');
    const provider = await listen((request, response) => {
      if (request.url === '/keys') return sendJson(response, { keys: [key.jwk] });
      if (request.url === '/.well-known/oauth-authorization-server')
        return sendJson(response, { issuer: provider.origin, jwks_uri: `${provider.origin}/keys` });
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>');
    });
    expect(await create(provider.origin)(await signWith(provider.origin, key))).toMatchObject({ user: 'ada' });
  });

  spec('IDN-6', 'are not read without encryption, nor are secrets keys', async () => {
    const secret = Buffer.from('a-secret-that-is-published-by-mistake').toString('base64url');
    const odd = await listen((request, response) =>
      sendJson(
        response,
        request.url === '/keys'
          ? { keys: [{ kty: 'oct', k: secret, kid: 'key-1', alg: 'HS256' }] }
          : { issuer: odd.origin, jwks_uri: `${odd.origin}/keys` },
      ),
    );
    const claims = { iss: odd.origin, aud: PUBLIC_URL, sub: 'ada', exp: Math.floor(Date.now() / 1000) + 300 };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: 'key-1', typ: 'at+jwt' })
      .sign(Buffer.from(secret, 'base64url'));
    expect(await create(odd.origin)(token)).toHaveProperty('error');
    const { addressOf } = await import('../../src/net/metadata.js');
    const metadata = { jwks_uri: 'http://id.example.com/keys' };
    expect(() => addressOf(metadata, 'jwks_uri', 'https://id.example.com')).toThrow('needs https');
  });
});

// Alone: the clock is that of all tests.
describe('keys of an identity provider, a minute later', () => {
  spec('IDN-6', 'are found again after they have moved', async () => {
    const [before, after] = await Promise.all([createKey('ES256'), createKey('ES384')]);
    let path = '/before';
    const provider = await listen((request, response) => {
      const key = request.url === path && (path === '/before' ? before : after);
      if (key) return sendJson(response, { keys: [key.jwk] });
      if (!request.url?.includes('openid')) return void response.writeHead(404).end();
      sendJson(response, { issuer: provider.origin, jwks_uri: `${provider.origin}${path}` });
    });
    const verify = create(provider.origin);
    const token = await signWith(provider.origin, after);
    expect(await verify(await signWith(provider.origin, before))).toMatchObject({ user: 'ada' });
    path = '/after';
    expect(await verify(token)).toMatchObject({ error: 'invalid_token' });
    const elapsed = performance.now();
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => elapsed + 61_000);
    onTestFinished(() => clock.mockRestore());
    expect(await verify(token)).toMatchObject({ user: 'ada' });
  });
});
