// The server that a TLS client names, in the messages of a real client and in changed ones.

import { createServer } from 'node:net';
import { connect } from 'node:tls';
import { expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { readHello } from './client-hello.js';

/** Returns the first message of a client. */
async function createHello(servername?: string): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const received = new Promise<Buffer>((resolve) => {
    server.once('connection', (socket) => socket.once('data', resolve));
  });
  const client = connect({ port: (server.address() as { port: number }).port, host: '127.0.0.1', servername });
  client.on('error', () => {});
  const bytes = await received;
  client.destroy();
  server.close();
  return bytes;
}

const nameExtension = (name: string): Buffer => {
  const text = Buffer.from(name);
  const number = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
  const entry = Buffer.concat([Buffer.from([0]), number(text.length), text]);
  return Buffer.concat([number(0), number(entry.length + 2), number(entry.length), entry]);
};

/** Appends bytes to the extensions, with all lengths as they should be. */
function withExtension(hello: Buffer, more: Buffer): Buffer {
  const changed = Buffer.concat([hello, more]);
  // Past the record, the message, version and random: session, ciphers and compression.
  let at = 5 + 4 + 34;
  at += 1 + changed[at]!;
  at += 2 + changed.readUInt16BE(at);
  at += 1 + changed[at]!;
  for (const place of [3, 7, at]) changed.writeUInt16BE(changed.readUInt16BE(place) + more.length, place);
  return changed;
}

spec('EXE-85', 'reads the server that a client names', async () => {
  const hello = await createHello('api.example.com');
  expect(readHello(hello)).toEqual({ server: 'api.example.com' });
  expect(readHello(await createHello())).toEqual({ server: null });
  for (let length = 0; length < hello.length; length += 7) expect(readHello(hello.subarray(0, length))).toBe('more');
  expect(readHello(Buffer.from('GET / HTTP/1.1\r\n\r\n'))).toBe('other');
});

spec('EXE-85', 'takes no message that servers could read in another way', async () => {
  const hello = await createHello('api.example.com');
  // Which of two names counts is up to the server.
  const unnamed = await createHello();
  expect(readHello(withExtension(unnamed, nameExtension('api.example.com')))).toEqual({ server: 'api.example.com' });
  expect(readHello(withExtension(hello, nameExtension('evil.example')))).toBe('other');
  expect(readHello(withExtension(hello, nameExtension('api.example.com')))).toBe('other');
  // A rest that is no extension, another kind of name, another message.
  expect(readHello(withExtension(hello, Buffer.from([0, 0, 9])))).toBe('other');
  const other = nameExtension('evil.example');
  other[6] = 1;
  expect(readHello(withExtension(unnamed, other))).toBe('other');
  const message = Buffer.from(hello);
  message[5] = 2;
  expect(readHello(message)).toBe('other');
});
