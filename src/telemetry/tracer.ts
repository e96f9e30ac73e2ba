// Spans that wield itself exports: their ids, whether they are recorded, and what is passed on of them.

import type { TraceParent } from '../core/caller.js';
import type { Attributes, Span, SpanStart } from '../core/telemetry.js';
import type { Sampling } from './settings.js';

/** A span that ended; times are of `performance.now()`. */
export interface EndedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly tracestate: string | undefined;
  readonly name: string;
  readonly kind: SpanStart['kind'];
  readonly start: number;
  readonly end: number;
  readonly attributes: Attributes;
}

/** Takes spans that ended; those that it has no room for are counted. */
export type TakeSpan = (toSpan: () => EndedSpan) => void;

/** Starts a span. */
export function startOwnSpan(start: SpanStart, sampling: Sampling, take: TakeSpan): Span {
  const parent = start.parent && parseTraceParent(start.parent.traceparent);
  const traceId = parent?.traceId ?? takeHex(32);
  const isSampled =
    parent !== undefined && sampling.parentBased ? parent.isSampled : isWithinRatio(traceId, sampling.ratio);
  return new OwnSpan({ start, parentId: parent?.spanId, traceId, isSampled, take });
}

interface OwnSpanOptions {
  readonly start: SpanStart;
  readonly parentId: string | undefined;
  readonly traceId: string;
  readonly isSampled: boolean;
  readonly take: TakeSpan;
}

class OwnSpan implements Span {
  readonly #options: OwnSpanOptions;
  readonly #spanId = takeHex(16);
  readonly #startedAt: number;
  #trace: TraceParent | undefined;

  constructor(options: OwnSpanOptions) {
    this.#options = options;
    this.#startedAt = options.start.startedAt ?? performance.now();
  }

  get trace(): TraceParent {
    const { traceId, isSampled, start, parentId } = this.#options;
    this.#trace ??= {
      traceparent: `00-${traceId}-${this.#spanId}-${isSampled ? '01' : '00'}`,
      tracestate: parentId === undefined ? undefined : start.parent?.tracestate,
      baggage: start.parent?.baggage,
    };
    return this.#trace;
  }

  end(name: string, attributes: Attributes): void {
    const { traceId, parentId, isSampled, start, take } = this.#options;
    if (!isSampled) return;
    take(() => ({
      traceId,
      spanId: this.#spanId,
      parentId,
      tracestate: this.trace.tracestate,
      name,
      kind: start.kind,
      start: this.#startedAt,
      end: performance.now(),
      attributes,
    }));
  }
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})$/;

/** Reads a `traceparent` of W3C Trace Context; undefined if it is not valid. */
export function parseTraceParent(
  text: string,
): { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean } | undefined {
  const found = TRACEPARENT.exec(text);
  if (found === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = found;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

// As the SDKs do, by the end of the id, so that all services of a trace agree.
function isWithinRatio(traceId: string, ratio: number): boolean {
  return ratio >= 1 || Number.parseInt(traceId.slice(-13), 16) < ratio * 2 ** 52;
}

// Random bytes are taken from the system for many ids at once.
const POOL = new Uint8Array(4096);
let hex = '';
let at = 0;

function takeHex(length: number): string {
  if (at + length > hex.length) {
    hex = Buffer.from(crypto.getRandomValues(POOL)).toString('hex');
    at = 0;
  }
  at += length;
  return hex.slice(at - length, at);
}
