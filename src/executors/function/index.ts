// The function executor: runs code of this process with a time limit.

import type { ToolUpstreams } from '../../core/context.js';
import { isToolError, type ToolError } from '../../core/error.js';
import type { Executor, RunContext } from '../../core/executor.js';
import { canonicalJson } from '../../core/json.js';
import type { Plan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import { type ScopedStore, scopeStore } from '../../core/scoped-store.js';
import { toToolConfig } from '../../core/settings.js';
import type { ContextStore } from '../../core/store.js';
import { cancelled, startTimeLimit, type TimeLimit, timedOut } from '../../core/time-limit.js';
import type { FunctionAction, Tool } from '../../core/tool.js';
import { invoke } from '../shared/invoke.js';

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

async function runFunction(
  plan: Plan,
  context: RunContext,
  { store, mcp, debug }: FunctionExecutorOptions,
): Promise<Output> {
  const { action, name } = plan.tool;
  if (action.kind !== 'function') throw new TypeError(`${name} is not a function`);
  let controller: AbortController | undefined;
  let stoppedBy: ToolError | undefined;
  const signal = (): AbortSignal => {
    controller ??= new AbortController();
    if (stoppedBy !== undefined) controller.abort(stoppedBy);
    return controller.signal;
  };
  let scoped: ScopedStore | undefined;
  const scope = (): ScopedStore => {
    scoped ??= scopeStore(store ?? context.store);
    return scoped;
  };
  let limit: TimeLimit | undefined;
  let onAbort: (() => void) | undefined;
  // A function that ignores the signal keeps running, but the call does not wait for it (RUN-6).
  const stopped = new Promise<ToolError>((resolve) => {
    const stop = (error: ToolError): void => {
      stoppedBy ??= error;
      resolve(error);
      controller?.abort(error);
    };
    limit = startTimeLimit(context.timeoutMs ?? plan.timeoutMs, () => stop(timedOut(name, plan.timeoutMs)));
    onAbort = () => stop(cancelled(name));
    context.signal.addEventListener('abort', onAbort, { once: true });
    if (context.signal.aborted) onAbort();
  });
  try {
    const environment = {
      name,
      config: toToolConfig(context.snapshot.settings),
      signal,
      scope,
      mcp,
      log: (message: string) => {
        debug(`${name}: ${message}`);
        context.log?.({ level: 'info', data: message, logger: name });
      },
    };
    const run: FunctionAction['run'] = action.builtin
      ? (input, given) => action.run(input, given, context)
      : action.run;
    context.whileAsked?.(limit!.pause);
    const ended = await Promise.race([invoke(run, plan.input, context, environment), stopped]);
    return isToolError(ended) ? { content: [textPart('')], error: ended } : ended;
  } finally {
    scoped?.end();
    limit?.clear();
    if (onAbort) context.signal.removeEventListener('abort', onAbort);
  }
}
