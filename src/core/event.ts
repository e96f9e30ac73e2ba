// Events of calls: observers watch, they cannot change anything (OBS-4).

import type { Consent } from './approval.js';
import type { Progress } from './context.js';
import type { Json } from './json.js';
import type { Plan } from './plan.js';
import type { ToolResult } from './result.js';
import type { Snapshot } from './snapshot.js';
import type { Tool } from './tool.js';
import type { Caller, TraceParent, Verdict } from './toolbox.js';

interface EventBase {
  /** The same for all events of one call, and no other call of this process has it. */
  readonly call: string;
  readonly ref: string;
  readonly caller: Caller;
  readonly depth: number;
  /** The call that this one was made in, if any. */
  readonly parent?: string;
  /** The caller's span, where it told of one. */
  readonly trace?: TraceParent;
}

export type EndEvent = EventBase & {
  readonly type: 'end';
  readonly result: ToolResult;
  /** Undefined where none was found. */
  readonly tool: Tool | undefined;
  /** As it was run, else as it came; undefined where it is no JSON. */
  readonly input: Json | undefined;
  readonly plan: Plan | undefined;
  readonly verdict: Verdict | undefined;
  /** SHA-256 of an output that became a handle. */
  readonly outputHash?: string;
  /** How consent was given, where it had to be asked for. */
  readonly approval?: Consent;
};

export type CallEvent =
  | (EventBase & { readonly type: 'start' })
  | (EventBase & { readonly type: 'progress'; readonly progress: Progress })
  | EndEvent;

export type Observer = (event: CallEvent) => void;

/** Keeps a record of every call; observers may come and go, it stays. */
export interface Recorder {
  /** Throws where a call of this verdict may not run because no record could be kept of it. */
  assertReady(verdict: Verdict, snapshot: Snapshot): void;
  /** Never throws. */
  record(event: EndEvent, snapshot: Snapshot): void;
  close(): void;
}
