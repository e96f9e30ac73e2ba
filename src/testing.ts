// For the tests of whoever writes tools: a toolbox of just those, fakes for what it hands them, checks of results.

import { createDocumentMemory } from './context/store/memory-documents.js';
import type { ToolContext, ToolUpstreams } from './core/context.js';
import { type Ask, type Elicit, elicitByText } from './core/elicit.js';
import { type ErrorCode, ToolError } from './core/error.js';
import { type ToolResult, textOf, textPart } from './core/result.js';
import { scopeStore } from './core/scoped-store.js';
import { DEFAULT_SETTINGS, toToolConfig } from './core/settings.js';
import type { ContextStore } from './core/store.js';
import type { Toolbox } from './core/toolbox.js';
import { createContext } from './executors/shared/tool-context.js';
import type { ToolDefinition } from './formats/module/define.js';
import { createFunctionToolbox, QUIET, type ToolboxOptions } from './toolbox.js';

/** What stands in for the world around a tool. */
export interface Fakes {
  readonly clock?: Clock;
  readonly store?: ContextStore;
  readonly mcp?: ToolUpstreams;
  /** Answers what tools ask. */
  readonly ask?: Ask;
  /** The same for forms and pages to visit; in place of `ask`. */
  readonly elicit?: Elicit;
}

export interface TestToolboxOptions extends Omit<ToolboxOptions, 'tools'> {
  readonly fakes?: Fakes;
}

/** A toolbox of exactly these tools: their calls are checked and judged as everywhere else. */
export function createTestToolbox(
  tools: readonly ToolDefinition[],
  { fakes = {}, ...options }: TestToolboxOptions = {},
): Toolbox {
  const { clock, store = null, mcp = null, ask, elicit = ask && elicitByText(ask) } = fakes;
  const world = clock === undefined ? QUIET : { ...QUIET, now: clock.now, monotonic: clock.now };
  const toolbox = createFunctionToolbox({ ...options, tools }, world, { store, mcp });
  if (elicit === undefined) return toolbox;
  const { call } = toolbox;
  return Object.assign(toolbox, {
    call: (ref: string, input: unknown, callOptions = {}) => call(ref, input, { elicit, ...callOptions }),
  } satisfies Partial<Toolbox>);
}

export interface TestContextOptions extends Omit<Fakes, 'clock'> {
  readonly workdir?: string;
  readonly signal?: AbortSignal;
  /** What a nested call answers; without it there is no tool to call. */
  readonly call?: (ref: string, input: unknown) => ToolResult | Promise<ToolResult>;
}

/** A context to call `execute` with by hand. */
export function createTestContext(options: TestContextOptions = {}): ToolContext {
  const { workdir = '/', store = null, mcp = null, ask, call } = options;
  const { elicit = ask && elicitByText(ask) } = options;
  const signal = options.signal ?? new AbortController().signal;
  const scoped = scopeStore(store);
  return createContext(
    {
      workdir,
      config: toToolConfig(DEFAULT_SETTINGS),
      progress: () => {},
      call: async (ref, input) => (call === undefined ? notFound(ref) : call(ref, input)),
      ...(elicit === undefined ? {} : { elicit }),
    },
    { name: 'the tool', signal: () => signal, scope: () => scoped, mcp, log: () => {} },
  );
}

function notFound(ref: string): ToolResult {
  const error = new ToolError('not_found', `tool not found: ${ref}`, {
    hint: 'give `call` to createTestContext',
  });
  return { ok: false, content: [textPart('')], error: error.toJSON(), meta: { durationMs: 0 } };
}

export interface Clock {
  now(): number;
}

/** A clock that stands still until it is told to go on. */
export function createFakeClock(start = 0): Clock & { advance(milliseconds: number): void } {
  let time = start;
  return {
    now: () => time,
    advance(milliseconds) {
      time += milliseconds;
    },
  };
}

/** A store in memory, with these documents by path. Throws where a path is none, or two are the same. */
export function createMemoryStore(initial: Readonly<Record<string, string>> = {}): ContextStore {
  return { documents: createDocumentMemory(() => Date.now(), initial), openResult: () => undefined };
}

/** Tools of other servers: by server and name, a function that answers. Whatever it throws is a failed result. */
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
      return toolboxes.get(server)?.call(name, input) ?? notFound(`${server}/${name}`);
    },
  };
}

/** The result, where it is a success; throws what it says where it is not. */
export function expectOk(result: ToolResult): ToolResult {
  if (result.ok) return result;
  const { code, message, hint } = result.error!;
  throw new Error(
    `expected success, got ${code}: ${message}${hint === undefined ? '' : `\n  hint  ${hint}`}`,
  );
}

/** The error of a result, where it is a failure with that code; throws what came instead. */
export function expectError(result: ToolResult, code: ErrorCode): NonNullable<ToolResult['error']> {
  if (result.error?.code === code) return result.error;
  const got = result.error ? `${result.error.code}: ${result.error.message}` : `success: ${textOf(result)}`;
  throw new Error(`expected ${code}, got ${got}`);
}
