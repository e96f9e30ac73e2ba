// The function executor: runs code of this process with a time limit.

import type { ToolUpstreams } from '../../core/context.js';
import { type ToolError, toToolError } from '../../core/error.js';
import type { Executor, RunContext } from '../../core/executor.js';
import { canonicalJson } from '../../core/json.js';
import type { Plan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import { type ToolConfig, toToolConfig } from '../../core/settings.js';
import type { ContextStore } from '../../core/store.js';
import { cancelled, startTimeLimit, timedOut } from '../../core/time-limit.js';
import { actionOf, type FunctionAction, type Tool } from '../../core/tool.js';
import { invoke } from '../shared/invoke.js';
import { type ScopedStore, scopeStore } from '../shared/scoped-store.js';
import type { FunctionEnvironment } from '../shared/tool-context.js';

export interface FunctionExecutorOptions {
  /** Returns the SHA-256 of parts. */
  readonly digest: (parts: readonly string[]) => string;
  readonly debug: (message: string) => void;
  /** Replaces the store of the toolbox. */
  readonly store?: ContextStore | null;
  /** Replaces the upstream servers of the toolbox. */
  readonly mcp?: ToolUpstreams | null;
}

export function createFunctionExecutor(options: FunctionExecutorOptions): Executor<'function'> {
  const { digest } = options;
  return {
    kind: 'function',
    digest: (tool) =>
      digest([
        'function',
        tool.name,
        tool.description,
        canonicalJson(tool.input.json),
        canonicalJson(tool.output?.json ?? null),
        sourceOf(tool),
      ]),
    plan: (tool, input, context) => ({ kind: 'function', tool, input, timeoutMs: context.timeoutMs }),
    run: (plan, context) => runFunction(plan, context, options),
  };
}

function sourceOf(tool: Tool): string {
  return tool.action.kind === 'function' ? String(tool.action.body ?? tool.action.run) : '';
}

function runFunction(plan: Plan, context: RunContext, options: FunctionExecutorOptions): Output | Promise<Output> {
  const { name } = plan.tool;
  const action = actionOf(plan.tool, 'function');
  const running = new RunningFunction(name, context, options);
  const run: FunctionAction['run'] = action.builtin ? (input, given) => action.run(input, given, context) : action.run;
  const began = performance.now();
  const output = invoke(run, plan.input, context, running);
  if (output instanceof Promise) return untilStopped(output, running, plan, context, began);
  running.end();
  return context.cancellation.isCancelled ? toFailure(cancelled(name)) : output;
}

// A function that ignores the signal keeps running, but the call does not wait for it (RUN-6).
async function untilStopped(
  output: Promise<Output>,
  running: RunningFunction,
  { tool: { name }, timeoutMs }: Plan,
  context: RunContext,
  began: number,
): Promise<Output> {
  let settle = (_: Output): void => {};
  const ended = new Promise<Output>((resolve) => {
    settle = resolve;
  });
  const stop = (error: ToolError): void => {
    running.stop(error);
    settle(toFailure(error));
  };
  const onCancel = (): void => stop(cancelled(name));
  // The time until the function waited for the first time counts too.
  const leftMs = Math.max(1, (context.timeoutMs ?? timeoutMs) - (performance.now() - began));
  const limit = startTimeLimit(leftMs, () => stop(timedOut(name, timeoutMs)));
  context.whileAsked?.(limit.pause);
  context.cancellation.onCancel(onCancel);
  output.then(settle, (error: unknown) => settle(toFailure(toToolError(error))));
  try {
    return await ended;
  } finally {
    running.end();
    limit.clear();
    context.cancellation.offCancel(onCancel);
  }
}

function toFailure(error: ToolError): Output {
  return { content: [textPart('')], error };
}

/** What a function can use while it runs. The signal and the store are created when it asks for them. */
class RunningFunction implements FunctionEnvironment {
  readonly name: string;
  readonly config: ToolConfig;
  readonly mcp: ToolUpstreams | null | undefined;
  readonly hasStore: boolean;
  readonly #context: RunContext;
  readonly #options: FunctionExecutorOptions;
  #stoppedBy: ToolError | undefined;
  #controller: AbortController | undefined;
  #scoped: ScopedStore | undefined;

  constructor(name: string, context: RunContext, options: FunctionExecutorOptions) {
    this.name = name;
    this.config = toToolConfig(context.snapshot.settings);
    this.mcp = options.mcp;
    this.hasStore = (options.store ?? context.store) !== null;
    this.#context = context;
    this.#options = options;
  }

  signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#stoppedBy !== undefined) this.#controller.abort(this.#stoppedBy);
    return this.#controller.signal;
  }

  scope(): ScopedStore {
    this.#scoped ??= scopeStore(this.#options.store ?? this.#context.store);
    return this.#scoped;
  }

  log(message: string): void {
    this.#options.debug(`${this.name}: ${message}`);
    this.#context.log?.({ level: 'info', data: message, logger: this.name });
  }

  stop(error: ToolError): void {
    this.#stoppedBy ??= error;
    this.#controller?.abort(error);
  }

  end(): void {
    this.#scoped?.end();
  }
}
