// Events of calls for observers, which cannot change anything (OBS-4).

import type { Consent, Decision } from './approval.js';
import type { Caller, TraceParent, Verdict } from './caller.js';
import type { Progress } from './context.js';
import type { Json } from './json.js';
import type { Plan } from './plan.js';
import type { ToolResult } from './result.js';
import type { Snapshot } from './snapshot.js';
import type { Tool } from './tool.js';

export interface EventBase {
  /** Id of the call, unique in this process. */
  readonly call: string;
  readonly ref: string;
  readonly caller: Caller;
  readonly depth: number;
  /** Id of the outer call, if any. */
  readonly parent?: string;
  /** The caller's span, if it sent one. */
  readonly trace?: TraceParent;
}

export type EndEvent = EventBase & {
  readonly type: 'end';
  readonly result: ToolResult;
  /** Undefined if none was found. */
  readonly tool: Tool | undefined;
  /** As run, or as received if the call failed before; undefined if it is not JSON. */
  readonly input: Json | undefined;
  readonly plan: Plan | undefined;
  readonly verdict: Verdict | undefined;
  /** SHA-256 of an output returned as a handle. */
  readonly outputHash?: string;
  /** How consent was given, if it was needed. */
  readonly approval?: Consent;
  /** Who answered the question, if the verdict was `ask`. */
  readonly decision?: Decision;
};

/** The start, progress or end of a call. */
export type CallEvent =
  | (EventBase & { readonly type: 'start' })
  | (EventBase & { readonly type: 'progress'; readonly progress: Progress })
  | EndEvent;

/** Called with the events of calls. */
export type Observer = (event: CallEvent) => void;

/** Records every call. */
export interface Recorder {
  /** Throws if the call must be recorded and cannot be. */
  assertReady(verdict: Verdict, snapshot: Snapshot): void;
  /** Called when a call starts; `record` ends it. Never throws. */
  begin(event: EventBase, snapshot: Snapshot): void;
  /** Called when everything is decided, before the tool runs. Throws if the call must be recorded and cannot be. */
  start(event: Omit<EndEvent, 'type' | 'result'>, snapshot: Snapshot): void;
  /** Never throws. */
  record(event: EndEvent, snapshot: Snapshot): void;
  /** Waits for what is sent elsewhere, but not forever (OBS-9). */
  close(): Promise<void>;
}
