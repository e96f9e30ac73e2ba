// The text format of Prometheus.

/** A metric with all of its samples. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

export interface MetricSample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Appended to the name of the family: `_bucket`, `_sum`, `_count`. */
  readonly suffix?: string;
}

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export function toPrometheus(families: readonly MetricFamily[]): string {
  const lines = families.flatMap(({ name, help, type, samples }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...samples.map(({ suffix = '', labels = {}, value }) => `${name}${suffix}${formatLabels(labels)} ${value}`),
  ]);
  return `${lines.join('\n')}\n`;
}

/** Returns a gauge without labels. */
export function toGauge(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: 'gauge', samples: [{ value }] };
}

/** Returns a gauge with one label. */
export function toGaugeBy(
  label: string,
  { name, help, values }: { name: string; help: string; values: Iterable<readonly [string, number]> },
): MetricFamily {
  const samples = [...values].map(([key, value]) => ({ labels: { [label]: key }, value }));
  return { name, help, type: 'gauge', samples };
}

function formatLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeValue(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeValue(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
