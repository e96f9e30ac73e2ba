// Calls a fleet 10,000 times, 200 at a time, over two fronts and four workers, while one of each restarts every five
// seconds, and checks that every call is answered once. Some restarts are orderly, every third one is a kill. Redis is full
// for half a second from time to time, and someone without the key deletes its keys and puts old jobs back.
// Environment: WIELD_FLEET_CALLS, WIELD_FLEET_IN_FLIGHT.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const BINARY = fileURLToPath(new URL('../dist/cli/wield.cjs', import.meta.url));
const CALLS = Number(process.env.WIELD_FLEET_CALLS ?? 10_000);
const IN_FLIGHT = Number(process.env.WIELD_FLEET_IN_FLIGHT ?? 200);
const RESTART_MS = 5000;
const KILL_EVERY = 3;
const DISTURB_MS = 2000;
const ATTEMPTS = 40;
const VERSION = '2026-07-28';

// `mark` changes something, `look` is read-only; both note every run.
const root = mkdtempSync(join(tmpdir(), 'wield-fleet-soak-'));
const children = new Set();

function createMachine() {
  const home = mkdtempSync(join(root, 'machine-'));
  const dir = join(home, 'project');
  mkdirSync(join(dir, '.agents/tools'), { recursive: true });
  const script = (marks) =>
    `#!/bin/sh\n# @description Notes that it ran.\n# @param *id string An id.\n${marks}echo "$WIELD_PARAM_ID" >> "${root}/runs"\necho "$WIELD_PARAM_ID"\n`;
  writeFileSync(join(dir, '.agents/tools/mark'), script(''), { mode: 0o755 });
  writeFileSync(join(dir, '.agents/tools/look'), script('# @readonly\n'), { mode: 0o755 });
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    WIELD_HOME: join(home, '.wield'),
    WIELD_FLEET_KEY: 'ab'.repeat(32),
  };
  return { dir, env };
}

function start({ dir, env }, args) {
  const child = spawn(process.execPath, [BINARY, ...args], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.add(child);
  const ended = new Promise((resolve) => child.once('exit', resolve)).then(() => children.delete(child));
  let errors = '';
  child.stderr.on('data', (text) => {
    errors = (errors + text).slice(-2000);
  });
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').once('data', (text) => {
      const stop = (signal) => {
        child.kill(signal);
        return ended;
      };
      resolve({ name: text.trim(), stop });
    });
    void ended.then(() => reject(new Error(`${args[0]} exited: ${errors}`)));
  });
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function call(url, name, id) {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientCapabilities': {},
    'io.modelcontextprotocol/clientInfo': { name: 'soak', version: '1' },
    'wield/key': id,
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: { id }, _meta } }),
  });
  const body = await response.text();
  // A response that takes long is an event stream; the last event is the answer.
  const { result, error } = JSON.parse(body.startsWith('{') ? body : body.trim().split('\ndata: ').at(-1));
  const failure = result?._meta?.['wield/error'] ?? error;
  return failure === undefined ? { text: result.content[0].text } : { failure };
}

/** Calls until there is an answer: the network of a front that is gone gives none, and a busy one asks to wait. */
async function answer(fronts, name, id, counts) {
  let last;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { name: url } = fronts[(Number(id.slice(1)) + attempt) % fronts.length];
    try {
      const given = await call(url, name, id);
      if (given.failure?.code !== 'busy') return given;
      last = given;
      counts.busy++;
      await new Promise((resolve) => setTimeout(resolve, given.failure.data.retryAfterMs));
    } catch (error) {
      const cause = error.cause?.code ?? String(error);
      counts.repeated[cause] = (counts.repeated[cause] ?? 0) + 1;
      last = { failure: { code: 'network', message: String(error.cause ?? error) } };
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  return last;
}

function restartOften(members, kind, kinds) {
  let at = 0;
  let isStopped = false;
  const loop = async () => {
    while (!isStopped) {
      await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
      if (isStopped) return;
      const place = at++ % members.length;
      const old = members[place];
      const isKill = at % KILL_EVERY === 0;
      kinds[`${kind} ${isKill ? 'killed' : 'stopped'}`] = (kinds[`${kind} ${isKill ? 'killed' : 'stopped'}`] ?? 0) + 1;
      const ending = old.stop(isKill ? 'SIGKILL' : 'SIGTERM');
      members[place] = await old.start();
      await ending;
    }
  };
  const running = loop();
  return async () => {
    isStopped = true;
    await running;
  };
}

/** Fills Redis, and writes to it without the key, until it is stopped. */
function disturb(port, kinds) {
  const client = new Redis(port);
  client.on('error', () => {});
  let isStopped = false;
  const loop = async () => {
    for (let turn = 0; !isStopped; turn++) {
      await new Promise((resolve) => setTimeout(resolve, DISTURB_MS));
      const kind = ['full', 'replayed', 'deleted'][turn % 3];
      kinds[kind] = (kinds[kind] ?? 0) + 1;
      try {
        if (kind === 'full') {
          await client.config('SET', 'maxmemory', '1');
          await new Promise((resolve) => setTimeout(resolve, 500));
          await client.config('SET', 'maxmemory', '0');
        } else if (kind === 'replayed') {
          const keys = (await client.keys('*')).filter((key) => /:calls(?::|$)/.test(key));
          const values = await Promise.all(keys.map((key) => client.dumpBuffer(key)));
          await new Promise((resolve) => setTimeout(resolve, 300));
          for (const [at, key] of keys.entries())
            if (values[at] !== null) await client.restore(key, 0, values[at], 'REPLACE');
        } else {
          const keys = await client.keys('*');
          const some = keys.filter((key) => !/:(?:call|result):/.test(key) && Math.random() < 0.2);
          if (some.length > 0) await client.del(...some);
        }
      } catch {
        // Restored values may be in use.
      }
    }
  };
  const running = loop();
  return async () => {
    isStopped = true;
    await running;
    client.disconnect();
  };
}

async function main() {
  const port = await freePort();
  const redis = spawn('redis-server', ['--port', `${port}`, '--save', '', '--dir', root], { stdio: 'ignore' });
  children.add(redis);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const url = `redis://127.0.0.1:${port}`;
  const member = async (args) => {
    const machine = createMachine();
    const open = async () => ({ ...(await start(machine, args)), start: open });
    return open();
  };
  const fronts = await Promise.all([1, 2].map(() => member(['serve', '--http', '0', '--trust', '--fleet', url])));
  const workers = await Promise.all([1, 2, 3, 4].map(() => member(['worker', '--trust', '--fleet', url])));
  const restarts = {};
  const stops = [
    restartOften(fronts, 'front', restarts),
    restartOften(workers, 'worker', restarts),
    disturb(port, restarts),
  ];
  const counts = { busy: 0, repeated: {} };
  const answers = new Map();
  const begun = performance.now();
  let next = 0;
  const lane = async () => {
    while (next < CALLS) {
      const id = `c${next++}`;
      const name = Number(id.slice(1)) % 2 === 0 ? 'mark' : 'look';
      answers.set(id, { name, ...(await answer(fronts, name, id, counts)) });
      if (answers.size % 1000 === 0) console.log(`${answers.size} answered`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  const seconds = (performance.now() - begun) / 1000;
  await Promise.all(stops.map((stop) => stop()));
  report(answers, { seconds, restarts, counts });
}

function report(answers, { seconds, restarts, counts }) {
  const runs = new Map();
  for (const id of readFileSync(join(root, 'runs'), 'utf8').split('\n').filter(Boolean))
    runs.set(id, (runs.get(id) ?? 0) + 1);
  const errors = {};
  const wrong = [];
  for (const [id, { name, text, failure }] of answers) {
    const ran = runs.get(id) ?? 0;
    if (failure !== undefined) errors[failure.code] = (errors[failure.code] ?? 0) + 1;
    if (failure === undefined && text.trim() !== id) wrong.push(`${id}: answered ${text}`);
    if (failure === undefined && ran === 0) wrong.push(`${id}: answered, but did not run`);
    if (name === 'mark' && ran > 1) wrong.push(`${id}: ran ${ran} times`);
    if (failure?.data?.fleet?.ran === 'no' && ran > 0) wrong.push(`${id}: said not to have run, but ran`);
    if (failure !== undefined && !['unavailable', 'busy', 'timeout', 'cancelled'].includes(failure.code))
      wrong.push(`${id}: ${failure.code} ${failure.message}`);
  }
  const repeats = [...runs.values()].filter((count) => count > 1).length;
  console.log(
    JSON.stringify({ calls: answers.size, seconds: Math.round(seconds), restarts, ...counts, errors, repeats }),
  );
  for (const line of wrong.slice(0, 20)) console.error(line);
  if (wrong.length > 0 || answers.size !== CALLS) process.exitCode = 1;
}

try {
  await main();
} finally {
  for (const child of children) child.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}
