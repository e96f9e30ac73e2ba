// createToolbox: tools defined in code, run in this process, without configuration or files.

import { isAbsolute } from 'node:path';
import { createRunCodeTool } from './builtin/run-code.js';
import { createTaskTools } from './builtin/task.js';
import { type Catalog, createCatalog } from './catalog/catalog.js';
import { NO_POLICY } from './core/rule.js';
import { DEFAULT_SETTINGS, type Settings } from './core/settings.js';
import { anything, boolean, object, optional } from './core/shape.js';
import type { Snapshot, Workspace, World } from './core/snapshot.js';
import type { KnownToolbox, Toolbox } from './core/toolbox.js';
import { createFunctionExecutor, type FunctionExecutorOptions } from './executors/function/index.js';
import { NO_CASCADE } from './extras/levels.js';
import { createMiddleware } from './extras/middleware/index.js';
import { digestParts } from './files/digest.js';
import { type NoOtherKeys, type ToolDefinition, toRegistry } from './formats/module/define.js';
import { type PromptDefinition, type ResourceDefinition, toOfferSource } from './formats/module/offers.js';
import { createNetwork } from './net/network.js';
import { findFault, limit, milliseconds, whichIs } from './runtime/call-options.js';
import { assembleToolbox } from './runtime/create.js';
import { createExecutors } from './runtime/execute.js';
import { createLimiter } from './runtime/limiter.js';
import { createSearch } from './runtime/list.js';
import type { Middleware, MiddlewareFunction } from './runtime/middleware.js';
import { createObservers } from './runtime/observers.js';
import { NO_CONSENTS } from './runtime/parts.js';
import { createTelemetry } from './telemetry/index.js';
import { readEnvironment, readVersion } from './workspace/machine.js';

/** Options of `createToolbox`. */
export interface ToolboxOptions<Definition extends ToolDefinition = ToolDefinition> {
  /** The tools, made by `defineTool` or written here. */
  readonly tools: readonly (Definition & NoOtherKeys<Definition>)[];
  /** Data that MCP clients read by URI. */
  readonly resources?: readonly ResourceDefinition[];
  /** Messages that MCP clients offer to their users. */
  readonly prompts?: readonly PromptDefinition[];
  /** The workdir given to tools; an absolute path. */
  readonly workdir?: string;
  /** Limits of calls, instead of the defaults. */
  readonly limits?: Partial<Settings['limits']>;
  /** Whether input is repaired; true by default. */
  readonly repair?: boolean;
  /** Middleware, outermost first. */
  readonly middleware?: readonly (Middleware | MiddlewareFunction)[];
  /** Sends spans and metrics over OTLP, as the variables `OTEL_*` of the environment say (OBS-12). */
  readonly telemetry?: boolean;
}

const OPTIONS = object({
  // Definitions are checked when they are registered.
  tools: optional(anything),
  resources: optional(anything),
  prompts: optional(anything),
  workdir: optional(whichIs<string>('an absolute path', (value) => typeof value === 'string' && isAbsolute(value))),
  limits: optional(
    object({
      timeoutMs: optional(milliseconds),
      timeoutCeilingMs: optional(milliseconds),
      listingMs: optional(limit),
      outputBytes: optional(limit),
      memoryBytes: optional(limit),
      cpuSeconds: optional(limit),
      openFiles: optional(limit),
      processes: optional(limit),
      concurrent: optional(limit),
      concurrentPerTool: optional(limit),
      concurrentPerGroup: optional(limit),
      queue: optional(limit),
      callsPerMinute: optional(limit),
      background: optional(limit),
    } satisfies Record<keyof Settings['limits'], unknown>),
  ),
  repair: optional(boolean),
  middleware: optional(whichIs<ToolboxOptions['middleware']>('an array of middleware', Array.isArray)),
  telemetry: optional(boolean),
} satisfies Record<keyof ToolboxOptions, unknown>);

/** Creates a toolbox with the given tools. Throws `usage`, `invalid_definition` or `conflict`. */
export function createToolbox<const Definition extends ToolDefinition>(
  options: ToolboxOptions<Definition>,
): KnownToolbox<Definition> {
  // A program in JavaScript may pass nothing.
  return createFunctionToolbox(options ?? {}, QUIET);
}

/** Like `createToolbox`, with a given world, stores and upstream tools. */
export function createFunctionToolbox(
  options: ToolboxOptions,
  world: World,
  handed: Pick<FunctionExecutorOptions, 'store' | 'mcp'> = {},
): Toolbox {
  // A program in JavaScript may pass anything (TOOL-28).
  const registered = toRegistry((options as Partial<ToolboxOptions> | undefined)?.tools as ToolboxOptions['tools']);
  const fault = findFault(OPTIONS, options, 'the options of a toolbox');
  if (fault !== undefined) throw fault;
  const { limits = {}, repair = true } = options;
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    repair,
    limits: { ...DEFAULT_SETTINGS.limits, ...limits },
  };
  const { debug } = world;
  const cascade = NO_CASCADE;
  const runCode = createRunCodeTool(() => ({ catalog, cascade, search: createSearch(catalog, cascade) }), { world });
  const offers = [toOfferSource(options.resources, options.prompts)];
  const catalog: Catalog = createCatalog({
    registered,
    builtin: [runCode],
    yielding: createTaskTools(),
    offered: () => 'none',
    toAbsolute: () => undefined,
    ownerOf: () => 'program',
    formats: [],
    offers: () => offers,
    index: { load: () => undefined, save: () => {}, remove: () => {} },
    world,
  });
  return assembleToolbox({
    parts: {
      workspace: createFixedWorkspace(options.workdir ?? '/', settings, world),
      catalog,
      executors: createExecutors([createFunctionExecutor({ ...handed, digest: digestParts, debug })]),
      cascade,
      consents: NO_CONSENTS,
      limiter: createLimiter(),
      observers: createObservers({ telemetry: createToolboxTelemetry(options, world), debug }),
      middleware: createMiddleware(options.middleware ?? []),
      // Without a configuration there are no rules.
      labels: undefined,
      stores: undefined,
    },
    search: createSearch(catalog, cascade),
    instructions: () => '',
    // Only code changes this catalog, and the toolbox reports that itself.
    watch: () => () => {},
  });
}

function createToolboxTelemetry({ telemetry: exports = false }: ToolboxOptions, given: World) {
  const world = exports ? { ...given, env: readEnvironment() } : given;
  const { createFetch } = createNetwork({ settings: () => DEFAULT_SETTINGS.net, readAuth: async () => '', world });
  return createTelemetry({
    world,
    exports,
    version: readVersion,
    secrets: { all: [] },
    createFetch,
    warn: (message) => process.emitWarning(message),
  });
}

/** Creates a workspace without files, in which only the workdir can change. */
export function createFixedWorkspace(workdir: string, settings: Settings, world: World): Workspace {
  const toSnapshot = (directory: string): Snapshot =>
    Object.freeze({
      workdir: directory,
      settings,
      policy: NO_POLICY,
      get now() {
        return world.now();
      },
      user: {},
      trusted: true,
      places: [],
      libraries: [],
      roots: [],
      servers: { servers: [], disabled: [], blocked: [], shadowed: [], problems: [] },
      secrets: [],
      hidden: [],
      problems: [],
      boundaryOf: () => undefined,
    });
  let snapshot = toSnapshot(workdir);
  return {
    world,
    snapshot: () => snapshot,
    setWorkdir(directory) {
      snapshot = toSnapshot(directory);
    },
  };
}

/** The world of a toolbox without a machine: only a clock. */
export const QUIET: World = {
  env: {},
  home: undefined,
  platform: 'none',
  now: () => Date.now(),
  monotonic: () => performance.now(),
  debug: () => {},
  debugging: false,
};
