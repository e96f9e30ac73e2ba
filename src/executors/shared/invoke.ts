// Runs a function tool: creates its context, and turns what it returns or throws into an Output.

import { lacksCapability } from '../../core/client-request.js';
import type { ClientCapability, NestedOptions, ToolContext, ToolUpstreams } from '../../core/context.js';
import { askText, type Elicit } from '../../core/elicit.js';
import { ERROR_CODES, type ErrorCode, isToolError, orNothing, ToolError, toPlainError } from '../../core/error.js';
import type { CallScope } from '../../core/executor.js';
import { copyJson, isRecord, type Json, type JsonObject } from '../../core/json.js';
import { toRemoteUri } from '../../core/name.js';
import { findPartFault, isFailedOutput, type Output, type Part, textPart } from '../../core/result.js';
import type { ToolConfig } from '../../core/settings.js';
import type { ContextStore } from '../../core/store.js';
import type { FunctionAction } from '../../core/tool.js';
import { type NamedDefinition, toRef } from '../../core/typed.js';

// Captured, because in a tool host a module may replace them.
const { stringify, parse } = JSON;
const { getPrototypeOf, keys } = Object;
const { toString: toTag } = Object.prototype;

const FAILED_HINT = 'change the input, or fix the tool';
// MOD-39: tools of botholomew are written for Bun.
const BUN_HINT = 'tools run in Node; use its modules, such as node:fs and node:child_process, in place of Bun';

/** The context of a function (MOD-5), frozen. */
class Context {
  // One getter for all of them: with a getter made for each, a call takes twice as long.
  static readonly #signal: PropertyDescriptor & ThisType<Context> = {
    enumerable: true,
    get() {
      return this.#environment.controller.signal;
    },
  };
  readonly #environment: FunctionEnvironment;

  constructor(members: Omit<ToolContext, 'signal'>, environment: FunctionEnvironment) {
    this.#environment = environment;
    Object.assign(this, members);
    // A property of its own, so that a copy has it, and read late, because few functions use it.
    Object.defineProperty(this, 'signal', Context.#signal);
    Object.freeze(this);
  }

  // MOD-40: fields that tools of botholomew read, and what there is instead. Inherited, so that a copy has none.
  get conn(): never {
    throw missing('conn', 'use ctx.store, or ctx.withStore(async (store) => …): documents instead of a database');
  }

  get dbPath(): never {
    throw missing('dbPath', 'use ctx.withStore(async (store) => …) in place of withDb(ctx.dbPath, …)');
  }

  get mcpxClient(): never {
    throw missing('mcpxClient', 'use ctx.mcp, which is null without servers: list(), call(server, tool, input)');
  }
}

// All tools of a process share it.
delete (Context.prototype as { constructor?: unknown }).constructor;
Object.freeze(Context.prototype);

function missing(field: string, hint: string): ToolError {
  return new ToolError('tool_failed', `the context of tools has no ${field}`, { hint });
}

/** The parts of a call that a function can use. */
export type CallPart = Pick<CallScope, 'call' | 'client' | 'elicit' | 'progress' | 'remoteTools'>;

export interface FunctionEnvironment {
  /** The name of the tool. */
  readonly name: string;
  readonly config: ToolConfig;
  readonly workdir: string;
  /** Has the signal that is aborted when the function should stop. */
  readonly controller: { readonly signal: AbortSignal };
  readonly scoped: ScopedStore;
  /** Replaces the upstream servers of the toolbox. */
  readonly mcp?: ToolUpstreams | null;
  log(message: string): void;
}

/** Runs a function to its end. Never throws. */
export async function invoke(
  run: FunctionAction['run'],
  input: Json,
  call: CallPart,
  environment: FunctionEnvironment,
): Promise<Output> {
  const { name } = environment;
  try {
    // The input of a plan is frozen; the function gets a copy that it may change.
    return toOutput(await run(copyJson(input), createContext(call, environment)), name);
  } catch (thrown) {
    return toFailedOutput(thrown, name);
  }
}

/** Creates the context of a function. */
export function createContext(run: CallPart, environment: FunctionEnvironment): ToolContext {
  const { call, progress } = run;
  const { name, config, workdir, scoped, mcp = toUpstreams(run), log } = environment;
  const elicitFor = (question: string): Elicit => {
    if (run.elicit !== undefined) return run.elicit;
    throw new ToolError('unavailable', `${name} asks a question that cannot be answered here: ${question}`, {
      hint: 'call it from a terminal, or pass the answer as a parameter',
    });
  };
  const members: Omit<ToolContext, 'signal'> = {
    toolbox: Object.freeze({
      call: (ref: string | NamedDefinition, input: unknown, options?: NestedOptions) =>
        call(toRef(ref), input, options),
    }),
    store: scoped.store,
    withStore: scoped.withStore,
    mcp,
    workdir,
    projectDir: workdir,
    config,
    progress: (done, total, message) => progress({ done, total, message }),
    log: (message) => log(message),
    ask: async (question) => askText(elicitFor(question), question, environment.controller.signal),
    elicit: async (request) => elicitFor(request.message)(request, environment.controller.signal),
    requestClient: async (capability: ClientCapability, params: JsonObject = {}) => {
      if (run.client === undefined) throw lacksCapability(name, capability);
      return run.client.request({ capability, params }, environment.controller.signal);
    },
  };
  return new Context(members, environment) as object as ToolContext;
}

// Upstream tools are called by reference, so that policy applies to them as well.
function toUpstreams({ call, remoteTools }: CallPart): ToolUpstreams | null {
  if (remoteTools === undefined) return null;
  return Object.freeze({
    list: () => remoteTools(),
    call: (server: string, name: string, input: unknown) => call(toRemoteUri(server, name), input),
  });
}

function toFailedOutput(thrown: unknown, name: string): Output {
  if (isToolError(thrown)) return { content: [textPart('')], error: toPlainError(thrown) };
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const hint = message === 'Bun is not defined' ? BUN_HINT : FAILED_HINT;
  return {
    content: [textPart(message)],
    error: new ToolError('tool_failed', `${name} failed: ${message}`, { hint, cause: thrown }),
  };
}

function toOutput(result: unknown, name: string): Output {
  if (isFailedOutput(result)) return toFailure(result, name);
  if (result === undefined) return { content: [textPart('')] };
  if (typeof result === 'string') return { content: [textPart(result)], structured: result };
  if (isRecord(result) && isParts(result.content)) {
    const { content, structured, error } = result;
    const fault = findPartFault(content);
    if (fault !== undefined) throw new ToolError('tool_failed', `${name} returned ${fault}`, { hint: FAILED_HINT });
    if (isToolError(error))
      // What is not JSON is left out, as the failure itself is what matters.
      return { content, structured: orNothing(() => toJson(structured, name).json), error: toPlainError(error) };
    return { content, structured: structured === undefined ? undefined : toJson(structured, name).json };
  }
  const { text, json } = toJson(result, name);
  return { content: [textPart(text)], structured: json };
}

// Throws for what is not JSON (TOOL-22).
function toJson(result: unknown, name: string): { readonly text: string; readonly json: Json } {
  const text = stringify(result);
  if (text === undefined) throw notJson(name, typeof result);
  if (text.includes('{}'))
    stringify(result, (key, value) => {
      if (isEmptied(value)) throw notJson(name, `${nameOf(value)}${key === '' ? '' : ` at "${key}"`}`);
      return value;
    });
  return { text, json: parse(text) as Json };
}

function notJson(name: string, what: string): ToolError {
  return new ToolError('tool_failed', `${name} returned a value that is not JSON: ${what}`, {
    hint: 'return plain data: await promises, read streams and responses, and collect iterators, maps and sets in arrays',
  });
}

// JSON makes an empty object of promises, generators and streams.
function isEmptied(value: unknown): value is object {
  if (!isRecord(value) || value instanceof Error || keys(value).length > 0) return false;
  const prototype: unknown = getPrototypeOf(value);
  // That of plain objects has none, whatever the realm.
  return prototype !== null && getPrototypeOf(prototype) !== null;
}

function nameOf(value: object): string {
  const tag = toTag.call(value).slice(8, -1);
  return tag === 'Object' ? value.constructor.name : tag;
}

function isParts(value: unknown): value is readonly Part[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((part) => isRecord(part) && typeof part.type === 'string')
  );
}

// MOD-13
function toFailure(result: Readonly<Record<string, unknown>>, name: string): Output {
  const { error_type: type, message: given, next_action_hint: hint } = result;
  const message = typeof given === 'string' ? given : `${name} failed`;
  const known = typeof type === 'string' && Object.hasOwn(ERROR_CODES, type);
  return {
    content: [textPart(message)],
    // What is not JSON is left out, as the failure itself is what matters.
    structured: orNothing(() => parse(stringify(result)) as Json),
    error: new ToolError(known ? (type as ErrorCode) : 'tool_failed', message, {
      hint: typeof hint === 'string' ? hint : FAILED_HINT,
      data: known || typeof type !== 'string' ? undefined : { error_type: type },
    }),
  };
}

interface ScopedStore {
  readonly store: ContextStore | null;
  withStore<T>(use: (store: ContextStore) => Promise<T>): Promise<T>;
  end(): void;
}

export function scopeStore(whole: ContextStore | null): ScopedStore {
  let ended = false;
  const guard =
    <Arguments extends unknown[], Result>(use: (...args: Arguments) => Result) =>
    (...args: Arguments): Result => {
      if (!ended) return use(...args);
      throw new ToolError('usage', 'the store was used after its call had ended', {
        hint: 'wait for everything that uses it before the tool returns',
      });
    };
  const scoped: ContextStore | null = whole && {
    documents: {
      write: guard(whole.documents.write),
      read: guard(whole.documents.read),
      open: guard(whole.documents.open),
      list: guard(whole.documents.list),
      versions: guard(whole.documents.versions),
      remove: guard(whole.documents.remove),
      copy: guard(whole.documents.copy),
      search: guard(whole.documents.search),
      clean: guard(whole.documents.clean),
      // The store is shared, so a tool cannot close it.
      close: () => {},
    },
    openResult: guard(whole.openResult),
  };
  return {
    store: scoped,
    async withStore(use) {
      if (scoped !== null) return use(scoped);
      throw new ToolError('unavailable', 'this toolbox has no store', {
        hint: 'use createNodeToolbox, or give createTestToolbox a store',
      });
    },
    end() {
      ended = true;
    },
  };
}
