// The text format of Prometheus.

import type { MetricFamily, MetricPoint } from './metric.js';

const UNITS = { s: '_seconds', By: '_bytes' };
// Our own attributes have short labels.
const OWN = 'wield.';

export function toPrometheus(families: readonly MetricFamily[]): string {
  const lines = families.flatMap((family) => {
    const name = toPrometheusName(family);
    return [
      `# HELP ${name} ${family.help}`,
      `# TYPE ${name} ${family.type}`,
      ...family.points.flatMap((point) => toSamples(name, point)),
    ];
  });
  return `${lines.join('\n')}\n`;
}

// Returns the name of a metric in Prometheus: `wield.call.duration` is `wield_call_duration_seconds`.
function toPrometheusName({ name, unit, type }: Pick<MetricFamily, 'name' | 'unit' | 'type'>): string {
  return `${name.replaceAll('.', '_')}${unit === undefined ? '' : UNITS[unit]}${type === 'counter' ? '_total' : ''}`;
}

function toSamples(name: string, { attributes = {}, value, buckets }: MetricPoint): string[] {
  const labels = Object.entries(attributes).map(([key, text]): [string, string] => [
    (key.startsWith(OWN) ? key.slice(OWN.length) : key).replaceAll('.', '_'),
    text,
  ]);
  if (buckets === undefined) return [`${name}${formatLabels(labels)} ${value}`];
  let total = 0;
  const counted = buckets.counts.map((count, at) => {
    total += count;
    return `${name}_bucket${formatLabels([...labels, ['le', String(buckets.bounds[at] ?? '+Inf')]])} ${total}`;
  });
  return [...counted, `${name}_sum${formatLabels(labels)} ${value}`, `${name}_count${formatLabels(labels)} ${total}`];
}

function formatLabels(labels: readonly (readonly [string, string])[]): string {
  const pairs = labels.map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
