// Middleware `rateLimit`: limits calls per time for each tool, group or caller.

import { ToolError } from '../../core/error.js';
import type { RateLimitOptions } from '../../core/middleware-settings.js';
import { count, formatDuration } from '../../core/text.js';
import type { Middleware, ServedCall } from '../../runtime/middleware.js';
import { assertAtLeast } from './options.js';
import { wait } from './wait.js';

// Above this number, full budgets are deleted; clients choose their own names.
const MAX_BUDGETS = 1000;

/** A token bucket of `calls` tokens, refilled at a constant rate. Every `next()` of outer middleware takes one. */
export function rateLimit(options: RateLimitOptions): Middleware {
  const { calls, everyMs = 60_000, per = 'tool', maxWaitMs = 0 } = options;
  assertAtLeast('rateLimit', { calls, everyMs }, 1);
  assertAtLeast('rateLimit', { maxWaitMs }, 0);
  const interval = everyMs / calls;
  // When each budget will be full again; a missing one is full.
  const fullAt = new Map<string, number>();

  const forgetFull = (now: number): void => {
    for (const [key, at] of fullAt) if (at <= now) fullAt.delete(key);
  };

  return {
    name: 'rate limit',
    streams: true,
    for: options.for,
    async run(call, next) {
      const key = keyOf(per, call);
      const now = call.now();
      if (fullAt.size >= MAX_BUDGETS) forgetFull(now);
      const full = Math.max(fullAt.get(key) ?? now, now) + interval;
      // Whole milliseconds, because sums of fractions are inexact.
      const waitMs = Math.max(0, Math.floor(full - everyMs - now));
      if (waitMs > Math.min(maxWaitMs, call.timeLeftMs())) throw tooMany(call, { calls, everyMs, waitMs });
      fullAt.set(key, full);
      if (waitMs > 0) {
        try {
          await wait(waitMs, call);
        } catch (cancelled) {
          const taken = fullAt.get(key);
          if (taken !== undefined) fullAt.set(key, taken - interval);
          throw cancelled;
        }
      }
      return next();
    },
  };
}

function keyOf(per: RateLimitOptions['per'], { tool, caller }: ServedCall): string {
  if (per === 'caller') return JSON.stringify([caller.kind, caller.door, caller.name ?? null]);
  if (per === 'group') return tool.traits.group === undefined ? `tool ${tool.name}` : `group ${tool.traits.group}`;
  return per === 'all' ? '' : tool.name;
}

function tooMany(
  { tool }: ServedCall,
  { calls, everyMs, waitMs }: { readonly calls: number; readonly everyMs: number; readonly waitMs: number },
): ToolError {
  const limit = `${count(calls, 'call')} in ${formatDuration(everyMs)}`;
  return new ToolError('busy', `${tool.name} was not run: at most ${limit}`, {
    hint: `call again in ${formatDuration(Math.ceil(waitMs))}`,
    data: { retryAfterMs: Math.ceil(waitMs) },
  });
}
