// What a toolbox has now, as metrics: calls that run and wait, approvals, upstream servers, memory.

import type { ApprovalAdmin } from '../policy/approvals.js';
import type { Load } from '../runtime/limiter.js';
import { type MetricFamily, toGauge, toGaugeBy } from '../telemetry/metric.js';
import type { ServerAdmin } from '../upstream/index.js';

export interface MeteredState {
  load(): Load;
  readonly sharedApprovals: Pick<ApprovalAdmin, 'list'>;
  readonly upstreams: Pick<ServerAdmin, 'states'>;
}

const STATES = ['listed', 'starting', 'failed', 'untrusted', 'unknown', 'off', 'blocked'] as const;

export async function describeState({ load, sharedApprovals, upstreams }: MeteredState): Promise<MetricFamily[]> {
  const { running, waiting } = load();
  const { rss, heapUsed } = process.memoryUsage();
  const servers = upstreams.states();
  // By state and not by name, so that the number of series does not depend on the configuration.
  const values = STATES.map((name) => [name, servers.filter(({ state }) => state === name).length] as const);
  return [
    toGauge('wield.calls.running', 'Calls that run now in this process.', running),
    toGauge('wield.calls.queued', 'Calls that wait in this process for others to end.', waiting),
    toGauge(
      'wield.approvals.waiting',
      'Calls that wait for the approval of a person; in a fleet the same in every process.',
      await countWaiting(sharedApprovals),
    ),
    toGaugeBy('wield.state', { name: 'wield.upstream.servers', help: 'Upstream servers by state.', values }),
    toGauge('process.resident_memory', 'Memory of this process, without the tools it runs.', rss, 'By'),
    toGauge('nodejs.heap_size_used', 'Used heap of this process.', heapUsed, 'By'),
  ];
}

// NaN if the approvals cannot be read: the other numbers are still shown.
async function countWaiting(approvals: Pick<ApprovalAdmin, 'list'>): Promise<number> {
  try {
    return (await approvals.list()).filter(({ state }) => state === 'pending').length;
  } catch {
    return Number.NaN;
  }
}
