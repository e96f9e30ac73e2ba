// Executes a plan that may run: through its middleware, in its place among the running calls, by its executor.

import type { NestedOptions, ProgressListener } from '../core/context.js';
import { type Elicit, elicitByText, type Question } from '../core/elicit.js';
import type { RunContext } from '../core/executor.js';
import type { Plan } from '../core/plan.js';
import type { Output, ToolResult } from '../core/result.js';
import { type Settings, toToolConfig } from '../core/settings.js';
import { cancelled } from '../core/stopped.js';
import type { Tool } from '../core/tool.js';
import type { Caller, CallOptions } from '../core/toolbox.js';
import type { CallParts, Nesting } from './call.js';
import { runChain } from './chain.js';
import { type ResultRoom, toSpill } from './handle.js';

/** What a tool says of a call that it makes, when that ends at the latest, and whom it asks. */
export type Wishes = NestedOptions & {
  readonly signal: AbortSignal;
  readonly elicit: Elicit<Question> | undefined;
};

export interface ExecuteOptions {
  readonly plan: Plan;
  readonly settings: Settings;
  readonly workdir: string;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly nesting: Nesting;
  readonly options: CallOptions;
  /** Where output goes that is too much to be shown. */
  readonly room: ResultRoom | undefined;
  readonly progress: ProgressListener;
  /** Calls another tool within this call. */
  readonly nest: (
    place: Pick<Nesting, 'placed' | 'named'>,
    ref: string,
    input: unknown,
    wishes: Wishes,
  ) => Promise<ToolResult>;
}

/** What came of the plan. Fails with what went wrong before or around the run. */
export async function execute(parts: CallParts, execution: ExecuteOptions): Promise<Output> {
  const { plan, settings, workdir, caller, signal, nesting, options, room, progress, nest } = execution;
  const steps = parts.steps?.(settings, plan, nesting.depth > 0);
  const asking = createAsking(parts, plan.tool, options);
  const elicit = asking?.door;
  const run = async (runSignal: AbortSignal, begin?: () => number): Promise<Output> => {
    const slot = await parts.limiter.acquire(plan.tool, runSignal, nesting.placed);
    try {
      await options.ready?.(runSignal);
      assertWanted(plan.tool, runSignal);
      nesting.onStart?.();
      return await parts.executors.get(plan.tool.action.kind)!.run(plan, {
        signal: runSignal,
        ...(begin === undefined ? {} : { timeoutMs: begin() }),
        progress,
        wantsProgress: options.onProgress !== undefined,
        ...(options.onOutput === undefined || steps?.streams === false ? {} : { stream: options.onOutput }),
        // Middleware may keep an output, repeat its run or change it: it gets all of it, and nothing is put away before.
        ...(room === undefined || steps !== undefined ? {} : { spill: toSpill(room) }),
        ...asking?.context,
        store: parts.store(caller),
        ...(parts.remoteTools === undefined ? {} : { remoteTools: () => parts.remoteTools!(caller) }),
        workdir,
        config: toToolConfig(settings),
        call: (inner, input, wishes) =>
          nest({ placed: true, named: 'by-caller' }, inner, input, { signal: runSignal, ...wishes, elicit }),
        delegate: (inner, input, until) =>
          nest({ placed: true, named: 'by-definition' }, inner, input, { signal: until, elicit }),
        caller,
      });
    } finally {
      slot.release();
    }
  };
  if (steps === undefined) return run(signal);
  let raw: Output | undefined;
  const runPlain = async (runSignal: AbortSignal, begin: () => number): Promise<Output> => {
    raw = await run(runSignal, begin);
    const { streams: _, ...plain } = raw;
    return plain;
  };
  const output = await runChain({
    steps: steps.list,
    plan,
    caller,
    depth: nesting.depth,
    workdir,
    paths: parts.paths(),
    signal,
    monotonic: parts.monotonic,
    execute: runPlain,
    delegate: (inner, input, until) =>
      nest({ placed: nesting.placed, named: 'by-caller' }, inner, input, { signal: until, elicit }),
  });
  // The bytes behind a text are those of the last run only where nobody put another text in its place (EXE-7).
  return raw?.streams !== undefined && raw.content === output.content
    ? { ...output, streams: raw.streams }
    : output;
}

interface Asking {
  /** The way to the person, for this tool and for those that it calls: meanwhile no clock on the way runs. */
  readonly door: Elicit<Question>;
  readonly context: Required<Pick<RunContext, 'elicit' | 'whileAsked'>>;
}

// Most calls ask nothing, so what it takes is loaded by the first question.
function createAsking({ debug }: CallParts, { name: tool }: Tool, options: CallOptions): Asking | undefined {
  const { ask } = options;
  const outer = options.elicit ?? (ask && elicitByText(ask));
  if (outer === undefined) return undefined;
  const pauses: (() => () => void)[] = [];
  const door: Elicit<Question> = async (question, signal) => {
    const resumes = pauses.map((pause) => pause());
    try {
      return await outer(question, signal);
    } finally {
      for (const resume of resumes) resume();
    }
  };
  const elicit: Elicit = async (request, signal) => {
    const way = await import('./elicit.js');
    return way.elicit({ tool, door, request, signal, debug });
  };
  return { door, context: { elicit, whileAsked: (pause) => pauses.push(pause) } };
}

/** Throws `cancelled` where nobody waits for the tool any more. */
export function assertWanted(tool: Tool, signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw cancelled(tool.name);
}
