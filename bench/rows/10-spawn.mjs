// Row 10: how long the main thread of a server is busy with starting a process, by the memory that it has.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createNodeToolbox } from '../../dist/node.js';
import { runProcess } from '../../dist/process/spawn.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createWorkspace, settle, toolName } from '../support/workspace.mjs';

const TARGET = { of: 'value', atMost: 0.5, unit: 'ms' };
const SIZES_MB = sized([0, 500, 2000], [0, 10]);
const ROUNDS = 15;
const CALLS = sized(20, 2);
const WARM_UP = sized(600, 2);
const CHUNK_MB = 50;
const ANSWER = fileURLToPath(new URL('../servers/answer.cjs', import.meta.url));

export const row = {
  id: '10',
  title: 'time that the main thread is busy with a start of `true`, by the memory of the process',
  async run() {
    const { dir, env } = createWorkspace(1);
    await settle();
    // As `wield serve` does.
    const toolbox = createNodeToolbox({ workdir: dir, env, guard: true });
    const { world } = toolbox.machine;
    const request = { argv: ['/bin/true'], cwd: '/', environment: {}, stdin: '', timeoutMs: 10_000, outputBytes: 1000 };
    const messenger = openMessenger();
    const starts = {
      'child_process.spawn': spawnBare,
      'a message to a process and its answer': messenger.exchange,
      'by the helper of a server': () => runProcess(request, world),
      'a whole call of a script in a server': () => toolbox.call(toolName(0), { name: 'Ada' }),
    };
    await untilHelped(toolbox, world, request);
    for (const start of Object.values(starts)) for (let at = 0; at < WARM_UP; at++) await start();
    const memory = [];
    const results = [];
    for (const megabytes of SIZES_MB) {
      while (memory.length * CHUNK_MB < megabytes) memory.push(Buffer.alloc(CHUNK_MB * 1e6, memory.length + 1));
      const samples = await measureRounds(
        Object.fromEntries(Object.entries(starts).map(([name, start]) => [name, () => timeBusy(start)])),
        ROUNDS,
      );
      results.push(...toCases(samples, `${Math.round(process.memoryUsage().rss / 1e6)} MB`));
    }
    messenger.close();
    await toolbox.close();
    return results;
  },
};

function toCases(samples, size) {
  const [floor] = Object.values(samples);
  return Object.entries(samples).map(([name, values]) => ({
    case: `${name}, ${size}${values === floor ? ' (floor)' : ''}`,
    value: spread(values),
    unit: 'ms',
    ratio: values === floor ? undefined : ratios(values, floor),
    target: name.startsWith('by the helper') ? TARGET : undefined,
  }));
}

// The event loop is idle while it waits for the process.
async function timeBusy(start) {
  const before = performance.eventLoopUtilization();
  for (let at = 0; at < CALLS; at++) await start();
  return performance.eventLoopUtilization(before).active / CALLS;
}

// The first processes are started directly, until the helper is ready.
async function untilHelped(toolbox, world, request) {
  const shown = { ...request, argv: ['/bin/sh', '-c', 'tr "\\0" " " </proc/$PPID/cmdline'] };
  for (let attempt = 0; attempt < 100; attempt++) {
    await toolbox.call(toolName(0), { name: 'Ada' });
    const { stdout } = await runProcess(shown, world);
    if (stdout.includes('helper/main.cjs')) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the helper does not start processes');
}

// The least that a helper can cost: one message, of the size that starts a process, and one answer.
function openMessenger() {
  const child = spawn(process.execPath, [ANSWER], { stdio: ['pipe', 'pipe', 'ignore'] });
  const message = `${'x'.repeat(300)}\n`;
  let answered = () => {};
  child.stdout.on('data', () => answered());
  return {
    exchange: () =>
      new Promise((resolve) => {
        answered = resolve;
        child.stdin.write(message);
      }),
    close: () => child.stdin.end(),
  };
}

function spawnBare() {
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/true', [], { cwd: '/', env: {} });
    child.stdout.resume();
    child.stderr.resume();
    child.stdin.on('error', () => {});
    child.stdin.end();
    child.once('error', reject);
    child.once('close', resolve);
  });
}
