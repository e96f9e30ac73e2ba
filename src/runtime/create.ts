// Assembles a toolbox from a catalog, executors and settings; knows no format and no protocol.

import { setMaxListeners } from 'node:events';
import { ToolError } from '../core/error.js';
import type { CallEvent, Observer } from '../core/event.js';
import type { Executor } from '../core/executor.js';
import { deepFreeze } from '../core/json.js';
import type { Settings } from '../core/settings.js';
import type { DocumentStore, Handle, ResultStore } from '../core/store.js';
import type { Action, Problem, Tool } from '../core/tool.js';
import type { CallOptions, Survey, Toolbox } from '../core/toolbox.js';
import type { World } from '../core/world.js';
import type { Rules } from '../policy/decide.js';
import type { Catalog } from '../resolve/catalog.js';
import { createToolSearch } from '../resolve/search.js';
import { type CallParts, call, prepare } from './call.js';
import { createLimiter } from './limiter.js';

export interface AssembleOptions {
  readonly catalog: Catalog;
  readonly executors: readonly Executor[];
  readonly rules: (tool: Tool, options: CallOptions) => Rules;
  readonly settings: () => Settings;
  /** Problems of the surroundings, shown before those of the catalog. */
  readonly problems?: () => readonly Problem[];
  /** Values that must not stand in a message. */
  readonly secrets: () => readonly string[];
  readonly workdir: { get(): string; set(directory: string): void };
  /** Whether code of the workspace may run for a model. */
  readonly trusted: () => boolean;
  /** What a model is told before anything else. */
  readonly instructions: () => string;
  /** Where large results and documents are kept; without it results are shown whole. */
  readonly stores?: Stores;
  /** Tells when the catalog may have changed. */
  readonly watch: (listener: () => void) => () => void;
  readonly world: World;
}

export interface Stores {
  readonly results: ResultStore;
  readonly documents: DocumentStore;
  /** The calls that read more of a result. */
  readonly ways: (handle: Handle) => readonly string[];
}

export function assembleToolbox(options: AssembleOptions): Toolbox {
  const { catalog, rules, settings, secrets, stores, workdir, world } = options;
  // Callers that say nothing of a session share this one, for as long as the toolbox lives.
  const ownSession = `toolbox ${world.now()} ${Math.random()}`;
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

  const search = createToolSearch(() => catalog.list().tools);

  const survey = (): Survey => {
    const { tools, shadowed, problems, skills } = catalog.list();
    return { tools, shadowed, skills, problems: [...(options.problems?.() ?? []), ...problems] };
  };

  const parts: CallParts = {
    find: (ref, caller) =>
      findStable(() => catalog.find(ref, { visibleOnly: caller.kind === 'model' }), withDigest),
    executors,
    rules,
    settings,
    secrets,
    workdir: workdir.get,
    limiter: createLimiter(() => settings().limits),
    store: (caller) =>
      stores === undefined
        ? null
        : {
            documents: stores.documents,
            openResult: (id) => stores.results.open(id, caller.session ?? ownSession),
          },
    room: (caller) =>
      stores && {
        store: stores.results,
        session: caller.session ?? ownSession,
        inline: settings().results.inline,
        ways: stores.ways,
      },
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
    async list({ hidden = false } = {}) {
      const { tools } = catalog.list();
      return hidden ? tools : tools.filter((tool) => !tool.traits.hidden);
    },
    async search(query, limit) {
      return search(query, limit);
    },
    async find(ref) {
      return parts.find(ref, { kind: 'code', door: 'library' });
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
      const { plan, verdict } = await prepare(parts, ref, input, callOptions);
      return { plan, verdict };
    },
    async instructions() {
      return options.instructions();
    },
    async problems() {
      return survey().problems;
    },
    async shadowed() {
      return catalog.list().shadowed;
    },
    get trusted() {
      return options.trusted();
    },
    watch: options.watch,
    async survey() {
      return survey();
    },
    on(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    setWorkdir: workdir.set,
    async close() {
      closing.abort();
      while (running > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      stores?.documents.close();
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
