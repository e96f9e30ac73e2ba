// The only path of a call: find, repair, check, plan, decide, execute, shape, record. Read this file first.

import type { Consent } from '../core/approval.js';
import { CODE } from '../core/caller.js';
import type { NestedOptions, ToolUpstreams } from '../core/context.js';
import { ToolError } from '../core/error.js';
import type { CallEvent, EndEvent, Recorder } from '../core/event.js';
import type { Executor } from '../core/executor.js';
import { describeFaults } from '../core/faults.js';
import { deepFreeze, type Json, toJson } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { Repair, ToolResult } from '../core/result.js';
import type { AllowList } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import type { ContextStore } from '../core/store.js';
import type { Action, Tool } from '../core/tool.js';
import type { Caller, CallOptions, PlanOptions, Verdict } from '../core/toolbox.js';
import { decide, findDenial, type Rules } from '../policy/decide.js';
import { listsWithin } from '../policy/nested.js';
import type { ConsentParts } from './consent.js';
import { assertWanted, execute, type Wishes } from './execute.js';
import { type ResultRoom, toShown } from './handle.js';
import type { Limiter } from './limiter.js';
import { repairInput } from './repair.js';
import { shapeFailure, shapeOutput } from './shape.js';
import type { FindSteps } from './steps.js';

/** What a call needs of the toolbox around it. */
export interface CallParts extends ConsentParts {
  readonly find: (ref: string, options: CallOptions, nesting: Nesting) => Tool | Promise<Tool>;
  /** Lists of selectors of what a tool may call in turn; each must allow a call (RES-17). */
  readonly permissionsOf: (tool: Tool) => readonly (readonly string[])[];
  readonly executors: ReadonlyMap<Action['kind'], Executor>;
  readonly rules: (tool: Tool, options: CallOptions, within: readonly AllowList[]) => Rules;
  readonly settings: () => Settings;
  /** The time limit of a tool that names none, given the configured one. Throws where its settings contradict themselves. */
  readonly inheritedTimeout: (tool: Tool, standard: number) => number;
  readonly secrets: () => readonly string[];
  readonly workdir: () => string;
  readonly limiter: Limiter;
  /** Undefined where the toolbox was made without middleware. */
  readonly steps: FindSteps | undefined;
  /** The directories that tools are looked for in. */
  readonly paths: () => readonly string[];
  /** What a tool called by this caller is given of the stores. */
  readonly store: (caller: Caller) => ContextStore | null;
  /** The tools of servers that this caller may know of. */
  readonly remoteTools: ((caller: Caller) => ReturnType<ToolUpstreams['list']>) | undefined;
  /** Where too large results for this caller go; undefined: nowhere, they are shown whole. */
  readonly room: (caller: Caller, settings: Settings) => ResultRoom | undefined;
  /** Undefined while nobody watches: then no event is made. */
  readonly emit: ((event: CallEvent) => void) | undefined;
  readonly recorder: Recorder | undefined;
  /** Told of a tool that was approved again after it had changed. */
  readonly onAccepted: ((tool: Tool) => void) | undefined;
  readonly monotonic: () => number;
}

/** Where a call stands among calls that tools make. */
export interface Nesting {
  readonly depth: number;
  /** What the tools on the way here may call: each list holds for this call too (RUN-11). */
  readonly within: readonly AllowList[];
  /** Whether the caller chose the tool, or a definition that the caller called: that may name a hidden one. */
  readonly named: 'by-caller' | 'by-definition';
  /** Whether a call around this one runs, and so has a place among the running calls that this one shares. */
  readonly placed: boolean;
  /** The id of the call around it. */
  readonly parent?: string;
  readonly accept?: NestedOptions['accept'];
  readonly onStart?: NestedOptions['onStart'];
}

/** A tool that was found, with the rules for a call of it. */
export interface Found {
  readonly tool: Tool;
  readonly caller: Caller;
  readonly rules: Rules;
}

export interface Prepared {
  readonly plan: Plan;
  readonly verdict: Verdict;
  /** Where it was planned to run: an answer may take minutes, and the toolbox may have moved by then. */
  readonly workdir: string;
  readonly repairs: readonly Repair[];
  /** As they were when the call began; asking again looks at files again. */
  readonly settings: Settings;
}

const MAX_DEPTH = 16;
// Node fires a longer timer at once.
const MAX_TIMER_MS = 2 ** 31 - 1;
const OUTERMOST: Nesting = { depth: 0, placed: false, named: 'by-caller', within: [] };

/** The tool of a reference and the rules for this call. Throws `not_found` or `invalid_ref`. */
export function locate(
  parts: CallParts,
  ref: string,
  options: CallOptions,
  nesting: Nesting = OUTERMOST,
): Found | Promise<Found> {
  const { caller = CODE } = options;
  const toFound = (tool: Tool): Found => ({
    tool,
    caller,
    rules: parts.rules(tool, options, nesting.within),
  });
  const found = parts.find(ref, options, nesting);
  // To wait for what is there takes a tenth of a call in process.
  return found instanceof Promise ? found.then(toFound) : toFound(found);
}

/** The input as it is judged and run: repaired, and checked unless that is not wanted. Throws `invalid_input`. */
export async function settleInput(
  tool: Tool,
  raw: unknown,
  settings: Settings,
  { checkInput = true }: PlanOptions,
): Promise<Json> {
  const { input } = repairRaw(tool, raw, settings);
  return checkInput ? check(tool, input) : input;
}

/** Everything before the run: what exactly would run, and whether it may. Throws what is wrong. */
export async function prepare(
  parts: CallParts,
  { tool, caller, rules }: Found,
  raw: unknown,
  options: PlanOptions,
): Promise<Prepared> {
  const { checkInput = true, fault } = options;
  if (fault !== undefined) throw fault;
  const settings = parts.settings();
  const { input: repaired, repairs } = repairRaw(tool, raw, settings);
  // POL-21: nobody has approved what a changed tool says of its input; a model does not read it in a fault either.
  const isKept = caller.kind === 'model' && rules.changes !== undefined;
  const input = checkInput ? await check(tool, repaired, isKept) : repaired;
  const executor = parts.executors.get(tool.action.kind)!;
  const inherited = parts.inheritedTimeout(tool, settings.limits.timeoutMs);
  const timeoutMs = Math.min(options.timeoutMs ?? timeLimit(tool, settings, inherited), MAX_TIMER_MS);
  const workdir = parts.workdir();
  const plan = deepFreeze(await executor.plan(tool, input, { workdir, trusted: rules.trusted, timeoutMs }));
  const verdict = decide(plan, caller, rules);
  return { plan, verdict, workdir, repairs, settings };
}

/** Runs a tool. Never throws: whatever happens is the result (RUN-1). */
export async function call(
  parts: CallParts,
  ref: string,
  raw: unknown,
  options: CallOptions & { readonly signal: AbortSignal },
  nesting: Nesting = OUTERMOST,
): Promise<ToolResult> {
  const { caller = CODE, signal } = options;
  const base = { call: nextCallId(), ref, caller, ...placeOf(nesting, options) };
  const began = parts.monotonic();
  let tool: Tool | undefined;
  let prepared: Prepared | undefined;
  let verdict: Verdict | undefined;
  let approval: Consent | undefined;
  let outputHash: string | undefined;
  let result: ToolResult;
  parts.emit?.({ type: 'start', ...base });
  const shaping = () => ({
    durationMs: parts.monotonic() - began,
    repairs: prepared?.repairs ?? [],
    secrets: parts.secrets(),
  });
  try {
    if (nesting.depth > MAX_DEPTH) throw tooDeep(ref);
    const located = locate(parts, ref, options, nesting);
    const found = located instanceof Promise ? await located : located;
    tool = found.tool;
    nesting.accept?.(tool);
    // POL-8: what is denied whatever the input says nothing about itself, not even what it would take.
    verdict = findDenial(tool, caller, found.rules);
    if (verdict !== undefined) throw refusal(tool, verdict);
    prepared = await prepare(parts, found, raw, options);
    const { plan } = prepared;
    verdict = prepared.verdict;
    parts.recorder?.assertReady(verdict);
    if (verdict.verdict === 'ask') {
      const { consent } = await import('./consent.js');
      approval = await consent(parts, { ...prepared, ...nesting, caller, signal, approve: options.approve });
      // POL-21: who was shown what changed and said yes has approved it as it is now.
      if (verdict.changes !== undefined) parts.onAccepted?.(plan.tool);
    } else if (verdict.verdict !== 'allow') throw refusal(plan.tool, verdict);
    assertWanted(plan.tool, signal);
    // A tool that calls another gets the whole of it, and so does whoever reads it as it is written.
    const whole = options.full === true || options.onOutput !== undefined || nesting.depth > 0;
    const room = whole ? undefined : parts.room(caller, prepared.settings);
    // Named one by one: an object that begins with others and goes on with functions costs the engine a shape of its own.
    const output = await execute(parts, {
      plan,
      settings: prepared.settings,
      workdir: prepared.workdir,
      caller,
      signal,
      nesting,
      options,
      room,
      progress: (step) => {
        parts.emit?.({ type: 'progress', ...base, progress: step });
        options.onProgress?.(step);
      },
      nest: (place, inner, input, wishes) =>
        call(parts, inner, input, nestedOptions(options, wishes), {
          ...place,
          ...nestWishes(nesting, wishes),
          depth: nesting.depth + 1,
          parent: base.call,
          within: listsWithin(plan.tool.name, parts.permissionsOf(plan.tool), nesting.within),
        }),
    });
    const shown = toShown(plan.tool, output, room);
    outputHash = shown.storedHash;
    result = await shapeOutput(plan.tool, shown, shaping());
  } catch (thrown) {
    result = shapeFailure(thrown, shaping());
    // ERR-6: a fault of ours shows where it is to someone who asked.
    if (result.error?.code === 'internal') parts.debug((thrown as Error)?.stack ?? String(thrown));
  }
  if (parts.recorder !== undefined || parts.emit !== undefined) {
    const plan = prepared?.plan;
    const input = plan === undefined ? jsonOrNothing(raw) : plan.input;
    const given = {
      ...(approval === undefined ? {} : { approval }),
      ...(outputHash === undefined ? {} : { outputHash }),
    };
    const end: EndEvent = { type: 'end', ...base, result, tool, input, plan, verdict, ...given };
    parts.recorder?.record(end);
    parts.emit?.(end);
  }
  return result;
}

// A nested call carries the caller, a signal, the trust and whom to ask of the outer one, and nothing else (RUN-7).
// Consent is not inherited: what must be asked for is asked for again, through the same door.
function nestedOptions({ caller = CODE, trust, approve }: CallOptions, { signal, onOutput, elicit }: Wishes) {
  return {
    caller,
    signal,
    ...(trust === undefined ? {} : { trust }),
    ...(approve === undefined ? {} : { approve }),
    ...(elicit === undefined ? {} : { elicit }),
    ...(onOutput === undefined ? {} : { onOutput }),
  };
}

// What a call accepts also binds the calls inside of it; when it starts is its own affair.
function nestWishes({ accept }: Nesting, wishes: Wishes): Pick<Nesting, 'accept' | 'onStart'> {
  const { onStart } = wishes;
  const both = (tool: Tool): void => {
    accept?.(tool);
    wishes.accept?.(tool);
  };
  const accepts = accept === undefined && wishes.accept === undefined ? {} : { accept: both };
  return { ...accepts, ...(onStart === undefined ? {} : { onStart }) };
}

// The user's word on a tool, else its own, else what it inherits, else the default; what only shortens comes on top.
function timeLimit(tool: Tool, { limits, tools }: Settings, inherited: number): number {
  const own = tools.get(tool.name);
  const chosen =
    own?.timeoutMs ??
    Math.min(tool.traits.timeoutMs ?? inherited, limits.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
  return Math.min(chosen, own?.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
}

function repairRaw(
  tool: Tool,
  raw: unknown,
  { repair }: Settings,
): { readonly input: Json; readonly repairs: readonly Repair[] } {
  const input = toJson(raw);
  return repair ? repairInput(input, tool.input.json) : { input, repairs: [] };
}

async function check(tool: Tool, input: Json, isKept = false): Promise<Json> {
  const checked = await tool.input.check(input);
  if (checked.ok) return checked.value;
  if (!isKept) throw describeFaults(tool, checked.faults);
  throw new ToolError(
    'invalid_input',
    `${tool.name} changed since it was approved, and takes other input now`,
    {
      hint: `a person must look at it first: wield show ${tool.name}`,
    },
  );
}

// Which calls an event's call is part of, here and elsewhere.
function placeOf({ depth, parent }: Nesting, { trace }: CallOptions) {
  return {
    depth,
    ...(parent === undefined ? {} : { parent }),
    ...(trace === undefined ? {} : { trace }),
  };
}

// For the record of a call that failed before its input was checked.
function jsonOrNothing(raw: unknown): Json | undefined {
  try {
    return toJson(raw);
  } catch {
    return undefined;
  }
}

function refusal(tool: Tool, verdict: Verdict): ToolError {
  return new ToolError(verdict.code ?? 'denied', `${tool.name} was not run: ${verdict.reason}`, {
    hint:
      verdict.hint ?? `whoever keeps the configuration can allow it; wield explain ${tool.name} says more`,
    data: { rule: verdict.rule },
  });
}

function tooDeep(ref: string): ToolError {
  return new ToolError('invalid_ref', `${ref} was called more than ${MAX_DEPTH} levels deep`, {
    hint: 'tools that call each other in a circle never end; break the circle',
  });
}

let calls = 0;

function nextCallId(): string {
  return `c${++calls}`;
}
