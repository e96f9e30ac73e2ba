// The metrics of `wield serve --http`: calls, load, approvals, upstream servers and memory.

import type { CallMetrics } from '../core/call-metrics.js';
import { type MetricFamily, toGauge, toGaugeBy, toPrometheus } from '../core/prometheus.js';
import type { NodeToolbox } from '../node.js';

/** Returns the metrics of a server in the text format of Prometheus. */
export async function describeMetrics(calls: CallMetrics, { state }: NodeToolbox): Promise<string> {
  const { running, waiting } = state.load();
  const { rss, heapUsed } = process.memoryUsage();
  return toPrometheus([
    ...calls.families(),
    toGauge('wield_calls_running', 'Calls that run now.', running),
    toGauge('wield_calls_queued', 'Calls that wait for others to end.', waiting),
    toGauge('wield_approvals_waiting', 'Calls that wait for the approval of a person.', await countWaiting(state)),
    describeUpstreams(state),
    toGauge('process_resident_memory_bytes', 'Memory of this process, without the tools it runs.', rss),
    toGauge('nodejs_heap_size_used_bytes', 'Used heap of this process.', heapUsed),
  ]);
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
