// Notifies observers and the tracer of calls.

import { guardListener } from '../core/async.js';
import type { TraceParent } from '../core/caller.js';
import type { CallEvent, EndEvent, Observer, Recorder } from '../core/event.js';
import { copyJson, deepFreeze, type Json } from '../core/json.js';
import type { ToolResult } from '../core/result.js';
import { createTracer } from './telemetry.js';

export interface Observers {
  /** Undefined if calls are not recorded. */
  readonly recorder: Recorder | undefined;
  /** Undefined while there is no observer, so that no event is created. */
  readonly emit: ((event: CallEvent) => void) | undefined;
  /** Returns the span of a running call, if there is one. */
  traceOf(call: string): TraceParent | undefined;
  /** Adds an observer; the returned function removes it. */
  on(observer: Observer): () => void;
}

export interface ObserversOptions {
  readonly recorder?: Recorder;
  /** Called with the end of every call, which it must not change; cheaper than an observer. */
  readonly meter?: ((event: EndEvent) => void) | undefined;
  readonly debug: (message: string) => void;
}

// Every copy of OpenTelemetry registers its tracer provider here.
const REGISTRY = Symbol.for('opentelemetry.js.api.1');

export function createObservers({ recorder, meter, debug }: ObserversOptions): Observers {
  const observers = new Set<Observer>();
  const tracer = createTracer(debug);
  const emit = (event: CallEvent): void => {
    const trace = isTracing() ? tracer() : undefined;
    if (trace !== undefined) guardListener(trace.observe, debug)(event);
    if (observers.size === 0) return;
    const show = guardListener(() => {
      const shown = toObserved(event);
      for (const observer of observers) guardListener(observer, debug)(shown);
    }, debug);
    show();
  };
  return {
    recorder: recorder && meter ? withMeter(recorder, meter) : recorder,
    get emit() {
      return observers.size > 0 || (isTracing() && tracer() !== undefined) ? emit : undefined;
    },
    traceOf: (call) => (isTracing() ? tracer()?.traceOf(call) : undefined),
    on(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
  };
}

function withMeter(recorder: Recorder, meter: NonNullable<ObserversOptions['meter']>): Recorder {
  return {
    ...recorder,
    record(event, snapshot) {
      meter(event);
      recorder.record(event, snapshot);
    },
  };
}

function isTracing(): boolean {
  const registry = (globalThis as Record<symbol, unknown>)[REGISTRY] as { trace?: unknown } | undefined;
  return registry?.trace !== undefined;
}

// OBS-4: observers get frozen copies, so that they cannot change what the caller gave or gets.
function toObserved(event: CallEvent): CallEvent {
  const { caller, trace } = event;
  const own = { ...event, caller: { ...caller }, trace: trace && { ...trace } };
  if (own.type === 'end') own.result = copyJson(own.result as unknown as Json) as unknown as ToolResult;
  return deepFreeze(own);
}
