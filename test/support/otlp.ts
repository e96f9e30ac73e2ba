// A receiver of OTLP over HTTP that accepts only what the protocol allows, and the facts of the conventions.

import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { listen, sendJson } from './http.js';
import type { Message } from './server.js';

export const CONVENTIONS = JSON.parse(readFileSync(new URL('otel-conventions.json', import.meta.url), 'utf8'));

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly failed: boolean;
  readonly seconds: number;
  readonly attributes: Record<string, string | number>;
}

export interface ReceivedPoint {
  readonly attributes: Record<string, string | number>;
  readonly value: number;
  readonly count?: number;
  readonly bounds?: readonly number[];
}

export interface Receiver {
  readonly origin: string;
  /** Variables that make wield send to it. */
  readonly env: Record<string, string>;
  readonly spans: ReceivedSpan[];
  /** The last values of each metric. */
  readonly metrics: Map<string, { readonly unit: string; readonly points: ReceivedPoint[] }>;
  readonly resources: Record<string, string | number>[];
  readonly requests: IncomingMessage[];
}

export type Respond = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>;

/** Starts a receiver. `respond` may answer a request instead; it returns whether it did. */
export async function receiveOtlp(respond: Respond = () => false): Promise<Receiver> {
  const spans: ReceivedSpan[] = [];
  const metrics: Receiver['metrics'] = new Map();
  const resources: Receiver['resources'] = [];
  const server = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (await respond(request, response)) return;
    try {
      const bytes = Buffer.concat(chunks);
      const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
      const body = JSON.parse(text.toString('utf8'));
      expect(request.headers['content-type']).toBe('application/json');
      if (request.url === '/v1/traces') readSpans(body, spans, resources);
      else if (request.url === '/v1/metrics') readMetrics(body, metrics);
      else throw new Error(`there is no ${request.url}`);
      sendJson(response, {});
    } catch (error) {
      sendJson(response, { code: 3, message: (error as Error).message }, 400);
    }
  });
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: server.origin };
  return { origin: server.origin, env, spans, metrics, resources, requests: server.requests };
}

const HEX = { trace: /^(?!0+$)[\da-f]{32}$/, span: /^(?!0+$)[\da-f]{16}$/ };
const NANOSECONDS = /^\d{19}$/;

function readSpans(body: Message, spans: ReceivedSpan[], resources: Receiver['resources']): void {
  for (const { resource, scopeSpans } of body.resourceSpans) {
    resources.push(readAttributes(resource.attributes));
    for (const { scope, spans: sent } of scopeSpans) {
      expect(scope.name).toBe('wield');
      for (const span of sent) {
        expect(span.traceId).toMatch(HEX.trace);
        expect(span.spanId).toMatch(HEX.span);
        if (span.parentSpanId !== undefined) expect(span.parentSpanId).toMatch(HEX.span);
        for (const time of [span.startTimeUnixNano, span.endTimeUnixNano]) expect(time).toMatch(NANOSECONDS);
        const seconds = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e9;
        expect(seconds).toBeGreaterThanOrEqual(0);
        expect([undefined, 2]).toContain(span.status.code);
        const { traceId, spanId, parentSpanId, traceState, name, kind } = span;
        const attributes = readAttributes(span.attributes);
        const failed = span.status.code === 2;
        spans.push({ traceId, spanId, parentSpanId, traceState, name, kind, failed, seconds, attributes });
      }
    }
  }
}

function readMetrics(body: Message, metrics: Receiver['metrics']): void {
  for (const { scopeMetrics } of body.resourceMetrics)
    for (const { metrics: sent } of scopeMetrics)
      for (const { name, unit, sum, gauge, histogram } of sent) {
        const data = sum ?? gauge ?? histogram;
        if (gauge === undefined) expect(data.aggregationTemporality).toBe(2);
        const points = data.dataPoints.map((point: Message): ReceivedPoint => {
          expect(point.timeUnixNano).toMatch(NANOSECONDS);
          expect(point.startTimeUnixNano).toMatch(NANOSECONDS);
          const attributes = readAttributes(point.attributes);
          if (histogram === undefined) return { attributes, value: point.asDouble };
          const counts = point.bucketCounts.map(Number);
          expect(counts).toHaveLength(point.explicitBounds.length + 1);
          expect(counts.reduce((all: number, one: number) => all + one, 0)).toBe(Number(point.count));
          return { attributes, value: point.sum, count: Number(point.count), bounds: point.explicitBounds };
        });
        metrics.set(name, { unit, points });
      }
}

function readAttributes(sent: Message): Record<string, string | number> {
  return Object.fromEntries(
    sent.map(({ key, value }: Message) => {
      const [[kind, content]] = Object.entries(value) as [[string, string | number]];
      if (kind === 'intValue') expect(content).toMatch(/^-?\d+$/);
      return [key, kind === 'stringValue' ? content : Number(content)];
    }),
  );
}
