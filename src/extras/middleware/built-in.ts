// The built-in middleware: `retry`, `cache` and `rateLimit`.

import { pauseUnlessAborted } from '../../core/async.js';
import { ERROR_CODES, isToolError, orNothing, ToolError } from '../../core/error.js';
import { canonicalJson } from '../../core/json.js';
import type { CacheOptions, RateLimitOptions, RetryOptions } from '../../core/middleware-settings.js';
import { callerKey } from '../../core/name.js';
import type { Output } from '../../core/result.js';
import { count, formatDuration } from '../../core/text.js';
import { cancelled } from '../../core/time-limit.js';
import type { Middleware, ServedCall } from '../../runtime/middleware.js';

/**
 * Repeats runs of read-only or idempotent tools whose error has the recovery `retry`. Waits longer each time, within
 * the time limit of the call, and finally returns the last failure.
 */
export function retry(options: RetryOptions = {}): Middleware {
  const { attempts = 3, waitMs = 200, maxWaitMs = 10_000, assumeIdempotent = false } = options;
  assertAtLeast('retry', { attempts }, 1);
  assertAtLeast('retry', { waitMs, maxWaitMs }, 0);
  return {
    name: 'retry',
    for: options.for,
    async run(call, next) {
      if (!assumeIdempotent && !isRepeatable(call)) return next();
      for (let attempt = 1; ; attempt++) {
        const { output, error } = await attemptOnce(next);
        const pause = Math.max(jitter(waitMs * 2 ** (attempt - 1), maxWaitMs), askedWait(error));
        if (
          error === undefined ||
          ERROR_CODES[error.code].recovery !== 'retry' ||
          attempt >= attempts ||
          call.signal.aborted ||
          pause >= call.timeLeftMs()
        ) {
          if (output === undefined) throw error;
          return attempt === 1 ? output : { ...output, meta: { ...output.meta, attempts: attempt } };
        }
        await wait(pause, call);
      }
    },
  };
}

// Traits declared by the tool; they do not affect the policy.
function isRepeatable({ tool }: ServedCall): boolean {
  return tool.traits.readOnly === true || tool.traits.idempotent === true;
}

// A failed run returns an output with an error; a run that did not start throws.
async function attemptOnce(next: () => Promise<Output>): Promise<{ output?: Output; error: ToolError | undefined }> {
  try {
    const output = await next();
    return { output, error: output.error };
  } catch (thrown) {
    if (!isToolError(thrown)) throw thrown;
    return { error: thrown };
  }
}

// Random between half and all, so that concurrent callers do not retry at the same time.
function jitter(waitMs: number, maxWaitMs: number): number {
  return Math.min(waitMs, maxWaitMs) * (0.5 + Math.random() / 2);
}

// The error may say when to retry.
function askedWait(error: ToolError | undefined): number {
  const asked = error?.data?.retryAfterMs;
  return typeof asked === 'number' && asked > 0 ? asked : 0;
}

interface Entry {
  /** The output as JSON, so that callers cannot change the cached value. */
  readonly text: string;
  readonly bytes: number;
  readonly expiresAt: number;
}

/**
 * Caches complete, successful outputs of read-only tools by tool digest, input, caller and workdir. Equal calls that
 * run at the same time are not joined, because cancelling one must not affect the others.
 */
export function cache(options: CacheOptions = {}): Middleware {
  const { maxAgeMs = 60_000, maxEntries = 1000, maxBytes = 16 * 1024 * 1024 } = options;
  assertAtLeast('cache', { maxAgeMs, maxEntries, maxBytes }, 1);
  // Least recently used first.
  const entries = new Map<string, Entry>();
  let bytes = 0;

  const remove = (key: string): void => {
    bytes -= entries.get(key)?.bytes ?? 0;
    entries.delete(key);
  };
  const keep = (key: string, output: Output, now: number): void => {
    // The output of a function tool may not be JSON; such an output is not cached.
    const text = orNothing(() => JSON.stringify(output));
    if (text === undefined) return;
    const size = 2 * (key.length + text.length);
    remove(key);
    if (size > maxBytes) return;
    entries.set(key, { text, bytes: size, expiresAt: now + maxAgeMs });
    bytes += size;
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries && bytes <= maxBytes) break;
      remove(oldest);
    }
  };

  return {
    name: 'cache',
    for: options.for,
    async run(call, next) {
      const { readOnly, destructive, background } = call.tool.traits;
      // BGR-3: built-in tools read what belongs to a session, and changes.
      const isCached = call.tool.origin.builtin !== true && background !== true;
      if (readOnly !== true || destructive === true || !isCached) return next();
      const { tool, input, caller, workdir } = call;
      const whose = [callerKey(caller), workdir];
      const key = canonicalJson([tool.name, tool.origin.digest, input, ...whose]);
      const known = entries.get(key);
      if (known !== undefined && known.expiresAt > call.now()) {
        entries.delete(key);
        entries.set(key, known);
        const output = JSON.parse(known.text) as Output;
        return { ...output, meta: { ...output.meta, cached: true } };
      }
      const output = await next();
      if (output.error === undefined && output.meta?.truncated !== true) keep(key, output, call.now());
      return output;
    },
  };
}

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
  if (per === 'caller') return callerKey(caller);
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

/** Throws `invalid_definition` if a value is not a number or is out of range. */
function assertAtLeast(what: string, numbers: Readonly<Record<string, number>>, least: number): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value === 'number' && value >= least && value < 2 ** 31) continue;
    throw new ToolError('invalid_definition', `${name} of ${what} is ${value}`, {
      hint: `give a number from ${least} to ${2 ** 31 - 1}`,
    });
  }
}

// Throws `cancelled` if the call is cancelled.
async function wait(milliseconds: number, { signal, tool }: ServedCall): Promise<void> {
  await pauseUnlessAborted(milliseconds, signal);
  if (signal.aborted) throw cancelled(tool.name, ' while it waited');
}
