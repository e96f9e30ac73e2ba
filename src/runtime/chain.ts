// Runs a plan through its middleware: each step sees a frozen view, and nothing of it outlives the call (RUN-9).

import { setMaxListeners } from 'node:events';
import { isToolError, ToolError, toToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { ENVELOPE, type MiddlewareCall, type ServedCall } from '../core/middleware.js';
import type { Plan } from '../core/plan.js';
import type { Output, ToolResult } from '../core/result.js';
import { formatDuration } from '../core/text.js';
import { cancelled } from '../core/time-limit.js';
import type { Caller } from '../core/toolbox.js';
import type { Step } from './steps.js';

export interface ChainOptions {
  readonly steps: readonly Step[];
  readonly plan: Plan;
  readonly caller: Caller;
  readonly depth: number;
  readonly workdir: string;
  readonly paths: readonly string[];
  readonly signal: AbortSignal;
  readonly monotonic: () => number;
  /** Runs the plan once. `begin` is called when it has its place, and gives the time that is left for it. */
  readonly execute: (signal: AbortSignal, begin: () => number) => Promise<Output>;
  /** A nested call under this signal. */
  readonly delegate: (ref: string, input: unknown, signal: AbortSignal) => Promise<ToolResult>;
}

// What a step may still do after its call was ended, before the call answers without it.
const MOMENT_MS = 20;

/** The output of a plan through the steps. Throws what the runs and the steps throw, and where the call is ended. */
export async function runChain(options: ChainOptions): Promise<Output> {
  const { steps, plan, signal, monotonic } = options;
  const controller = new AbortController();
  // Waits and nested calls all listen; Node would warn of the eleventh.
  setMaxListeners(0, controller.signal);
  const began = monotonic();
  const running = new Set<Promise<unknown>>();
  let waited = 0;
  let ended = false;
  let stoppedBy: ToolError | undefined;
  let giveUp: (error: ToolError) => void = () => {};
  let timer: NodeJS.Timeout | undefined;
  const timeLeftMs = (): number => plan.timeoutMs - (monotonic() - began - waited);

  // A run ends by itself when its time or its signal does, and its end is waited for; a step may never end.
  const look = (): void => {
    clearTimeout(timer);
    if (running.size > 0 || ended) return;
    if (timeLeftMs() <= 0) stoppedBy ??= timedOut(plan);
    if (stoppedBy === undefined) timer = setTimeout(look, Math.max(1, timeLeftMs()));
    else timer = setTimeout(() => giveUp(stoppedBy!), MOMENT_MS);
  };
  const onAbort = (): void => {
    stoppedBy ??= cancelled(plan.tool.name);
    controller.abort();
    look();
  };
  const assertOpen = (): void => {
    if (ended) throw overdue(plan);
    if (stoppedBy !== undefined) throw stoppedBy;
    if (timeLeftMs() <= 0) throw timedOut(plan);
  };

  const runOnce = async (): Promise<Output> => {
    assertOpen();
    const asked = monotonic();
    try {
      return await options.execute(controller.signal, () => {
        waited += monotonic() - asked;
        assertOpen();
        return timeLeftMs();
      });
    } catch (thrown) {
      throw toToolError(thrown);
    }
  };
  const run = (): Promise<Output> => {
    const promise = runOnce();
    running.add(promise);
    const forget = (): void => {
      running.delete(promise);
      look();
    };
    // Also where no step waits for it: a rejection that nobody hears would end this process.
    promise.then(forget, forget);
    return promise;
  };

  const served: ServedCall = Object.freeze({
    tool: plan.tool,
    input: plan.input,
    plan,
    caller: Object.freeze({ ...options.caller }),
    depth: options.depth,
    signal: controller.signal,
    workdir: options.workdir,
    paths: Object.freeze([...options.paths]),
    toolbox: Object.freeze({
      call: (ref: string, input: unknown) => options.delegate(ref, input, controller.signal),
    }),
    now: monotonic,
    timeLeftMs,
  });
  const enter = async (at: number): Promise<Output> => {
    const step = steps[at];
    if (step === undefined) return run();
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

  const stopped = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    if (signal.aborted) onAbort();
    else look();
    return await Promise.race([enter(0), stopped]);
  } finally {
    ended = true;
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    // A run whose output nobody wants any more: nothing of a call is left when it has answered (EXE-6).
    if (running.size > 0 || stoppedBy !== undefined) controller.abort();
    await Promise.allSettled(running);
  }
}

function assertOutput(value: unknown): Output {
  if (
    isRecord(value) &&
    Array.isArray(value.content) &&
    (value.error === undefined || isToolError(value.error))
  )
    return value as unknown as Output;
  throw new TypeError('it gave no output');
}

function failed({ name }: Step, { tool }: Plan, thrown: unknown): ToolError {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new ToolError('exec_failed', `${tool.name} failed in the middleware "${name}": ${message}`, {
    hint: 'mend that middleware: it returns what next() gives, or { content: [{ type: "text", text }] }',
    cause: thrown,
  });
}

function timedOut({ tool, timeoutMs }: Plan): ToolError {
  return new ToolError(
    'timeout',
    `${tool.name} did not end within ${formatDuration(timeoutMs)}, with its middleware`,
    {
      hint: 'give it longer, or let its middleware wait and repeat less',
      data: { timeoutMs },
    },
  );
}

function overdue({ tool }: Plan): ToolError {
  return new ToolError('usage', `next() was called after the call of ${tool.name} had ended`, {
    hint: 'await next() in the middleware; to run the tool later, call it anew',
  });
}
