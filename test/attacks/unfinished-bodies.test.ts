// Bodies of HTTP requests that never end: together they take a limited amount of memory.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { createBodyReader } from '../../src/mcp-server/exchange.js';
import { finding } from '../support/spec.js';

const HEAD = 'POST / HTTP/1.1\r\nHost: localhost\r\n';

finding('B14', 'unfinished bodies take a limited amount of memory: the oldest is cut, others are read', async () => {
  const read = createBodyReader(5000);
  const bodies: string[] = [];
  let received = 0;
  const server = createServer((request, response) => {
    request.on('data', ({ length }: Buffer) => {
      received += length;
    });
    read(request, 3000).then(
      (body) => {
        bodies.push(body?.slice(0, 5) ?? 'too large');
        response.end();
      },
      () => bodies.push('cut'),
    );
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const open = async (text: string): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1', () => socket.write(text));
    socket.on('error', () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    return socket.resume();
  };
  const first = await open(`${HEAD}Content-Length: 2999\r\n\r\n${'a'.repeat(2000)}`);
  const closed = once(first, 'close');
  await expect.poll(() => received).toBe(2000);
  const second = await open(`${HEAD}Transfer-Encoding: chunked\r\n\r\n7d0\r\n${'b'.repeat(2000)}\r\n`);
  await expect.poll(() => received).toBe(4000);
  await open(`${HEAD}Content-Length: 2000\r\n\r\n${'c'.repeat(1999)}`);
  await closed;
  await expect.poll(() => bodies).toEqual(['cut']);
  second.write('0\r\n\r\n');
  await expect.poll(() => bodies).toEqual(['cut', 'bbbbb']);
  // What has been read counts no longer, and what is refused never did.
  for (let round = 1; round <= 3; round++) {
    await open(`${HEAD}Content-Length: 2500\r\n\r\n${'d'.repeat(2500)}`);
    await expect.poll(() => bodies.length).toBe(2 + round);
  }
  await open(`${HEAD}Transfer-Encoding: chunked\r\n\r\nbb9\r\n${'e'.repeat(3001)}\r\n`);
  await expect.poll(() => bodies).toEqual(['cut', 'bbbbb', 'ddddd', 'ddddd', 'ddddd', 'too large']);
});
