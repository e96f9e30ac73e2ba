// The function executor: runs code of this process, with a time limit and a signal it cannot ignore for us.

import type { ToolContext } from '../core/context.js';
import { isToolError, ToolError } from '../core/error.js';
import type { Executor, RunContext } from '../core/executor.js';
import { canonicalJson, copyJson, isRecord, type Json } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import { type Output, type Part, textPart } from '../core/result.js';
import { formatDuration } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { type ScopedStore, scopeStore } from './scoped-store.js';

export interface FunctionExecutorOptions {
  /** SHA-256 of parts, from whoever has it. */
  readonly digest: (parts: readonly string[]) => string;
  readonly debug: (message: string) => void;
}

export function createFunctionExecutor({ digest, debug }: FunctionExecutorOptions): Executor<'function'> {
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
    run: (plan, context) => runFunction(plan, context, debug),
  };
}

function sourceOf(tool: Tool): string {
  return tool.action.kind === 'function' ? String(tool.action.run) : '';
}

async function runFunction(
  plan: Plan,
  context: RunContext,
  debug: (message: string) => void,
): Promise<Output> {
  const { action, name } = plan.tool;
  if (action.kind !== 'function') throw new TypeError(`${name} is no function`);
  // Most functions never ask for a signal, and making one takes a quarter of a whole call.
  let controller: AbortController | undefined;
  let stoppedBy: ToolError | undefined;
  const signal = (): AbortSignal => {
    controller ??= new AbortController();
    if (stoppedBy !== undefined) controller.abort(stoppedBy);
    return controller.signal;
  };
  let scoped: ScopedStore | undefined;
  const scope = (): ScopedStore => {
    scoped ??= scopeStore(context.store);
    return scoped;
  };
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  // The function goes on if it ignores the signal; the call does not wait for it (RUN-6).
  const stopped = new Promise<ToolError>((resolve) => {
    const stop = (error: ToolError): void => {
      stoppedBy ??= error;
      resolve(error);
      controller?.abort(error);
    };
    timer = setTimeout(() => stop(timeoutError(name, plan.timeoutMs)), plan.timeoutMs);
    onAbort = () =>
      stop(
        new ToolError('cancelled', `${name} was cancelled`, { hint: 'call it again if that was not meant' }),
      );
    context.signal.addEventListener('abort', onAbort, { once: true });
    if (context.signal.aborted) onAbort();
  });
  try {
    const result = await Promise.race([
      // The plan's input is frozen; a function may do with its own copy what it likes.
      Promise.resolve().then(() =>
        action.run(copyJson(plan.input), createContext(context, signal, scope, name, debug)),
      ),
      stopped,
    ]);
    if (isToolError(result)) return { content: [textPart('')], error: result };
    return toOutput(result);
  } catch (thrown) {
    if (isToolError(thrown)) return { content: [textPart('')], error: thrown };
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return {
      content: [textPart(message)],
      error: new ToolError('tool_failed', `${name} failed: ${message}`, {
        hint: 'change the input, or mend the tool',
        cause: thrown,
      }),
    };
  } finally {
    scoped?.end();
    clearTimeout(timer);
    if (onAbort) context.signal.removeEventListener('abort', onAbort);
  }
}

function createContext(
  context: RunContext,
  signal: () => AbortSignal,
  scope: () => ScopedStore,
  name: string,
  debug: (message: string) => void,
): ToolContext {
  return {
    toolbox: { call: context.call },
    get store() {
      return scope().store;
    },
    withStore: (use) => scope().withStore(use),
    workdir: context.workdir,
    get signal() {
      return signal();
    },
    progress: (done, total, message) =>
      context.progress({
        done,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      }),
    log: (message) => debug(`${name}: ${message}`),
  };
}

function timeoutError(name: string, timeoutMs: number): ToolError {
  return new ToolError('timeout', `${name} did not end within ${formatDuration(timeoutMs)}`, {
    hint: 'give it longer, or let it do less in one call',
    data: { timeoutMs },
  });
}

function toOutput(result: unknown): Output {
  if (result === undefined) return { content: [textPart('')] };
  if (typeof result === 'string') return { content: [textPart(result)], structured: result };
  if (isRecord(result) && isParts(result.content)) {
    return {
      content: result.content,
      ...(result.structured === undefined ? {} : { structured: result.structured as Json }),
    };
  }
  const text = JSON.stringify(result);
  if (text === undefined) throw new TypeError(`returned a ${typeof result}, which is not JSON`);
  return { content: [textPart(text)], structured: JSON.parse(text) as Json };
}

function isParts(value: unknown): value is readonly Part[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((part) => isRecord(part) && typeof part.type === 'string')
  );
}
