// Derives the options and the position of a call that a tool makes.

import { CODE } from '../core/caller.js';
import type { Cancellation } from '../core/cancellation.js';
import type { RequestClient } from '../core/client-request.js';
import type { NestedOptions } from '../core/context.js';
import type { Elicit, Question } from '../core/elicit.js';
import type { Plan } from '../core/plan.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { CallOptions } from '../core/toolbox.js';
import { listsWithin } from '../policy/rules.js';
import { joinNarrowing, withoutApps } from './find.js';
import type { CallParts, Nesting } from './parts.js';

/** What a tool says about a call it makes, with what cancels it and how to ask the user. */
export type NestedCallOptions = Omit<NestedOptions, 'signal'> & {
  readonly until: Cancellation | AbortSignal;
  readonly elicit: Elicit<Question> | undefined;
  readonly client: RequestClient | undefined;
  /** The tool that is called, if the runtime made it. */
  readonly tool?: Tool;
};

export interface NestedCall {
  /** The plan of the calling tool. */
  readonly plan: Plan;
  readonly snapshot: Snapshot;
  /** Options and position of the outer call. */
  readonly options: CallOptions;
  readonly nesting: Nesting;
  readonly place: Pick<Nesting, 'placed' | 'named'>;
  readonly asked: NestedCallOptions;
  readonly parent: string;
}

/**
 * A nested call inherits the caller, the trust and the approval callback of the outer one, nothing else (RUN-7).
 * Consent is not inherited: it is requested again through the same door.
 */
export function nestedCall(parts: Pick<CallParts, 'cascade'>, call: NestedCall) {
  const { plan, snapshot, options, nesting, place, asked, parent } = call;
  const { caller = CODE, trust, approve } = options;
  const { elicit, client, onOutput, onStart, handles, deferApproval, tool } = asked;
  const { permissions, narrowing } = parts.cascade.of(plan.tool, snapshot);
  return {
    options: { caller: withoutApps(caller), trust, approve, elicit, client, onOutput },
    nesting: {
      ...place,
      tool,
      accept: acceptBoth(nesting.accept, asked.accept),
      onStart,
      handles,
      deferApproval,
      depth: nesting.depth + 1,
      parent,
      trace: options.trace ?? nesting.trace,
      within: listsWithin(plan.tool.name, permissions, nesting.within),
      narrowing: joinNarrowing(nesting.narrowing, narrowing),
    },
  };
}

/** Returns a text that is equal for two calls only if their nested calls have the same rights. */
export function rightsOf(
  { cascade }: Pick<CallParts, 'cascade'>,
  { plan, snapshot, options, nesting }: Pick<NestedCall, 'plan' | 'snapshot' | 'options' | 'nesting'>,
): string {
  const { caller = CODE, trust, approve, ask, elicit, client } = options;
  const { kind, door, name, session } = caller;
  const { permissions, narrowing } = cascade.of(plan.tool, snapshot);
  const within = listsWithin(plan.tool.name, permissions, nesting.within);
  return JSON.stringify([
    [kind, door, name, session],
    [trust === true, approve !== undefined, ask !== undefined || elicit !== undefined, client !== undefined],
    // A function cannot be compared, so only the calls of one outer call share it.
    nesting.accept && nesting.parent,
    within.map(({ rules, fault }) => [rules.map(({ selector }) => selector.text), fault]),
    joinNarrowing(nesting.narrowing, narrowing).map(({ directory, trust, paths }) => [directory, trust, paths]),
  ]);
}

// What a call accepts also applies to the calls inside it.
function acceptBoth(outer: Nesting['accept'], inner: Nesting['accept']): Nesting['accept'] {
  if (outer === undefined) return inner;
  if (inner === undefined) return outer;
  return (tool: Tool) => {
    outer(tool);
    inner(tool);
  };
}
