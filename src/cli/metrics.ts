// The metrics of a fleet, of a front or a worker.

import { settlesWithin } from '../core/time-limit.js';
import type { FrontLoad } from '../fleet/front.js';
import { type MetricFamily, toGauge, toGaugeBy } from '../telemetry/metric.js';

// No tag has parentheses.
const ANY_WORKER = '(any)';
const PATIENCE_MS = 1000;

export function describeFront({ workers, lost }: FrontLoad): readonly MetricFamily[] {
  const lostHelp = 'Calls of this front whose worker was lost.';
  return [
    toGauge('wield.fleet.workers', 'Connected workers; the same at every front.', workers),
    { name: 'wield.fleet.lost', help: lostHelp, type: 'counter', points: [{ value: lost }] },
  ];
}

/** Returns how many calls wait for workers, by tag; nothing if Redis does not answer. */
export async function describeQueues(fleet: {
  waiting(): Promise<ReadonlyMap<string, number>>;
}): Promise<readonly MetricFamily[]> {
  const reading = fleet.waiting();
  // It may fail after that.
  reading.catch(() => {});
  try {
    // Commands wait for a connection that is lost.
    if (!(await settlesWithin(reading, PATIENCE_MS))) return [];
    const values = [...(await reading)].map(([tag, length]) => [tag || ANY_WORKER, length] as const);
    const help = 'Calls that wait for a worker, by the tag that it needs; the same in every process of the fleet.';
    return [toGaugeBy('wield.tag', { name: 'wield.fleet.queued', help, values })];
  } catch {
    return [];
  }
}
