// Foresees a call for its caller: what it would run and the verdict on it, without running, asking or storing anything.

import type { JsonObject } from '../core/json.js';
import { describePlan } from '../core/plan.js';
import type { ForeseenCall } from '../core/tool.js';
import { findDenial } from '../policy/decide.js';
import { withDecision } from './consent.js';
import { findTool, forwardOf, rulesFor } from './find.js';
import { inSession } from './labels.js';
import type { CallParts } from './parts.js';
import { prepare } from './prepare.js';
import type { CallBase } from './scope.js';

/** Throws the error that the call would return, unless it is a refusal. */
export async function foreseeCall(parts: CallParts, ref: string, raw: unknown, given: CallBase): Promise<ForeseenCall> {
  // What the door found is the tool that foresees.
  const base = { ...given, options: { ...given.options, found: undefined } };
  const tool = await findTool(parts, ref, base);
  const rules = rulesFor(parts, tool, base);
  // POL-8: a tool that is denied whatever the input reveals nothing, not even its parameters.
  const denial = findDenial(tool, base.caller, rules);
  if (denial !== undefined) return { verdict: denial, repairs: [] };
  const prepared = await prepare(parts, tool, raw, base, await inSession(parts, base, rules));
  const { plan, repairs } = prepared;
  const verdict = await withDecision(parts, { ...base, plan, verdict: prepared.verdict });
  const forwarded = verdict.verdict === 'deny' ? undefined : forwardOf(tool)?.(plan.input as JsonObject, base.snapshot);
  if (forwarded !== undefined) return foreseeCall(parts, forwarded.ref, forwarded.input, base);
  return { verdict, repairs, plan: describePlan(plan) };
}
