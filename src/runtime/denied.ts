// Splits tools into those a caller may know of and those denied to it whatever the input (POL-8).

import type { Caller } from '../core/caller.js';
import type { Policy } from '../core/rule.js';
import type { Narrowing } from '../core/skill.js';
import type { Tool } from '../core/tool.js';
import type { DeniedTool } from '../core/toolbox.js';
import { findDenial, hasRules } from '../policy/decide.js';
import { toRuleLists } from '../policy/nested.js';

export interface SplitTools {
  /** The same array as given if no tool is denied. */
  readonly tools: readonly Tool[];
  readonly denied: readonly DeniedTool[];
}

// Denials are computed once per policy, kind of caller and tool.
const denials = new WeakMap<Policy, Map<Caller['kind'], WeakMap<Tool, DeniedTool | null>>>();

/** `narrowingOf` returns what the skills above a tool restrict (RES-44). */
export function splitDenied(
  tools: readonly Tool[],
  caller: Caller,
  policy: Policy,
  narrowingOf: (tool: Tool) => readonly Narrowing[],
): SplitTools {
  const isRuled = hasRules({ policy, within: [] });
  const known = denialsOf(policy, caller.kind);
  const denied: DeniedTool[] = [];
  for (const tool of tools) {
    const narrowing = narrowingOf(tool);
    if (!isRuled && narrowing.length === 0) continue;
    let denial = narrowing.length === 0 ? known.get(tool) : undefined;
    if (denial === undefined) {
      const verdict = findDenial(tool, caller, { policy, within: [], inherited: toRuleLists(narrowing) });
      denial = verdict === undefined ? null : { tool, verdict };
      if (narrowing.length === 0) known.set(tool, denial);
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
