// Middleware: the interface, and the view of a call that it gets.

import type { CallController } from '../core/call-controller.js';
import type { Caller } from '../core/caller.js';
import type { Json } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { Output, ToolResult } from '../core/result.js';
import type { Narrowing } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';

/** A frozen view of a call that may run, the same for all middleware (RUN-9). */
export interface ServedCall {
  /** The tool that is called. */
  readonly tool: Tool;
  /** The repaired and validated input. */
  readonly input: Json;
  /** The plan that `next` runs. */
  readonly plan: Plan;
  /** Who calls. */
  readonly caller: Caller;
  /** 0 for a call through a door, more for a nested call. */
  readonly depth: number;
  /** Aborted with the caller's signal and when the call ends. */
  readonly signal: AbortSignal;
  /** Absolute path. */
  readonly workdir: string;
  /** The directories searched for tools, in order. */
  readonly paths: readonly string[];
  /** Makes a nested call, which is decided on its own (RUN-7). */
  readonly toolbox: { call(ref: string, input: unknown): Promise<ToolResult> };
  /** Monotonic clock in milliseconds. */
  now(): number;
  /** Remaining time of the call in milliseconds; time in the queue does not count. */
  timeLeftMs(): number;
}

/** The call as given to one entry, with the position of the entry (read by `wield/helpers`). */
export interface MiddlewareCall extends ServedCall {
  /** What only this library reads. */
  readonly [ENVELOPE]: Envelope;
}

/** The position of an entry around a call (HLP-7). */
export interface Envelope {
  readonly target: ServedCall;
  readonly trigger: HookTrigger | undefined;
  /** The next entry that is not a hook; the tool itself comes last. */
  readonly hookTarget: string;
}

// A registered symbol, because the CLI and the library each contain a copy of this file.
export const ENVELOPE: unique symbol = Symbol.for('wield.envelope') as never;

/** Runs the rest and returns its output. Takes no input: what was decided is what runs. */
export type Next = () => Promise<Output>;

/** Runs around a call: returns the output of `next()`, or another one. */
export type MiddlewareFunction = (call: MiddlewareCall, next: Next) => Output | Promise<Output>;

/** When a hook runs: around each later entry and the tool, or around nested calls. */
export type HookTrigger = '$next' | '$invoke';

/** A function around calls, and the calls that it applies to. */
export interface Middleware {
  /** Used in messages. */
  readonly name: string;
  /** Selectors of the calls it applies to; all by default. */
  readonly for?: string | readonly string[];
  /** When it runs, if not around the tool. */
  readonly hook?: HookTrigger;
  /** True if it always returns the unchanged output of one `next()`; otherwise output cannot be streamed. */
  readonly streams?: boolean;
  /** The function; it calls `next()` to run the tool. */
  readonly run: MiddlewareFunction;
}

/** The middleware of a toolbox. */
export interface MiddlewareChain {
  /** Middleware of the program; the configuration may add more. */
  readonly own: readonly Middleware[];
  /** Returns what runs a plan through the middleware that applies to it; undefined if none does. */
  of(options: Pick<ChainOptions, 'plan' | 'snapshot' | 'narrowing' | 'depth'>): RunChain | undefined;
}

export type RunChain = (options: ChainOptions) => Promise<Output>;

export interface ChainOptions {
  readonly plan: Plan;
  readonly snapshot: Snapshot;
  /** What the skills that govern the tool restrict (RES-44). */
  readonly narrowing: readonly Narrowing[];
  readonly caller: Caller;
  readonly depth: number;
  readonly signal: AbortSignal;
  readonly monotonic: () => number;
  /** Runs the plan once. */
  readonly execute: (run: ChainRun) => Promise<Output>;
  /** Makes a nested call. */
  readonly delegate: (ref: string, input: unknown, signal: AbortSignal) => Promise<ToolResult>;
}

/** One run of a plan inside its middleware. */
export interface ChainRun {
  readonly controller: CallController;
  /** Called when the run starts; returns the time left for it. */
  readonly begin: () => number;
  /** Whether all middleware passes output on unchanged. */
  readonly streams: boolean;
}
