// Requests through the proxy of `[net]`: a small one of the tests, which knows names of its own, and tinyproxy.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { createCertificate } from '../../support/certificate.js';
import { json, wield } from '../../support/cli.js';
import { answerGit } from '../../support/git-server.js';
import { listen, sendJson } from '../../support/http.js';
import { createInstallWorkspace, DETECT } from '../../support/install.js';
import { hasProgram, notInstalled } from '../../support/machine.js';
import { startProxy, startTinyproxy } from '../../support/proxy.js';
import { freePort } from '../../support/redis.js';
import { serveUrl } from '../../support/serve.js';
import { onEnd, share } from '../../support/share.js';
import { specIf } from '../../support/spec.js';
import { callRaw, createTeam } from '../../support/team.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const ADDRESS = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address;

const DOCUMENT = JSON.stringify({
  openapi: '3.1.0',
  info: { title: 'x', version: '1' },
  paths: {
    '/greet': { get: { operationId: 'greet', responses: {} } },
    '/slow': { get: { operationId: 'slow', responses: {} } },
  },
});

// Answers with what it was asked; `/slow` never ends.
const server = share(async () => {
  const workspace = createWorkspace();
  const more = ['DNS:api.test', 'DNS:git.test', ...(ADDRESS === undefined ? [] : [`IP:${ADDRESS}`])];
  const { key, cert, file } = createCertificate(workspace.dir, ...more);
  const sources = createInstallWorkspace();
  sources.repository('tools', DETECT);
  const waiting: (() => void)[] = [];
  const seen: Record<string, unknown>[] = [];
  const https = createServer({ key, cert }, (request, response) => {
    seen.push(request.headers);
    if (request.url!.startsWith('/tools')) return answerGit(join(dirname(sources.dir), 'sources'), request, response);
    if (request.url !== '/slow') return sendJson(response, { path: request.url });
    response.writeHead(200, { 'content-type': 'application/json' }).write('{');
    for (const wake of waiting.splice(0)) wake();
  });
  await new Promise<void>((resolve) => https.listen(0, resolve));
  onEnd(() => {
    https.closeAllConnections();
    https.close();
  });
  const reached = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  return { port: (https.address() as AddressInfo).port, ca: file, reached, seen };
});

// The server has a certificate.
const withTls = (ids: string, title: string, body: () => Promise<void>, timeoutMs?: number): void =>
  specIf(hasProgram('openssl'), notInstalled('openssl'), ids, title, body, timeoutMs);

/** A workspace with the API of a server, and settings of the network. */
function createClient(address: string, net: string): Workspace {
  const workspace = createWorkspace();
  workspace.write('.agents/tools/api.openapi.json', DOCUMENT);
  workspace.config(`[net]\n${net}\n[openapi.api]\nserver = "${address}"\n`);
  return workspace;
}

const call = async (workspace: Workspace, name = 'greet', env: Record<string, string> = {}) =>
  json(await wield(workspace, ['call', name, '--json'], { env }));

describe.concurrent('a proxy', () => {
  withTls(
    'NET-1 NET-2 NET-6',
    'is asked for the name of a server, whose certificate is from another authority',
    async () => {
      const { port, ca } = server();
      const proxy = await startProxy({ ports: { 'api.test:443': port } });
      const workspace = createClient('https://api.test', `proxy = "${proxy.url}"\nca = "${ca}"`);
      expect((await call(workspace)).structured).toEqual({ path: '/greet' });
      expect(proxy.asked).toEqual(['CONNECT api.test:443']);
      workspace.config(`[net]\nproxy = "${proxy.url}"\n[openapi.api]\nserver = "https://api.test"\n`);
      expect((await call(workspace)).error).toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('certificate'),
        hint: expect.stringContaining('set ca in [net]'),
      });
    },
  );

  withTls('NET-1 NET-6', 'with TLS of its own is known by its own name', async () => {
    const { port, ca } = server();
    const plain = await listen((_, response) => sendJson(response, 'fine'));
    const own = createCertificate(createWorkspace().dir);
    const ports = { 'api.test:443': port, 'api.test:80': plain.port };
    const proxy = await startProxy({ ports, tls: own });
    const errorOf = async (address: string, authorities: string) => {
      const workspace = createClient(address, `proxy = "${proxy.url}"\nca = "~/ca.pem"`);
      writeFileSync(join(workspace.home, 'ca.pem'), authorities);
      return (await call(workspace)).error?.message;
    };
    const [ofServer, ofProxy] = [readFileSync(ca, 'utf8'), own.cert.toString()];
    expect(await errorOf('https://api.test', ofServer + ofProxy)).toBeUndefined();
    expect(await errorOf('http://api.test', ofProxy)).toBeUndefined();
    // The certificate of the server is not one of the proxy.
    expect(await errorOf('https://api.test', ofServer)).toContain(`the proxy ${proxy.url}: its certificate`);
    expect(await errorOf('http://api.test', ofServer)).toContain('certificate');
  });

  withTls('NET-1 NET-3', 'gets requests without TLS with their whole address, and the password alone', async () => {
    // It repeats the password, which nobody may read.
    const plain = await listen((_, response) => sendJson(response, 'fine canary-4711-secret'));
    const proxy = await startProxy({ ports: { 'api.test:80': plain.port }, auth: 'ada:canary-4711-secret' });
    const workspace = createClient('http://api.test', `proxy = "${proxy.url}"`);
    const missing = await call(workspace);
    expect(missing.error).toMatchObject({
      code: 'unavailable',
      hint: expect.stringContaining('set proxy-auth in [net]'),
    });
    const table = `[net]\nproxy = "${proxy.url}"\nproxy-auth = "\${PROXY_AUTH}"\n[openapi.api]\nserver = "http://api.test"\n`;
    workspace.config(table);
    const wrong = await call(workspace, 'greet', { PROXY_AUTH: 'ada:canary-4712-secret' });
    expect(wrong.error.message).toContain('refused the user and password of [net] proxy-auth');
    expect(JSON.stringify(wrong)).not.toContain('canary');
    const unset = await call(workspace);
    expect(unset.error.message).toContain('[net] proxy-auth needs the variable PROXY_AUTH, which is not set');
    const right = await call(workspace, 'greet', { PROXY_AUTH: 'ada:canary-4711-secret' });
    expect(right.structured).toBe('fine [redacted]');
    expect(proxy.asked).toEqual(Array(3).fill('GET http://api.test/greet'));
    expect(plain.requests.map(({ headers }) => headers['proxy-authorization'])).toEqual([undefined]);
  });

  withTls(
    'NET-3 NET-8',
    'that refuses, is down or wants a password is named, and nothing is sent directly',
    async () => {
      const { port, ca, seen } = server();
      const address = `https://localtest.test:${port}`;
      const errorOf = async (net: string, env = {}) =>
        (await call(createClient(address, `${net}\nca = "${ca}"`), 'greet', env)).error;
      const proxy = await startProxy();
      expect(await errorOf(`proxy = "${proxy.url}"`)).toMatchObject({
        code: 'unavailable',
        message: `the proxy ${proxy.url} refused to connect to localtest.test:${port} (status 403)`,
        hint: expect.stringContaining('add "localtest.test" to no-proxy in [net]'),
      });
      const unable = await startProxy({ status: 502 });
      expect((await errorOf(`proxy = "${unable.url}"`)).message).toContain(
        `could not connect to localtest.test:${port} (status 502)`,
      );
      const closed = await startProxy({ auth: 'ada:canary-4711-secret' });
      const wrong = await errorOf(`proxy = "${closed.url}"\nproxy-auth = "\${P}"`, { P: 'ada:canary-4712-secret' });
      expect(wrong.message).toContain('refused the user and password');
      expect(JSON.stringify(wrong)).not.toContain('canary');
      const down = `http://127.0.0.1:${await freePort()}`;
      expect(await errorOf(`proxy = "${down}"`)).toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(`the proxy ${down}: connection refused`),
        hint: expect.stringContaining('proxy in [net]'),
      });
      expect(seen.filter(({ host }) => String(host).startsWith('localtest'))).toEqual([]);
    },
  );

  withTls('NET-8', 'that dies during a call ends it', async () => {
    const { port, ca, reached } = server();
    const proxy = await startProxy({ ports: { 'api.test:443': port } });
    const workspace = createClient('https://api.test', `proxy = "${proxy.url}"\nca = "${ca}"`);
    const started = reached();
    const calling = call(workspace, 'slow');
    await started;
    proxy.kill();
    expect((await calling).error).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining(`the proxy ${proxy.url}: the connection was reset`),
    });
  });

  withTls('NET-2', 'is not asked for addresses that may not be reached, however they are written', async () => {
    const proxy = await startProxy();
    for (const host of [
      '169.254.169.254',
      '[fe80::1]',
      '0.0.0.0',
      '[::ffff:169.254.169.254]',
      'metadata.google.internal',
      '2852039166',
    ]) {
      const { error } = await call(createClient(`http://${host}`, `proxy = "${proxy.url}"`));
      expect([host, error.message]).toEqual([host, expect.stringContaining('no request was sent')]);
    }
    expect(proxy.asked).toEqual([]);
  });

  withTls('NET-1 NET-4', 'is not used for this machine and for exceptions', async () => {
    const plain = await listen((_, response) => sendJson(response, 'direct'));
    const proxy = await startProxy();
    const answer = async (address: string, exceptions: string) => {
      const { ok, error } = await call(createClient(address, `proxy = "${proxy.url}"\nno-proxy = [${exceptions}]`));
      return ok ? 'direct' : error.message.includes('the proxy') ? 'proxy' : error.data?.errno;
    };
    expect(await answer(plain.origin, '')).toBe('direct');
    expect(await answer(plain.origin.replace('127.0.0.1', 'localhost'), '')).toBe('direct');
    const direct = expect.stringMatching(/^(?:ENOTFOUND|EAI_AGAIN)$/);
    for (const [host, exception, expected] of [
      ['a.corp', '"*.corp"', direct],
      ['a.b.corp', '".corp"', direct],
      ['A.CORP.', '"*.Corp"', direct],
      ['corp', '"*.corp"', 'proxy'],
      ['a.corp.example', '"*.corp"', 'proxy'],
      ['acorp', '"*.corp"', 'proxy'],
      ['git.corp:8443', '"git.corp:8443"', direct],
      ['git.corp', '"git.corp:8443"', 'proxy'],
      ['x.git.corp', '"git.corp"', 'proxy'],
      ['x.invalid', '"*"', direct],
      ['203.0.113.9', '"10.0.0.0/8"', 'proxy'],
    ] as const)
      expect([host, exception, await answer(`https://${host}`, exception)]).toEqual([host, exception, expected]);
  });

  withTls(
    'NET-5 NET-6',
    'is used by git, with its password and the authorities, whatever the environment says',
    async () => {
      const { port, ca } = server();
      const proxy = await startProxy({ ports: { 'git.test:443': port }, auth: 'ada:p@ss:word' });
      const workspace = createInstallWorkspace();
      mkdirSync(workspace.wieldHome, { recursive: true });
      workspace.config(`[net]\nproxy = "${proxy.url}"\nproxy-auth = "file:~/auth"\nca = "${ca}"\n`);
      writeFileSync(join(workspace.home, 'auth'), 'ada:p@ss:word\n', { mode: 0o600 });
      const env = { HTTPS_PROXY: 'http://127.0.0.1:9', NO_PROXY: 'git.test' };
      const added = json(await workspace.runWith({ env }, 'add', 'https://git.test/tools', '--json'));
      expect([added.error, added.ok]).toEqual([undefined, true]);
      expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT git.test:443']));
      workspace.config(`[net]\nproxy = "${proxy.url}"\n`);
      const refused = json(await workspace.runWith({ env }, 'add', 'https://git.test/other', '--json'));
      expect(refused.error.message).toContain('407');
    },
  );

  withTls('NET-6', 'a file without authorities fails the request', async () => {
    const workspace = createClient('https://api.test', 'ca = "~/ca.pem"');
    expect((await call(workspace)).error.message).toContain('ca.pem does not exist');
    writeFileSync(join(workspace.home, 'ca.pem'), '-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n');
    expect((await call(workspace)).error.message).toContain('is not a file of certificates');
    const { stdout, status } = await wield(workspace, ['doctor']);
    expect([status, stdout]).toEqual([1, expect.stringContaining('is not a file of certificates')]);
  });

  withTls('NET-7', 'of the environment is named by a request that fails, and by doctor', async () => {
    const workspace = createClient('https://nowhere.invalid', 'no-proxy = []');
    const env = { https_proxy: 'http://ada:canary-4711-secret@proxy.corp:3128' };
    const { error } = await call(workspace, 'greet', env);
    expect(error.hint).toBe(
      'https_proxy is set, but wield uses only a proxy of its own configuration: set proxy = "http://proxy.corp:3128" in [net] of ~/.wield/config.toml',
    );
    expect((await call(workspace)).error.hint).not.toContain('proxy');
    const doctor = await wield(workspace, ['doctor'], { env });
    expect(doctor.stdout).toContain('https_proxy is set, but wield uses only a proxy of its own configuration');
    expect(doctor.stdout).not.toContain('canary');
    workspace.config('[net]\nproxy = "http://proxy.corp:3128"\nno-proxy = ["*.corp"]\n');
    expect((await wield(workspace, ['doctor'], { env })).stdout).toContain('http://proxy.corp:3128, not for *.corp');
  });

  withTls('NET-1 NET-3', 'of a project is ignored, and an invalid one denies everything', async () => {
    const proxy = await startProxy();
    const workspace = createClient('https://nowhere.invalid', '');
    workspace.write('.agents/config.toml', `[net]\nproxy = "${proxy.url}"\nca = "/etc/hosts"\n`);
    await wield(workspace, ['trust', '--yes']);
    expect((await call(workspace)).error.message).toMatch(/host not found|DNS lookup failed/);
    expect(proxy.asked).toEqual([]);
    for (const [line, message] of [
      ['proxy = "socks5://proxy:1080"', 'must be an address'],
      ['proxy = "proxy:3128"', 'must be an address'],
      ['proxy = "http://ada:secret@proxy:3128"', 'contains credentials'],
      ['proxy = "http://proxy:3128/path"', 'must end after the port'],
      ['no-proxy = ["https://x"]', 'must be a name'],
      ['no-proxy = ["10.0.0.0/33"]', 'must be a name'],
      ['proxy-auth = "ada:secret"', 'must be a reference'],
      ['ca = "ca.pem"', 'must be the path of a file'],
      ['proxi = "http://proxy:3128"', 'did you mean net.proxy?'],
    ]) {
      workspace.config(`[net]\n${line}\n[openapi.api]\nserver = "https://nowhere.invalid"\n`);
      const { error } = await call(workspace);
      expect([line, error.code, error.message]).toEqual([line, 'denied', expect.stringContaining(message!)]);
    }
  });

  specIf(
    ['tinyproxy', 'openssl'].every(hasProgram) && ADDRESS !== undefined,
    ADDRESS === undefined
      ? 'no address but loopback; to run: npm test on a machine with a network'
      : notInstalled(hasProgram('tinyproxy') ? 'openssl' : 'tinyproxy'),
    'NET-1 NET-3 NET-8',
    'tinyproxy tunnels, refuses, wants a password, and is killed',
    async () => {
      const { port, ca, reached } = server();
      const workspace = createWorkspace();
      const start = async (settings: string) => {
        const at = await freePort();
        return { url: `http://127.0.0.1:${at}`, ...(await startTinyproxy(workspace.dir, at, settings)) };
      };
      const clientOf = (url: string, more = '') =>
        createClient(`https://${ADDRESS}:${port}`, `proxy = "${url}"\nca = "${ca}"\n${more}`);
      const open = await start('');
      expect((await call(clientOf(open.url))).structured).toEqual({ path: '/greet' });
      const restricted = await start('ConnectPort 443');
      expect((await call(clientOf(restricted.url))).error.message).toContain('refused to connect');
      const closed = await start('BasicAuth ada secret4711');
      expect((await call(clientOf(closed.url))).error.message).toContain('requires a user and a password');
      const env = { PROXY_AUTH: 'ada:secret4711' };
      const known = clientOf(closed.url, 'proxy-auth = "${PROXY_AUTH}"');
      expect((await call(known, 'greet', env)).structured).toEqual({ path: '/greet' });
      const started = reached();
      const calling = call(known, 'slow', env);
      await started;
      closed.kill();
      expect((await calling).error.message).toContain(`the proxy ${closed.url}: the connection was reset`);
    },
  );
});

describe.concurrent('every request', () => {
  withTls('NET-1', 'of a command takes the way of the proxy', async () => {
    const proxy = await startProxy();
    const workspace = createWorkspace();
    workspace.config(`[net]\nproxy = "${proxy.url}"\n`);
    writeFileSync(join(workspace.home, 'token'), 'x'.repeat(40), { mode: 0o600 });
    await wield(workspace, ['mcp', 'add', 'far', '--yes', '--url', 'https://mcp.test/mcp']);
    for (const [args, host] of [
      [['mcp', 'refresh', 'far'], 'mcp.test'],
      [['mcp', 'login', 'far', '--no-browser'], 'mcp.test'],
      [
        ['mcp', 'add', 'registry:io.github.owner/name', '--registry', 'https://registry.test', '--yes'],
        'registry.test',
      ],
      [['add', 'https://documents.test/shop.openapi.json', '--yes'], 'documents.test'],
      [['add', 'https://bundles.test/server.mcpb', '--yes'], 'bundles.test'],
      [['add', 'https://git.test/owner/tools', '--yes'], 'git.test'],
      [
        ['approvals', '--server', 'https://gateway.test/mcp', '--token-file', join(workspace.home, 'token')],
        'gateway.test',
      ],
    ] as const) {
      proxy.asked.length = 0;
      const { status } = await wield(workspace, args);
      expect([args[0], status, new Set(proxy.asked)]).toEqual([
        args[0],
        expect.any(Number),
        new Set([`CONNECT ${host}:443`]),
      ]);
      expect(status).not.toBe(0);
    }
  });

  withTls('NET-1 POL-9', 'is not sent while the configuration is invalid', async () => {
    const proxy = await startProxy();
    const api = await listen((_, response) => sendJson(response, { approvals: [] }));
    const workspace = createWorkspace();
    writeFileSync(join(workspace.home, 'token'), 'x'.repeat(40), { mode: 0o600 });
    for (const net of ['proxy = "socks5://h:1"', `proxyy = "${proxy.url}"`, `proxy = "${proxy.url}"\nx = [`]) {
      workspace.config(`[net]\n${net}\n`);
      for (const args of [
        ['approvals', '--server', `${api.origin}/mcp`, '--token-file', join(workspace.home, 'token')],
        ['add', 'https://documents.test/shop.openapi.json', '--yes'],
      ]) {
        const { error } = json(await wield(workspace, [...args, '--json']));
        expect([net, args[0], error.code, error.message]).toEqual([
          net,
          args[0],
          'denied',
          expect.stringMatching(/the configuration is invalid \(\S+config\.toml:\d: /),
        ]);
      }
    }
    expect([api.requests, proxy.asked]).toEqual([[], []]);
  });

  withTls('NET-1', 'to an identity provider takes the way of the proxy', async () => {
    const proxy = await startProxy();
    const workspace = createTeam(
      {},
      `[net]\nproxy = "${proxy.url}"\n[[serve.auth]]\nissuer = "https://keys.test"\n[[serve.auth]]\nissuer = "https://tokens.test"\nintrospection = { client-id = "a", client-secret = "\${S}" }\n`,
    );
    workspace.env.S = 'canary-4711-secret';
    const url = await serveUrl(workspace, ['--public-url', 'https://wield.test/mcp']);
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const tokens = [`${part({ alg: 'RS256' })}.${part({ iss: 'https://keys.test' })}.x`, 'opaque'.repeat(6)];
    for (const token of tokens)
      await callRaw(url, { origin: 'https://wield.test', authorization: `Bearer ${token}` }, 'hello');
    expect(new Set(proxy.asked)).toEqual(new Set(['CONNECT keys.test:443', 'CONNECT tokens.test:443']));
  });

  withTls('NET-1', 'about a waiting call takes the way of the proxy', async () => {
    const proxy = await startProxy();
    const workspace = createWorkspace();
    workspace.script('ask', '#!/bin/sh\n# @description D\n# @destructive\necho hi\n');
    workspace.config(`[net]\nproxy = "${proxy.url}"\n[approvals]\nnotify = { url = "https://hooks.test/x" }\n`);
    const toolbox = workspace.toolbox({ trust: true });
    await toolbox.call('ask', {}, { caller: { kind: 'model', door: 'mcp' } });
    await vi.waitFor(() => expect(proxy.asked).toContain('CONNECT hooks.test:443'), { timeout: 10_000 });
  });

  withTls('NET-1', 'to the model of the configuration takes the way of the proxy', async () => {
    const proxy = await startProxy();
    const workspace = createWorkspace();
    workspace.script('hello', '#!/bin/sh\n# @description Says hello.\necho hi\n');
    const model = '[model]\nprovider = "openai"\nname = "small"\nkey = "K"\nurl =';
    const refresh = async (url: string) => {
      workspace.config(`[net]\nproxy = "${proxy.url}"\n${model} "${url}"\n`);
      return workspace.toolbox({ env: { ...workspace.env, K: 'x' } }).call('capabilities_refresh', {});
    };
    expect((await refresh('https://model.test')).error?.message).toContain('refused to connect to model.test:443');
    expect((await refresh('http://model.test')).error?.message).toContain('unencrypted');
    expect(proxy.asked).toEqual(['CONNECT model.test:443']);
  });
});
