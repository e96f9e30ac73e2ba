// Spans and measurements: what doors, the runtime and executors report, and the interface that receives it.

import type { TraceParent } from './caller.js';
import type { EndEvent } from './event.js';

/** Attributes of a span or a measurement, by their names in the conventions of OpenTelemetry. */
export type Attributes = Record<string, string | number | undefined>;

export interface SpanStart {
  readonly name: string;
  readonly kind: 'internal' | Side;
  /** Returns the attributes that are known at the start; few spans need them. */
  readonly attributes: () => Attributes;
  readonly parent?: TraceParent | undefined;
  /** Of `performance.now()`; now by default. */
  readonly startedAt?: number | undefined;
}

/** A span that has not ended. */
export interface Span {
  /** Its position in the trace, for what it calls. Made when it is read. */
  readonly trace: TraceParent | undefined;
  /** Whether it is sent: most spans of a busy server are not, and need no attributes. */
  readonly isRecorded: boolean;
  /** Ends it with its final name and all attributes, in parts without common names; with `failure` it failed. */
  end(name: string, parts: readonly Attributes[], failure: string | undefined): void;
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
  measure(operation: MeasuredOperation, seconds: number): void;
  /** Counts a call that ended. */
  count(call: CountedCall): void;
  /** Sends what was not sent yet, for at most a second. */
  close(): Promise<void>;
}

/** What metrics have of a call that ended. */
export interface CountedCall extends Pick<EndEvent, 'tool' | 'caller' | 'result'> {
  /** Whether it is counted by the user who was logged in. */
  readonly byUser: boolean;
}

/** Whether a request was received or sent. */
export type Side = 'server' | 'client';

/** A method on one transport: the attributes of its requests that metrics have too. Few, and kept by those who use them. */
export interface OperationKind {
  readonly side: Side;
  readonly method: string;
  readonly attributes: Attributes;
  /** Whether its requests are about a prompt, not a tool. */
  readonly isOfPrompt: boolean;
  /** Differs if an attribute does. */
  readonly key: string;
}

export function createOperationKind(side: Side, method: string, more: Attributes): OperationKind {
  const operation = method === 'tools/call' ? 'execute_tool' : undefined;
  const attributes = { 'mcp.method.name': method, 'gen_ai.operation.name': operation, ...more };
  return { side, method, attributes, isOfPrompt: method === 'prompts/get', key: JSON.stringify(attributes) };
}

/** What metrics have of an MCP request. */
export type MeasuredOperation = Pick<Operation, 'of' | 'target' | 'failure' | 'toSeries'>;

export interface OperationStart {
  readonly of: OperationKind;
  /** Returns attributes that only its span has. */
  readonly describe: () => Attributes;
  readonly parent?: TraceParent | undefined;
}

/** An MCP request that has not ended: a span and a duration. */
export class Operation implements SpanStart {
  readonly of: OperationKind;
  readonly parent: TraceParent | undefined;
  readonly startedAt = performance.now();
  /** What it is about. Only names that exist are set: others can be anything, and each would be a series of its own. */
  target: string | undefined;
  /** How it failed. */
  failure: string | undefined;
  readonly #telemetry: Telemetry;
  readonly #describe: () => Attributes;
  readonly #span: Span | undefined;
  #status: string | undefined;
  #details: Attributes | undefined;
  #isEnded = false;

  constructor(telemetry: Telemetry, { of, describe, parent }: OperationStart) {
    this.of = of;
    this.parent = parent;
    this.#telemetry = telemetry;
    this.#describe = describe;
    this.#span = telemetry.start(this);
  }

  get name(): string {
    return this.target === undefined ? this.of.method : `${this.of.method} ${this.target}`;
  }

  get kind(): Side {
    return this.of.side;
  }

  /** The position of what it calls. */
  get trace(): TraceParent | undefined {
    return this.#span?.trace ?? this.parent;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Whether its span is sent. */
  get isRecorded(): boolean {
    return this.#span?.isRecorded === true;
  }

  attributes(): Attributes {
    return { ...this.of.attributes, ...this.#describe() };
  }

  /** Returns its attributes in metrics. */
  toSeries(): Attributes {
    return { 'mcp.method.name': this.of.method, ...this.#own(), ...this.of.attributes };
  }

  // Of this request, in metrics too.
  #own(): Attributes {
    const { of, target, failure } = this;
    return {
      'gen_ai.tool.name': of.isOfPrompt ? undefined : target,
      'gen_ai.prompt.name': of.isOfPrompt ? target : undefined,
      'error.type': failure,
      'rpc.response.status_code': this.#status,
    };
  }

  /** Adds attributes that only its span has, and that are known at its end. */
  add(details: Attributes): void {
    this.#details = details;
  }

  /** Notes how it failed: with the code of a tool, or that of JSON-RPC. */
  fail(code: string | number): void {
    this.failure = String(code);
    this.#status = typeof code === 'number' ? this.failure : undefined;
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#telemetry.measure(this, (performance.now() - this.startedAt) / 1000);
    if (!this.#span?.isRecorded) return;
    this.#span.end(this.name, [this.of.attributes, this.#describe(), this.#own(), this.#details ?? {}], this.failure);
  }
}

/** The span of a running call: its own, or that of the request it was made by. */
export type CallSpan = Operation | Span;
