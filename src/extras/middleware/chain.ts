// Runs a plan through its middleware: each function gets a frozen view of the call, and no run outlives it (RUN-9).

import { setMaxListeners } from 'node:events';
import { narrowPlaces } from '../../catalog/narrow-places.js';
import { deferred } from '../../core/async.js';
import { CallController } from '../../core/call-controller.js';
import { isToolError, ToolError, toToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { Plan } from '../../core/plan.js';
import { findTypeFault, type Output } from '../../core/result.js';
import { formatDuration } from '../../core/text.js';
import { cancelled } from '../../core/time-limit.js';
import {
  type ChainOptions,
  ENVELOPE,
  type HookTrigger,
  type MiddlewareCall,
  type MiddlewareFunction,
  type ServedCall,
} from '../../runtime/middleware.js';

// How long middleware may take to settle after its call ended, before the call answers without it.
const SETTLE_MS = 20;

/** One middleware function around a run. */
export interface Step {
  readonly name: string;
  readonly run: MiddlewareFunction;
  readonly trigger: HookTrigger | undefined;
  readonly hookTarget: string;
}

/**
 * Returns the output of a plan run through its middleware. `streams`: all of it passes the output on unchanged. Throws what the
 * runs and the middleware throw.
 */
export async function runChain(
  { steps, streams }: { readonly steps: readonly Step[]; readonly streams: boolean },
  options: ChainOptions,
): Promise<Output> {
  const { plan, signal } = options;
  const runs = createRuns(options, streams);
  const served = toServedCall(options, runs);
  const enter = async (at: number): Promise<Output> => {
    const step = steps[at];
    if (step === undefined) return runs.start();
    const { trigger, hookTarget } = step;
    const envelope = Object.freeze({ target: served, trigger, hookTarget });
    const view: MiddlewareCall = Object.freeze({ ...served, [ENVELOPE]: envelope });
    const next = (): Promise<Output> => {
      const promise = enter(at + 1);
      promise.catch(() => {});
      return promise;
    };
    try {
      return assertOutput(await step.run(view, next));
    } catch (thrown) {
      throw isToolError(thrown) ? thrown : failed(step, plan, thrown);
    }
  };
  signal.addEventListener('abort', runs.cancel, { once: true });
  try {
    if (signal.aborted) runs.cancel();
    else runs.watch();
    return await Promise.race([enter(0), runs.stopped]);
  } finally {
    signal.removeEventListener('abort', runs.cancel);
    await runs.end();
  }
}

type Runs = ReturnType<typeof createRuns>;

function createRuns({ plan, monotonic, execute }: ChainOptions, streams: boolean) {
  const controller = new CallController();
  // Waits and nested calls all listen; Node warns about more than ten listeners.
  setMaxListeners(0, controller.signal);
  const startedAt = monotonic();
  const running = new Set<Promise<unknown>>();
  let queuedMs = 0;
  let hasEnded = false;
  let stoppedBy: ToolError | undefined;
  let timer: NodeJS.Timeout | undefined;
  const { promise: stopped, reject: giveUp } = deferred<never>();
  const timeLeftMs = (): number => plan.timeoutMs - (monotonic() - startedAt - queuedMs);
  const watch = (): void => {
    clearTimeout(timer);
    if (running.size > 0 || hasEnded) return;
    if (timeLeftMs() <= 0) stoppedBy ??= timedOut(plan);
    if (stoppedBy === undefined) timer = setTimeout(watch, Math.max(1, timeLeftMs()));
    else timer = setTimeout(() => giveUp(stoppedBy!), SETTLE_MS);
  };
  const assertOpen = (): void => {
    if (hasEnded) throw overdue(plan);
    if (stoppedBy !== undefined) throw stoppedBy;
    if (timeLeftMs() <= 0) throw timedOut(plan);
  };
  const runOnce = async (): Promise<Output> => {
    assertOpen();
    const queuedAt = monotonic();
    try {
      const begin = (): number => {
        queuedMs += monotonic() - queuedAt;
        assertOpen();
        return timeLeftMs();
      };
      return await execute({ controller, begin, streams });
    } catch (thrown) {
      throw toToolError(thrown);
    }
  };
  return {
    /** Aborted when the call ends. */
    signal: controller.signal,
    /** Rejects when the call was stopped and its middleware does not settle. */
    stopped,
    timeLeftMs,
    /** Stops the call when its time is up; does nothing during a run, which has its own limit. */
    watch,
    /** Runs the plan once. */
    start(): Promise<Output> {
      const promise = runOnce();
      running.add(promise);
      const forget = (): void => {
        running.delete(promise);
        watch();
      };
      // Also handles a rejection that no middleware awaits, which would end the process.
      promise.then(forget, forget);
      return promise;
    },
    cancel(): void {
      stoppedBy ??= cancelled(plan.tool.name);
      controller.abort();
      watch();
    },
    /** Ends all runs, so that nothing of a call is left when it has answered (EXE-6). */
    async end(): Promise<void> {
      hasEnded = true;
      clearTimeout(timer);
      if (running.size > 0 || stoppedBy !== undefined) controller.abort();
      await Promise.allSettled(running);
    },
  };
}

function toServedCall(options: ChainOptions, { signal, timeLeftMs }: Runs): ServedCall {
  const { plan, snapshot, narrowing, caller, depth, monotonic, delegate } = options;
  return Object.freeze({
    tool: plan.tool,
    input: plan.input,
    plan,
    caller: Object.freeze({ ...caller }),
    depth,
    signal,
    workdir: snapshot.workdir,
    paths: Object.freeze(narrowPlaces(snapshot, narrowing).places.map(({ directory }) => directory)),
    toolbox: Object.freeze({ call: (ref: string, input: unknown) => delegate(ref, input, signal) }),
    now: monotonic,
    timeLeftMs,
  });
}

function assertOutput(value: unknown): Output {
  if (!isRecord(value) || !Array.isArray(value.content) || (value.error !== undefined && !isToolError(value.error)))
    throw new TypeError('it did not return an output');
  // MOD-31
  const fault = findTypeFault(value.content);
  if (fault !== undefined) throw new TypeError(`it returned ${fault}`);
  return value as unknown as Output;
}

function failed({ name }: Step, { tool }: Plan, thrown: unknown): ToolError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ToolError('exec_failed', `${tool.name} failed in the middleware "${name}": ${message}`, {
    hint: 'fix the middleware: return the result of next(), or { content: [{ type: "text", text }] }',
    cause: thrown,
  });
}

function timedOut({ tool, timeoutMs }: Plan): ToolError {
  return new ToolError('timeout', `${tool.name} and its middleware timed out after ${formatDuration(timeoutMs)}`, {
    hint: 'raise the time limit, or wait and retry less in the middleware',
    data: { timeoutMs },
  });
}

function overdue({ tool }: Plan): ToolError {
  return new ToolError('usage', `next() was called after the call of ${tool.name} had ended`, {
    hint: 'await next() in the middleware; to run the tool later, make a new call',
  });
}
