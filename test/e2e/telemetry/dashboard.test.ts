// The dashboard of the examples: its metrics and labels exist.

import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { describeFront, describeQueues } from '../../../src/cli/metrics.js';
import { type CountedCall, createOperationKind } from '../../../src/core/telemetry.js';
import { describeState } from '../../../src/state/metrics.js';
import { createMeter } from '../../../src/telemetry/meter.js';
import { toPrometheus } from '../../../src/telemetry/prometheus.js';
import { CONVENTIONS } from '../../support/otlp.js';
import { spec } from '../../support/spec.js';

const FILE = new URL('../../../examples/10-service/grafana.json', import.meta.url);
// Labels that Prometheus adds.
const ADDED = ['job', 'instance'];

spec('FLT-50', 'the dashboard for Grafana names metrics and labels that exist', async () => {
  const meter = createMeter();
  meter.count({
    tool: { name: 'x' },
    caller: { kind: 'model', door: 'mcp' },
    result: { ok: true, content: [], meta: { durationMs: 1 } },
  } as unknown as CountedCall);
  const attributes = Object.fromEntries(CONVENTIONS.metricAttributes.map((name: string) => [name, 'x']));
  for (const side of ['server', 'client'] as const) {
    const of = createOperationKind(side, 'tools/call', attributes);
    meter.measure({ of, target: 'x', failure: undefined, toSeries: () => of.attributes }, 1);
  }
  const state = await describeState({
    load: () => ({ running: 0, waiting: 0 }),
    sharedApprovals: { list: async () => [] },
    upstreams: { states: () => [] },
  });
  const front = describeFront({ running: 0, waiting: 0, workers: 0, lost: 0 });
  const queues = await describeQueues({ waiting: async () => new Map([['', 0]]) });
  const text = toPrometheus([...meter.families(), ...state, ...front, ...queues]);
  const shown = [...text.matchAll(/^([a-z_]+)(?:\{(.*)\})? /gm)];
  const names = new Set(shown.map(([, name]) => name));
  const labels = new Set([...ADDED, ...[...text.matchAll(/(\w+)="/g)].map(([, label]) => label)]);
  const { panels } = JSON.parse(readFileSync(FILE, 'utf8'));
  const expressions: string[] = panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.map(({ expr }) => expr),
  );
  expect(expressions.length).toBeGreaterThan(10);
  for (const expr of expressions) {
    const [, used = ''] = /\b((?:wield|mcp|process|nodejs)_[a-z_]+)\{/.exec(expr)!;
    expect(names, expr).toContain(used);
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
    const selected = [...expr.matchAll(/(\w+)(?:=~|!=|=)"/g)].map(([, label]) => label!);
    for (const label of [...grouped, ...selected]) expect(labels, expr).toContain(label);
  }
});
