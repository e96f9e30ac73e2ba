// Splits tools into those a caller may know of and those denied to it whatever the input (POL-8).

import type { Policy } from '../core/rule.js';
import type { Tool } from '../core/tool.js';
import type { Caller, DeniedTool } from '../core/toolbox.js';
import { findDenial, hasRules } from '../policy/decide.js';

export interface SplitTools {
  /** The same array as given if no tool is denied. */
  readonly tools: readonly Tool[];
  readonly denied: readonly DeniedTool[];
}

// Denials are computed once per policy, kind of caller and tool.
const denials = new WeakMap<Policy, Map<Caller['kind'], WeakMap<Tool, DeniedTool | null>>>();

export function splitDenied(tools: readonly Tool[], caller: Caller, policy: Policy): SplitTools {
  if (!hasRules({ policy, within: [] })) return { tools, denied: [] };
  const known = denialsOf(policy, caller.kind);
  const denied: DeniedTool[] = [];
  for (const tool of tools) {
    let denial = known.get(tool);
    if (denial === undefined) {
      const verdict = findDenial(tool, caller, { policy, within: [] });
      denial = verdict === undefined ? null : { tool, verdict };
      known.set(tool, denial);
    }
    if (denial !== null) denied.push(denial);
  }
  if (denied.length === 0) return { tools, denied };
  const hidden = new Set(denied.map(({ tool }) => tool));
  return { tools: tools.filter((tool) => !hidden.has(tool)), denied };
}

function denialsOf(policy: Policy, kind: Caller['kind']): WeakMap<Tool, DeniedTool | null> {
  const byKind = denials.get(policy) ?? new Map<Caller['kind'], WeakMap<Tool, DeniedTool | null>>();
  const known = byKind.get(kind) ?? new WeakMap<Tool, DeniedTool | null>();
  denials.set(policy, byKind.set(kind, known));
  return known;
}
