// Notifies observers of calls, and reports them to the recorder and the telemetry.

import { guardListener } from '../core/async.js';
import type { CallEvent, Observer, Recorder } from '../core/event.js';
import { copyJson, deepFreeze, type Json } from '../core/json.js';
import type { ToolResult } from '../core/result.js';
import type { Telemetry } from '../core/telemetry.js';

export interface Observers {
  /** Undefined if calls are not recorded. */
  readonly recorder: Recorder | undefined;
  readonly telemetry: Telemetry | undefined;
  /** Undefined while there is no observer, so that no event is created. */
  readonly emit: ((event: CallEvent) => void) | undefined;
  /** Adds an observer; the returned function removes it. */
  on(observer: Observer): () => void;
  /** Waits for what is sent elsewhere, but not forever. */
  close(): Promise<void>;
}

export interface ObserversOptions {
  readonly recorder?: Recorder;
  readonly telemetry?: Telemetry | undefined;
  readonly debug: (message: string) => void;
}

export function createObservers({ recorder, telemetry, debug }: ObserversOptions): Observers {
  const observers = new Set<Observer>();
  const emit = guardListener((event: CallEvent): void => {
    const shown = toObserved(event);
    for (const observer of observers) guardListener(observer, debug)(shown);
  }, debug);
  return {
    recorder,
    telemetry,
    get emit() {
      return observers.size > 0 ? emit : undefined;
    },
    on(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    async close() {
      await Promise.all([recorder?.close(), telemetry?.close()]);
    },
  };
}

// OBS-4: observers get frozen copies, so that they cannot change what the caller gave or gets.
function toObserved(event: CallEvent): CallEvent {
  const { caller, trace } = event;
  const own = { ...event, caller: { ...caller }, trace: trace && { ...trace } };
  if (own.type === 'end') own.result = copyJson(own.result as unknown as Json) as unknown as ToolResult;
  return deepFreeze(own);
}
