// A real redis-server in a temporary directory, which tests can stop, kill and start again.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hasProgram, notInstalled } from './machine.js';
import { sleep } from './processes.js';
import { onEnd } from './share.js';

export interface RedisServer {
  readonly port: number;
  /** `redis://127.0.0.1:PORT` */
  readonly url: string;
  /** The directory of its files. */
  readonly directory: string;
  /** Ends the process at once, as a power failure would. */
  kill(): Promise<void>;
  /** Starts it again with the same files and port, if it was killed. */
  start(options?: readonly string[]): Promise<void>;
  /** Sends a command with redis-cli and returns what it prints. */
  command(...words: readonly string[]): string;
}

export interface RedisOptions {
  /** Keeps data over restarts in an append-only file. */
  readonly appendOnly?: boolean;
  /** Further options, such as `--maxmemory`. */
  readonly options?: readonly string[];
}

export const hasRedis = hasProgram('redis-server');
export const NO_REDIS = notInstalled('redis-server');

/** Starts a server on a free port of 127.0.0.1; it is ended after the test, or after those that share it. */
export async function startRedis({ appendOnly = false, options = [] }: RedisOptions = {}): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'wield-redis-'));
  let port = await freePort();
  let child: ChildProcess | undefined;
  const start = async (more: readonly string[] = []): Promise<void> => {
    const persistence = ['--save', '', '--appendonly', appendOnly ? 'yes' : 'no', '--appendfsync', 'always'];
    const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory, ...persistence];
    child = spawn('redis-server', [...args, ...options, ...more], { stdio: ['ignore', 'ignore', 'ignore'] });
    const ended = new Promise<never>((_, reject) => {
      child!.once('exit', (status) => reject(new Error(`redis-server exited with ${status}`)));
    });
    ended.catch(() => {});
    await Promise.race([untilReady(port, child.pid!), ended]);
  };
  const kill = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child!.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
  onEnd(async () => {
    await kill();
    rmSync(directory, { recursive: true, force: true });
  });
  // Another process may have taken the port meanwhile.
  for (let attempt = 1; ; attempt++) {
    try {
      await start();
      break;
    } catch (error) {
      if (attempt === 5) throw error;
      port = await freePort();
    }
  }
  const command = (...words: readonly string[]): string =>
    execFileSync('redis-cli', ['-p', `${port}`, ...words], { encoding: 'utf8' }).trimEnd();
  return { port, url: `redis://127.0.0.1:${port}`, directory, kill, start, command };
}

/** Returns a port that was free a moment ago. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

async function untilReady(port: number, pid: number): Promise<void> {
  for (;;) {
    if (await isReady(port, pid)) return;
    await sleep(10);
  }
}

// It accepts connections before it has loaded its files, and the port may have gone to another server meanwhile.
function isReady(port: number, pid: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (ready: boolean): void => {
      socket.destroy();
      resolve(ready);
    };
    socket.once('error', () => end(false));
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString();
      const found = /\r\nprocess_id:(\d+)\r\n/.exec(answer);
      if (answer.startsWith('-')) end(answer.startsWith('-NOAUTH'));
      else if (found !== null) end(Number(found[1]) === pid);
    });
    socket.write('PING\r\nINFO server\r\n');
  });
}
