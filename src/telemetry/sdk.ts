// Reports to OpenTelemetry if a program has registered a provider: spans, and the metrics of the conventions.

import type * as OpenTelemetry from '@opentelemetry/api';
import { guardListener } from '../core/async.js';
import type { TraceParent } from '../core/caller.js';
import type { MeasuredOperation, Side, Span, SpanStart } from '../core/telemetry.js';
import { OPERATION_BOUNDS, OPERATION_METRICS, toLabels } from './meter.js';
import { parseTraceParent } from './tracer.js';

type Api = typeof OpenTelemetry;

export interface Sdk {
  /** Undefined if it fails, which must not fail a call. */
  start(start: SpanStart): Span | undefined;
  measure(operation: MeasuredOperation, seconds: number): void;
}

// Every copy of OpenTelemetry registers its providers here.
const REGISTRY = Symbol.for('opentelemetry.js.api.1');

/** Whether a provider of traces or metrics is registered now. */
export function isRegistered(kind: 'trace' | 'metrics'): boolean {
  const registry = (globalThis as Record<symbol, unknown>)[REGISTRY] as Record<string, unknown> | undefined;
  return registry?.[kind] !== undefined;
}

/** Returns a function that loads OpenTelemetry when it is called, once (OBS-5). */
export function createLoadSdk(debug: (message: string) => void): () => Sdk | undefined {
  let sdk: Sdk | null | undefined;
  return () => {
    try {
      if (sdk === undefined) sdk = guardSdk(createSdk(loadApi()), debug);
    } catch (error) {
      sdk = null;
      debug(`could not load OpenTelemetry: ${(error as Error).message}`);
    }
    return sdk ?? undefined;
  };
}

function loadApi(): Api {
  const { createRequire } = process.getBuiltinModule('node:module');
  return createRequire(import.meta.url)('@opentelemetry/api') as Api;
}

function guardSdk(sdk: Sdk, debug: (message: string) => void): Sdk {
  return {
    start(start) {
      try {
        const span = sdk.start(start);
        return span && { ...span, end: guardListener(span.end, debug) };
      } catch (error) {
        debug(`OpenTelemetry failed: ${(error as Error).message}`);
        return undefined;
      }
    },
    measure: guardListener(sdk.measure, debug),
  };
}

function createSdk(api: Api): Sdk {
  const kinds = { internal: api.SpanKind.INTERNAL, server: api.SpanKind.SERVER, client: api.SpanKind.CLIENT };
  const histograms = new Map<Side, OpenTelemetry.Histogram>();
  return {
    start(start) {
      const { name, kind, parent, startedAt } = start;
      const ambient = api.context.active();
      const outer = parent && toSpanContext(api, parent);
      const around = api.trace.getSpanContext(ambient);
      const isLinked = outer !== undefined && around !== undefined && around.spanId !== outer.spanId;
      const options = {
        kind: kinds[kind],
        attributes: start.attributes(),
        // The caller's span is the parent; a span of the transport is only linked.
        links: isLinked ? [{ context: around }] : [],
        ...(startedAt === undefined ? {} : { startTime: performance.timeOrigin + startedAt }),
      };
      const context = outer === undefined ? ambient : api.trace.setSpanContext(ambient, outer);
      const span = api.trace.getTracer('wield').startSpan(name, options, context);
      return toSpan(api, span, parent?.baggage);
    },
    measure(operation, seconds) {
      const { side } = operation.of;
      let histogram = histograms.get(side);
      if (histogram === undefined) {
        const { name, help, unit } = OPERATION_METRICS[side];
        const advice = { explicitBucketBoundaries: [...OPERATION_BOUNDS] };
        histogram = api.metrics.getMeter('wield').createHistogram(name, { description: help, unit, advice });
        histograms.set(side, histogram);
      }
      histogram.record(seconds, toLabels(operation));
    },
  };
}

function toSpan(api: Api, span: OpenTelemetry.Span, baggage: string | undefined): Span {
  const context = span.spanContext();
  const flags = context.traceFlags.toString(16).padStart(2, '0');
  const traceparent = `00-${context.traceId}-${context.spanId}-${flags}`;
  return {
    trace: api.isSpanContextValid(context)
      ? { traceparent, tracestate: context.traceState?.serialize(), baggage }
      : undefined,
    isRecorded: span.isRecording(),
    end(name, parts, failure) {
      span.updateName(name);
      for (const part of parts) span.setAttributes(part);
      // Without the message, which may contain input.
      if (failure !== undefined) span.setStatus({ code: api.SpanStatusCode.ERROR });
      span.end();
    },
  };
}

function toSpanContext(api: Api, { traceparent, tracestate }: TraceParent): OpenTelemetry.SpanContext | undefined {
  const found = parseTraceParent(traceparent);
  if (found === undefined) return undefined;
  const { traceId, spanId, isSampled } = found;
  const traceState = tracestate === undefined ? undefined : api.createTraceState(tracestate);
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote: true, ...(traceState && { traceState }) };
}
