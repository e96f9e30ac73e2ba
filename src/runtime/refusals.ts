// Errors of calls that are refused before they run; loaded then.

import type { Caller, Verdict } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import { formatCaller } from '../core/name.js';
import { formatDuration } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import type { DispatchedCall } from '../core/toolbox.js';
import type { CallParts } from './parts.js';
import { admitHere } from './rates.js';

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

/** Counts a call of a caller. Throws `busy` if it has begun too many in a minute (FLT-74). */
export async function assertRate(
  { limiter }: Pick<CallParts, 'limiter'>,
  { name }: Tool,
  caller: Caller,
  perMinute: number,
): Promise<void> {
  const principal = `${caller.kind} ${formatCaller(caller)}`;
  const retryAfterMs = (await limiter.admit?.(principal, perMinute)) ?? admitHere(limiter, principal, perMinute);
  if (retryAfterMs === 0) return;
  throw new ToolError('busy', `${name} was not run: this caller has made ${perMinute} calls in a minute`, {
    hint: `call again in ${formatDuration(retryAfterMs)}; limits.calls-per-minute of the configuration sets the number`,
    data: { retryAfterMs },
  });
}
