// Time limits of calls, and the errors of calls that were stopped.

import { ToolError } from './error.js';
import type { CallScope } from './executor.js';
import type { Plan } from './plan.js';
import type { Output } from './result.js';
import { formatDuration } from './text.js';

/** `how`: what the tool failed to do in that time. */
export function timedOut(tool: string, timeoutMs: number, how = 'did not end'): ToolError {
  return new ToolError('timeout', `${tool} ${how} within ${formatDuration(timeoutMs)}`, {
    hint: 'raise the time limit, or do less in one call',
    data: { timeoutMs },
  });
}

/** `when`: what the call was doing, such as ` before it ran`. */
export function cancelled(tool: string, when = ''): ToolError {
  return new ToolError('cancelled', `${tool} was cancelled${when}`, {
    hint: 'call it again if that was not intended',
  });
}

/** Returns whether a promise fulfilled within the time; rejects if the promise does. */
export async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  if (milliseconds === Number.POSITIVE_INFINITY) return promise.then(() => true);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([promise.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A time limit that pauses while a person is asked (MOD-18). */
export type TimeLimit = ReturnType<typeof startTimeLimit>;

export function startTimeLimit(milliseconds: number, onEnd: () => void) {
  let left = milliseconds;
  let began = performance.now();
  let paused = 0;
  let over = false;
  let timer = setTimeout(onEnd, left);
  return {
    /** Pauses until all returned functions have been called. */
    pause(): () => void {
      if (paused++ === 0) {
        clearTimeout(timer);
        left -= performance.now() - began;
      }
      return () => {
        if (--paused > 0 || over) return;
        began = performance.now();
        timer = setTimeout(onEnd, Math.max(1, left));
      };
    },
    clear(): void {
      over = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Runs a plan on another machine. Returns when its time is over or it is cancelled, whatever the other side does (RUN-6).
 * `graceMs`: how much longer it waits at the limit, for a side that ends the call itself.
 */
export async function runWithinLimit(
  plan: Plan,
  scope: CallScope,
  run: () => Promise<Output>,
  graceMs = (): number => 0,
): Promise<Output> {
  let late = false;
  const timeoutMs = scope.timeoutMs ?? plan.timeoutMs;
  const overdue = (): ToolError => timedOut(plan.tool.name, timeoutMs, 'did not answer');
  const stop = (): void => {
    late = true;
    scope.controller.abort();
  };
  let limit = startTimeLimit(timeoutMs, () => {
    const grace = graceMs();
    if (grace === 0) stop();
    else limit = startTimeLimit(grace, stop);
  });
  try {
    scope.whileAsked(limit.pause);
    const output = await run();
    if (late && output.error?.code === 'cancelled') return { ...output, error: overdue() };
    return output;
  } catch (error) {
    if (late) return { content: [], error: overdue() };
    if (scope.controller.isAborted) return { content: [], error: cancelled(plan.tool.name) };
    throw error;
  } finally {
    limit.clear();
  }
}
