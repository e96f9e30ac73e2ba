// Creates an OpenTelemetry span for each call if a tracer provider is registered.

import type * as OpenTelemetry from '@opentelemetry/api';
import type { TraceParent } from '../core/caller.js';
import type { CallEvent, EndEvent, Observer } from '../core/event.js';
import { quoteOutside } from '../core/text.js';

type Api = typeof OpenTelemetry;

const METHOD = 'tools/call';

export interface Tracer {
  readonly observe: Observer;
  /** Returns the span of a running call, as W3C Trace Context. */
  traceOf(call: string): TraceParent | undefined;
}

/** Returns a function that returns what creates spans; it loads OpenTelemetry when called (OBS-5). */
export function createTracer(debug: (message: string) => void): () => Tracer | undefined {
  let observer: Tracer | undefined;
  let failed = false;
  return () => {
    if (observer === undefined && !failed) {
      try {
        observer = createObserver(loadApi());
      } catch (error) {
        failed = true;
        debug(`could not load OpenTelemetry: ${(error as Error).message}`);
      }
    }
    return observer;
  };
}

function loadApi(): Api {
  const { createRequire } = process.getBuiltinModule('node:module');
  return createRequire(import.meta.url)('@opentelemetry/api') as Api;
}

function createObserver(api: Api): Tracer {
  const tracer = api.trace.getTracer('wield');
  const spans = new Map<string, OpenTelemetry.Span>();
  const traces = new Map<string, TraceParent>();
  const begin = (event: CallEvent): void => {
    const span = startSpan(api, tracer, event, spans);
    spans.set(event.call, span);
    const trace = toTrace(api, span, event.trace?.baggage);
    if (trace !== undefined) traces.set(event.call, trace);
  };
  return {
    traceOf: (call) => traces.get(call),
    observe(event) {
      if (event.type === 'start') begin(event);
      const span = event.type === 'end' ? spans.get(event.call) : undefined;
      if (event.type !== 'end' || span === undefined) return;
      spans.delete(event.call);
      traces.delete(event.call);
      endSpan(api, span, event);
    },
  };
}

function toTrace(api: Api, span: OpenTelemetry.Span, baggage: string | undefined): TraceParent | undefined {
  const context = span.spanContext();
  if (!api.isSpanContextValid(context)) return undefined;
  const flags = context.traceFlags.toString(16).padStart(2, '0');
  const traceparent = `00-${context.traceId}-${context.spanId}-${flags}`;
  return { traceparent, tracestate: context.traceState?.serialize(), baggage };
}

function startSpan(
  api: Api,
  tracer: OpenTelemetry.Tracer,
  { ref, caller, parent, trace }: CallEvent,
  spans: ReadonlyMap<string, OpenTelemetry.Span>,
): OpenTelemetry.Span {
  const ambient = api.context.active();
  const outer = parent === undefined ? undefined : spans.get(parent);
  const around = api.trace.getSpanContext(ambient);
  const name = quoteOutside(ref, 200);
  return tracer.startSpan(
    `${METHOD} ${name}`,
    {
      kind: caller.door === 'mcp' && parent === undefined ? api.SpanKind.SERVER : api.SpanKind.INTERNAL,
      attributes: {
        'mcp.method.name': METHOD,
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'wield.door': caller.door,
      },
      // The caller's span is the parent; a span of the transport is only linked.
      links: trace !== undefined && around !== undefined ? [{ context: around }] : [],
    },
    outer !== undefined
      ? api.trace.setSpan(ambient, outer)
      : trace === undefined
        ? ambient
        : api.propagation.extract(ambient, trace),
  );
}

function endSpan(api: Api, span: OpenTelemetry.Span, { ref, result, tool, verdict }: EndEvent): void {
  const name = quoteOutside(ref, 200);
  // An unknown name can be anything, and span names should be few. `call_tool` goes on as the call of another tool.
  span.updateName(tool === undefined ? METHOD : `${METHOD} ${name}`);
  span.setAttribute('gen_ai.tool.name', name);
  if (verdict !== undefined) span.setAttribute('wield.verdict', verdict.verdict);
  if (result.error !== undefined) {
    // Without the message, which may contain input.
    span.setStatus({ code: api.SpanStatusCode.ERROR });
    span.setAttributes({ 'error.type': 'tool_error', 'wield.code': result.error.code });
  }
  span.end();
}
