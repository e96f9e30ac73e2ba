// Splits tools into those a caller may know of and those denied to it whatever the input (POL-8).

import type { Caller } from '../core/caller.js';
import type { Narrowing } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { DeniedTool } from '../core/toolbox.js';
import { findDenial } from '../policy/decide.js';
import { toRules } from '../policy/rules.js';

export interface SplitTools {
  readonly tools: readonly Tool[];
  readonly denied: readonly DeniedTool[];
}

/** `narrowingOf` returns what the skills above a tool restrict (RES-44). */
export function splitDenied(
  all: readonly Tool[],
  caller: Caller,
  snapshot: Snapshot,
  narrowingOf: (tool: Tool) => readonly Narrowing[],
): SplitTools {
  const tools: Tool[] = [];
  const denied: DeniedTool[] = [];
  for (const tool of all) {
    const verdict = findDenial(tool, caller, toRules(snapshot, { narrowing: narrowingOf(tool) }));
    if (verdict === undefined) tools.push(tool);
    else denied.push({ tool, verdict });
  }
  return { tools, denied };
}
