// Tests of whose process is at the other end of a connection.

import { createServer, type Socket } from 'node:net';
import { expect } from 'vitest';
import { specIf } from '../../test/support/spec.js';
import { isHeldByTool } from '../process/ancestry.js';
import { isPersonsPeer } from './peer.js';

const isLinux = process.platform === 'linux';

specIf(isLinux, 'needs /proc', 'SRV-88', 'a socket that no process shows may be held by a tool', () => {
  // No inode has this number, and no process this user.
  expect(isHeldByTool('4294967294', 4_294_967_294)).toBe(true);
});

specIf(isLinux, 'needs /proc', 'SRV-88', 'finds the process of a connection over IPv4 and IPv6', async () => {
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer();
    const listening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(0, host, () => resolve(true));
    });
    if (!listening) continue;
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const { connect } = await import('node:net');
    const client = connect((server.address() as { port: number }).port, host);
    const socket = await accepted;
    expect([host, isPersonsPeer(socket)]).toEqual([host, true]);
    client.destroy();
    await new Promise((resolve) => socket.once('close', resolve));
    // Gone.
    expect([host, isPersonsPeer(socket)]).toEqual([host, false]);
    server.close();
  }
});
