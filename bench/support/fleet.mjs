// A Redis server, fronts, workers and a bare BullMQ worker as processes; ended at exit.

import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { BINARY, createDirectory } from './workspace.mjs';

const KEY = 'be'.repeat(32);
const BARE = fileURLToPath(new URL('../servers/bullmq-worker.mjs', import.meta.url));
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export const hasRedis = canRun('redis-server');

function canRun(program) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function start(argv, options = {}) {
  const child = spawn(argv[0], argv.slice(1), { stdio: ['ignore', 'pipe', 'ignore'], ...options });
  running.add(child);
  const stop = () => {
    running.delete(child);
    child.kill('SIGKILL');
  };
  return { pid: child.pid, child, stop };
}

async function firstLine({ child }) {
  let text = '';
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.includes('\n')) {
      child.stdout.resume();
      return text.trim();
    }
  }
  throw new Error(`a process ended: ${text}`);
}

/** Starts a Redis server without persistence. */
export async function startRedis() {
  const port = await freePort();
  const server = start(['redis-server', '--port', `${port}`, '--save', '', '--dir', createDirectory()]);
  const command = (...words) =>
    execFileSync('redis-cli', ['-p', `${port}`, ...words], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  for (let attempt = 0; attempt < 500; attempt++) {
    try {
      // The port may have gone to another server meanwhile.
      if (command('info', 'server').includes(`process_id:${server.pid}\r`))
        return { ...server, url: `redis://127.0.0.1:${port}`, port, command };
    } catch {
      // Not yet.
    }
    await sleep(20);
  }
  throw new Error('redis-server does not answer');
}

/** Starts `wield serve --http` in a workspace, as a front of a fleet if there is a URL of Redis. */
export async function startFront({ dir, env }, redis) {
  const fleet = redis === undefined ? [] : ['--fleet', redis];
  const argv = [process.execPath, BINARY, 'serve', '--http', '0', '--trust', ...fleet];
  const front = start(argv, { cwd: dir, env: { ...env, WIELD_FLEET_KEY: KEY } });
  const url = await firstLine(front);
  return { ...front, url, port: Number(new URL(url).port) };
}

export async function startWorker({ dir, env }, redis) {
  const argv = [process.execPath, BINARY, 'worker', '--trust', '--fleet', redis];
  const worker = start(argv, { cwd: dir, env: { ...env, WIELD_FLEET_KEY: KEY } });
  await firstLine(worker);
  return worker;
}

/** Starts a BullMQ worker that runs a script for each job. */
export async function startBareWorker(redis, script) {
  const worker = start([process.execPath, BARE, redis, script]);
  await firstLine(worker);
  return worker;
}

/** Resident memory of a process, in megabytes. */
export function memoryOf({ pid }) {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
}

const TICK_MS = 10;

/** CPU time of a process so far, in milliseconds, with the children that it waited for left out. */
export function cpuOf({ pid }) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
