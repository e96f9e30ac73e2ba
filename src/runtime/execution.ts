// The types of an execution: what is executed, and what one run of it may use.

import type { Consent } from '../core/approval.js';
import type { Caller } from '../core/caller.js';
import type { Cancellation } from '../core/cancellation.js';
import type { RequestClient } from '../core/client-request.js';
import type { ProgressListener } from '../core/context.js';
import type { Elicit, Question } from '../core/elicit.js';
import type { RunContext } from '../core/executor.js';
import type { Plan } from '../core/plan.js';
import type { ToolResult } from '../core/result.js';
import type { Snapshot } from '../core/snapshot.js';
import type { CallOptions } from '../core/toolbox.js';
import type { ChainRun } from './middleware.js';
import type { NestedCallOptions } from './nested.js';
import type { Nesting } from './parts.js';
import type { LargeResults } from './shape.js';

export interface ExecuteOptions {
  readonly plan: Plan;
  readonly snapshot: Snapshot;
  readonly caller: Caller;
  readonly cancellation: Cancellation;
  readonly nesting: Nesting;
  readonly options: CallOptions;
  readonly approval: Consent | undefined;
  /** Where large output is stored; undefined if it is returned whole. */
  readonly large: LargeResults | undefined;
  readonly progress: ProgressListener;
  /** The id of the call. */
  readonly id: string;
  /** Calls another tool within this call. */
  readonly nest: (
    place: Pick<Nesting, 'placed' | 'named'>,
    ref: string,
    input: unknown,
    asked: NestedCallOptions,
  ) => Promise<ToolResult>;
}

/** A run, inside its middleware if it has any. */
export interface Run extends Partial<Omit<ChainRun, 'signal'>> {
  readonly cancellation: Cancellation;
  readonly asking: Asking | undefined;
}

export interface Asking {
  /** Asks the user for this tool and the tools that it calls; time limits are paused meanwhile. */
  readonly door: Elicit<Question> | undefined;
  /** Likewise, sends requests to the client. */
  readonly client: RequestClient | undefined;
  readonly context: Pick<RunContext, 'elicit' | 'whileAsked'>;
}
