// Events of calls: observers watch, they cannot change anything (OBS-4).

import type { Consent } from './approval.js';
import type { Progress } from './context.js';
import type { Plan } from './plan.js';
import type { ToolResult } from './result.js';
import type { Caller, Verdict } from './toolbox.js';

interface EventBase {
  /** The same for all events of one call. */
  readonly call: string;
  readonly ref: string;
  readonly caller: Caller;
  readonly depth: number;
}

export type CallEvent =
  | (EventBase & { readonly type: 'start' })
  | (EventBase & { readonly type: 'progress'; readonly progress: Progress })
  | (EventBase & {
      readonly type: 'end';
      readonly result: ToolResult;
      readonly plan: Plan | undefined;
      readonly verdict: Verdict | undefined;
      /** How consent was given, where it had to be asked for. */
      readonly approval?: Consent;
    });

export type Observer = (event: CallEvent) => void;
