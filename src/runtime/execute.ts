// Executes a plan: through its middleware, in a slot of the limiter, by its executor.

import type { Caller } from '../core/caller.js';
import type { Cancellation } from '../core/cancellation.js';
import type { RequestClient } from '../core/client-request.js';
import { type Elicit, elicitByText, type Question } from '../core/elicit.js';
import type { Dispatcher, Executor } from '../core/executor.js';
import { deepFreeze } from '../core/json.js';
import type { Output } from '../core/result.js';
import type { Stores } from '../core/store.js';
import { cancelled } from '../core/time-limit.js';
import type { Action, Tool } from '../core/tool.js';
import type { CallOptions } from '../core/toolbox.js';
import type { Asking, ExecuteOptions, Run } from './execution.js';
import { withoutApps } from './find.js';
import type { Slot } from './limiter.js';
import { listRemoteTools } from './list.js';
import { rightsOf } from './nested.js';
import type { CallParts, Executors } from './parts.js';
import { toSpill } from './shape.js';

/** Returns the output of a plan. Throws what went wrong before or around the run. */
export function execute(parts: CallParts, execution: ExecuteOptions): Output | Promise<Output> {
  const { plan, snapshot, cancellation } = execution;
  const { middleware, workspace, cascade } = parts;
  const asking = createAsking(workspace.world.debug, plan.tool, execution.options);
  const narrowing = cascade.narrowingOf(plan.tool, snapshot);
  // The middleware of a dispatched call ran at the front.
  if (execution.options.dispatched !== undefined) return runPlan(parts, execution, { cancellation, asking });
  if (middleware.own.length + snapshot.settings.middleware.length + narrowing.length === 0)
    return runPlan(parts, execution, { cancellation, asking });
  // Few tools have middleware.
  return import('./execute-with.js').then(({ executeWith }) =>
    executeWith(parts, execution, { narrowing, asking, runPlan }),
  );
}

const NO_SLOT: Slot = { release: () => {} };

/** A run that has its slot. */
interface Start {
  readonly parts: CallParts;
  readonly execution: ExecuteOptions;
  readonly run: Run;
  readonly executor: Pick<Executor, 'run'>;
}

// Synchronous if the slot is free and the executor is: an async function takes 0.2 µs and 0.4 kB per call.
function runPlan(parts: CallParts, execution: ExecuteOptions, run: Run): Output | Promise<Output> {
  const { executors, limiter } = parts;
  const { plan, snapshot, nesting } = execution;
  const dispatcher = executors.dispatcher?.takes(plan) === true ? executors.dispatcher : undefined;
  const start: Start = { parts, execution, run, executor: dispatcher ?? executors.of(plan.tool) };
  if (dispatcher !== undefined) return runInSlot(NO_SLOT, start);
  const slot = limiter.acquire(plan.tool, snapshot.settings.limits, run.cancellation, nesting.placed);
  return slot instanceof Promise ? slot.then((later) => runInSlot(later, start)) : runInSlot(slot, start);
}

function runInSlot(slot: Slot, start: Start): Output | Promise<Output> {
  let output: Output | Promise<Output>;
  try {
    const ready = start.execution.options.ready?.(start.run.cancellation);
    output = ready === undefined ? runNow(start) : ready.then(() => runNow(start));
  } catch (error) {
    slot.release();
    throw error;
  }
  if (output instanceof Promise) return releaseAfter(output, slot);
  slot.release();
  return output;
}

async function releaseAfter(output: Promise<Output>, slot: Slot): Promise<Output> {
  try {
    return await output;
  } finally {
    slot.release();
  }
}

function runNow({ parts, execution, run, executor }: Start): Output | Promise<Output> {
  const { cancellation, asking, begin, streams = true } = run;
  const { catalog, observers, stores } = parts;
  const { plan, snapshot, nesting, options, large, progress, nest } = execution;
  const caller = withoutApps(execution.caller);
  const elicit = asking?.door;
  const client = asking?.client;
  assertNotCancelled(plan.tool, cancellation);
  nesting.onStart?.();
  return executor.run(plan, {
    cancellation,
    timeoutMs: begin?.(),
    progress,
    wantsProgress: options.onProgress !== undefined,
    log: options.onLog,
    logLevel: options.logLevel,
    trace: observers.traceOf(execution.id) ?? options.trace ?? nesting.trace,
    stream: streams ? options.onOutput : undefined,
    codeLimits: options.codeLimits,
    // Middleware may cache, repeat or change an output, so it gets all of it and nothing is stored before.
    spill: large === undefined || begin !== undefined ? undefined : toSpill(large),
    elicit: asking?.context.elicit,
    whileAsked: asking?.context.whileAsked,
    client: client && toJudgedClient(client, execution),
    store: stores === undefined ? null : toContextStore(stores, caller),
    remoteTools: catalog.hasServers ? () => listRemoteTools(parts, snapshot, caller) : undefined,
    workdir: snapshot.workdir,
    snapshot,
    call: (inner, input, nested) =>
      nest({ placed: true, named: 'by-caller' }, inner, input, {
        ...nested,
        until: nested?.signal ?? cancellation,
        elicit,
        client,
      }),
    delegate: (inner, input, until) =>
      nest({ placed: true, named: 'by-definition' }, inner, input, { until, elicit, client }),
    caller,
    approval: execution.approval,
    key: options.key,
    variables: options.dispatched?.variables,
    rights: () => rightsOf(parts, execution),
  });
}

function toContextStore({ documents, results, session }: Stores, caller: Caller) {
  return { documents, openResult: (id: string) => results.open(id, caller.session ?? session) };
}

// The code that asks is loaded by the first question, because most calls ask nothing.
function createAsking(
  debug: (message: string) => void,
  { name: tool }: Tool,
  { ask, elicit: given, client: outerClient }: CallOptions,
): Asking | undefined {
  const outer = given ?? (ask && elicitByText(ask));
  if (outer === undefined && outerClient === undefined) return undefined;
  const pauses: (() => () => void)[] = [];
  const paused = async <T>(run: () => Promise<T>): Promise<T> => {
    const resumes = pauses.map((pause) => pause());
    try {
      return await run();
    } finally {
      for (const resume of resumes) resume();
    }
  };
  const door: Elicit<Question> | undefined = outer && ((question, signal) => paused(() => outer(question, signal)));
  const client = outerClient && {
    capabilities: outerClient.capabilities,
    request: (...given: Parameters<RequestClient['request']>) => paused(() => outerClient.request(...given)),
  };
  const elicit: Elicit | undefined =
    door &&
    (async (request, signal) => {
      const asking = await import('./elicit.js');
      return asking.elicit({ tool, door, request, signal, debug });
    });
  return { door, client, context: { elicit, whileAsked: (pause) => pauses.push(pause) } };
}

// Requests to the client are nested calls, so that rules, approvals and the audit log apply to them (RSC-7).
function toJudgedClient(client: RequestClient, execution: ExecuteOptions): RequestClient {
  return {
    capabilities: client.capabilities,
    async request(request, signal) {
      const { sendToClient } = await import('./client.js');
      return sendToClient(client, execution, request, signal);
    },
  };
}

/** Throws `cancelled` if the call was cancelled. */
export function assertNotCancelled(tool: Tool, { isCancelled }: Cancellation): void {
  if (isCancelled) throw cancelled(tool.name);
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
