// `wield fleet`: shows the status of a fleet, and creates its key.

import { assertPerson } from '../../core/caller.js';
import { count, formatDuration } from '../../core/text.js';
import type { FleetStatus } from '../../fleet/status.js';
import { ASKS, confirm } from '../consent.js';
import { FLEET, readFleet } from '../fleet.js';
import { report } from '../print.js';
import { numberOf, option, required, toggle, unknownChoice, usageError, type Verb, type VerbCall } from '../verb.js';

const ACTIONS = ['status', 'key'];
const ROTATE_HOURS = 1;

export const fleet: Verb = {
  usage: 'fleet status [--fleet URL] | fleet key [--rotate] [--dry-run] [--yes]',
  summary: 'Show who runs calls of a fleet, what waits and the last hour; or create its key.',
  examples: ['wield fleet status --fleet rediss://queue:6379', 'wield fleet key', 'wield fleet key --rotate'],
  flags: {
    fleet: FLEET,
    ...ASKS,
    rotate: toggle('With key: replace the key, with time to copy the new one'),
    hours: option('N', `With --rotate: when the new key is used (default ${ROTATE_HOURS})`, {
      range: [0, 1000, 'wield fleet key --rotate --hours 24'],
    }),
  },
  positionals: 1,
  completes: ACTIONS,
  async run(call) {
    const usage = 'action; usage: wield fleet status|key';
    const action = required(call.positionals[0], usage, 'wield fleet status --fleet URL');
    if (action === 'key') return call.flags.has('rotate') ? rotateKey(call) : createKey(call);
    if (action !== 'status') throw unknownChoice('action', action, ACTIONS, 'wield fleet');
    const { address, key, debug } = await readFleet(call, call.toolbox().machine);
    const [{ begin, connect }, { readStatus }, { toNames }] = await Promise.all([
      import('../../fleet/connection.js'),
      import('../../fleet/status.js'),
      import('../../fleet/names.js'),
    ]);
    const redis = await connect(address, { name: 'status', onError: debug });
    try {
      const status = await begin([redis], address, toNames(key.fleet), () => readStatus(redis, key));
      return report(call, status, formatStatus(status));
    } finally {
      redis.disconnect();
    }
  },
};

async function createKey(call: VerbCall): Promise<number> {
  const { toolbox, dryRun } = call;
  const { createKeyFile, fleetKeyFile, hasKeyFile } = await import('../../fleet/key.js');
  const { wieldHome, insideCall } = toolbox().machine;
  const key = fleetKeyFile(wieldHome);
  const exists = hasKeyFile(wieldHome);
  if (dryRun)
    return report(
      call,
      { dryRun: true, file: key, created: !exists },
      `${exists ? 'exists' : 'would create'}  ${key}\n`,
    );
  assertPerson(insideCall, 'creating the key of a fleet');
  if (!exists && !(await confirm(call, `Create ${key}?`, key))) return 0;
  const { file, isNew } = createKeyFile(wieldHome);
  const text = `${isNew ? 'created' : 'exists'}  ${file}\n  copy it to every front and worker, readable by its user only\n`;
  return report(call, { file, created: isNew }, text);
}

// FLT-86
async function rotateKey(call: VerbCall): Promise<number> {
  const { toolbox, env, dryRun } = call;
  const { rotateKeyFile, fleetKeyFile } = await import('../../fleet/key.js');
  const { wieldHome, insideCall, world } = toolbox().machine;
  if (!dryRun) assertPerson(insideCall, 'changing the key of a fleet');
  if (env.WIELD_FLEET_KEY)
    throw usageError('the key is in WIELD_FLEET_KEY, not in a file', 'write it into fleet.key of the wield home first');
  const hours = numberOf(call, 'hours') ?? ROTATE_HOURS;
  const key = fleetKeyFile(wieldHome);
  const delay = count(hours, 'hour');
  if (dryRun)
    return report(call, { dryRun, file: key }, `would rotate  ${key}\n  the new key would be used after ${delay}\n`);
  if (!(await confirm(call, `Add a new key to ${key}, used after ${delay}?`, key))) return 0;
  const { file, from, until } = await rotateKeyFile(wieldHome, world.now(), hours);
  return report(
    call,
    { file, from, until },
    `rotated  ${file}\n  copy it to every front and worker, and restart each before ${toMinute(from)}, when the new key is used\n  the old key is accepted until ${toMinute(until)}; remove its line on all of them to refuse it sooner\n`,
  );
}

function toMinute(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

function formatStatus({ fronts, workers, running, waiting, oldestMs, lastHour }: FleetStatus): string {
  const tags = new Map<string, number>();
  for (const tag of workers.flatMap((worker) => worker.tags)) tags.set(tag, (tags.get(tag) ?? 0) + 1);
  const tagged = tags.size === 0 ? '' : ` (${[...tags].map(([tag, workers]) => `${workers} ${tag}`).join(', ')})`;
  const { calls, p50Ms, p99Ms, lostWorkers, failed, busy } = lastHour;
  const time = (value: number | null): string => (value === null ? '–' : formatDuration(value));
  const lost = lostWorkers === 0 ? '' : `   ${count(lostWorkers, 'worker')} lost, told to their callers`;
  const others = [
    ...(failed === 0 ? [] : [`${failed.toLocaleString('en')} failed`]),
    ...(busy === 0 ? [] : [`${busy.toLocaleString('en')} busy`]),
  ];
  const versions = new Set([...fronts, ...workers].map(({ version }) => version ?? 'unknown'));
  const mixed = [...versions].sort().join(', ');
  return [
    `  fronts ${fronts.length}   workers ${workers.length}${tagged}   running ${running}   waiting ${waiting}   oldest ${time(oldestMs)}`,
    `  last hour  ${calls.toLocaleString('en')} calls${others.length === 0 ? '' : ` (${others.join(', ')})`}   p50 ${time(p50Ms)}   p99 ${time(p99Ms)}${lost}`,
    ...(versions.size < 2
      ? []
      : [`  versions   ${mixed}: the same on all members is expected, except during an upgrade`]),
    '',
  ].join('\n');
}
