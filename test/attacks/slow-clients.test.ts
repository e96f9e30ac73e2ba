// Clients that send slowly or nothing: they are disconnected, and others are served meanwhile.

import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect } from 'vitest';
import { createBodyReader, FetchExchange, NodeExchange } from '../../src/mcp-server/exchange.js';
import { connectUrl } from '../support/clients.js';
import { some } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { sleep } from '../support/processes.js';
import { type HttpServer, serveHttp, until } from '../support/server.js';
import { onEnd } from '../support/share.js';
import { finding, spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const startServer = (): Promise<HttpServer> => {
  const workspace = createWorkspace();
  workspace.script('greet', '#!/bin/sh\n# @description Greet.\necho hi\n');
  return serveHttp(workspace);
};

const HEAD = 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n';
const SHAPES = {
  'one byte of a body': `${HEAD}Content-Length: 100\r\n\r\n{`,
  'one byte of a chunked body': `${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`,
  'a body without a byte': `${HEAD}Content-Length: 12000000\r\n\r\n`,
  'half a header': `${HEAD}X-Long: aaaa`,
  'no byte at all': '',
} as const;

/** Opens connections that send this and nothing more. */
function openMany({ port }: HttpServer, count: number, text: string, again = false): { open(): number } {
  const sockets = new Set<Socket>();
  let stopped = false;
  const open = (): void => {
    if (stopped) return;
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    sockets.add(socket);
    socket.on('error', () => {});
    socket.resume();
    socket.once('close', () => {
      sockets.delete(socket);
      if (again) setTimeout(open, 1000);
    });
  };
  for (let index = 0; index < count; index++) open();
  onEnd(() => {
    stopped = true;
    for (const socket of sockets) socket.destroy();
  });
  return { open: () => sockets.size };
}

// The time allows for a machine that is busy with other tests.
async function expectServed({ url }: HttpServer): Promise<void> {
  for (const protocol of ['newer', 'older'] as const) {
    const began = performance.now();
    const client = await connectUrl(url, protocol);
    const result = await client.callTool({ name: 'greet', arguments: {} });
    expect(result.content).toEqual([{ type: 'text', text: 'hi\n' }]);
    expect(performance.now() - began).toBeLessThan(patience(60_000));
    await client.close();
  }
}

// Each with its own server; they mostly wait.
describe.concurrent('others are served while', () => {
  for (const [shape, text] of some(Object.entries(SHAPES), 2)) {
    finding(
      'B14',
      `A53 400 connections send ${shape}`,
      async () => {
        const server = await startServer();
        const slow = openMany(server, 400, text);
        await sleep(500);
        await expectServed(server);
        // Cut after seconds, not by the end of the test; a few may be slow.
        await until(() => slow.open() <= 64, 'most are disconnected', 60_000);
        await expectServed(server);
      },
      240_000,
    );
  }
});

describe.concurrent('slow clients', () => {
  spec('SRV-5', 'are waited for: before, in the headers and in the body of a request', async () => {
    const server = await startServer();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const [first, second] = [`${HEAD.slice(0, 20)}`, `${HEAD.slice(20)}Content-Length: ${body.length}\r\n\r\n`];
    const answer = (...pieces: readonly string[]): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connect(server.port, '127.0.0.1', async () => {
          for (const [at, piece] of pieces.entries()) {
            if (at > 0) await sleep(7000);
            socket.write(piece);
          }
        });
        socket.once('error', reject);
        socket.once('close', () => resolve('closed'));
        socket.once('data', (chunk: Buffer) => {
          socket.destroy();
          resolve(chunk.toString('utf8').split('\r\n')[0]!);
        });
      });
    const answers = await Promise.all([
      answer('', first + second + body),
      answer(first, second + body),
      answer(first + second, body),
      answer(first + second + body.slice(0, 5), body.slice(5)),
    ]);
    // A session is missing, which is said to who sent a whole request.
    expect(answers).toEqual(Array.from({ length: 4 }, () => 'HTTP/1.1 400 Bad Request'));
  });

  spec.thorough(
    'SRV-5',
    'slow headers and bodies are cut after a minute',
    async () => {
      const server = await startServer();
      const endOf = (first: string, trickle: string): Promise<number> =>
        new Promise((resolve) => {
          const began = performance.now();
          const socket = connect(server.port, '127.0.0.1', () => socket.write(first));
          const timer = trickle === '' ? undefined : setInterval(() => socket.write(trickle), 500);
          socket.on('error', () => {});
          socket.resume();
          socket.once('close', () => {
            clearInterval(timer);
            resolve(performance.now() - began);
          });
        });
      const whole = `${HEAD}Content-Length: 2\r\n\r\n{}`;
      const times = await Promise.all([
        endOf(`${HEAD}X-Slow: `, 'a'),
        endOf(HEAD, ''),
        endOf(SHAPES['one byte of a body'], ''),
        endOf('', ''),
        endOf(`GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n${SHAPES['one byte of a body']}`, ''),
        endOf(`${whole}${SHAPES['one byte of a body']}`, ''),
      ]);
      for (const time of times) {
        expect(time).toBeGreaterThan(50_000);
        expect(time).toBeLessThan(patience(100_000));
      }
    },
    240_000,
  );

  spec.thorough('SRV-5', 'a body that arrives slowly but without pauses is read', async () => {
    const server = await startServer();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(server.port, '127.0.0.1', async () => {
        socket.write(`${HEAD}Accept: application/json\r\nContent-Length: ${body.length}\r\n\r\n`);
        for (let at = 0; at < body.length; at += 5) {
          await sleep(700);
          socket.write(body.slice(at, at + 5));
        }
      });
      socket.once('error', reject);
      socket.once('data', (chunk) => {
        resolve(chunk.toString('utf8'));
        socket.destroy();
      });
    });
    // No session: a response of the protocol, not a timeout.
    expect(answer).toContain('HTTP/1.1 400');
    expect(answer).toContain('missing Mcp-Session-Id');
  });
});

describe('clients that do not read', () => {
  const MESSAGE = 'x'.repeat(1024 * 1024);
  const LIMIT = 24 * MESSAGE.length;

  spec('SRV-85', 'are disconnected, and little is kept for them, with the server of Node', async () => {
    let kept = 0;
    const over = new Promise<ServerResponse>((resolve) => {
      const server = createServer((request, response) => {
        const exchange = new NodeExchange(request, response, createBodyReader(1));
        exchange.begin({});
        for (let at = 0; at < 64; at++) {
          exchange.write(MESSAGE);
          kept = Math.max(kept, response.writableLength);
        }
        // What comes later is ignored.
        response.once('close', () => {
          exchange.write(MESSAGE);
          exchange.end();
          resolve(response);
        });
      });
      onEnd(() => void server.close());
      server.listen(0, '127.0.0.1', () => {
        const { port } = server.address() as AddressInfo;
        const socket = connect(port, '127.0.0.1', () => socket.pause().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
        socket.on('error', () => {});
        onEnd(() => void socket.destroy());
      });
    });
    expect((await over).destroyed).toBe(true);
    expect(kept).toBeLessThan(LIMIT);
  });

  spec('SRV-85', 'are disconnected, and little is kept for them, with a server of the Fetch API', async () => {
    const exchange = new FetchExchange(new Request('http://127.0.0.1/mcp'));
    let isDisconnected = false;
    exchange.onDisconnect(() => {
      isDisconnected = true;
    });
    exchange.begin({});
    for (let at = 0; at < 64; at++) exchange.write(MESSAGE);
    expect(isDisconnected).toBe(true);
    await expect((await exchange.response).arrayBuffer()).rejects.toThrow('does not read');
  });
});

finding.thorough(
  'B14',
  '1,200 connections send nothing and come back when they are disconnected',
  async () => {
    const server = await startServer();
    openMany(server, 1200, SHAPES['one byte of a body'], true);
    await sleep(1000);
    await expectServed(server);
    await sleep(6000);
    await expectServed(server);
  },
  180_000,
);
