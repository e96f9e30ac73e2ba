// Counts calls by tool, outcome and door, and measures calls and MCP requests; the number of series is bounded.

import type { EndEvent } from '../core/event.js';
import type { Attributes, Side } from '../core/telemetry.js';
import type { MetricFamily, MetricPoint } from './metric.js';

export interface Meter {
  /** Counts a call that ended. */
  count(event: EndEvent): void;
  /** Records the duration of an MCP request, in seconds. */
  measure(side: Side, seconds: number, attributes: Attributes): void;
  families(): readonly MetricFamily[];
}

// Seconds.
const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** The bounds that the conventions for MCP recommend. */
export const OPERATION_BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** The attributes of spans that metrics have too: those with few values. */
export const OPERATION_ATTRIBUTES = [
  'mcp.method.name',
  'gen_ai.operation.name',
  'gen_ai.tool.name',
  'gen_ai.prompt.name',
  'error.type',
  'rpc.response.status_code',
  'mcp.protocol.version',
  'network.transport',
  'network.protocol.name',
  'server.address',
  'server.port',
] as const;
// Every combination of values is a series of its own; names in parentheses are not names of tools.
const MAX_TOOLS = 500;
const MAX_DOORS = 16;
const MAX_OPERATIONS = 2000;
const OTHER = '(other)';
const UNKNOWN = '(unknown)';

export function createMeter(): Meter {
  const counters = new Map<string, { readonly attributes: Record<string, string>; value: number }>();
  const durations = new Map<string, Histogram>();
  const doors = new Set<string>();
  const operations = { server: new Map<string, Histogram>(), client: new Map<string, Histogram>() };

  const histogramOf = (name: string): Histogram => {
    const known = durations.get(name);
    if (known !== undefined) return known;
    // The two names in parentheses are not counted.
    if (durations.size >= MAX_TOOLS && name !== OTHER && name !== UNKNOWN) return histogramOf(OTHER);
    const added = new Histogram({ 'wield.tool': name }, CALL_BOUNDS);
    durations.set(name, added);
    return added;
  };
  const toDoor = (door: string): string => {
    if (doors.has(door)) return door;
    if (doors.size >= MAX_DOORS) return OTHER;
    doors.add(door);
    return door;
  };

  return {
    count({ tool, result, caller }) {
      // A name that no tool has can be anything.
      const histogram = histogramOf(tool?.name ?? UNKNOWN);
      histogram.add(result.meta.durationMs / 1000);
      const name = histogram.attributes['wield.tool']!;
      const outcome = result.error?.code ?? 'ok';
      const door = toDoor(caller.door);
      const key = `${name}\n${outcome}\n${door}`;
      const counter = counters.get(key);
      if (counter !== undefined) counter.value++;
      else
        counters.set(key, {
          attributes: { 'wield.tool': name, 'wield.outcome': outcome, 'wield.door': door },
          value: 1,
        });
    },
    measure(side, seconds, attributes) {
      const known = operations[side];
      let key = '';
      for (const name of OPERATION_ATTRIBUTES) key += `${attributes[name] ?? ''}\n`;
      let histogram = known.get(key);
      if (histogram === undefined) {
        const isFull = known.size >= MAX_OPERATIONS;
        const shown = isFull ? { 'mcp.method.name': OTHER } : selectAttributes(attributes);
        histogram = (isFull ? known.get(OTHER) : undefined) ?? new Histogram(shown, OPERATION_BOUNDS);
        known.set(isFull ? OTHER : key, histogram);
      }
      histogram.add(seconds);
    },
    families: () => [
      {
        name: 'wield.calls',
        help: 'Calls that ended, nested calls included.',
        type: 'counter',
        points: [...counters.values()],
      },
      {
        name: 'wield.call.duration',
        help: 'Duration of calls, with the time they waited.',
        type: 'histogram',
        unit: 's',
        points: toPoints(durations),
      },
      ...(['server', 'client'] as const)
        .filter((side) => operations[side].size > 0)
        .map((side) => ({ ...OPERATION_METRICS[side], points: toPoints(operations[side]) })),
    ],
  };
}

/** The histograms of the conventions for MCP. */
export const OPERATION_METRICS = {
  server: {
    name: 'mcp.server.operation.duration',
    help: 'Duration of MCP requests of clients.',
    type: 'histogram',
    unit: 's',
  },
  client: {
    name: 'mcp.client.operation.duration',
    help: 'Duration of MCP requests to upstream servers.',
    type: 'histogram',
    unit: 's',
  },
} as const satisfies Record<Side, Omit<MetricFamily, 'points'>>;

/** Returns the attributes that metrics have, as text. */
export function selectAttributes(attributes: Attributes): Record<string, string> {
  const found = OPERATION_ATTRIBUTES.filter((name) => attributes[name] !== undefined);
  return Object.fromEntries(found.map((name) => [name, String(attributes[name])]));
}

class Histogram {
  readonly attributes: Record<string, string>;
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(attributes: Record<string, string>, bounds: readonly number[]) {
    this.attributes = attributes;
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  add(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > this.bounds[bucket]!) bucket++;
    this.counts[bucket]!++;
    this.sum += value;
  }
}

function toPoints(histograms: ReadonlyMap<string, Histogram>): MetricPoint[] {
  return [...histograms.values()].map(({ attributes, bounds, counts, sum }) => ({
    attributes,
    value: sum,
    buckets: { bounds, counts },
  }));
}
