// `wield fleet`: shows the status of a fleet, and creates its key.

import { assertPerson } from '../../core/caller.js';
import { count, formatDuration } from '../../core/text.js';
import type { FleetStatus } from '../../fleet/status.js';
import { readFleet } from '../fleet.js';
import { FLEET } from '../fleet-flag.js';
import { printJson } from '../print.js';
import { usageError, type Verb, type VerbCall } from '../verb.js';

const ACTIONS = ['status', 'key'];

export const fleet: Verb = {
  name: 'fleet',
  usage: 'fleet status [--fleet URL] | fleet key',
  summary: 'Show who runs calls of a fleet, what waits and the last hour; or create its key.',
  examples: ['wield fleet status --fleet rediss://queue:6379', 'wield fleet key'],
  flags: { fleet: FLEET },
  positionals: 1,
  completes: ACTIONS,
  async run(call) {
    const [action] = call.positionals;
    if (action === 'key') return createKey(call);
    if (action !== 'status') throw usageError('wield fleet needs status or key', 'wield fleet status --fleet URL');
    const { address, key, debug } = readFleet(call, call.toolbox().machine);
    const [{ connect }, { readStatus }] = await Promise.all([
      import('../../fleet/connection.js'),
      import('../../fleet/status.js'),
    ]);
    const redis = await connect(address, { name: 'status', onError: debug });
    try {
      const status = await readStatus(redis, key);
      if (call.json) printJson(call.terminal, { ok: true, ...status });
      else call.terminal.out(formatStatus(status));
      return 0;
    } finally {
      redis.disconnect();
    }
  },
};

async function createKey({ terminal, json, toolbox }: VerbCall): Promise<number> {
  const { createKeyFile } = await import('../../fleet/key.js');
  const { wieldHome, insideCall } = toolbox().machine;
  assertPerson(insideCall, 'creating the key of a fleet');
  const { file, isNew } = createKeyFile(wieldHome);
  if (json) printJson(terminal, { ok: true, file, created: isNew });
  else
    terminal.out(
      `${isNew ? 'created' : 'exists'}  ${file}\n  copy it to every front and worker, readable by its user only\n`,
    );
  return 0;
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
  return [
    `  fronts ${fronts.length}   workers ${workers.length}${tagged}   running ${running}   waiting ${waiting}   oldest ${time(oldestMs)}`,
    `  last hour  ${calls.toLocaleString('en')} calls${others.length === 0 ? '' : ` (${others.join(', ')})`}   p50 ${time(p50Ms)}   p99 ${time(p99Ms)}${lost}`,
    '',
  ].join('\n');
}
