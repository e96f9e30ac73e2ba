// Executes a plan: through its middleware, in a slot of the limiter, by its executor.

import { guardListener, onAbort } from '../core/async.js';
import { CallController } from '../core/call-controller.js';
import type { Dispatcher, Executor } from '../core/executor.js';
import { deepFreeze } from '../core/json.js';
import type { Output } from '../core/result.js';
import { cancelled } from '../core/time-limit.js';
import type { Action, Tool } from '../core/tool.js';
import type { ChainRun } from './middleware.js';
import type { CallParts, Executors } from './parts.js';
import type { Call } from './scope.js';
import { hasVariables, largeResultsOf, toSpill } from './shape.js';

/** Returns the output of a call whose plan may run. Throws what went wrong before or around the run. */
export async function execute(parts: CallParts, call: Call): Promise<Output> {
  const { caller, snapshot, nesting, options } = call;
  const { middleware, workspace, cascade } = parts;
  const served = {
    plan: call.plan!,
    snapshot,
    depth: nesting.depth,
    narrowing: cascade.narrowingOf(call.tool!, snapshot),
  };
  // The middleware of a dispatched call ran at the front.
  const chain = options.dispatched === undefined ? middleware.of(served) : undefined;
  if (chain === undefined) return await runPlan(parts, call);
  let raw: Output | undefined;
  const output = await chain({
    ...served,
    caller,
    signal: call.controller.signal,
    monotonic: workspace.world.monotonic,
    execute: async (run) => {
      raw = await runPlan(parts, call, run);
      const { streams: _, ...plain } = raw;
      return plain;
    },
    delegate: (ref, input, until) => call.nest(ref, input, { signal: until, sharesSlot: nesting.sharesSlot }),
  });
  // The raw bytes belong to a text only if no middleware replaced it (EXE-7).
  return raw?.streams !== undefined && raw.content === output.content ? { ...output, streams: raw.streams } : output;
}

// Runs the plan of a call once; `within` is its middleware, if it has any.
async function runPlan(parts: CallParts, call: Call, within?: ChainRun): Promise<Output> {
  const { executors, limiter, observers, workspace } = parts;
  const { options, snapshot, nesting } = call;
  const plan = call.plan!;
  const { tool } = plan;
  const controller = within?.controller ?? call.controller;
  const dispatcher = executors.dispatcher?.takes(plan) === true ? executors.dispatcher : undefined;
  const slot = dispatcher
    ? undefined
    : await limiter.acquire(tool, snapshot.settings.limits, controller, nesting.sharesSlot);
  try {
    await options.ready?.(controller);
    if (controller.isAborted) throw cancelled(tool.name);
    nesting.onStart?.();
    // Middleware may cache, repeat or change an output, so it gets all of it and nothing is stored before.
    const large = within === undefined ? largeResultsOf(parts, call) : undefined;
    const scope = within === undefined ? call : withinMiddleware(call, within);
    scope.traced = call.span ?? (options.trace === undefined ? nesting : options);
    scope.telemetry = observers.telemetry;
    scope.stream =
      options.onOutput === undefined || within?.streams === false
        ? undefined
        : guardListener(options.onOutput, workspace.world.debug);
    // What is stored at once cannot be redacted.
    scope.spill = large && !hasVariables(call) ? toSpill(large) : undefined;
    return withLabels(call, await (dispatcher ?? executors.of(tool)).run(plan as never, scope));
  } finally {
    slot?.release();
  }
}

// FLW-1: middleware may cache the output, and the calls inside it are not made again.
function withLabels({ labels }: Call, output: Output): Output {
  if (labels === undefined) return output;
  return { ...output, meta: { ...output.meta, labels: [...new Set([...(output.meta?.labels ?? []), ...labels])] } };
}

// A run of its own, which can end before the call.
function withinMiddleware(call: Call, { controller: { signal: outer }, begin }: ChainRun): Call {
  const controller = new CallController();
  const { signal } = controller;
  onAbort(outer, () => controller.abort(outer.reason));
  return {
    ...call,
    controller,
    timeoutMs: begin(),
    call: (ref, input, asked) => call.nest(ref, input, { ...asked, signal: asked?.signal ?? signal }),
    delegate: (ref, input) => call.nest(ref, input, { signal, named: 'by-definition' }),
  };
}

export function createExecutors(list: readonly Executor[], dispatcher?: Dispatcher): Executors {
  const byKind = new Map<Action['kind'], Executor>(list.map((executor) => [executor.kind, executor]));
  let digested = new WeakMap<Tool, Tool>();
  const of = (tool: Tool): Executor => byKind.get(tool.action.kind)!;
  return {
    of,
    dispatcher,
    // The catalog returns the same object until a tool changed.
    withDigest(tool) {
      let known = digested.get(tool);
      if (known === undefined) {
        const executor = of(tool);
        // Frozen deeply, because plans refer to it: what was judged must be what runs (RUN-2).
        known = deepFreeze({ ...tool, origin: { ...tool.origin, digest: executor.digest(tool) } });
        if (executor.keepsDigest?.(tool) !== false) digested.set(tool, known);
      }
      return known;
    },
    clearDigests() {
      digested = new WeakMap();
    },
    async close() {
      await Promise.all(list.map((executor) => executor.close?.()));
    },
  };
}
