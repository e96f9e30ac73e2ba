// Helpers for testing tools: a toolbox with only those tools, fake contexts, and checks of results.

import { createDocumentMemory } from './context/store/memory-documents.js';
import type { ToolContext, ToolUpstreams } from './core/context.js';
import { type Ask, type Elicit, elicitByText } from './core/elicit.js';
import { type ErrorCode, type ErrorValue, ToolError } from './core/error.js';
import { type FailedResult, type SuccessfulResult, type ToolResult, textOf, textPart } from './core/result.js';
import { DEFAULT_SETTINGS, toToolConfig } from './core/settings.js';
import type { ContextStore } from './core/store.js';
import type { CallOptions, KnownToolbox, Toolbox } from './core/toolbox.js';
import { type NamedDefinition, toRef } from './core/typed.js';
import { createContext, scopeStore } from './executors/shared/invoke.js';
import type { NoOtherKeys, ToolDefinition } from './formats/module/define.js';
import { createFunctionToolbox, QUIET, type ToolboxOptions } from './toolbox.js';

export type { ToolContext, ToolUpstreams } from './core/context.js';
export type { ErrorValue } from './core/error.js';
export type { FailedResult, SuccessfulResult } from './core/result.js';
export type { ContextStore } from './core/store.js';
export type { KnownToolbox } from './core/toolbox.js';
export type { DefinitionSchema, ToolDefinition } from './formats/module/define.js';

/** Fakes of what a tool can reach. */
export interface Fakes {
  /** The clock of durations, caches and limits of calls per time; the time limit of a call counts real milliseconds. */
  readonly clock?: Clock;
  /** The documents and results that tools reach. */
  readonly store?: ContextStore;
  /** The upstream tools that tools reach. */
  readonly mcp?: ToolUpstreams;
  /** Answers questions of tools. */
  readonly ask?: Ask;
  /** Answers forms and pages to visit, instead of `ask`. */
  readonly elicit?: Elicit;
}

/** Options of `createTestToolbox`. */
export interface TestToolboxOptions extends Omit<ToolboxOptions, 'tools'> {
  /** Fakes of what the tools can reach. */
  readonly fakes?: Fakes;
}

/** Creates a toolbox with exactly these tools. */
export function createTestToolbox<const Definition extends ToolDefinition>(
  tools: readonly (Definition & NoOtherKeys<Definition>)[],
  { fakes = {}, ...options }: TestToolboxOptions = {},
): KnownToolbox<Definition> {
  const { clock, store = null, mcp = null, ask, elicit = ask && elicitByText(ask) } = fakes;
  const world = clock === undefined ? QUIET : { ...QUIET, now: clock.now, monotonic: clock.now };
  const toolbox = createFunctionToolbox({ ...options, tools }, world, { store, mcp });
  if (elicit === undefined) return toolbox;
  const { call } = toolbox;
  return Object.assign(toolbox, {
    call: (ref: string | NamedDefinition, input: unknown, callOptions: CallOptions = {}) =>
      call(toRef(ref), input, { elicit, ...callOptions }),
  } satisfies Partial<Toolbox>);
}

/** Options of `createTestContext`. */
export interface TestContextOptions extends Omit<Fakes, 'clock'> {
  /** The workdir of the context; `/` by default. */
  readonly workdir?: string;
  /** The signal of the context; never aborted by default. */
  readonly signal?: AbortSignal;
  /** Answers nested calls; without it they fail. */
  readonly call?: (ref: string, input: unknown) => ToolResult | Promise<ToolResult>;
}

/** Creates a context for calling `execute` directly. */
export function createTestContext(options: TestContextOptions = {}): ToolContext {
  const { workdir = '/', store = null, mcp = null, ask, call } = options;
  const { elicit = ask && elicitByText(ask) } = options;
  const { signal } = options;
  return createContext(
    {
      progress: () => {},
      call: async (ref, input) =>
        call === undefined ? notFound(ref, 'give `call` to createTestContext') : call(ref, input),
      ...(elicit === undefined ? {} : { elicit }),
    },
    {
      name: 'the tool',
      config: toToolConfig(DEFAULT_SETTINGS),
      workdir,
      controller: signal === undefined ? new AbortController() : { signal },
      scoped: scopeStore(store),
      mcp,
      log: () => {},
    },
  );
}

function notFound(ref: string, hint: string): ToolResult {
  const error = new ToolError('not_found', `tool not found: ${ref}`, { hint });
  return { ok: false, content: [textPart('')], error: error.toJSON(), meta: { durationMs: 0 } };
}

/** A clock for tests. */
export interface Clock {
  /** Returns the time in milliseconds. */
  now(): number;
}

/** Creates a clock that only moves when told to. */
export function createFakeClock(start = 0): Clock & { advance(milliseconds: number): void } {
  let time = start;
  return {
    now: () => time,
    advance(milliseconds) {
      time += milliseconds;
    },
  };
}

/** Creates an in-memory store with these documents. Throws on invalid or duplicate paths. */
export function createMemoryStore(initial: Readonly<Record<string, string>> = {}): ContextStore {
  return { documents: createDocumentMemory(() => Date.now(), initial), openResult: () => undefined };
}

/** Creates fake upstream tools: a function per server and name; an exception is a failed result. */
export function createFakeUpstreams(
  servers: Readonly<Record<string, Readonly<Record<string, (input: unknown) => unknown>>>>,
): ToolUpstreams {
  const toolboxes = new Map(
    Object.entries(servers).map(([server, tools]) => [
      server,
      createFunctionToolbox(
        {
          tools: Object.entries(tools).map(([name, answer]) => ({
            name,
            description: `${name} of ${server}`,
            inputSchema: { type: 'object', additionalProperties: true },
            execute: (input: unknown) => answer(input),
          })),
        },
        QUIET,
      ),
    ]),
  );
  return {
    async list() {
      const lists = [...toolboxes].map(async ([server, toolbox]) =>
        (await toolbox.list()).map(({ name, description }) => ({ server, name, description })),
      );
      return (await Promise.all(lists)).flat();
    },
    async call(server, name, input) {
      const hint = `give the server ${server} to createFakeUpstreams`;
      return toolboxes.get(server)?.call(name, input) ?? notFound(`${server}/${name}`, hint);
    },
  };
}

/** The result of any tool. */
type Outcome = SuccessfulResult<unknown> | FailedResult;

/** Returns a successful result; throws if the call failed. */
export function expectOk<Result extends Outcome>(result: Result): Extract<Result, { readonly ok: true }> {
  if (result.ok) return result as Extract<Result, { readonly ok: true }>;
  const { code, message, hint } = result.error;
  throw new Error(`expected success, got ${code}: ${message}${hint === undefined ? '' : `\n  hint  ${hint}`}`);
}

/** Returns the error of a result that failed with this code; throws otherwise. */
export function expectError(result: Outcome, code: ErrorCode): ErrorValue {
  if (result.error?.code === code) return result.error;
  const got = result.error ? `${result.error.code}: ${result.error.message}` : `success: ${textOf(result)}`;
  throw new Error(`expected ${code}, got ${got}`);
}
