// The scope of a call: who makes it, its position among nested calls, what its tool can use, and what is known of it so far.

import { setMaxListeners } from 'node:events';
import { narrowPlaces } from '../catalog/narrow-places.js';
import type { Decision } from '../core/approval.js';
import { guardListener, onAbort } from '../core/async.js';
import { CallController } from '../core/call-controller.js';
import { type Caller, CODE, type TraceParent, type Verdict } from '../core/caller.js';
import type { NestedOptions } from '../core/context.js';
import type { EventBase } from '../core/event.js';
import type { CallScope } from '../core/executor.js';
import type { EnteredLabel } from '../core/label.js';
import type { Plan } from '../core/plan.js';
import { redactValue } from '../core/redact.js';
import type { Repair, ToolResult } from '../core/result.js';
import type { AllowList } from '../core/rule.js';
import { type Narrowing, NO_NARROWING } from '../core/skill.js';
import type { Snapshot } from '../core/snapshot.js';
import type { ContextStore, Stores } from '../core/store.js';
import type { CallSpan } from '../core/telemetry.js';
import type { ForeseenCall, Tool } from '../core/tool.js';
import type { DoorOptions } from '../core/toolbox.js';
import { listsWithin } from '../policy/rules.js';
import { askThrough, type Nest, type NestedCallOptions, pauseWhileAsked } from './ask.js';
import { withLabels } from './labelled-documents.js';
import { enterLabels } from './labels.js';
import { listRemoteTools } from './list.js';
import type { CallParts } from './parts.js';

/** Position of a call among nested calls. */
export interface Nesting {
  readonly depth: number;
  /** Lists of what the calling tools may call; each must allow this call (RUN-11). */
  readonly within: readonly AllowList[];
  /** What the skills of the calling tools restrict (RES-44). */
  readonly narrowing: readonly Narrowing[];
  /** Who named the tool: the caller, or a definition that the caller called, which may name a hidden tool. */
  readonly named: 'by-caller' | 'by-definition';
  /** Whether an outer call is running and so holds a slot that this call shares. */
  readonly sharesSlot: boolean;
  /** Id of the outer call. */
  readonly parent?: string;
  /** The tool that the runtime made for this call, which has no reference (RSC-7). */
  readonly tool?: Tool;
  /** The trace of the outer call. */
  readonly trace?: TraceParent;
  readonly accept?: NestedOptions['accept'];
  readonly onStart?: NestedOptions['onStart'];
  /** What the session had read at the front, in a call that a worker runs (FLW-5). */
  readonly entered?: readonly EnteredLabel[] | undefined;
  /** Adds labels to the result of the outer call. */
  readonly gather?: Call['gather'];
  readonly handles?: NestedOptions['handles'];
  readonly deferApproval?: NestedOptions['deferApproval'];
}

export const OUTERMOST: Nesting = {
  depth: 0,
  sharesSlot: false,
  named: 'by-caller',
  within: [],
  narrowing: NO_NARROWING,
};

/** A call as it was made. */
export interface GivenCall {
  readonly ref: string;
  readonly raw: unknown;
  readonly options: DoorOptions;
  /** Aborts the call, and is aborted with its caller. */
  readonly controller: CallController;
  readonly nesting: Nesting;
}

/** A running call: filled in step by step, and recorded at the end. */
export interface Call extends CallScope {
  /** What events say about it. */
  readonly event: EventBase;
  raw: unknown;
  caller: Caller;
  readonly nesting: Nesting;
  /** Makes a call inside this one. */
  readonly nest: Nest;
  readonly startedAt: number;
  tool?: Tool;
  plan?: Plan;
  repairs: readonly Repair[];
  verdict?: Verdict;
  approval?: CallScope['approval'];
  entered?: CallScope['entered'];
  traced?: CallScope['traced'];
  telemetry?: CallScope['telemetry'];
  stream?: CallScope['stream'];
  spill?: CallScope['spill'];
  call: CallScope['call'];
  delegate: CallScope['delegate'];
  decision?: Decision;
  outputHash?: string;
  /** Set while calls are traced. */
  span?: CallSpan | undefined;
  /** How long it waited for consent. */
  approvalMs?: number;
  /** The labels of its result: those of its tool, and of the calls inside it (FLW-1). */
  labels?: ReadonlySet<string>;
  /** Adds labels to its result. */
  readonly gather: (labels: readonly string[]) => void;
}

/** What finding a tool, its rules and its plan depend on. */
export type CallBase = Pick<Call, 'caller' | 'options' | 'snapshot' | 'nesting'>;

/** Returns the base of an outermost call. */
export function toBase(snapshot: Snapshot, options: DoorOptions = {}): CallBase {
  return { caller: options.caller ?? CODE, options, snapshot, nesting: OUTERMOST };
}

/** Makes and foresees calls; runtime/call.ts and foresee.ts have the only ones. */
interface CallMaker {
  readonly call: (parts: CallParts, given: GivenCall) => Promise<ToolResult>;
  readonly foresee: (parts: CallParts, ref: string, raw: unknown, base: CallBase) => Promise<ForeseenCall>;
}

let calls = 0;

/** Returns the id of a new call, unique in this process. */
export function nextCallId(): string {
  return `c${++calls}`;
}

/** Opens a call; `make` makes the calls inside it. */
export function openCall(parts: CallParts, given: GivenCall, make: CallMaker): Call {
  const { workspace, catalog, observers, stores } = parts;
  const { ref, raw, nesting } = given;
  const { controller } = given;
  const { options, whileAsked } = pauseWhileAsked(given.options);
  const { caller = CODE } = options;
  const whole = workspace.snapshot(caller);
  const snapshot = nesting.narrowing.length === 0 ? whole : narrowPlaces(whole, nesting.narrowing);
  const nest: Nest = async (inner, input, asked) => {
    const inside = new CallController();
    // There may be many calls at once, and Node warns about more than ten listeners.
    setMaxListeners(0, asked.signal);
    const release = onAbort(asked.signal, () => inside.abort(asked.signal.reason));
    try {
      return await make.call(parts, { ref: inner, raw: input, controller: inside, ...toNested(parts, call, asked) });
    } finally {
      release();
    }
  };
  const { debug } = workspace.world;
  const { elicit, client } = askThrough(options, () => call.tool!, nest, debug);
  const onProgress = options.onProgress && guardListener(options.onProgress, debug);
  const onLog = options.onLog && guardListener(options.onLog, debug);
  const id = nextCallId();
  const call: Call = {
    id,
    event: { call: id, ref, caller, depth: nesting.depth, parent: nesting.parent, trace: options.trace },
    raw,
    caller,
    options,
    snapshot,
    controller,
    nesting,
    startedAt: workspace.world.monotonic(),
    repairs: [],
    store: stores === undefined ? null : toContextStore(parts, stores, () => call),
    enter: (labels) => enterLabels(parts, call, labels),
    remoteTools: catalog.hasServers ? () => listRemoteTools(parts, snapshot, withoutApps(caller)) : undefined,
    elicit,
    client,
    progress(progress) {
      observers.emit?.({ type: 'progress', ...call.event, progress });
      onProgress?.(caller.kind === 'model' ? redactValue(progress, snapshot.hidden) : progress);
    },
    log: onLog && ((entry) => onLog(caller.kind === 'model' ? redactValue(entry, snapshot.hidden) : entry)),
    nest,
    gather(labels) {
      call.labels = new Set([...(call.labels ?? []), ...labels]);
      nesting.gather?.(labels);
    },
    call: (inner, input, asked) => nest(inner, input, { ...asked, signal: asked?.signal ?? controller.signal }),
    read: (uri) => nest(uri, {}, { signal: controller.signal, as: 'resource' }),
    foresee: (inner, input) => make.foresee(parts, inner, input, call),
    delegate: (inner, input) => nest(inner, input, { signal: controller.signal, named: 'by-definition' }),
    whileAsked,
    rights: () => rightsOf(parts, call),
  };
  return call;
}

function toContextStore(parts: CallParts, stores: Stores, callOf: () => Call): ContextStore {
  const { results, session } = stores;
  return {
    documents: withLabels(parts, callOf, stores),
    async openResult(id) {
      const call = callOf();
      const { caller, snapshot } = call;
      const stored = await results.open(id, caller.session ?? session, snapshot.settings.results.keepMs);
      try {
        // FLW-3: it outlives what is remembered of its session.
        await enterLabels(parts, call, stored?.labels ?? []);
      } catch (error) {
        stored?.close();
        throw error;
      }
      return stored;
    },
  };
}

/**
 * A nested call inherits the caller, the trust, the log and the approval callback of the outer one, nothing else (RUN-7).
 * Consent is not inherited: it is requested again through the same door.
 */
function toNested(parts: CallParts, outer: Call, asked: NestedCallOptions): Pick<GivenCall, 'options' | 'nesting'> {
  const { options, nesting, snapshot } = outer;
  const { trust, approve, elicit, client, onLog, logLevel, joined } = options;
  // A call that waits for its process in the background does not make those inside it wait.
  const background = options.background === 'call' ? undefined : options.background;
  const { named = 'by-caller', sharesSlot = true, tool, as, onOutput, onStart, handles, deferApproval } = asked;
  const { permissions, narrowing } = parts.cascade.of(outer.tool!, snapshot);
  return {
    options: {
      caller: withoutApps(outer.caller),
      trust,
      approve,
      elicit,
      client,
      onLog,
      logLevel,
      onOutput,
      background,
      as,
      joined,
    },
    nesting: {
      named,
      sharesSlot,
      tool,
      accept: acceptBoth(nesting.accept, asked.accept),
      onStart,
      entered: options.dispatched?.entered ?? nesting.entered,
      gather: outer.gather,
      handles,
      deferApproval,
      depth: nesting.depth + 1,
      parent: outer.id,
      trace: outer.span?.trace ?? options.trace ?? nesting.trace,
      within: listsWithin(outer.tool!.name, permissions, nesting.within),
      narrowing: joinNarrowing(nesting.narrowing, narrowing),
    },
  };
}

// Equal for two calls only if their nested calls have the same rights.
function rightsOf({ cascade }: CallParts, { caller, options, snapshot, nesting, tool }: Call): string {
  const { trust, approve, ask, elicit, client, joined } = options;
  const { kind, door, name, session, user, issuer, groups, profile } = caller;
  const { permissions, narrowing } = cascade.of(tool!, snapshot);
  const within = listsWithin(tool!.name, permissions, nesting.within);
  return JSON.stringify([
    [kind, door, name, session, joined, user, issuer, groups, profile],
    [trust === true, approve !== undefined, ask !== undefined || elicit !== undefined, client !== undefined],
    // A function cannot be compared, so only the calls of one outer call share it.
    nesting.accept && nesting.parent,
    within.map(({ rules, fault }) => [rules.map(({ selector }) => selector.text), fault]),
    joinNarrowing(nesting.narrowing, narrowing).map(({ directory, trust, paths }) => [directory, trust, paths]),
  ]);
}

// What a call accepts also applies to the calls inside it.
function acceptBoth(outer: Nesting['accept'], inner: Nesting['accept']): Nesting['accept'] {
  if (outer === undefined || inner === undefined) return outer ?? inner;
  return (tool) => {
    outer(tool);
    inner(tool);
  };
}

/** Joins what the calling tools and a tool itself inherit, each skill once. */
export function joinNarrowing(outer: readonly Narrowing[], own: readonly Narrowing[]): readonly Narrowing[] {
  if (outer.length === 0) return own;
  return own.length === 0 ? outer : [...new Set([...outer, ...own])];
}

/** The caller of what a tool names, which a model may have chosen: tools for apps only do not exist for it (RSC-20). */
export function withoutApps(caller: Caller): Caller {
  return caller.apps === true ? { ...caller, apps: false } : caller;
}
