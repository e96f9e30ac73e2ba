// Row fleet: a script called through a fleet, compared with the same script called locally and with a bare BullMQ job;
// how long a cancelled call goes on; CPU of the front by number of tools.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Queue, QueueEvents } from 'bullmq';
import { cpuOf, hasRedis, memoryOf, startBareWorker, startFront, startRedis, startWorker } from '../support/fleet.mjs';
import { createModernClient } from '../support/http-client.mjs';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createWorkspace, settle, toolName } from '../support/workspace.mjs';

const ROUNDS = 5;
const CALLS = sized(20, 3);
const MANY = sized(120, 6);
// CPU time is counted in ticks of 10 ms.
const COUNTED = sized(300, 6);
const IN_FLIGHT = sized(16, 3);
const COUNTS = sized([1, Number(process.env.WIELD_BENCH_TOOLS ?? 10_000)], [1, 20]);
const WARM = sized(400, 3);
const CANCELLED = sized(10, 1);
const WAIT_MS = 60_000;
const FLAT = { of: 'ratio', atMost: 1.1 };
const CANCEL_TARGET = { of: 'value', atMost: 250, unit: 'ms' };
const CANCEL = `cancel, until the process of the tool has ended, longest of ${CANCELLED}`;
const INPUT = { name: 'Ada' };

export const row = {
  id: 'fleet',
  title: 'a script through a fleet, against the same script locally and a bare BullMQ job',
  /** Why it cannot be measured here. */
  missing: hasRedis ? undefined : 'redis-server is not installed',
  async run() {
    const redis = await startRedis();
    const spaces = COUNTS.map((count) => createWorkspace(count));
    const [small] = spaces;
    const hold = createHold(spaces);
    await settle();
    const local = await startFront(small);
    const worker = await startWorker(spaces.at(-1), redis.url);
    const front = await startFront(small, redis.url);
    // Fronts of their own: each answered as many calls as the other when its CPU time is measured.
    const fronts = [];
    for (const space of spaces) fronts.push(await startFront(space, redis.url));
    const script = join(small.tools, toolName(0));
    const bare = await startBareWorker(redis.url, script);
    const { queue, events, job } = await openBare(redis.url);
    const callOf = ({ port }) => {
      const clients = Array.from({ length: IN_FLIGHT }, () => createModernClient(port));
      return async (at) => {
        const { text } = await clients[at % IN_FLIGHT](toolName(0), INPUT);
        if (!text.includes('published Ada')) throw new Error(`the tool did not run: ${text}`);
      };
    };
    // New connections for each measurement: a server closes idle ones.
    const calls = { local: () => callOf(local), fleet: () => callOf(front), bare: () => job };
    for (const call of [job, callOf(local), callOf(front)]) await inSequence(call, sized(10, 1));
    for (const one of fronts) await inParallel(callOf(one), WARM);
    const before = commandsOf(redis);
    await inSequence(calls.fleet(), CALLS);
    const commands = (commandsOf(redis) - before) / CALLS;
    let cpu = [];
    const samples = await measureRounds(
      {
        'local call, one at a time (floor)': () => inSequence(calls.local(), CALLS),
        'bare BullMQ job, one at a time': () => inSequence(calls.bare(), CALLS),
        'through the fleet, one at a time': () => inSequence(calls.fleet(), CALLS),
        [`local call, ${IN_FLIGHT} in flight`]: () => inParallel(calls.local(), MANY),
        [`bare BullMQ job, ${IN_FLIGHT} in flight`]: () => inParallel(calls.bare(), MANY),
        [`through the fleet, ${IN_FLIGHT} in flight`]: () => inParallel(calls.fleet(), MANY),
        [frontCase(COUNTS[0])]: async () => {
          cpu = await cpuPerCall(fronts, callOf);
          return cpu[0];
        },
        [frontCase(COUNTS[1])]: () => cpu[1],
        [CANCEL]: () => longestCancel(front, hold),
      },
      ROUNDS,
    );
    const memory = fronts.map((one) => memoryOf(one));
    await Promise.all([queue.close(), events.close()]);
    for (const process of [local, worker, bare, front, ...fronts, redis]) process.stop();
    return [...toCases(samples, commands), ...memory.map(toMemoryCase)];
  },
};

function toCases(samples, commands) {
  const floors = {
    one: samples['local call, one at a time (floor)'],
    many: samples[`local call, ${IN_FLIGHT} in flight`],
  };
  const [least, most] = COUNTS.map((count) => samples[frontCase(count)]);
  const against = (name, values) => {
    if (values === most) return { ratio: ratios(values.map(orTick), least.map(orTick)), target: FLAT };
    if (name === CANCEL) return { target: CANCEL_TARGET };
    if (name.startsWith('CPU')) return {};
    const floor = name.includes('in flight') ? floors.many : floors.one;
    return values === floor ? {} : { ratio: ratios(values, floor) };
  };
  return [
    ...Object.entries(samples).map(([name, values]) => ({
      case: name,
      value: spread(values),
      unit: 'ms',
      ...against(name, values),
    })),
    { case: 'commands that Redis runs per call, signs of life included', value: spread([commands]), unit: '' },
  ];
}

const toMemoryCase = (value, at) => ({
  case: `memory of the front, ${toolsOf(COUNTS[at])}`,
  value: spread([value]),
  unit: 'MB',
});

// A short run may show no tick of CPU time.
const orTick = (value) => Math.max(value, 0.01);

const toolsOf = (count) => `${count.toLocaleString('en')} tool${count === 1 ? '' : 's'}`;
const frontCase = (count) => `CPU of the front per call, ${toolsOf(count)}`;

async function openBare(url) {
  const connection = { url };
  const queue = new Queue('bare', { connection });
  queue.setMaxListeners(0);
  const events = new QueueEvents('bare', { connection });
  await events.waitUntilReady();
  const job = async () => {
    const added = await queue.add('call', INPUT, { removeOnComplete: 10_000 });
    await added.waitUntilFinished(events);
  };
  return { queue, events, job };
}

/** Milliseconds per call, one after the other. */
async function inSequence(call, count) {
  const began = performance.now();
  for (let at = 0; at < count; at++) await call(0);
  return (performance.now() - began) / count;
}

/** Milliseconds per call with several in flight: 1000 / value is the throughput. */
async function inParallel(call, count) {
  const began = performance.now();
  let next = 0;
  const lane = async (at) => {
    while (next++ < count) await call(at);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, (_, at) => lane(at)));
  return (performance.now() - began) / count;
}

/** Adds a tool that notes the id of its process and waits. */
function createHold(spaces) {
  const noted = join(spaces[0].home, 'pid');
  const text = `#!/bin/sh\n# @description Waits.\necho $$ > ${noted}.new && mv ${noted}.new ${noted}\nexec sleep 600\n`;
  for (const { tools } of spaces) writeFileSync(join(tools, 'hold'), text, { mode: 0o755 });
  return noted;
}

/** Milliseconds from closing a request until the process on the worker has ended. */
async function longestCancel({ port }, noted) {
  const taken = [];
  for (let at = 0; at < CANCELLED; at++) {
    rmSync(noted, { force: true });
    const controller = new AbortController();
    let answer;
    createModernClient(port)('hold', {}, controller.signal).then(
      ({ text }) => {
        answer = text;
      },
      () => {},
    );
    await until(
      () => existsSync(noted),
      5,
      () => `the tool did not start: ${answer ?? 'no answer'}`,
    );
    const pid = Number(readFileSync(noted, 'utf8'));
    const began = performance.now();
    controller.abort();
    await until(
      () => !existsSync(`/proc/${pid}`),
      1,
      () => 'the tool was not cancelled',
    );
    taken.push(performance.now() - began);
  }
  return Math.max(...taken);
}

async function until(isSo, pauseMs, problem) {
  const end = performance.now() + WAIT_MS;
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`${problem()} (after ${WAIT_MS / 1000} s)`);
    await sleep(pauseMs);
  }
}

/** CPU time of each front per call, measured at the same time: other work on the machine affects all of them alike. */
async function cpuPerCall(fronts, callOf) {
  const before = fronts.map(cpuOf);
  await Promise.all(fronts.map((front) => inParallel(callOf(front), COUNTED)));
  return fronts.map((front, at) => (cpuOf(front) - before[at]) / COUNTED);
}

function commandsOf({ command }) {
  return Number(/total_commands_processed:(\d+)/.exec(command('info', 'stats'))[1]);
}
