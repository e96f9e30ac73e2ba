// Tests of whose process is at the other end of a connection.

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished } from 'vitest';
import { specIf } from '../../test/support/spec.js';
import { countTurns } from '../../test/support/turns.js';
import { isHeldByTool } from '../process/ancestry.js';
import { MARK } from '../process/group.js';
import { isPersonsPeer } from './peer.js';

const isLinux = process.platform === 'linux';

specIf(isLinux, 'needs /proc', 'SRV-88', 'a socket that no process shows may be held by a tool', async () => {
  // No inode has this number, and no process this user.
  expect(await isHeldByTool('4294967294', 4_294_967_294)).toBe(true);
});

specIf(isLinux && process.getuid?.() === 0, 'needs root', 'SRV-88', 'so may one that a tool is sending', async () => {
  // No other test has processes of this user.
  const user = 54_321;
  const start = async (options: SpawnOptions): Promise<ChildProcess> => {
    const child = spawn('sleep', ['60'], options);
    onTestFinished(() => void child.kill('SIGKILL'));
    await new Promise((resolve) => child.once('spawn', resolve));
    return child;
  };
  const tool = await start({ uid: user, gid: user, env: { ...process.env, [MARK]: '1' } });
  process.setegid!(user);
  process.seteuid!(user);
  onTestFinished(() => {
    process.seteuid!(0);
    process.setegid!(0);
  });
  // Also of root, and so hides what it holds.
  await start({});
  expect(await isHeldByTool('4294967294', user)).toBe(true);
  const ended = new Promise((resolve) => tool.once('exit', resolve));
  tool.kill('SIGKILL');
  await ended;
  expect(await isHeldByTool('4294967294', user)).toBe(false);
});

specIf(isLinux, 'needs /proc', 'SRV-88', 'finds the process of a connection over IPv4 and IPv6', async () => {
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer();
    const listening = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(0, host, () => resolve(true));
    });
    if (!listening) continue;
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
    const client = connect((server.address() as { port: number }).port, host);
    const socket = await accepted;
    expect([host, await isPersonsPeer(socket)]).toEqual([host, true]);
    client.destroy();
    await new Promise((resolve) => socket.once('close', resolve));
    // Gone.
    expect([host, await isPersonsPeer(socket)]).toEqual([host, false]);
    server.close();
  }
});

specIf(isLinux, 'needs /proc', 'SRV-88', 'looks once for many that answer at the same time', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise((resolve) => server.once('listening', resolve));
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const socket = await accepted;
  const cost = async (answers: number): Promise<number> => {
    const before = process.cpuUsage();
    const found = await Promise.all(Array.from({ length: answers }, () => isPersonsPeer(socket)));
    expect(found).toEqual(found.map(() => true));
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await cost(1);
  expect(await cost(200)).toBeLessThan(20 * Math.max(await cost(1), await cost(1)) + 100_000);
  client.destroy();
  server.close();
});

const MANY_FILES = 15_000;
const mayOpen = isLinux
  ? Number(/^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 0)
  : 0;
const TOO_FEW = 'Linux with 16,000 open files; to run: ulimit -n 20000';

specIf.thorough(mayOpen > MANY_FILES + 1000, TOO_FEW, 'SRV-88', 'leaves room for others while it looks', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  await new Promise((resolve) => server.once('listening', resolve));
  const client = connect((server.address() as { port: number }).port, '127.0.0.1');
  const socket = await accepted;
  const files = Array.from({ length: MANY_FILES }, () => openSync('/dev/null', 'r'));
  onTestFinished(() => {
    for (const file of files) closeSync(file);
  });
  const loop = countTurns();
  expect(await isPersonsPeer(socket)).toBe(true);
  loop.stop();
  // Those that both lists wait for, and others between the files.
  expect(loop.turns()).toBeGreaterThan(3);
  client.destroy();
  server.close();
});
