// The seam of executors: an Action and its input become a Plan, a Plan becomes Output.

import type { NestedOptions, ProgressListener, ToolUpstreams } from './context.js';
import type { Elicit } from './elicit.js';
import type { Json } from './json.js';
import type { Plan } from './plan.js';
import type { Output, ToolResult } from './result.js';
import type { ToolConfig } from './settings.js';
import type { Snapshot } from './snapshot.js';
import type { ContextStore, ResultWriter } from './store.js';
import type { Action, Tool } from './tool.js';
import type { Caller } from './toolbox.js';

/** The part of a snapshot that executors depend on. */
export type PlanSnapshot = Pick<Snapshot, 'workdir' | 'settings' | 'servers'>;

export interface PlanContext {
  readonly snapshot: PlanSnapshot;
  /** Whether code of the workspace may run for a model: it is trusted, or the caller trusts it for this call. */
  readonly rules: { readonly trusted: boolean };
  /** The time limit after every setting was asked. */
  readonly timeoutMs: number;
}

export interface RunContext {
  readonly signal: AbortSignal;
  /** What is left of the plan's time limit, where this is not its first run. */
  readonly timeoutMs?: number;
  readonly progress: ProgressListener;
  /** Whether the caller wants to hear of progress; a heartbeat is sent only then (SCR-23). */
  readonly wantsProgress: boolean;
  /** Where output goes while it is written; without it output is only collected. */
  readonly stream?: OutputStream;
  /** A nested call with this call's caller, signal and depth. */
  readonly call: (ref: string, input: unknown, options?: NestedOptions) => Promise<ToolResult>;
  /** The same for a tool that the definition names, not the caller: it may be a hidden one. Ends with the signal. */
  readonly delegate: (ref: string, input: unknown, signal: AbortSignal) => Promise<ToolResult>;
  readonly caller: Caller;
  /** Asks the person behind the call, where there is one who can be asked (MOD-18). */
  readonly elicit?: Elicit;
  /** Takes what stops the clock of this run while a person is asked, by the tool or by one that it calls. */
  readonly whileAsked?: (pause: () => () => void) => void;
  readonly workdir: string;
  readonly config: ToolConfig;
  readonly snapshot: Snapshot;
  /** What a function is given of the stores. */
  readonly store: ContextStore | null;
  /** The tools of servers that this caller may know of; absent where the toolbox knows no servers. */
  readonly remoteTools?: ToolUpstreams['list'];
  /** Where output goes that is too much to be shown; without it all is kept, up to the cap. */
  readonly spill?: Spill;
}

/** Takes output that is too much to be shown, while it is written (RUN-12). */
export interface Spill {
  /** More than this many bytes are surely too much. */
  readonly afterBytes: number;
  open(): ResultWriter;
}

/** Takes output as it comes. A promise holds the tool back until it resolves. */
export type OutputStream = (chunk: Uint8Array, from: 'stdout' | 'stderr') => void | Promise<void>;

export interface Executor<Kind extends Action['kind'] = Action['kind']> {
  readonly kind: Kind;
  /** SHA-256 over the definition and the bytes that will run (TOOL-7). Throws `integrity` if they changed since the reading. */
  digest(tool: Tool): string;
  /** Whether a tool's digest holds as long as the tool object does; so it is where this is left out. */
  keepsDigest?(tool: Tool): boolean;
  /** Says what exactly will run, and runs nothing. Throws where it could not run. */
  plan(tool: Tool, input: Json, context: PlanContext): Plan | Promise<Plan>;
  /** Runs a plan. A tool that ran and failed is an Output with an error; only a run that never was throws. */
  run(plan: Plan, context: RunContext): Promise<Output>;
  /** Frees what it holds; nothing runs any more. */
  close?(): Promise<void>;
}
