// The function executor: runs code of this process with a time limit.

import { deferred, onAbort } from '../../core/async.js';
import type { ToolUpstreams } from '../../core/context.js';
import { type ToolError, toToolError } from '../../core/error.js';
import type { CallScope, Executor } from '../../core/executor.js';
import { canonicalJson } from '../../core/json.js';
import type { Plan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import { toToolConfig } from '../../core/settings.js';
import type { ContextStore } from '../../core/store.js';
import { cancelled, startTimeLimit, type TimeLimit, timedOut } from '../../core/time-limit.js';
import { actionOf, type FunctionAction, type Tool } from '../../core/tool.js';
import { invoke, scopeStore } from '../shared/invoke.js';

/** Options of `createFunctionExecutor`. */
export interface FunctionExecutorOptions {
  /** Returns the SHA-256 of parts. */
  readonly digest: (parts: readonly string[]) => string;
  /** Receives debug messages. */
  readonly debug: (message: string) => void;
  /** Replaces the store of the toolbox. */
  readonly store?: ContextStore | null;
  /** Replaces the upstream servers of the toolbox. */
  readonly mcp?: ToolUpstreams | null;
}

/** Creates the executor of functions of this process. */
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
    plan: async (tool, input, { timeoutMs }) => ({ kind: 'function', tool, input, timeoutMs }),
    run: (plan, scope) => runFunction(plan, scope, options),
  };
}

function sourceOf(tool: Tool): string {
  return tool.action.kind === 'function' ? String(tool.action.body ?? tool.action.run) : '';
}

// A function that ignores the signal keeps running, but the call does not wait for it (RUN-6).
async function runFunction(
  { tool, input, timeoutMs }: Plan,
  scope: CallScope,
  { debug, store = scope.store, mcp }: FunctionExecutorOptions,
): Promise<Output> {
  const { name } = tool;
  const action = actionOf(tool, 'function');
  const run: FunctionAction['run'] = action.builtin
    ? (given, context) => action.run(given, context, scope)
    : action.run;
  const scoped = scopeStore(store);
  const ended = deferred<Output>();
  const stop = (error: ToolError): void => ended.resolve({ content: [textPart('')], error });
  const began = performance.now();
  let release = (): void => {};
  let limit: TimeLimit | undefined;
  const startLimit = (): TimeLimit => {
    if (limit !== undefined) return limit;
    release = onAbort(scope.controller.signal, () => stop(cancelled(name)));
    limit = startTimeLimit((scope.timeoutMs ?? timeoutMs) - (performance.now() - began), () => {
      const error = timedOut(name, timeoutMs);
      stop(error);
      scope.controller.abort(error);
    });
    return limit;
  };
  // Most functions end in the turn in which they begin. A listener and a timer take a fifth of such a call.
  const turn = setImmediate(startLimit);
  scope.whileAsked(() => startLimit().pause());
  const log = (message: string): void => {
    debug(`${name}: ${message}`);
    scope.log?.({ level: 'info', data: message, logger: name });
  };
  const environment = {
    name,
    config: toToolConfig(scope.snapshot.settings),
    workdir: scope.snapshot.workdir,
    controller: scope.controller,
    scoped,
    mcp,
    log,
  };
  try {
    invoke(run, input, scope, environment).then(
      (output) => (scope.controller.isAborted ? stop(cancelled(name)) : ended.resolve(output)),
      (error: unknown) => stop(toToolError(error)),
    );
    return await ended.promise;
  } finally {
    scoped.end();
    clearImmediate(turn);
    limit?.clear();
    release();
  }
}
