// The soak: 200 calls in flight for ten minutes for each transport and protocol version, both versions at the same time.
// Usage: node scripts/soak.mjs [--only http,newer]. A run of all four writes docs/reports/soak.md.

import { fork } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startClient } from './soak-clients.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SECONDS = Number(process.env.SOAK_SECONDS ?? 600);
const IN_FLIGHT = Number(process.env.SOAK_CALLS ?? 200);
const WARM_UP_SECONDS = Math.min(60, Math.max(10, SECONDS / 2));
// So many more descriptors may be open, and memory in use may grow by this factor after the warm-up.
const DESCRIPTORS = 2;
const GROWTH = 1.3;

/** Which calls are made, per hundred. */
const MIX = [
  [55, 'echo', (n) => ({ n })],
  [15, 'up_echo', (n) => ({ text: String(n) })],
  [8, 'slow', () => ({})],
  [10, 'hang', () => ({}), () => 50 + Math.random() * 500],
  [10, 'guarded', (n) => ({ n })],
  [1, 'up_die', () => ({})],
  [1, 'missing', () => ({})],
];

function createPlace() {
  const root = mkdtempSync(join(tmpdir(), 'wield-soak-'));
  const dir = join(root, 'project');
  const home = join(root, 'home');
  mkdirSync(dir, { recursive: true });
  const write = (path, text, mode = 0o644) => {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
    chmodSync(path, mode);
  };
  const tool = (name, body, ...header) =>
    write(join(home, '.agents/tools', name), `#!/bin/sh\n# @description Soak.\n${header.join('\n')}\n${body}\n`, 0o755);
  tool('echo', 'echo "$WIELD_PARAM_N"', '# @param n integer');
  tool('guarded', 'echo "$WIELD_PARAM_N"', '# @param n integer');
  tool('slow', 'sleep 60', '# @timeout 300ms');
  tool('hang', 'sleep 60');
  write(join(home, '.wield/config.toml'), '[limits]\nqueue = 1000\n[trust]\nrules = "guarded"\n');
  const command = {
    command: process.execPath,
    args: [join(ROOT, 'test/support/upstream-server.mjs'), 'well'],
  };
  write(join(home, '.agents/mcp.json'), JSON.stringify({ mcpServers: { up: command } }));
  const env = { PATH: process.env.PATH, HOME: home, LANG: 'C.UTF-8', WIELD_HOME: join(home, '.wield') };
  return { root, dir, env, binary: join(ROOT, 'dist/cli/wield.cjs'), memoryFile: join(root, 'memory.json') };
}

function pick() {
  let left = Math.random() * 100;
  for (const kind of MIX) {
    left -= kind[0];
    if (left < 0) return kind;
  }
  return MIX[0];
}

/** Keeps the calls in flight until the time is over, and returns how they ended. */
async function load(client, seconds) {
  const ends = performance.now() + seconds * 1000;
  const outcomes = new Map();
  let calls = 0;
  const worker = async () => {
    while (performance.now() < ends) {
      const [, name, input, cancelAfter] = pick();
      const n = ++calls;
      const message = await client.call(name, input(n), cancelAfter?.());
      const outcome = outcomeOf(message, name, n);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  return { calls, outcomes };
}

function outcomeOf({ result, error, cancelled, lost }, name, n) {
  if (cancelled) return 'cancelled by the client';
  if (lost !== undefined) return `lost: ${lost}`;
  if (error !== undefined) return `protocol ${error.code}`;
  if (result.isError) return result._meta?.['wield/error']?.code ?? 'error';
  const isRight = !['echo', 'guarded', 'up_echo'].includes(name) || result.content[0].text.trim() === String(n);
  return isRight ? 'ok' : 'wrong answer';
}

// Upstream servers are kept for ten minutes, with three pipes each, and how many there are is by chance.
const descriptorsOf = (pid) =>
  readdirSync(`/proc/${pid}/fd`).length -
  3 * readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').length;

/** Returns the memory of the server in MiB after a garbage collection. */
async function memoryOf({ pid }, { memoryFile }) {
  rmSync(memoryFile, { force: true });
  process.kill(pid, 'SIGUSR2');
  while (!existsSync(memoryFile)) await sleep(50);
  const { used, rss } = JSON.parse(readFileSync(memoryFile, 'utf8'));
  return { used: used / 2 ** 20, rss: rss / 2 ** 20 };
}

function processesOf(root) {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'latin1').includes(root);
    } catch {
      return false;
    }
  }).length;
}

/** Measures the server when it is idle and its upstream server runs, which takes a while after a crash. */
async function measure(client, place) {
  const deadline = performance.now() + 60_000;
  while (performance.now() < deadline) {
    const { result } = await client.call('up_echo', { text: 'x' });
    if (!result?.isError) break;
    await sleep(1000);
  }
  // Connections of the client close when they are idle; the server cuts those that sent nothing for a minute.
  const closed = performance.now() + 180_000;
  let last = -1;
  for (let same = 0; same < 65 && performance.now() < closed; await sleep(1000)) {
    const now = descriptorsOf(client.pid);
    same = now === last ? same + 1 : 0;
    last = now;
  }
  return { descriptors: descriptorsOf(client.pid), ...(await memoryOf(client, place)) };
}

async function soak(transport, protocol) {
  const place = createPlace();
  const client = await startClient({ transport, protocol, ...place });
  await load(client, WARM_UP_SECONDS);
  const before = await measure(client, place);
  const { calls, outcomes } = await load(client, SECONDS);
  const after = await measure(client, place);
  const answered = [...client.responses.values()].filter((count) => count === 1).length;
  const requests = client.responses.size;
  await client.close();
  await sleep(3000);
  const children = processesOf(place.root);
  rmSync(place.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  const failed = [...outcomes].filter(([name]) => name !== 'ok').sort(([a], [b]) => (a < b ? -1 : 1));
  const growth = after.used / before.used;
  const faults = [
    ...(answered === requests ? [] : [`${requests - answered} requests not answered exactly once`]),
    ...failed.filter(([name]) => /^lost|^wrong/.test(name)).map(([name, count]) => `${count} × ${name}`),
    ...(after.descriptors - before.descriptors <= DESCRIPTORS ? [] : ['descriptors were left open']),
    ...(children === 0 ? [] : [`${children} processes left`]),
    ...(growth < GROWTH ? [] : [`memory grew by ${growth.toFixed(2)}`]),
  ];
  const row = [
    `${transport}, ${protocol}`,
    calls,
    `${answered} of ${requests}`,
    outcomes.get('ok') ?? 0,
    failed.reduce((sum, [, count]) => sum + count, 0),
    `${before.descriptors}/${after.descriptors}`,
    children,
    `${before.used.toFixed(0)}/${after.used.toFixed(0)}`,
  ];
  const codes = failed.map(([name, count]) => `${name} ${count}`).join(', ');
  console.log(row.join('  '), `(${codes})`, faults.length === 0 ? '' : `FAILED: ${faults.join('; ')}`);
  return { row, faults };
}

function toPage(rows) {
  return `# Soak

\`npm run soak\` keeps ${IN_FLIGHT} calls in flight against \`wield serve\`, for each transport and protocol version: scripts, an
upstream server that crashes, timeouts, cancellations and approvals. \`SOAK_SECONDS\` sets the duration, 600 by default.

It fails if a request is not answered exactly once, an answer is wrong, there are more than ${DESCRIPTORS} descriptors
beyond those after the warm-up, without those of idle upstream servers, a process is left, or the memory in use (MiB, after a garbage collection) has grown by
more than a factor of ${GROWTH}.

The last run: ${SECONDS} seconds for each transport, both versions at the same time, after a warm-up of ${WARM_UP_SECONDS} seconds.
The failures are the expected ones: timeouts, cancellations, denials and calls of a crashed server.

| run | calls | answered once | succeeded | failed | descriptors | processes left | memory |
|---|---|---|---|---|---|---|---|
${rows.map((row) => `| ${row.join(' | ')} |`).join('\n')}
`;
}

// Each run has a process of its own, so that a client is not slowed down by the others.
function soakInProcess(run) {
  const child = fork(fileURLToPath(import.meta.url), ['--only', run.join(',')]);
  return new Promise((resolve) => {
    child.once('message', resolve);
    child.once('exit', (code) => resolve({ row: [run.join(', '), `ended with ${code}`], faults: ['no result'] }));
  });
}

const { values: options } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const only = options.only.split(',').filter(Boolean);
const runs = ['stdio', 'http']
  .flatMap((transport) => ['older', 'newer'].map((protocol) => [transport, protocol]))
  .filter((run) => only.every((word) => run.includes(word)));
const results = [];
for (const name of new Set(runs.map(([transport]) => transport))) {
  const both = runs.filter(([transport]) => transport === name);
  results.push(...(await Promise.all(both.map((run) => (runs.length === 1 ? soak(...run) : soakInProcess(run))))));
}
if (only.length === 0) {
  const file = join(ROOT, 'docs/reports/soak.md');
  // Other scripts write the rest of the page.
  const [, ...others] = readFileSync(file, 'utf8').split(/\n(?=## )/);
  writeFileSync(file, [toPage(results.map(({ row }) => row)), ...others].join('\n'));
}
if (results.some(({ faults }) => faults.length > 0)) process.exitCode = 1;
if (process.send) process.send(results[0], () => process.disconnect());
