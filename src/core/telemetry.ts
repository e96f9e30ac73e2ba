// Spans and measurements: what doors, the runtime and executors report, and the interface that receives it.

import type { TraceParent } from './caller.js';
import type { EndEvent } from './event.js';

/** Attributes of a span or a measurement, by their names in the conventions of OpenTelemetry. */
export type Attributes = Record<string, string | number | undefined>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  /** Those that are known at the start. */
  readonly attributes: Attributes;
  readonly parent?: TraceParent | undefined;
  /** Of `performance.now()`; now by default. */
  readonly startedAt?: number | undefined;
}

/** A span that has not ended. */
export interface Span {
  /** Its position in the trace, for what it calls. */
  readonly trace: TraceParent | undefined;
  /** Ends it with its final name and all attributes; with `error.type` it failed. */
  end(name: string, attributes: Attributes): void;
}

/** Receives the spans and measurements of a toolbox. */
export interface Telemetry {
  /** Whether anything is traced or counted now; nothing is reported otherwise. */
  readonly isOn: boolean;
  /** Whether spans have arguments and results. */
  readonly recordsContents: boolean;
  /** Starts a span; undefined if nothing is traced. */
  start(start: SpanStart): Span | undefined;
  /** Records the duration of an MCP request. */
  measure(side: Side, seconds: number, attributes: Attributes): void;
  /** Counts a call that ended. */
  count(event: EndEvent): void;
  /** Sends what was not sent yet, for at most a second. */
  close(): Promise<void>;
}

/** Whether a request was received or sent. */
export type Side = 'server' | 'client';

/** The attribute with the name of what a request is about; it is also in the name of its span. */
export type Target = 'gen_ai.tool.name' | 'gen_ai.prompt.name';

export interface OperationStart {
  readonly method: string;
  /** Others are added to them. */
  readonly attributes: Attributes;
  readonly parent?: TraceParent | undefined;
}

/** An MCP request that has not ended: a span and a duration. */
export class Operation {
  readonly method: string;
  readonly attributes: Attributes;
  readonly startedAt = performance.now();
  readonly #telemetry: Telemetry;
  readonly #side: Side;
  readonly #parent: TraceParent | undefined;
  readonly #span: Span | undefined;
  #name: string;
  #isEnded = false;

  constructor(telemetry: Telemetry, side: Side, { method, attributes, parent }: OperationStart) {
    this.method = method;
    this.attributes = attributes;
    attributes['mcp.method.name'] = method;
    this.#telemetry = telemetry;
    this.#side = side;
    this.#parent = parent;
    this.#name = method;
    this.#span = telemetry.start({ name: method, kind: side, attributes: this.attributes, parent });
  }

  /** The position of what it calls. */
  get trace(): TraceParent | undefined {
    return this.#span?.trace ?? this.#parent;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Names what it is about. Only names that exist: others can be anything, and each would be a series of its own. */
  setTarget(attribute: Target, name: string): void {
    this.attributes[attribute] = name;
    this.#name = `${this.method} ${name}`;
  }

  /** Notes how it failed: with the code of JSON-RPC or of a tool. */
  fail(type: string): void {
    this.attributes['error.type'] = type;
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#telemetry.measure(this.#side, (performance.now() - this.startedAt) / 1000, this.attributes);
    this.#span?.end(this.#name, this.attributes);
  }
}
