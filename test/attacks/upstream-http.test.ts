// Attacks of upstream servers over HTTP, or of their DNS: private addresses, redirects, floods (A54).

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { isToolError, type ToolError } from '../../src/core/error.js';
import { classifyAddress } from '../../src/net/address.js';
import type { Lookup } from '../../src/net/exchange.js';
import { createGuardedFetch, type GuardedFetchOptions } from '../../src/net/fetch.js';
import { type LocalServer, listen, readBody, sendJson } from '../support/http.js';
import { hasProgram, notInstalled } from '../support/machine.js';
import { spec, specIf } from '../support/spec.js';

const SECRET = 'sk-never-to-be-seen';

/** Returns the error of a fetch; fails if there is none. */
async function refusal(work: () => Promise<unknown> | unknown): Promise<ToolError> {
  try {
    await work();
  } catch (thrown) {
    expect(isToolError(thrown), String(thrown)).toBe(true);
    const error = thrown as ToolError;
    expect(error.hint).toBeTruthy();
    expect(JSON.stringify(error)).not.toContain(SECRET);
    return error;
  }
  throw new Error('it was not refused');
}

const ask = (url: string, options: Partial<GuardedFetchOptions> = {}, init?: RequestInit) =>
  createGuardedFetch({ url, ...options })(url, init);

/** A lookup that returns these addresses in turn. */
function answering(...turns: (readonly string[])[]): { lookup: Lookup; asked: () => number } {
  let asked = 0;
  const lookup: Lookup = (_hostname, options, callback) => {
    const addresses = turns[Math.min(asked++, turns.length - 1)]!.map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }));
    setImmediate(() => {
      if (options.all) callback(null, addresses);
      else callback(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
  return { lookup, asked: () => asked };
}

const echo = (): Promise<LocalServer> =>
  listen(async (request, response) =>
    sendJson(response, {
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: await readBody(request),
    }),
  );

describe('addresses', () => {
  const FORBIDDEN = [
    'http://169.254.169.254/latest/meta-data/',
    'http://169.254.0.1/',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376/',
    'http://169.254.43518/',
    'http://169.254.169.254./',
    'http://[::ffff:169.254.169.254]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[::169.254.169.254]/',
    'http://[::ffff:0:169.254.169.254]/',
    'http://[64:ff9b::169.254.169.254]/',
    'http://[64:ff9b:1::169.254.169.254]/',
    'http://[64:ff9b:1:abcd::a9fe:a9fe]/',
    'http://[64:ff9b:1::224.0.0.1]/',
    'http://[2002:a9fe:a9fe::1]/',
    'http://[2001:0:1234::5601:5601]/',
    'http://[fe80::1]/',
    'http://[febf::1]/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/',
    'http://168.63.129.16/',
    'http://metadata.google.internal/',
    'http://METADATA.google.internal./',
    'http://0.0.0.0/',
    'http://0/',
    'http://[::]/',
    'http://224.0.0.1/',
    'http://[ff02::1]/',
    'http://255.255.255.255/',
    'http://240.0.0.1/',
  ];

  spec('UPS-20', 'rejects every spelling of a forbidden address, whatever is allowed (A54)', async () => {
    const unused = answering(['127.0.0.1']);
    for (const url of FORBIDDEN) {
      for (const allowPrivate of [false, true]) {
        const error = await refusal(() => ask(url, { allowPrivate, lookup: unused.lookup }));
        expect([url, error.code]).toEqual([url, 'unavailable']);
        expect(error.message).toContain('no request was sent');
      }
    }
    expect(unused.asked()).toBe(0);
  });

  spec('UPS-20', 'rejects a DNS answer that contains a forbidden address (A54)', async () => {
    const server = await echo();
    const url = `http://mcp.example.com:${server.port}/`;
    for (const address of [
      '169.254.169.254',
      '::ffff:169.254.169.254',
      'fe80::1%lo',
      '0.0.0.0',
      '100.100.100.200',
      'fd00:ec2::254',
    ]) {
      for (const addresses of [[address], ['127.0.0.1', address], [address, '127.0.0.1']]) {
        const { lookup } = answering(addresses);
        const error = await refusal(() => ask(url, { lookup, allowPrivate: true }));
        expect(error.message).toContain(`resolves to ${address}`);
      }
    }
    expect(server.connections()).toBe(0);
  });

  spec('UPS-20', 'a public name must not resolve to a private address unless allowed (A54)', async () => {
    const server = await echo();
    const url = `http://mcp.example.com:${server.port}/`;
    for (const address of ['127.0.0.1', '10.0.0.7', '192.168.1.1', '172.20.0.1', '::1', 'fd12::1', '100.64.0.1']) {
      const error = await refusal(() => ask(url, { lookup: answering([address]).lookup }));
      expect(error.code).toBe('unavailable');
      expect(error.message).toMatch(/resolves to .*, a (?:private|loopback) address/);
    }
    expect(server.connections()).toBe(0);
    const allowed = await ask(url, { lookup: answering(['127.0.0.1']).lookup, allowPrivate: true });
    expect(allowed.status).toBe(200);
  });

  spec('UPS-20', 'connects to the address that was checked (A54)', async () => {
    const server = await echo();
    const near = answering(['127.0.0.1'], ['169.254.169.254']);
    const url = `http://devbox.localhost:${server.port}/`;
    const response = await ask(url, { lookup: near.lookup });
    expect(response.status).toBe(200);
    // One lookup per connection, so there is no second answer.
    expect(near.asked()).toBe(1);
    const error = await refusal(() => ask(url, { lookup: near.lookup }));
    expect(error.message).toContain('169.254.169.254');
  });

  spec('UPS-20', 'reaches configured private addresses, and localhost only on this machine (A54)', async () => {
    for (const host of ['127.0.0.1', '127.0.0.2', '::1']) {
      const server = await listen((_, response) => sendJson(response, { host }), host);
      expect(await (await ask(`${server.origin}/`)).json()).toEqual({ host });
    }
    const server = await echo();
    expect((await ask(`http://localhost:${server.port}/`)).status).toBe(200);
    expect((await ask(`http://LOCALHOST.:${server.port}/`)).status).toBe(200);
    const astray = answering(['10.0.0.1']);
    const error = await refusal(() => ask(`http://localhost:${server.port}/`, { lookup: astray.lookup }));
    expect(error.message).toContain('10.0.0.1');
  });

  spec('UPS-20', 'a private server must not lead to a loopback address, even for login metadata (A54)', async () => {
    const server = await echo();
    const fetchAny = createGuardedFetch({ url: 'https://10.1.2.3/mcp', anyOrigin: true });
    const error = await refusal(() => fetchAny(`${server.origin}/.well-known/oauth-authorization-server`));
    expect(error.message).toContain('a loopback address');
    expect(server.connections()).toBe(0);
  });

  test('translated addresses are classified by the IPv4 address that they contain', () => {
    for (const prefix of ['::ffff:', '64:ff9b::', '64:ff9b:1::', '64:ff9b:1:2:3::'])
      for (const [address, expected] of [
        ['127.0.0.1', 'loopback'],
        ['10.1.2.3', 'private'],
        ['169.254.169.254', 'forbidden'],
        ['8.8.8.8', 'public'],
      ] as const)
        expect([prefix + address, classifyAddress(prefix + address).class]).toEqual([prefix + address, expected]);
  });

  test('ordinary addresses are public', () => {
    for (const address of ['93.184.216.34', '8.8.8.8', '2606:4700::1111', '64:ff9b::8.8.8.8', '172.32.0.1'])
      expect([address, classifyAddress(address).class]).toEqual([address, 'public']);
    for (const address of ['', 'x', '1.2.3', '1.2.3.4.5', '256.1.1.1', ':::', '1::2::3', '1:2:3:4:5:6:7:8:9'])
      expect([address, classifyAddress(address).class]).toEqual([address, 'forbidden']);
  });
});

describe('redirects', () => {
  const redirecting = (status: number, to: (server: string) => string): Promise<LocalServer> =>
    listen(async (request, response) => {
      if (request.url!.split('?')[0] !== '/mcp') {
        return sendJson(response, {
          method: request.method,
          url: request.url,
          body: await readBody(request),
        });
      }
      response.writeHead(status, { location: to(request.headers.host!) }).end();
    });
  const post = { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } };

  spec('UPS-20', 'never follows to another origin (A54)', async () => {
    const target = await echo();
    const targets = [
      () => `${target.origin}/stolen?key=${SECRET}`,
      () => `http://user:${SECRET}@127.0.0.1:${target.port}/`,
      () => '//127.0.0.2/x',
      (own: string) => `https://${own}/mcp2`,
      (own: string) => `http://${own.replace('127.0.0.1', 'localhost')}/mcp2`,
      (own: string) => `http://user:${SECRET}@${own}/mcp2`,
      () => 'file:///etc/passwd',
      () => 'http://169.254.169.254/latest/meta-data/',
    ];
    for (const to of targets) {
      for (const status of [301, 302, 303, 307, 308]) {
        const server = await redirecting(status, to);
        const headers = { authorization: `Bearer ${SECRET}` };
        for (const init of [{}, post, { ...post, redirect: 'manual' as const }, { redirect: 'follow' as const }]) {
          const error = await refusal(() => ask(`${server.origin}/mcp?token=${SECRET}`, { headers }, init));
          expect(error.code).toBe('unavailable');
          expect(error.message).toContain(`${server.origin}/mcp refers to `);
          expect(error.message).toContain('not followed');
        }
      }
    }
    expect(target.requests).toEqual([]);
  });

  spec('UPS-20', 'within the origin, 307 and 308 keep method and body, 301 to 303 are for GET (A54)', async () => {
    for (const status of [307, 308]) {
      const server = await redirecting(status, () => '/moved?a=b#c');
      expect(await (await ask(`${server.origin}/mcp`, {}, post)).json()).toEqual({
        method: 'POST',
        url: '/moved?a=b',
        body: '{"a":1}',
      });
    }
    for (const status of [301, 302, 303]) {
      const server = await redirecting(status, () => '/moved');
      expect(await (await ask(`${server.origin}/mcp`)).json()).toMatchObject({
        method: 'GET',
        url: '/moved',
      });
      const error = await refusal(() => ask(`${server.origin}/mcp`, {}, post));
      expect(error.message).toContain(`redirects a POST with ${status}`);
      expect(server.requests.map(({ url }) => url)).toEqual(['/mcp', '/moved', '/mcp']);
    }
  });

  spec('UPS-20', 'follows at most three redirects (A54)', async () => {
    const chain = await listen((request, response) => {
      const at = Number(request.url!.slice(1));
      if (at === 3) return sendJson(response, 'there');
      response.writeHead(307, { location: `/${at + 1}` }).end();
    });
    expect(await (await ask(`${chain.origin}/0`)).json()).toBe('there');
    const circle = await redirecting(307, () => '/mcp');
    const error = await refusal(() => ask(`${circle.origin}/mcp`, {}, post));
    expect(error.message).toContain('too many redirects');
    expect(circle.requests.length).toBe(4);
  });
});

describe('secrets', () => {
  spec('UPS-20', 'sends configured headers to the origin of the url only (A54)', async () => {
    const [own, other] = [await echo(), await echo()];
    const options = { url: `${own.origin}/mcp`, headers: { 'X-Key': SECRET } };
    const mine = (await (await createGuardedFetch(options)(options.url)).json()) as { headers: object };
    expect(mine.headers).toMatchObject({ 'x-key': SECRET, 'accept-encoding': 'identity' });
    await refusal(() => createGuardedFetch(options)(`${other.origin}/token`));
    expect(other.requests).toEqual([]);
    const any = createGuardedFetch({ ...options, anyOrigin: true });
    for (const server of [own, other]) {
      expect((await any(`${server.origin}/token`)).status).toBe(200);
      expect(server.requests.at(-1)!.headers['x-key']).toBeUndefined();
    }
  });

  spec('UPS-20', 'sends secrets without TLS to this machine only (A54)', async () => {
    const unused = answering(['93.184.216.34']);
    for (const url of ['http://mcp.example.com/mcp', 'http://10.0.0.5/mcp', 'http://intranet/mcp']) {
      const headers = { Authorization: `Bearer ${SECRET}` };
      const configured = await refusal(() => ask(url, { headers, lookup: unused.lookup }));
      expect(configured.message).toContain('unencrypted');
      const given = await refusal(() => ask(url, { lookup: unused.lookup }, { headers }));
      expect(given.message).toContain('the header authorization');
    }
    const any = createGuardedFetch({
      url: 'https://mcp.example.com/',
      anyOrigin: true,
      lookup: unused.lookup,
    });
    const body = new URLSearchParams({ refresh_token: SECRET });
    const posted = await refusal(() => any('http://login.example.com/token', { method: 'POST', body }));
    expect(posted.message).toContain('unencrypted');
    expect(unused.asked()).toBe(0);
  });

  spec('UPS-20', 'errors about URLs and headers do not contain their values (A54)', async () => {
    const wrong: GuardedFetchOptions[] = [
      { url: `http://user:${SECRET}@127.0.0.1/` },
      { url: `${SECRET}` },
      { url: `ftp://127.0.0.1/?${SECRET}` },
      { url: 'http://127.0.0.1/', headers: { 'X-Key': `${SECRET}\r\nX-More: 1` } },
      { url: 'http://127.0.0.1/', headers: { 'X Key': SECRET } },
      { url: 'http://127.0.0.1/', headers: { Host: SECRET } },
      { url: 'http://127.0.0.1/', headers: { 'Transfer-Encoding': SECRET } },
    ];
    for (const options of wrong) {
      const error = await refusal(() => createGuardedFetch(options));
      expect(error.code).toBe('invalid_definition');
    }
    const guarded = createGuardedFetch({ url: 'http://127.0.0.1/' });
    await refusal(() => guarded('http://127.0.0.1/', { headers: { authorization: `${SECRET}\n\u0000` } }));
  });
});

describe('responses', () => {
  spec('UPS-20', 'limits the size of a body and applies backpressure (A54)', async () => {
    const MiB = Buffer.alloc(1024 * 1024, 97);
    const END = 64 * MiB.length;
    let written = 0;
    const flood = await listen((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const more = (): void => {
        while (!response.destroyed && written < END) {
          written += MiB.length;
          if (!response.write(MiB)) return;
        }
        response.end();
      };
      response.on('drain', more);
      more();
    });
    const error = await refusal(async () => (await ask(`${flood.origin}/?k=${SECRET}`)).text());
    expect(error.message).toContain('more than 16 MiB');
    written = 0;
    const response = await ask(`${flood.origin}/`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    // Only what the kernel buffers on both sides.
    expect(written).toBeLessThan(16 * MiB.length);
    await response.body!.cancel();
  });

  spec('UPS-20', 'limits the size of an event, not of an event stream (A54)', async () => {
    const stream = (parts: readonly string[]) =>
      listen((_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        for (const part of parts) response.write(part);
        response.end();
      });
    for (const end of ['\n\n', '\r\n\r\n', '\r\r', '\n\r\n']) {
      const event = `data: ${'x'.repeat(60)}${end}`;
      const server = await stream(Array(50).fill(event));
      expect(await (await ask(`${server.origin}/`, { maxBytes: 100, limitsEvents: true })).text()).toBe(
        event.repeat(50),
      );
      const long = await stream([event, `data: ${'x'.repeat(60)}\ndata: `, 'y'.repeat(60), end]);
      const error = await refusal(async () =>
        (await ask(`${long.origin}/`, { maxBytes: 100, limitsEvents: true })).text(),
      );
      expect(error.message).toContain('more than 100 B');
    }
  });

  spec('UPS-20', 'rejects large headers and encoded bodies, and drops cookies (A54)', async () => {
    const server = await listen((request, response) => {
      if (request.url === '/headers') response.setHeader('x-large', 'x'.repeat(100_000));
      if (request.url === '/gzip') response.setHeader('content-encoding', 'gzip');
      response.setHeader('set-cookie', 'id=1');
      sendJson(response, request.headers);
    });
    expect((await refusal(() => ask(`${server.origin}/headers`))).message).toContain('headers');
    expect((await refusal(() => ask(`${server.origin}/gzip`))).hint).toContain('content-encoding');
    const guarded = createGuardedFetch({ url: server.origin });
    const first = await guarded(`${server.origin}/`);
    expect(first.headers.has('set-cookie')).toBe(false);
    await first.text();
    expect(await (await guarded(`${server.origin}/`)).json()).not.toHaveProperty('cookie');
  });

  spec('UPS-20', 'reuses connections and stops on abort at any time (A54)', async () => {
    const server = await listen((request, response) => {
      if (request.url === '/never') return;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      if (request.url !== '/open') response.end();
    });
    const guarded = createGuardedFetch({ url: server.origin });
    for (let turn = 0; turn < 3; turn++) await (await guarded(`${server.origin}/`)).text();
    expect(server.connections()).toBe(1);
    const reason = new Error('enough');
    const waiting = new AbortController();
    const never = guarded(`${server.origin}/never`, { signal: waiting.signal });
    setTimeout(() => waiting.abort(reason), 50);
    await expect(never).rejects.toBe(reason);
    await expect(guarded(`${server.origin}/`, { signal: waiting.signal })).rejects.toBe(reason);
    const reading = new AbortController();
    const open = await guarded(`${server.origin}/open`, { signal: reading.signal });
    setTimeout(() => reading.abort(reason), 50);
    await expect(open.text()).rejects.toBe(reason);
    const slow = createGuardedFetch({ url: server.origin, timeoutMs: 100 });
    expect((await refusal(() => slow(`${server.origin}/never`))).code).toBe('timeout');
  });
});

describe('faults', () => {
  spec('UPS-20', 'explains network errors with a hint (A54)', async () => {
    const closed = await echo();
    const lost = Object.assign(new Error(SECRET), { code: 'ENOTFOUND' });
    const lookup: Lookup = (_hostname, _options, callback) => callback(lost, '', 0);
    const missing = await refusal(() => ask(`https://no.example.com/?k=${SECRET}`, { lookup }));
    expect(missing.message).toBe('https://no.example.com: host not found');
    const free = createTcpServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    const refused = await refusal(() => ask(`http://127.0.0.1:${port}/mcp?k=${SECRET}`));
    expect(refused.message).toBe(`http://127.0.0.1:${port}/mcp: connection refused`);
    const plain = await refusal(() => ask(`https://127.0.0.1:${closed.port}/`));
    expect(plain.hint).toContain('http:// or https://');
    const cut = await listen((request) => request.socket.destroy());
    expect((await refusal(() => ask(`${cut.origin}/`))).message).toContain('the connection was reset');
    const half = await listen((request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('half');
      setTimeout(() => request.socket.destroy(), 50);
    });
    const broken = await refusal(async () => (await ask(`${half.origin}/`)).text());
    expect(broken.message).toContain('the connection was reset');
    const garbage = createTcpServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n'));
    await new Promise<void>((resolve) => garbage.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void garbage.close());
    const odd = `http://127.0.0.1:${(garbage.address() as AddressInfo).port}/`;
    expect((await refusal(() => ask(odd))).message).toContain('the response is not HTTP');
  });

  specIf(
    hasProgram('openssl'),
    notInstalled('openssl'),
    'UPS-20',
    'rejects an untrusted certificate, whatever the environment says (A54)',
    async () => {
      const directory = mkdtempSync(join(tmpdir(), 'wield-tls-'));
      onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
      const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')];
      const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
      const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2'];
      execFileSync('openssl', [...made, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
      const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) =>
        response.end('seen'),
      );
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void server.close());
      const url = `https://localhost:${(server.address() as AddressInfo).port}/`;
      const error = await refusal(() => ask(url));
      expect(error.message).toContain('self-signed');
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
      onTestFinished(() => {
        delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      });
      expect((await refusal(() => ask(url))).message).toContain('self-signed');
    },
  );
});
