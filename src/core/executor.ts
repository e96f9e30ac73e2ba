// The Executor interface: plans actions and runs plans.

import type { Consent } from './approval.js';
import type { CallController } from './call-controller.js';
import type { Caller, TraceParent } from './caller.js';
import type { RequestClient } from './client-request.js';
import type { LogListener, NestedOptions, OutputStream, ProgressListener, ToolUpstreams } from './context.js';
import type { Elicit } from './elicit.js';
import type { Json } from './json.js';
import type { EnteredLabel } from './label.js';
import type { Plan, Variables } from './plan.js';
import type { Output, ToolResult } from './result.js';
import type { Snapshot } from './snapshot.js';
import type { ContextStore, ResultWriter } from './store.js';
import type { Telemetry } from './telemetry.js';
import type { Action, CallInternals, Tool } from './tool.js';
import type { DoorOptions } from './toolbox.js';

/** The part of a snapshot that executors depend on. */
export type PlanSnapshot = Pick<Snapshot, 'workdir' | 'settings' | 'servers'>;

export interface PlanContext {
  readonly snapshot: PlanSnapshot;
  /** Whether code of the workspace may run for a model, by stored trust or for this call. */
  readonly rules: { readonly trusted: () => boolean };
  /** The effective time limit. */
  readonly timeoutMs: number;
  /** Set if a person chose to run the call without a sandbox. */
  readonly withoutSandbox?: boolean;
  /** Names of optional parameters that were given as null, which the input does not have. */
  readonly nulls?: readonly string[];
  /** Variables that a front sent with the call. */
  readonly variables?: Variables | undefined;
}

/** Returns a plan whose environment has the values that the configuration refers to (SEC-5). */
export type WithVariables = <P extends { readonly tool: Tool; readonly environment: Variables }>(
  plan: P,
  scope: Pick<CallScope, 'snapshot'>,
) => Promise<P>;

/** One call: who makes it and how, and what its tool can use while it runs. */
export interface CallScope {
  /** Unique in this process. */
  readonly id: string;
  readonly caller: Caller;
  readonly options: DoorOptions;
  readonly snapshot: Snapshot;
  /** Aborted when the call is cancelled, or its time is over. */
  readonly controller: CallController;
  /** Remaining time, if this is not the first run of the plan. */
  readonly timeoutMs?: number;
  /** The consent that the call runs with, if it needed one. */
  readonly approval?: Consent;
  /** Enters labels into the session of the call (FLW-3). */
  readonly enter: (labels: readonly string[]) => Promise<void>;
  /** What the session had read when the call was decided, if rules depend on it. */
  readonly entered?: readonly EnteredLabel[];
  /** Has the position of this call in a trace, for what it calls (UPS-72); few calls need it. */
  readonly traced?: { readonly trace?: TraceParent | undefined };
  /** Receives the requests that the call sends. */
  readonly telemetry?: Telemetry | undefined;
  /** Receives output while it is written. */
  readonly stream?: OutputStream;
  /** Stores output that is too large to return inline. */
  readonly spill?: Spill;
  /** Set if the process of the plan goes on after its call; called with its id when it has started. */
  readonly onBackground?: (pid: number) => void;
  /** The stores as given to a function. */
  readonly store: ContextStore | null;
  /** Asks the user, if the door can (MOD-18). */
  readonly elicit?: Elicit;
  /** The client behind the call, if it can be sent requests: each is a nested call (RSC-7). */
  readonly client?: RequestClient;
  /** Lists upstream tools that this caller may know of; undefined without upstream servers. */
  readonly remoteTools?: ToolUpstreams['list'];
  readonly progress: ProgressListener;
  /** Receives log messages of the tool; undefined if the door wants none. */
  readonly log?: LogListener | undefined;
  /** Makes a nested call. */
  readonly call: (ref: string, input: unknown, options?: NestedOptions) => Promise<ToolResult>;
  /** Reads a resource in a nested call. */
  readonly read: (uri: string) => Promise<ToolResult>;
  /** Returns what a call with the options of this one would run, and runs nothing. Throws the errors of that call. */
  readonly foresee: CallInternals['foresee'];
  /** Makes a nested call of a tool named by the definition, which may be hidden. */
  readonly delegate: (ref: string, input: unknown) => Promise<ToolResult>;
  /** Registers a function that pauses the time limit while the user is asked. */
  readonly whileAsked: (pause: () => () => void) => void;
  /** Identifies what nested calls of this run may do. Only runs with equal rights may share a process (MOD-29). */
  readonly rights: () => string;
}

/** Stores large output while it is written (RUN-12). */
export interface Spill {
  /** Output above this size is always too large. */
  readonly afterBytes: number;
  open(): ResultWriter;
}

/** Runs plans on other machines. */
export interface Dispatcher {
  /** Whether a plan runs elsewhere, so that it needs no slot here. */
  takes(plan: Plan): boolean;
  run: Executor['run'];
  /** Returns how many calls run and wait elsewhere. */
  load?(): { readonly running: number; readonly waiting: number };
}

/** The plans of each kind of action. */
type PlanOf = { readonly [P in Plan as P['kind']]: P };

/** Plans and runs one kind of action. */
export interface Executor<Kind extends Action['kind'] = Action['kind']> {
  /** The kind of action. */
  readonly kind: Kind;
  /** Returns the SHA-256 over the definition and the bytes that will run (TOOL-7). Throws `integrity` if they changed. */
  digest(tool: Tool): string;
  /** Whether a digest can be cached for the tool object; true by default. */
  keepsDigest?(tool: Tool): boolean;
  /** Returns what exactly will run; runs nothing. Throws if it could not run. */
  plan(tool: Tool, input: Json, context: PlanContext): Promise<PlanOf[Kind]>;
  /**
   * Identifies what a plan starts or loads besides the tool, whatever the input: programs, interpreters, packages. Only
   * called if the call needs approval (POL-25).
   */
  programs?(plan: PlanOf[Kind], snapshot: PlanSnapshot): Promise<readonly string[]>;
  /** Runs a plan. A tool that fails returns an Output with an error; throws only if it could not be started. */
  run(plan: PlanOf[Kind], scope: CallScope): Promise<Output>;
  /** Releases resources after all runs have ended. */
  close?(): Promise<void>;
}
