// retry: runs a call again where its failure may pass by itself and a second run does no harm.

import { ERROR_CODES, isToolError, type ToolError } from '../../core/error.js';
import type { Middleware, RetryOptions, ServedCall } from '../../core/middleware.js';
import type { Output } from '../../core/result.js';
import { assertAtLeast } from './options.js';
import { wait } from './wait.js';

/**
 * Repeats a run whose error has the recovery `retry`, for tools that say they are read-only or idempotent. Waits
 * longer each time, never past the signal or the time limit, and then gives the last failure.
 */
export function retry(options: RetryOptions = {}): Middleware {
  const { attempts = 3, waitMs = 200, maxWaitMs = 10_000, assumeIdempotent = false } = options;
  assertAtLeast('retry', { attempts }, 1);
  assertAtLeast('retry', { waitMs, maxWaitMs }, 0);
  return {
    name: 'retry',
    ...(options.for === undefined ? {} : { for: options.for }),
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

// Hints that a tool gives about itself; whether it may run at all was decided without them.
function isRepeatable({ tool }: ServedCall): boolean {
  return tool.traits.readOnly === true || tool.traits.idempotent === true;
}

type Attempt =
  | { readonly output: Output; readonly error: ToolError | undefined }
  | { readonly output: undefined; readonly error: ToolError };

// A run that failed gives an output with an error; one that never began throws.
async function attemptOnce(next: () => Promise<Output>): Promise<Attempt> {
  try {
    const output = await next();
    return { output, error: output.error };
  } catch (thrown) {
    if (!isToolError(thrown)) throw thrown;
    return { output: undefined, error: thrown };
  }
}

// Between half and all of it: callers that failed together do not come back together.
function jitter(waitMs: number, maxWaitMs: number): number {
  return Math.min(waitMs, maxWaitMs) * (0.5 + Math.random() / 2);
}

// Who says when it is worth coming back is believed.
function askedWait(error: ToolError | undefined): number {
  const asked = error?.data?.retryAfterMs;
  return typeof asked === 'number' && asked > 0 ? asked : 0;
}
