// The function executor: runs code of this process, with a time limit and a signal it cannot ignore for us.

import type { NestedOptions, ToolContext, ToolUpstreams } from '../../core/context.js';
import { askText, type Elicitation } from '../../core/elicit.js';
import { ERROR_CODES, type ErrorCode, isToolError, ToolError } from '../../core/error.js';
import type { Executor, RunContext } from '../../core/executor.js';
import { canonicalJson, copyJson, isRecord, type Json } from '../../core/json.js';
import type { Plan } from '../../core/plan.js';
import { isFailedOutput, type Output, type Part, textPart } from '../../core/result.js';
import { type ScopedStore, scopeStore } from '../../core/scoped-store.js';
import { cancelled, timedOut } from '../../core/stopped.js';
import type { ContextStore } from '../../core/store.js';
import { startTimeLimit, type TimeLimit } from '../../core/time-limit.js';
import type { FunctionAction, Tool } from '../../core/tool.js';
import { toRemoteUri } from '../../core/upstream.js';

export interface FunctionExecutorOptions {
  /** SHA-256 of parts, from whoever has it. */
  readonly digest: (parts: readonly string[]) => string;
  readonly debug: (message: string) => void;
  /** Handed to every tool in place of the toolbox's own. */
  readonly store?: ContextStore | null;
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
    scoped ??= scopeStore(store ?? context.store);
    return scoped;
  };
  let limit: TimeLimit | undefined;
  let onAbort: (() => void) | undefined;
  // The function goes on if it ignores the signal; the call does not wait for it (RUN-6).
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
    const surroundings = { name, signal, scope, mcp, log: (message: string) => debug(`${name}: ${message}`) };
    const run: FunctionAction['run'] = action.asksCaller
      ? (input, given) => action.run(input, given, context.caller.kind)
      : action.run;
    context.whileAsked?.(limit!.pause);
    const ended = await Promise.race([invoke(run, plan.input, context, surroundings), stopped]);
    return isToolError(ended) ? { content: [textPart('')], error: ended } : ended;
  } finally {
    scoped?.end();
    limit?.clear();
    if (onAbort) context.signal.removeEventListener('abort', onAbort);
  }
}

/** What a function is run in, besides what its call gives it. */
export interface Surroundings {
  readonly name: string;
  /** Made when first asked for. */
  readonly signal: () => AbortSignal;
  /** The stores, made when first asked for. */
  readonly scope: () => ScopedStore;
  /** In place of those that the toolbox knows. */
  readonly mcp?: ToolUpstreams | null | undefined;
  readonly log: (message: string) => void;
}

/** What of a call a function sees. */
export type CallPart = Pick<
  RunContext,
  'call' | 'elicit' | 'progress' | 'workdir' | 'config' | 'remoteTools'
>;

/** Runs a function to its end. Whatever it returns or throws is an Output. */
export async function invoke(
  run: FunctionAction['run'],
  input: Json,
  call: CallPart,
  surroundings: Surroundings,
): Promise<Output> {
  try {
    // The plan's input is frozen; a function may do with its own copy what it likes.
    return toOutput(await run(copyJson(input), createContext(call, surroundings)), surroundings.name);
  } catch (thrown) {
    if (isToolError(thrown)) return { content: [textPart('')], error: thrown };
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return {
      content: [textPart(message)],
      error: new ToolError('tool_failed', `${surroundings.name} failed: ${message}`, {
        hint: 'change the input, or mend the tool',
        cause: thrown,
      }),
    };
  }
}

/** What a function can reach: frozen, and nothing else hangs on it (MOD-5). */
export function createContext(run: CallPart, surroundings: Surroundings): ToolContext {
  const { call, progress, workdir, config } = run;
  const { name, signal, scope, mcp, log } = surroundings;
  const elicitFor = (question: string) => {
    if (run.elicit !== undefined) return run.elicit;
    throw new ToolError('unavailable', `${name} has a question, and nobody can be asked here: ${question}`, {
      hint: 'call it from a terminal, or give the answer as a parameter',
    });
  };
  return Lazy.freeze(surroundings, {
    toolbox: Object.freeze({
      call: (ref: string, input: unknown, wishes?: NestedOptions) => call(ref, input, wishes),
    }),
    withStore: <T>(use: (store: ContextStore) => Promise<T>) => scope().withStore(use),
    mcp: mcp === undefined ? toUpstreams(run) : mcp,
    workdir,
    config,
    progress: (done: number, total?: number, message?: string) =>
      progress({
        done,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      }),
    log: (message: string) => log(message),
    ask: async (question: string) => askText(elicitFor(question), question, signal()),
    elicit: async (request: Elicitation) => elicitFor(request.message)(request, signal()),
  });
}

// Their tools are called as all others are, by the same policy.
function toUpstreams({ call, remoteTools }: CallPart): ToolUpstreams | null {
  if (remoteTools === undefined) return null;
  return Object.freeze({
    list: () => remoteTools(),
    call: (server: string, name: string, input: unknown) => call(toRemoteUri(server, name), input),
  });
}

const Same = function (this: object, object: object) {
  return object;
} as unknown as new (
  object: object,
) => object;

// Getters that every context shares, over a field that nobody else can read: an object with getters of its own has a
// shape of its own, and making that takes the engine as long as the rest of a call.
class Lazy extends Same {
  readonly #surroundings: Surroundings;
  static readonly #getters: PropertyDescriptorMap & ThisType<Lazy> = {
    store: {
      enumerable: true,
      get() {
        return this.#surroundings.scope().store;
      },
    },
    signal: {
      enumerable: true,
      get() {
        return this.#surroundings.signal();
      },
    },
  };

  constructor(object: object, surroundings: Surroundings) {
    super(object);
    this.#surroundings = surroundings;
  }

  /** The object itself, with what is made when it is first asked for. */
  static freeze(surroundings: Surroundings, object: Omit<ToolContext, 'store' | 'signal'>): ToolContext {
    const context = new Lazy(object, surroundings);
    return Object.freeze(Object.defineProperties(context, Lazy.#getters)) as unknown as ToolContext;
  }
}

function toOutput(result: unknown, name: string): Output {
  if (isFailedOutput(result)) return toFailure(result, name);
  if (result === undefined) return { content: [textPart('')] };
  if (typeof result === 'string') return { content: [textPart(result)], structured: result };
  if (isRecord(result) && isParts(result.content)) {
    return {
      content: result.content,
      ...(result.structured === undefined ? {} : { structured: result.structured as Json }),
      // One that failed with more to show than words.
      ...(isToolError(result.error) ? { error: result.error } : {}),
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

// MOD-13
function toFailure(result: Readonly<Record<string, unknown>>, name: string): Output {
  const { error_type: type, message, next_action_hint: hint } = result;
  const said = typeof message === 'string' ? message : `${name} failed`;
  const known = typeof type === 'string' && Object.hasOwn(ERROR_CODES, type);
  return {
    content: [textPart(said)],
    error: new ToolError(known ? (type as ErrorCode) : 'tool_failed', said, {
      hint: typeof hint === 'string' ? hint : 'change the input, or mend the tool',
      ...(known || typeof type !== 'string' ? {} : { data: { error_type: type } }),
    }),
  };
}
