// Attempts to reach hosts that the list of a sandbox does not have, by every way out of it.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { describe, expect } from 'vitest';
import { createEgress } from '../../src/net/egress/index.js';
import type { Lookup } from '../../src/net/exchange.js';
import { attempt, record } from '../support/egress.js';
import { hasBubblewrap, NO_BUBBLEWRAP } from '../support/sandbox-attempts.js';
import { onEnd } from '../support/share.js';
import { spec, specIf } from '../support/spec.js';
import { useDisk } from '../support/temporary.js';

useDisk();

const WORKS = hasBubblewrap();

describe.concurrent('a sandbox with a list of hosts', () => {
  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-84 EXE-85', 'reaches what is listed', async () => {
    const { names, reached, good } = await attempt('allowed');
    expect(names.length).toBeGreaterThan(5);
    expect(reached).toEqual(names);
    // Without it, a body would be read as the next request.
    expect(good).toContain('Content-Length: 11\r\n');
  });

  specIf(WORKS, NO_BUBBLEWRAP, 'EXE-84 EXE-85', 'reaches nothing else', async () => {
    const { names, reached, arrived, good, result } = await attempt('refused');
    expect(names.length).toBeGreaterThan(60);
    expect(reached).toEqual([]);
    expect(good).toContain('token-refused-last-');
    expect(arrived).toBe('');
    const metadata = '169.254.169.254:80 is a cloud metadata address, which no sandbox reaches';
    expect(result.meta.sandboxRefused).toContain(metadata);
  });
});

/** Starts the proxy of a list, with names that resolve as told. Returns what it answers to CONNECT. */
async function openProxy(hosts: readonly string[], addresses: readonly (readonly string[])[]) {
  const refused: string[] = [];
  const asked: string[] = [];
  const lookup: Lookup = (host, _, callback) => {
    const found = addresses[Math.min(asked.push(host), addresses.length) - 1]!;
    callback(
      null,
      found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  const egress = createEgress({
    ...{ hosts, lookup, explain: (host) => `add ${host}` },
    onRefused: ({ message }) => refused.push(message),
    findRoute: async () => ({}),
  });
  const listener = createServer();
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  egress.serve(listener);
  onEnd(egress.close);
  const ask = async (target: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
    const [head] = (await once(socket, 'data')) as [Buffer];
    const host = target.replace(/:\d+$/, '');
    if (String(head).startsWith('HTTP/1.1 200')) {
      socket.write(`GET /${host} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
      await once(socket, 'data');
    }
    socket.destroy();
    return String(head).split('\r\n')[0]!;
  };
  /** Sends a request, and returns all of the answer. */
  const get = (host: string): Promise<string> =>
    new Promise((resolve) => {
      let answer = '';
      const socket = connect(port, '127.0.0.1').on('error', () => {});
      socket.on('data', (chunk) => {
        answer += chunk.toString('latin1');
      });
      socket.once('close', () => resolve(answer));
      socket.write(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    });
  return { ask, get, refused, asked };
}

describe.concurrent('a listed server', () => {
  const answers = {
    'an invalid status': 'HTTP/1.1 000 OK\r\nContent-Length: 0\r\n\r\n',
    'a status that is too large': 'HTTP/1.1 999 OK\r\nContent-Length: 0\r\n\r\n',
    'control characters': 'HTTP/1.1 200 a\x01b\r\nX: a\x01b\r\nContent-Length: 0\r\n\r\n',
    'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd',
    'another protocol': 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nabc',
    'half a head': 'HTTP/1.1 200',
    'half a body': 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc',
    'large headers': `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
  };
  for (const [what, text] of Object.entries(answers))
    spec('EXE-85', `that answers with ${what} does not end the proxy`, async () => {
      const server = createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end(text, 'latin1'));
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      onEnd(() => void server.close());
      const good = await record();
      const { port } = server.address() as AddressInfo;
      const { get } = await openProxy(['*.localhost:1', `a.localhost:${port}`, `b.localhost:${good.port}`], [[]]);
      await get(`a.localhost:${port}`);
      expect(await get(`b.localhost:${good.port}`)).toMatch(/^HTTP\/1.1 200 OK/);
    });
});

describe.concurrent('a listed name', () => {
  for (const [address, label] of [
    ['127.0.0.1', 'a loopback address'],
    ['::1', 'a loopback address'],
    ['10.1.2.3', 'a private address'],
    ['::ffff:10.1.2.3', 'a private address'],
    ['169.254.169.254', 'a cloud metadata address'],
    ['fe80::1', 'a link-local address'],
    ['0.0.0.0', 'an unspecified address'],
  ] as const)
    spec('EXE-85', `that resolves to ${address} is refused`, async () => {
      const { ask, refused } = await openProxy(['api.example.com'], [['203.0.113.1', address]]);
      expect(await ask('api.example.com:443')).toMatch(/^HTTP\/1.1 403 /);
      expect(refused).toEqual([`api.example.com:443 resolves to ${address}, ${label}`]);
    });

  spec('EXE-85', 'is reached at a private address that is listed too, and nowhere else', async () => {
    const { port, received } = await record();
    const hosts = [`api.example.com:${port}`, `127.0.0.1:${port}`];
    const { ask, refused, asked } = await openProxy(hosts, [['127.0.0.1'], ['127.0.0.1'], ['127.0.0.2']]);
    expect(await ask(`api.example.com:${port}`)).toBe('HTTP/1.1 200 Connection Established');
    expect(received()).toContain('GET /api.example.com');
    // Each connection goes to the address that was checked for it.
    expect(asked).toHaveLength(2);
    expect(await ask(`api.example.com:${port}`)).toContain(`add 127.0.0.2:${port}`);
    expect(refused).toEqual([`api.example.com:${port} resolves to 127.0.0.2, a loopback address`]);
  });

  spec('EXE-85', 'of metadata is refused, and so is a listed address of it', async () => {
    const hosts = ['metadata.google.internal', '169.254.169.254:80', 'api.example.com:80'];
    const { ask, refused, asked } = await openProxy(hosts, [['169.254.169.254']]);
    for (const target of hosts) expect(await ask(target.replace(/l$/, 'l:80'))).toMatch(/^HTTP\/1.1 403 /);
    expect(refused).toHaveLength(3);
    expect(asked).toEqual(['api.example.com']);
  });
});
