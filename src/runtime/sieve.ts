// Sieves tools for a caller: those that the policy denies whatever the input are neither listed nor found (POL-8).

import type { Policy } from '../core/rule.js';
import type { Tool } from '../core/tool.js';
import type { Caller, DeniedTool } from '../core/toolbox.js';
import { findDenial, hasRules } from '../policy/decide.js';

/** The tools that are left, the same array where all are; and those that are not, with the reason. */
export type Sieve = (
  tools: readonly Tool[],
  caller: Caller,
) => { readonly tools: readonly Tool[]; readonly denied: DeniedTool[] };

/** What a policy says of a tool is worked out once for each kind of caller. */
export function createSieve(policy: (caller: Caller) => Policy): Sieve {
  const denials = new WeakMap<Policy, Map<Caller['kind'], WeakMap<Tool, DeniedTool | null>>>();
  return (tools, caller) => {
    const holding = policy(caller);
    if (!hasRules({ policy: holding, within: [] })) return { tools, denied: [] };
    const byKind = denials.get(holding) ?? new Map<Caller['kind'], WeakMap<Tool, DeniedTool | null>>();
    const known = byKind.get(caller.kind) ?? new WeakMap<Tool, DeniedTool | null>();
    denials.set(holding, byKind.set(caller.kind, known));
    const denied: DeniedTool[] = [];
    for (const tool of tools) {
      let denial = known.get(tool);
      if (denial === undefined) {
        const verdict = findDenial(tool, caller, { policy: holding, within: [] });
        denial = verdict === undefined ? null : { tool, verdict };
        known.set(tool, denial);
      }
      if (denial !== null) denied.push(denial);
    }
    if (denied.length === 0) return { tools, denied };
    const left = new Set(denied.map(({ tool }) => tool));
    return { tools: tools.filter((tool) => !left.has(tool)), denied };
  };
}
