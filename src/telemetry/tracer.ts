// Spans that wield itself exports: their ids, whether they are recorded, and what is passed on of them.

import type { TraceParent } from '../core/caller.js';
import type { Attributes, Span, SpanStart } from '../core/telemetry.js';
import type { Sampling } from './settings.js';

// As the SDKs do, the end of the id of a trace decides whether it is sampled, so that all its services agree.
const RANDOM_DIGITS = 13;
const IDS = 16 ** RANDOM_DIGITS;
const NO_PARTS: readonly Attributes[] = [];

/** Takes spans that ended, as long as it has room; it counts the others. */
export interface SpanQueue {
  /** Whether there is room now. Otherwise a span is not recorded at all: what is dropped must cost nothing. */
  admits(): boolean;
  take(span: OwnSpan): void;
}

/** A span that wield itself sends. Its ids are made when they are needed, most often never. */
export class OwnSpan implements Span {
  readonly kind: SpanStart['kind'];
  /** Of `performance.now()`, as the end. */
  readonly startedAt: number;
  readonly parentId: string | undefined;
  readonly isRecorded: boolean;
  endedAt = 0;
  name = '';
  /** Attributes, in parts without common names. */
  parts: readonly Attributes[] = NO_PARTS;
  hasFailed = false;
  readonly #queue: SpanQueue;
  readonly #parent: TraceParent | undefined;
  readonly #isSampled: boolean;
  // The end of the id of a new trace, if that decides whether it is sampled.
  readonly #random: number | undefined;
  #traceId: string | undefined;
  #spanId: string | undefined;

  constructor({ kind, parent, startedAt }: SpanStart, { parentBased, ratio }: Sampling, queue: SpanQueue) {
    const outer = parent && parseTraceParent(parent.traceparent);
    this.kind = kind;
    this.startedAt = startedAt ?? performance.now();
    this.parentId = outer?.spanId;
    this.#parent = parent;
    this.#queue = queue;
    this.#traceId = outer?.traceId;
    if (outer === undefined && ratio < 1) this.#random = Math.floor(Math.random() * IDS);
    const random = outer?.random ?? this.#random ?? 0;
    this.#isSampled = outer !== undefined && parentBased ? outer.isSampled : random < ratio * IDS;
    this.isRecorded = this.#isSampled && queue.admits();
  }

  get traceId(): string {
    const random = this.#random?.toString(16).padStart(RANDOM_DIGITS, '0') ?? '';
    this.#traceId ??= takeHex(32 - random.length) + random;
    return this.#traceId;
  }

  get spanId(): string {
    this.#spanId ??= takeHex(16);
    return this.#spanId;
  }

  get tracestate(): string | undefined {
    return this.parentId === undefined ? undefined : this.#parent?.tracestate;
  }

  get trace(): TraceParent {
    return {
      traceparent: `00-${this.traceId}-${this.spanId}-${this.#isSampled ? '01' : '00'}`,
      tracestate: this.tracestate,
      baggage: this.#parent?.baggage,
    };
  }

  end(name: string, parts: readonly Attributes[], failure: string | undefined): void {
    if (!this.isRecorded) return;
    this.name = name;
    this.parts = parts;
    this.hasFailed = failure !== undefined;
    this.endedAt = performance.now();
    this.#queue.take(this);
  }
}

const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})$/;

/** Reads a `traceparent` of W3C Trace Context; undefined if it is not valid. */
export function parseTraceParent(
  text: string,
):
  | { readonly traceId: string; readonly spanId: string; readonly isSampled: boolean; readonly random: number }
  | undefined {
  const found = TRACEPARENT.exec(text);
  if (found === null) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = found;
  const random = Number.parseInt(traceId.slice(-RANDOM_DIGITS), 16);
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & 1) === 1, random };
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
