// Row fleet: a script called through a fleet, compared with the same script called locally and with a bare BullMQ job.

import { join } from 'node:path';
import { Queue, QueueEvents } from 'bullmq';
import { cpuOf, hasRedis, startBareWorker, startFront, startRedis, startWorker } from '../support/fleet.mjs';
import { createModernClient } from '../support/http-client.mjs';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createWorkspace, settle, toolName } from '../support/workspace.mjs';

const ROUNDS = 5;
const CALLS = sized(20, 3);
const MANY = sized(120, 6);
const IN_FLIGHT = sized(16, 3);
const COUNTS = sized([1, 10_000], [1, 20]);
const FLAT = { of: 'ratio', atMost: 1.1 };
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
    await settle();
    const local = await startFront(small);
    const worker = await startWorker(spaces.at(-1), redis.url);
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
    const calls = { local: () => callOf(local), fleet: () => callOf(fronts[0]), bare: () => job };
    for (const call of [job, ...[local, ...fronts].map(callOf)]) await inSequence(call, sized(10, 1));
    const before = commandsOf(redis);
    await inSequence(calls.fleet(), CALLS);
    const commands = (commandsOf(redis) - before) / CALLS;
    const samples = await measureRounds(
      {
        'local call, one at a time (floor)': () => inSequence(calls.local(), CALLS),
        'bare BullMQ job, one at a time': () => inSequence(calls.bare(), CALLS),
        'through the fleet, one at a time': () => inSequence(calls.fleet(), CALLS),
        [`local call, ${IN_FLIGHT} in flight`]: () => inParallel(calls.local(), MANY),
        [`bare BullMQ job, ${IN_FLIGHT} in flight`]: () => inParallel(calls.bare(), MANY),
        [`through the fleet, ${IN_FLIGHT} in flight`]: () => inParallel(calls.fleet(), MANY),
        ...Object.fromEntries(
          fronts.map((front, at) => [frontCase(COUNTS[at]), () => cpuPerCall(front, callOf(front))]),
        ),
      },
      ROUNDS,
    );
    await Promise.all([queue.close(), events.close()]);
    for (const process of [local, worker, bare, ...fronts, redis]) process.stop();
    return toCases(samples, commands);
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

// CPU time is counted in ticks of 10 ms, so a short run may show none.
const orTick = (value) => Math.max(value, 0.01);

const frontCase = (count) => `CPU of the front per call, ${count.toLocaleString('en')} tools`;

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

async function cpuPerCall(front, call) {
  const before = cpuOf(front);
  await inParallel(call, MANY);
  return (cpuOf(front) - before) / MANY;
}

function commandsOf({ command }) {
  return Number(/total_commands_processed:(\d+)/.exec(command('info', 'stats'))[1]);
}
