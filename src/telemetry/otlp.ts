// The bodies of OTLP/HTTP requests, as JSON.

import type { Attributes } from '../core/telemetry.js';
import type { MetricFamily, MetricPoint } from './metric.js';
import type { EndedSpan } from './tracer.js';

/** Attributes of a process. */
export type Resource = Readonly<Record<string, string | number>>;

const KINDS = { internal: 1, server: 2, client: 3 };
const ERROR = 2;
// Values since the start of the process, as in Prometheus.
const CUMULATIVE = 2;

export function toTraces(spans: readonly EndedSpan[], resource: Resource, scope: object): object {
  // Of the clock that the spans have: it does not change when the time of the machine is set.
  const origin = Date.now() - performance.now();
  const shown = spans.map(({ traceId, spanId, parentId, tracestate, name, kind, start, end, attributes }) => ({
    traceId,
    spanId,
    parentSpanId: parentId,
    traceState: tracestate,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: toNanoseconds(origin + start),
    endTimeUnixNano: toNanoseconds(origin + end),
    attributes: toAttributes(attributes),
    status: attributes['error.type'] === undefined ? {} : { code: ERROR },
  }));
  return {
    resourceSpans: [{ resource: { attributes: toAttributes(resource) }, scopeSpans: [{ scope, spans: shown }] }],
  };
}

/** `since`: when counting began, in milliseconds since 1970. */
export function toMetrics(families: readonly MetricFamily[], resource: Resource, scope: object, since: number): object {
  const at = { startTimeUnixNano: toNanoseconds(since), timeUnixNano: toNanoseconds(Date.now()) };
  const metrics = families.map(({ name, help, type, unit = '1', points }) => {
    // JSON has no NaN, which says that a value is not known.
    const dataPoints = points.filter(({ value }) => Number.isFinite(value)).map((point) => toPoint(point, at));
    const data =
      type === 'gauge'
        ? { gauge: { dataPoints } }
        : type === 'counter'
          ? { sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } }
          : { histogram: { dataPoints, aggregationTemporality: CUMULATIVE } };
    return { name, description: help, unit, ...data };
  });
  return {
    resourceMetrics: [{ resource: { attributes: toAttributes(resource) }, scopeMetrics: [{ scope, metrics }] }],
  };
}

function toPoint({ attributes = {}, value, buckets }: MetricPoint, at: object): object {
  const shown = { ...at, attributes: toAttributes(attributes) };
  if (buckets === undefined) return { ...shown, asDouble: value };
  const { bounds, counts } = buckets;
  return {
    ...shown,
    sum: value,
    count: String(counts.reduce((total, count) => total + count, 0)),
    bucketCounts: counts.map(String),
    explicitBounds: bounds,
  };
}

/** Attributes as OTLP has them; without those that are undefined. */
export function toAttributes(attributes: Attributes | Resource): object[] {
  return Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, value: toValue(value!) }));
}

function toValue(value: string | number): object {
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Converts milliseconds; a number has too few digits. */
export function toNanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds);
  const rest = Math.floor((milliseconds - whole) * 1e6);
  return `${whole}${String(rest).padStart(6, '0')}`;
}
