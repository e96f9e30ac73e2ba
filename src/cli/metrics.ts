// The metrics of `wield serve --http`: calls, load, approvals, upstream servers and memory.

import type { FrontLoad } from '../fleet/front.js';
import { type MetricFamily, toGauge, toGaugeBy, toPrometheus } from '../mcp-server/prometheus.js';
import type { NodeToolbox } from '../node.js';
import type { CallMetrics } from './call-metrics.js';

/** Returns the metrics of a server in the text format of Prometheus. */
export async function describeMetrics(calls: CallMetrics, { state }: NodeToolbox, front?: FrontLoad): Promise<string> {
  const { running, waiting } = state.load();
  const { rss, heapUsed } = process.memoryUsage();
  return toPrometheus([
    ...calls.families(),
    toGauge('wield_calls_running', 'Calls that run now.', running + (front?.running ?? 0)),
    toGauge('wield_calls_queued', 'Calls that wait for others to end.', waiting + (front?.waiting ?? 0)),
    ...(front === undefined ? [] : describeFleet(front)),
    toGauge(
      'wield_approvals_waiting',
      'Calls that wait for the approval of a person; in a fleet the same at every front.',
      await countWaiting(state),
    ),
    describeUpstreams(state),
    toGauge('process_resident_memory_bytes', 'Memory of this process, without the tools it runs.', rss),
    toGauge('nodejs_heap_size_used_bytes', 'Used heap of this process.', heapUsed),
  ]);
}

function describeFleet({ workers, lost }: FrontLoad): readonly MetricFamily[] {
  const lostHelp = 'Calls of this front whose worker was lost.';
  return [
    toGauge('wield_fleet_workers', 'Connected workers; the same at every front.', workers),
    { name: 'wield_fleet_lost_total', help: lostHelp, type: 'counter', samples: [{ value: lost }] },
  ];
}

// NaN if the approvals cannot be read: the other numbers are still shown.
async function countWaiting(state: NodeToolbox['state']): Promise<number> {
  try {
    const approvals = await state.sharedApprovals();
    return (await approvals.list()).filter((approval) => approval.state === 'pending').length;
  } catch {
    return Number.NaN;
  }
}

const STATES = ['listed', 'failed', 'untrusted', 'unknown', 'off'] as const;

// By state and not by name, so that the number of series does not depend on the configuration.
function describeUpstreams(state: NodeToolbox['state']): MetricFamily {
  const servers = state.upstreams.states();
  const values = STATES.map((name) => [name, servers.filter((server) => server.state === name).length] as const);
  return toGaugeBy('state', { name: 'wield_upstream_servers', help: 'Upstream servers by state.', values });
}
