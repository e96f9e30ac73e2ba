// Counts calls by tool, outcome and door, and their durations by tool.

import type { EndEvent } from '../core/event.js';
import type { MetricFamily, MetricSample } from '../mcp-server/prometheus.js';

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
