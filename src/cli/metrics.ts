// The metrics of `wield serve --http`: calls by tool, outcome and door, their durations, load, approvals, upstream servers.

import type { EndEvent } from '../core/event.js';
import type { FrontLoad } from '../fleet/front.js';
import { type MetricFamily, type MetricSample, toGauge, toGaugeBy, toPrometheus } from '../mcp-server/prometheus.js';
import type { NodeToolbox } from '../node.js';

export interface CallMetrics {
  record(event: EndEvent): void;
  families(): readonly MetricFamily[];
}

interface Counter {
  readonly labels: Readonly<Record<string, string>>;
  value: number;
}

interface Histogram {
  readonly tool: string;
  /** Calls by bucket, the last one without an upper bound. */
  readonly counts: number[];
  sum: number;
}

// Seconds.
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
// Every label value is a series of its own in Prometheus; names in parentheses are not names of tools.
const MAX_TOOLS = 500;
const MAX_DOORS = 16;
const OTHER = '(other)';
const UNKNOWN = '(unknown)';

export function createCallMetrics(): CallMetrics {
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const doors = new Set<string>();

  const histogramOf = (name: string): Histogram => {
    const known = histograms.get(name);
    if (known !== undefined) return known;
    // The two names in parentheses are not counted.
    if (histograms.size >= MAX_TOOLS && name !== OTHER && name !== UNKNOWN) return histogramOf(OTHER);
    const added = { tool: name, counts: new Array<number>(BUCKETS.length + 1).fill(0), sum: 0 };
    histograms.set(name, added);
    return added;
  };
  const toDoor = (door: string): string => {
    if (doors.has(door)) return door;
    if (doors.size >= MAX_DOORS) return OTHER;
    doors.add(door);
    return door;
  };

  return {
    record({ tool: found, result, caller }) {
      // A name that no tool has can be anything.
      const histogram = histogramOf(found?.name ?? UNKNOWN);
      const seconds = result.meta.durationMs / 1000;
      const bucket = BUCKETS.findIndex((limit) => seconds <= limit);
      histogram.counts[bucket === -1 ? BUCKETS.length : bucket]! += 1;
      histogram.sum += seconds;
      const { tool } = histogram;
      const outcome = result.error?.code ?? 'ok';
      const door = toDoor(caller.door);
      const key = `${tool}\n${outcome}\n${door}`;
      const counter = counters.get(key);
      if (counter === undefined) counters.set(key, { labels: { tool, outcome, door }, value: 1 });
      else counter.value++;
    },
    families: () => [
      {
        name: 'wield_calls_total',
        help: 'Calls that ended, nested calls included.',
        type: 'counter',
        samples: [...counters.values()],
      },
      {
        name: 'wield_call_duration_seconds',
        help: 'Duration of calls, with the time they waited.',
        type: 'histogram',
        samples: [...histograms.values()].flatMap(toSamples),
      },
    ],
  };
}

function toSamples({ tool, counts, sum }: Histogram): MetricSample[] {
  let total = 0;
  const buckets = counts.map((count, at) => {
    total += count;
    return { suffix: '_bucket', labels: { tool, le: String(BUCKETS[at] ?? '+Inf') }, value: total };
  });
  return [
    ...buckets,
    { suffix: '_sum', labels: { tool }, value: sum },
    { suffix: '_count', labels: { tool }, value: total },
  ];
}

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
    const approvals = state.sharedApprovals;
    return (await approvals.list()).filter((approval) => approval.state === 'pending').length;
  } catch {
    return Number.NaN;
  }
}

const STATES = ['listed', 'starting', 'failed', 'untrusted', 'unknown', 'off', 'blocked'] as const;

// By state and not by name, so that the number of series does not depend on the configuration.
function describeUpstreams(state: NodeToolbox['state']): MetricFamily {
  const servers = state.upstreams.states();
  const values = STATES.map((name) => [name, servers.filter((server) => server.state === name).length] as const);
  return toGaugeBy('state', { name: 'wield_upstream_servers', help: 'Upstream servers by state.', values });
}
