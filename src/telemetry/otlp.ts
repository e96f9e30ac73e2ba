// The bodies of OTLP/HTTP requests, as JSON.

import { memoize } from '../core/memoize.js';
import type { Attributes } from '../core/telemetry.js';
import type { MetricFamily, MetricPoint } from './metric.js';
import type { OwnSpan } from './tracer.js';

/** Attributes of a process. */
export type Resource = Readonly<Record<string, string | number>>;

const KINDS = { internal: 1, server: 2, client: 3 };
const FAILED = '{"code":2}';
// Values since the start of the process, as in Prometheus.
const CUMULATIVE = 2;

/** Returns the JSON of a span. `origin` is the time at which its clock was 0, in milliseconds since 1970. */
export function toSpanText(span: OwnSpan, origin: number): string {
  const { parentId, tracestate, parts } = span;
  const parent = parentId === undefined ? '' : `"parentSpanId":"${parentId}",`;
  const state = tracestate === undefined ? '' : `"traceState":${JSON.stringify(tracestate)},`;
  let attributes = sharedText(parts[0]!);
  for (let at = 1; at < parts.length; at++) attributes += toAttributesText(parts[at]!);
  const ids = `"traceId":"${span.traceId}","spanId":"${span.spanId}",${parent}${state}`;
  const times = `"startTimeUnixNano":"${toNanoseconds(origin + span.startedAt)}","endTimeUnixNano":"${toNanoseconds(origin + span.endedAt)}"`;
  const status = span.hasFailed ? FAILED : '{}';
  return `{${ids}"name":${JSON.stringify(span.name)},"kind":${KINDS[span.kind]},${times},"attributes":[${attributes.slice(1)}],"status":${status}}`;
}

// The first part is most often the same object.
const sharedText = memoize(toAttributesText);

// With a comma before each.
function toAttributesText(attributes: Attributes): string {
  let text = '';
  for (const key in attributes) {
    const value = attributes[key];
    if (typeof value === 'string') text += `,{"key":"${key}","value":{"stringValue":${JSON.stringify(value)}}}`;
    else if (value !== undefined) text += `,{"key":"${key}","value":${JSON.stringify(toValue(value))}}`;
  }
  return text;
}

/** Returns the body of a request with spans, which are given as JSON. */
export function toTraces(spans: readonly Buffer[], resource: Resource, scope: object): Buffer {
  const from = `{"attributes":${JSON.stringify(toAttributes(resource))}}`;
  const head = `{"resourceSpans":[{"resource":${from},"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[`;
  return Buffer.from(`${head}${spans.join()}]}]}]}`);
}

/** `since`: when counting began, in milliseconds since 1970. */
export function toMetrics(families: readonly MetricFamily[], resource: Resource, scope: object, since: number): Buffer {
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
  const from = { attributes: toAttributes(resource) };
  return Buffer.from(JSON.stringify({ resourceMetrics: [{ resource: from, scopeMetrics: [{ scope, metrics }] }] }));
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

let second = 0;
let secondText = '0';

/** Converts milliseconds; a number has too few digits. Most times are of the same second. */
export function toNanoseconds(milliseconds: number): string {
  const whole = Math.floor(milliseconds / 1000);
  if (whole !== second) {
    second = whole;
    secondText = String(whole);
  }
  return secondText + String(Math.floor((milliseconds - whole * 1000) * 1e6)).padStart(9, '0');
}
