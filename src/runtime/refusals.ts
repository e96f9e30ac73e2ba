// Errors of calls that are refused before they run; loaded then.

import { ToolError } from '../core/error.js';
import type { Tool } from '../core/tool.js';
import type { DispatchedCall, Verdict } from '../core/toolbox.js';

export function refusal(tool: Tool, verdict: Verdict): ToolError {
  return new ToolError(verdict.code ?? 'denied', `${tool.name} was not run: ${verdict.reason}`, {
    hint: verdict.hint ?? `the configuration can allow it; see: wield explain ${tool.name}`,
    data: { rule: verdict.rule },
  });
}

export function tooDeep(ref: string, most: number): ToolError {
  return new ToolError('invalid_ref', `${ref} was called more than ${most} levels deep`, {
    hint: 'the tools call each other in a cycle',
  });
}

/** Throws `integrity` if the tool is not the one that a front decided on (FLT-5). */
export function assertSameVersion({ name, origin }: Tool, { digest }: DispatchedCall): void {
  if (origin.digest === digest) return;
  throw new ToolError('integrity', `${name} was not run: this worker has another version of it`, {
    hint: 'install the same version of the tool on fronts and workers',
  });
}
