// Assembles a toolbox from a catalog, executors and settings; knows no format and no protocol.

import { setMaxListeners } from 'node:events';
import { type CascadeResolver, createCascadeResolver } from '../catalog/cascade.js';
import type { Catalog } from '../catalog/catalog.js';
import { createToolSearch } from '../catalog/search/tool-search.js';
import type { References } from '../catalog/skill-references.js';
import type { Approvals } from '../core/approval.js';
import { CODE } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import type { CallEvent, Observer, Recorder } from '../core/event.js';
import type { Executor } from '../core/executor.js';
import { copyJson, deepFreeze, type Json } from '../core/json.js';
import type { Middleware } from '../core/middleware.js';
import type { Problem } from '../core/problem.js';
import type { ToolResult } from '../core/result.js';
import { NO_POLICY, type Policy } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import type { DocumentStore, Handle, ResultStore } from '../core/store.js';
import type { Action, Tool } from '../core/tool.js';
import type { Caller, CallOptions, InstructionsOptions, Survey, Toolbox } from '../core/toolbox.js';
import type { World } from '../core/world.js';
import { decide, findDenial, findUnmatched, type Rules } from '../policy/decide.js';
import { type CallParts, call, locate, prepare, settleInput } from './call.js';
import { createLimiter } from './limiter.js';
import { createSieve } from './sieve.js';
import { joinSignals } from './signals.js';
import { createFindSteps } from './steps.js';

export interface AssembleOptions {
  readonly catalog: Catalog;
  readonly executors: readonly Executor[];
  /** What tools inherit; left out where nothing on disk governs them. */
  readonly cascade?: CascadeResolver;
  /** What the texts of skills refer to. */
  readonly references?: References;
  /** What holds for one tool besides the policy. */
  readonly rules: (tool: Tool, options: CallOptions) => Pick<Rules, 'trusted' | 'changes' | 'altered'>;
  /** What the configuration says about calls, to this caller; nothing where it is left out. */
  readonly policy?: (caller: Caller) => Policy;
  readonly settings: () => Settings;
  /** Runs a look that waits for nothing, during which the surroundings are asked about once and stay as they are. */
  readonly steadily?: <T>(see: () => T) => T;
  /** What runs are wrapped in, the first outermost; the same array while nothing changed. */
  readonly middleware?: (settings: Settings) => readonly Middleware[];
  /** The directories that tools are looked for in. */
  readonly paths?: () => readonly string[];
  /** Problems of the surroundings, shown before those of the catalog. */
  readonly problems?: () => readonly Problem[];
  /** Values that must not stand in a message. */
  readonly secrets: () => readonly string[];
  readonly workdir: { get(): string; set(directory: string): void };
  /** Whether code of the workspace may run for a model. */
  readonly trusted: () => boolean;
  /** What a model is told before anything else. */
  readonly instructions: (options: InstructionsOptions) => string;
  /** Where large results and documents are kept; without it results are shown whole. */
  readonly stores?: Stores;
  /** The tools of servers that a caller may know of; left out where there can be none. */
  readonly remoteTools?: NonNullable<CallParts['remoteTools']>;
  /** Tells when the catalog may have changed. */
  readonly watch: (listener: () => void) => () => void;
  /** Where approvals are kept; without it consent is given in the call or not at all. */
  readonly approvals?: () => Promise<Approvals>;
  readonly recorder?: Recorder;
  /** Told of a tool that was approved again after it had changed (POL-21). */
  readonly onAccepted?: (tool: Tool) => void;
  /** Makes spans of calls, while there is someone to send them to. */
  readonly tracer?: () => Observer | undefined;
  readonly world: World;
}

export interface Stores {
  readonly results: ResultStore;
  readonly documents: DocumentStore;
  /** The calls that read more of a result. */
  readonly ways: (handle: Handle) => readonly string[];
}

// A file that is edited while it is asked about is asked about again, but not for ever.
const MAX_LOOKS = 3;

export function assembleToolbox(options: AssembleOptions): Toolbox {
  const { catalog, rules, settings, secrets, stores, workdir, world, policy = () => NO_POLICY } = options;
  const { steadily = (see) => see() } = options;
  // Callers that say nothing of a session share this one, for as long as the toolbox lives.
  const ownSession = `toolbox ${world.now()} ${Math.random()}`;
  const executors = new Map<Action['kind'], Executor>(
    options.executors.map((executor) => [executor.kind, executor]),
  );
  const observers = new Set<Observer>();
  // Made by the first call: Node loads what it needs for one then.
  let closing: AbortController | undefined;
  let closed = false;
  const closingSignal = (): AbortSignal => {
    if (closing === undefined) {
      closing = new AbortController();
      // Every running call listens; the limiter bounds how many there are.
      setMaxListeners(0, closing.signal);
      if (closed) closing.abort();
    }
    return closing.signal;
  };
  let running = 0;
  const listeners = new Set<() => void>();
  let digested = new WeakMap<Tool, Tool>();

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

  const { recorder, tracer } = options;
  const emit = (event: CallEvent): void => {
    const trace = tracer?.();
    if (trace !== undefined) guard(trace)(event);
    if (observers.size === 0) return;
    const shown = guard(toShown)(event);
    if (shown !== undefined) for (const observer of observers) guard(observer)(shown);
  };

  const sift = createSieve(policy);

  // Where a look at the files met some whose tools are not known yet, they are asked for, and it looks again. Nearly
  // always there are none, and then nobody waits.
  const look = <T>(see: () => T, ref?: string, looks = 1): T | Promise<T> => {
    const again = (): Promise<T> | undefined =>
      looks < MAX_LOOKS ? catalog.settle(ref)?.then(() => look(see, ref, looks + 1)) : undefined;
    let seen: T;
    try {
      seen = steadily(see);
    } catch (error) {
      const later = again();
      if (later === undefined) throw error;
      return later;
    }
    return again() ?? seen;
  };

  // What is on disk is looked at; what code changes is told.
  const wake = (): void => {
    for (const listener of listeners) guard(listener)();
  };

  const cascade = options.cascade ?? UNGOVERNED;

  // Callers of one kind see the same tools, so that each has an index that stays.
  const searches = new Map<Caller['kind'], ReturnType<typeof createToolSearch>>();
  const searchFor = (caller: Caller): ReturnType<typeof createToolSearch> => {
    let search = searches.get(caller.kind);
    if (search === undefined) {
      search = createToolSearch(() => {
        const { tools, skills } = catalog.list();
        return { tools: sift(tools, caller).tools, skills };
      });
      searches.set(caller.kind, search);
    }
    return search;
  };

  const survey = (caller: Caller): Survey => {
    const { tools, shadowed, problems, skills, unlisted } = catalog.list();
    const all = [
      ...(options.problems?.() ?? []),
      ...problems,
      // A main skill that lies among the skills was complained of there.
      ...cascade
        .problems(tools, skills)
        .filter(
          ({ path, message }) => !problems.some((known) => known.path === path && known.message === message),
        ),
      ...(options.references?.problems(skills) ?? []),
    ];
    return {
      ...sift(tools, caller),
      shadowed,
      skills,
      unlisted: sift(unlisted, caller).tools,
      problems: all,
    };
  };

  const findForCode = async (ref: string): Promise<Tool> => (await locate(parts, ref, {})).tool;

  const parts: CallParts = {
    find: (ref, { caller = CODE, offer = [] }, { within, named }) => {
      // Asked only where a hint is made.
      let holding: Policy | undefined;
      const mayName = (tool: Tool): boolean => {
        holding ??= policy(caller);
        return findDenial(tool, caller, { policy: holding, within }) === undefined;
      };
      const model = caller.kind === 'model';
      const reach = { visibleOnly: model && named === 'by-caller', offeredOnly: model, offer, mayName };
      return look(() => findStable(() => catalog.find(ref, reach), withDigest), ref);
    },
    permissionsOf: cascade.permissionsOf,
    executors,
    rules: (tool, callOptions, within) =>
      steadily(() => {
        const { trusted, changes, altered } = rules(tool, callOptions);
        return { trusted, changes, altered, policy: policy(callOptions.caller ?? CODE), within };
      }),
    settings,
    inheritedTimeout: (tool, standard) => steadily(() => cascade.inheritedTimeout(tool, standard)),
    secrets,
    workdir: workdir.get,
    limiter: createLimiter(() => settings().limits),
    approvals: options.approvals,
    now: world.now,
    steps: options.middleware === undefined ? undefined : createFindSteps(options.middleware),
    paths: options.paths ?? (() => []),
    store: (caller) =>
      stores === undefined
        ? null
        : {
            documents: stores.documents,
            openResult: (id) => stores.results.open(id, caller.session ?? ownSession),
          },
    remoteTools: options.remoteTools,
    room: (caller, { results }) =>
      stores && {
        store: stores.results,
        session: caller.session ?? ownSession,
        inline: results.inline,
        ways: stores.ways,
      },
    get emit() {
      return observers.size > 0 || tracer?.() !== undefined ? emit : undefined;
    },
    recorder,
    onAccepted: options.onAccepted,
    monotonic: world.monotonic,
    debug: world.debug,
  };

  return {
    async list({ hidden = false, caller = CODE, offer = [], knownOnly = false } = {}) {
      const listing = knownOnly ? catalog.list(offer) : await look(() => catalog.list(offer));
      const model = caller.kind === 'model';
      const { tools } = sift(model ? [...listing.tools, ...listing.forModels] : listing.tools, caller);
      return tools.filter((tool) => (hidden || !tool.traits.hidden) && !(model && isPlainText(tool)));
    },
    async search(query, limit, { caller = CODE } = {}) {
      return look(() => searchFor(caller)(query, limit));
    },
    async find(ref) {
      return findForCode(ref);
    },
    async call(ref, input, callOptions = {}) {
      const { signal, release } = joinSignals(closingSignal(), callOptions.signal);
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
      const found = await locate(parts, ref, callOptions);
      const { plan, verdict } = await prepare(parts, found, input, callOptions);
      return { plan, verdict };
    },
    async explain(ref, raw, callOptions = {}) {
      const found = await locate(parts, ref, callOptions);
      const { tool, caller } = found;
      const input = await settleInput(tool, raw, settings(), callOptions);
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
    on(observer) {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    async close() {
      closed = true;
      closing?.abort();
      while (running > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await Promise.all(options.executors.map((executor) => executor.close?.()));
      recorder?.close();
      stores?.documents.close();
    },
    catalog: {
      async survey({ caller = CODE } = {}) {
        return look(() => survey(caller));
      },
      async problems() {
        return (await look(() => survey(CODE))).problems;
      },
      async shadowed() {
        return (await look(catalog.list)).shadowed;
      },
      watch(listener) {
        listeners.add(listener);
        const stop = options.watch(listener);
        return () => {
          listeners.delete(listener);
          stop();
        };
      },
      register(tool) {
        catalog.register(tool);
        wake();
      },
      unregister(name) {
        const removed = catalog.unregister(name);
        if (removed) wake();
        return removed;
      },
      clearToolCache: (name) => catalog.forget(name),
      clearAllCaches() {
        digested = new WeakMap();
        catalog.forget();
      },
      async authority(tool) {
        return cascade.authorityOf(typeof tool === 'string' ? await findForCode(tool) : tool);
      },
      async cascade(tool) {
        return cascade.of(typeof tool === 'string' ? await findForCode(tool) : tool);
      },
    },
    workspace: {
      get workdir() {
        return workdir.get();
      },
      get trusted() {
        return options.trusted();
      },
      async instructions(asked = {}) {
        return options.instructions(asked);
      },
      setWorkdir: workdir.set,
    },
  };
}

// OBS-4: observers get copies of what the caller gave and will get, frozen, so that they change nothing of it.
function toShown(event: CallEvent): CallEvent {
  const { caller, trace } = event;
  const own = { ...event, caller: { ...caller }, ...(trace === undefined ? {} : { trace: { ...trace } }) };
  if (own.type === 'end') own.result = copyJson(own.result as unknown as Json) as unknown as ToolResult;
  return deepFreeze(own);
}

// What toolboxes have that are made of nothing but functions.
const UNGOVERNED: CascadeResolver = createCascadeResolver({
  authorities: { skillOf: () => undefined, above: () => [], governing: () => [] },
  find: (ref) => {
    throw new ToolError('not_found', `there is no skill "${ref}"`, { hint: 'give it to createToolbox' });
  },
  trusted: () => true,
});

// SKL-3: a text that takes nothing is a skill that a model is told of, and reads; a tool for each would cost it more.
function isPlainText({ traits, input }: Tool): boolean {
  return traits.text === true && Object.keys(input.json.properties ?? {}).length === 0;
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
