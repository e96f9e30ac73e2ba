// Plans a call: what exactly will run, and for how long at most.

import { deepFreeze, type Json } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { Settings } from '../core/settings.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { Rules } from '../policy/decide.js';
import type { CallParts } from './parts.js';

// Node fires longer timers immediately.
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface PlanCallOptions {
  readonly tool: Tool;
  readonly input: Json;
  readonly snapshot: Snapshot;
  readonly rules: Rules;
  /** The time limit that the caller set. */
  readonly timeoutMs: number | undefined;
}

/** Returns the frozen plan of a call. Throws if the tool could not run. */
export async function planCall(
  { executors, cascade }: Pick<CallParts, 'executors' | 'cascade'>,
  { tool, input, snapshot, rules, timeoutMs }: PlanCallOptions,
): Promise<Plan> {
  const inherited = cascade.inheritedTimeout(tool, snapshot);
  const plan = executors.of(tool).plan(tool, input, {
    snapshot,
    rules,
    timeoutMs: Math.min(timeoutMs ?? timeLimit(tool, snapshot.settings, inherited), MAX_TIMER_MS),
  });
  return deepFreeze(plan instanceof Promise ? await plan : plan);
}

// The user's setting for the tool, else the tool's own limit, else the inherited one; ceilings apply on top.
function timeLimit(tool: Tool, { limits, tools }: Settings, inherited: number): number {
  const own = tools.get(tool.name);
  const chosen =
    own?.timeoutMs ?? Math.min(tool.traits.timeoutMs ?? inherited, limits.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
  return Math.min(chosen, own?.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
}
