// Middleware `retry`: repeats runs that failed temporarily.

import { ERROR_CODES, isToolError, type ToolError } from '../../core/error.js';
import type { RetryOptions } from '../../core/middleware-settings.js';
import type { Output } from '../../core/result.js';
import type { Middleware, ServedCall } from '../../runtime/middleware.js';
import { assertAtLeast } from './options.js';
import { wait } from './wait.js';

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

type Attempt =
  | { readonly output: Output; readonly error: ToolError | undefined }
  | { readonly output: undefined; readonly error: ToolError };

// A failed run returns an output with an error; a run that did not start throws.
async function attemptOnce(next: () => Promise<Output>): Promise<Attempt> {
  try {
    const output = await next();
    return { output, error: output.error };
  } catch (thrown) {
    if (!isToolError(thrown)) throw thrown;
    return { output: undefined, error: thrown };
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
