// The one decision: may this plan run for this caller. Pure.

import type { Plan } from '../core/plan.js';
import type { Caller, Verdict } from '../core/toolbox.js';

/** What the decision depends on besides the plan and the caller. */
export interface Rules {
  /** Whether the workspace that the plan's code belongs to is trusted (POL-20). */
  readonly trusted: boolean;
  /** Why the rules themselves cannot be read, where that is so: then nothing runs (POL-9). */
  readonly fault?: string | undefined;
}

export function decide(plan: Plan, caller: Caller, rules: Rules): Verdict {
  if (rules.fault !== undefined) {
    return {
      verdict: 'deny',
      rule: null,
      reason: `the configuration cannot be read (${rules.fault})`,
      hint: 'mend that file; until then nothing runs',
    };
  }
  // A person who types the call consents by typing it; code that assembled the toolbox did so too (SCR-20).
  // A text runs nothing: a model may read it, as it may with `read_skill`.
  const runs = plan.kind !== 'text';
  if (caller.kind === 'model' && runs && plan.tool.origin.owner === 'workspace' && !rules.trusted) {
    return {
      verdict: 'deny',
      rule: null,
      reason: 'the workspace is not trusted',
      code: 'needs_trust',
      hint: 'a person must look at its tools and run: wield trust',
    };
  }
  return { verdict: 'allow', rule: null, reason: 'no rule names it' };
}
