// A metric with its values, which is written for Prometheus and for OTLP alike.

/** A metric; its name and unit are those of OpenTelemetry. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly unit?: 's' | 'By';
  readonly points: readonly MetricPoint[];
}

/** One series of a metric. */
export interface MetricPoint {
  readonly attributes?: Readonly<Record<string, string>>;
  /** The value, or the sum of a histogram. */
  readonly value: number;
  readonly buckets?: Buckets;
}

export interface Buckets {
  /** Upper bounds. */
  readonly bounds: readonly number[];
  /** Values by bucket, the last one without an upper bound. */
  readonly counts: readonly number[];
}

/** Returns the metrics of a moment. */
export type ReadMetrics = () => Promise<readonly MetricFamily[]>;

/** Returns a gauge without attributes. */
export function toGauge(name: string, help: string, value: number, unit?: MetricFamily['unit']): MetricFamily {
  return { name, help, type: 'gauge', ...(unit && { unit }), points: [{ value }] };
}

/** Returns a gauge with one attribute. */
export function toGaugeBy(
  attribute: string,
  { name, help, values }: { name: string; help: string; values: Iterable<readonly [string, number]> },
): MetricFamily {
  const points = [...values].map(([key, value]) => ({ attributes: { [attribute]: key }, value }));
  return { name, help, type: 'gauge', points };
}
