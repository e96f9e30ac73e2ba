// Counts calls by tool, outcome and door, and measures calls and MCP requests; the number of series is bounded.

import type { CountedCall, MeasuredOperation, Side } from '../core/telemetry.js';
import type { MetricFamily, MetricPoint } from './metric.js';

export interface Meter {
  /** Counts a call that ended. */
  count(call: CountedCall): void;
  /** Records the duration of an MCP request. */
  measure(operation: MeasuredOperation, seconds: number): void;
  families(): readonly MetricFamily[];
}

// Seconds.
const CALL_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** The bounds that the conventions for MCP recommend. */
export const OPERATION_BOUNDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
// Every combination of values is a series of its own; names in parentheses are not names of tools.
const MAX_TOOLS = 500;
const MAX_USERS = 200;
const MAX_DOORS = 16;
const MAX_OPERATIONS = 2000;
const OTHER = '(other)';
const UNKNOWN = '(unknown)';

export function createMeter(): Meter {
  const tools = new Map<string, ToolSeries>();
  const operations = { server: new OperationSeries(), client: new OperationSeries() };
  const toTool = bounded(MAX_TOOLS);
  const toUser = bounded(MAX_USERS);
  const toDoor = bounded(MAX_DOORS);

  const toolSeries = (tool: string, user: string | undefined): ToolSeries => {
    const key = user === undefined ? tool : `${tool}\n${user}`;
    let series = tools.get(key);
    if (series === undefined) {
      const attributes = { 'wield.tool': tool, ...(user === undefined ? {} : { 'wield.user': user }) };
      series = { attributes, durations: new Histogram(attributes, CALL_BOUNDS), counters: new Map() };
      tools.set(key, series);
    }
    return series;
  };

  return {
    count({ tool, result, caller, byUser }) {
      // A name that no tool has can be anything.
      const name = toTool(tool?.name ?? UNKNOWN);
      const user = byUser && caller.user !== undefined ? toUser(caller.user) : undefined;
      const { attributes, durations, counters } = toolSeries(name, user);
      durations.add(result.meta.durationMs / 1000);
      const outcome = result.error?.code ?? 'ok';
      const door = toDoor(caller.door);
      // A call that succeeds needs no new text.
      const key = outcome === 'ok' ? door : `${door}\n${outcome}`;
      const counter = counters.get(key);
      if (counter !== undefined) counter.value++;
      else
        counters.set(key, {
          attributes: { ...attributes, 'wield.outcome': outcome, 'wield.door': door },
          value: 1,
        });
    },
    measure: (operation, seconds) => operations[operation.of.side].find(operation).add(seconds),
    families: () => [
      {
        name: 'wield.calls',
        help: 'Calls that ended, nested calls included.',
        type: 'counter',
        points: [...tools.values()].flatMap(({ counters }) => [...counters.values()]),
      },
      {
        name: 'wield.call.duration',
        help: 'Duration of calls, with the time they waited.',
        type: 'histogram',
        unit: 's',
        points: [...tools.values()].map(({ durations }) => durations.toPoint()),
      },
      ...(['server', 'client'] as const)
        .map((side) => ({ ...OPERATION_METRICS[side], points: operations[side].all.map((one) => one.toPoint()) }))
        .filter(({ points }) => points.length > 0),
    ],
  };
}

/** The metrics of a tool, and of a user if calls are counted by user; its calls are counted by door and outcome. */
interface ToolSeries {
  readonly attributes: Record<string, string>;
  readonly durations: Histogram;
  readonly counters: Map<string, { readonly attributes: Record<string, string>; value: number }>;
}

// The histograms of requests: by what their kinds have in common, and then by target and failure.
class OperationSeries {
  readonly all: Histogram[] = [];
  readonly #byKind = new Map<string, Map<string, Histogram>>();
  #other: Histogram | undefined;

  find(operation: MeasuredOperation): Histogram {
    const { of, target = '', failure } = operation;
    const key = failure === undefined ? target : `${target}\n${failure}`;
    return this.#byKind.get(of.key)?.get(key) ?? this.#add(operation, key);
  }

  #add(operation: MeasuredOperation, key: string): Histogram {
    const isFull = this.all.length >= MAX_OPERATIONS;
    if (isFull && this.#other !== undefined) return this.#other;
    const added = new Histogram(isFull ? { 'mcp.method.name': OTHER } : toLabels(operation), OPERATION_BOUNDS);
    this.all.push(added);
    if (isFull) this.#other = added;
    else {
      const { of } = operation;
      const known = this.#byKind.get(of.key) ?? new Map<string, Histogram>();
      this.#byKind.set(of.key, known.set(key, added));
    }
    return added;
  }
}

// Returns a function that returns the first names that it gets as they are, and `(other)` for others.
function bounded(limit: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.has(name)) return name;
    if (known.size >= limit && name !== UNKNOWN) return OTHER;
    known.add(name);
    return name;
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

/** Returns the attributes of a request in metrics, as text. */
export function toLabels(operation: MeasuredOperation): Record<string, string> {
  const found = Object.entries(operation.toSeries()).filter(([, value]) => value !== undefined);
  return Object.fromEntries(found.map(([name, value]) => [name, String(value)]));
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

  toPoint(): MetricPoint {
    const { attributes, bounds, counts, sum } = this;
    return { attributes, value: sum, buckets: { bounds, counts } };
  }
}
