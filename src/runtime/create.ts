// Assembles a toolbox from a catalog, executors and settings; knows no format and no protocol.

import { setMaxListeners } from 'node:events';
import type { Approvals } from '../core/approval.js';
import { ToolError } from '../core/error.js';
import type { CallEvent, Observer } from '../core/event.js';
import type { Executor } from '../core/executor.js';
import { deepFreeze } from '../core/json.js';
import { NO_POLICY, type Policy } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import type { Action, Problem, Tool } from '../core/tool.js';
import type {
  Caller,
  CallOptions,
  DeniedTool,
  InstructionsOptions,
  Survey,
  Toolbox,
} from '../core/toolbox.js';
import type { World } from '../core/world.js';
import { decide, findDenial, findUnmatched, hasRules, type Rules } from '../policy/decide.js';
import type { Catalog } from '../resolve/catalog.js';
import { createToolSearch } from '../resolve/search.js';
import { type CallParts, call, locate, prepare, settleInput } from './call.js';
import { createLimiter } from './limiter.js';

const CODE: Caller = { kind: 'code', door: 'library' };

export interface AssembleOptions {
  readonly catalog: Catalog;
  readonly executors: readonly Executor[];
  /** What holds for one tool besides the policy. */
  readonly rules: (tool: Tool, options: CallOptions) => Pick<Rules, 'trusted' | 'changes'>;
  /** What the configuration says about calls, to this caller; nothing where it is left out. */
  readonly policy?: (caller: Caller) => Policy;
  readonly settings: () => Settings;
  /** Problems of the surroundings, shown before those of the catalog. */
  readonly problems?: () => readonly Problem[];
  /** Values that must not stand in a message. */
  readonly secrets: () => readonly string[];
  readonly workdir: { get(): string; set(directory: string): void };
  /** Whether code of the workspace may run for a model. */
  readonly trusted: () => boolean;
  /** What a model is told before anything else. */
  readonly instructions: (options: InstructionsOptions) => string;
  /** Tells when the catalog may have changed. */
  readonly watch: (listener: () => void) => () => void;
  /** Where approvals are kept; without it consent is given in the call or not at all. */
  readonly approvals?: () => Promise<Approvals>;
  readonly world: World;
}

export function assembleToolbox(options: AssembleOptions): Toolbox {
  const { catalog, rules, settings, secrets, workdir, world, policy = () => NO_POLICY } = options;
  const executors = new Map<Action['kind'], Executor>(
    options.executors.map((executor) => [executor.kind, executor]),
  );
  const observers = new Set<Observer>();
  const closing = new AbortController();
  // Every running call listens; the limiter bounds how many there are.
  setMaxListeners(0, closing.signal);
  let running = 0;
  const digested = new WeakMap<Tool, Tool>();

  // TOOL-6: a found tool knows its digest. The catalog hands out the same object while nothing changed.
  const withDigest = (tool: Tool): Tool => {
    let known = digested.get(tool);
    if (known === undefined) {
      const executor = executors.get(tool.action.kind)!;
      // Frozen to the bottom: plans carry it, and what was judged must be what runs (RUN-2).
      known = deepFreeze({ ...tool, origin: { ...tool.origin, digest: executor.digest(tool) } });
      if (executor.keepsDigest?.(tool) !== false) digested.set(tool, known);
    }
    return known;
  };

  // Listeners watch a call: one that throws, from the midst of a stream, must not end it or this process.
  const guard =
    <Arguments extends unknown[], Result>(listener: (...args: Arguments) => Result) =>
    (...args: Arguments): Result | undefined => {
      try {
        return listener(...args);
      } catch (error) {
        world.debug(`a listener failed: ${String(error)}`);
        return undefined;
      }
    };

  const emit = (event: CallEvent): void => {
    for (const observer of observers) guard(observer)(event);
  };

  // What a policy says of a tool is worked out once for each kind of caller.
  const denials = new WeakMap<Policy, Map<Caller['kind'], WeakMap<Tool, DeniedTool | null>>>();
  const sift = (tools: readonly Tool[], caller: Caller): { tools: readonly Tool[]; denied: DeniedTool[] } => {
    const holding = policy(caller);
    if (!hasRules({ policy: holding, within: [] })) return { tools, denied: [] };
    const byKind = denials.get(holding) ?? new Map<Caller['kind'], WeakMap<Tool, DeniedTool | null>>();
    const known = byKind.get(caller.kind) ?? new WeakMap<Tool, DeniedTool | null>();
    denials.set(holding, byKind.set(caller.kind, known));
    const denied: DeniedTool[] = [];
    for (const tool of tools) {
      let denial = known.get(tool);
      if (denial === undefined) {
        const verdict = findDenial(tool, caller, { policy: holding, within: [] });
        denial = verdict === undefined ? null : { tool, verdict };
        known.set(tool, denial);
      }
      if (denial !== null) denied.push(denial);
    }
    if (denied.length === 0) return { tools, denied };
    const left = new Set(denied.map(({ tool }) => tool));
    return { tools: tools.filter((tool) => !left.has(tool)), denied };
  };

  // Callers of one kind see the same tools, so that each has an index that stays.
  const searches = new Map<Caller['kind'], ReturnType<typeof createToolSearch>>();
  const searchFor = (caller: Caller): ReturnType<typeof createToolSearch> => {
    let search = searches.get(caller.kind);
    if (search === undefined) {
      search = createToolSearch(() => sift(catalog.list().tools, caller).tools);
      searches.set(caller.kind, search);
    }
    return search;
  };

  const survey = (caller: Caller): Survey => {
    const { tools, shadowed, problems, skills } = catalog.list();
    return {
      ...sift(tools, caller),
      shadowed,
      skills,
      problems: [...(options.problems?.() ?? []), ...problems],
    };
  };

  const parts: CallParts = {
    find: (ref, { caller = CODE, offer = [] }, within) => {
      // Asked only where a hint is made.
      let holding: Policy | undefined;
      const mayName = (tool: Tool): boolean => {
        holding ??= policy(caller);
        return findDenial(tool, caller, { policy: holding, within }) === undefined;
      };
      return findStable(
        () => catalog.find(ref, { visibleOnly: caller.kind === 'model', mayName, offer }),
        withDigest,
      );
    },
    executors,
    rules: (tool, callOptions, within) => ({
      ...rules(tool, callOptions),
      policy: policy(callOptions.caller ?? CODE),
      within,
    }),
    settings,
    secrets,
    workdir: workdir.get,
    limiter: createLimiter(() => settings().limits),
    approvals: options.approvals,
    now: world.now,
    get emit() {
      return observers.size > 0 ? emit : undefined;
    },
    monotonic: world.monotonic,
    debug: world.debug,
  };

  return {
    get workdir() {
      return workdir.get();
    },
    async list({ hidden = false, caller = CODE, offer = [] } = {}) {
      const { tools } = sift(catalog.list(offer).tools, caller);
      return hidden ? tools : tools.filter((tool) => !tool.traits.hidden);
    },
    async search(query, limit, { caller = CODE } = {}) {
      return searchFor(caller)(query, limit);
    },
    async find(ref) {
      return parts.find(ref, {}, []);
    },
    async call(ref, input, callOptions = {}) {
      const { signal, release } = joinSignals(closing.signal, callOptions.signal);
      running++;
      try {
        const { onProgress, onOutput } = callOptions;
        return await call(parts, ref, input, {
          ...callOptions,
          ...(onProgress === undefined ? {} : { onProgress: guard(onProgress) }),
          ...(onOutput === undefined ? {} : { onOutput: guard(onOutput) }),
          signal,
        });
      } finally {
        running--;
        release();
      }
    },
    async plan(ref, input, callOptions = {}) {
      const found = locate(parts, ref, callOptions);
      const { plan, verdict } = await prepare(parts, found, input, callOptions);
      return { plan, verdict };
    },
    async explain(ref, raw, callOptions = {}) {
      const found = locate(parts, ref, callOptions);
      const { tool, caller } = found;
      const { input } = await settleInput(parts, tool, raw, callOptions);
      const judged = await prepare(parts, found, raw, callOptions).then(
        ({ plan }) => plan,
        () => ({ tool, input }),
      );
      const unmatched = findUnmatched(judged, found.rules);
      return {
        tool,
        verdict: decide(judged, caller, found.rules),
        unmatched: unmatched.map(({ selector, file, line }) => ({ text: selector.text, file, line })),
      };
    },
    async instructions(asked = {}) {
      return options.instructions(asked);
    },
    async problems() {
      return survey(CODE).problems;
    },
    async shadowed() {
      return catalog.list().shadowed;
    },
    get trusted() {
      return options.trusted();
    },
    watch: options.watch,
    async survey({ caller = CODE } = {}) {
      return survey(caller);
    },
    on(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    setWorkdir: workdir.set,
    async close() {
      closing.abort();
      while (running > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    },
  };
}

// The signal of a call: the toolbox's own where the caller has none, since making one takes a third of a call.
// Not AbortSignal.any: on Node 20 it leaks with every call where one of the signals lives long.
function joinSignals(closing: AbortSignal, own: AbortSignal | undefined) {
  if (own === undefined) return { signal: closing, release: () => {} };
  const controller = new AbortController();
  // Calls inside this one all listen; Node would warn of the eleventh.
  setMaxListeners(0, controller.signal);
  const abort = (): void => controller.abort();
  for (const signal of [closing, own]) {
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  }
  const release = (): void => {
    for (const signal of [closing, own]) signal.removeEventListener('abort', abort);
  };
  return { signal: controller.signal, release };
}

// A file that is being saved at this moment can change between its reading and its hashing: look again.
function findStable(find: () => Tool, withDigest: (tool: Tool) => Tool): Tool {
  for (let attempt = 0; ; attempt++) {
    try {
      return withDigest(find());
    } catch (error) {
      if (!(error instanceof ToolError && error.code === 'integrity') || attempt >= 3) throw error;
    }
  }
}
