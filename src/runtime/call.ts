// The only path of a call: find, repair, check, plan, decide, execute, shape, record. Read this file first.

import type { NestedOptions, ProgressListener } from '../core/context.js';
import { ToolError } from '../core/error.js';
import type { CallEvent } from '../core/event.js';
import type { Executor } from '../core/executor.js';
import { deepFreeze, type Json, toJson } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { Repair, ToolResult } from '../core/result.js';
import type { Settings } from '../core/settings.js';
import type { ContextStore } from '../core/store.js';
import type { Action, Tool } from '../core/tool.js';
import type { Caller, CallOptions, PlanOptions, Verdict } from '../core/toolbox.js';
import { decide, type Rules } from '../policy/decide.js';
import { describeFaults } from './faults.js';
import { type ResultRoom, toShown, toSpill } from './handle.js';
import type { Limiter } from './limiter.js';
import { repairInput } from './repair.js';
import { shapeFailure, shapeOutput } from './shape.js';

/** What a call needs of the toolbox around it. */
export interface CallParts {
  readonly find: (ref: string, caller: Caller) => Tool;
  readonly executors: ReadonlyMap<Action['kind'], Executor>;
  readonly rules: (tool: Tool, options: CallOptions) => Rules;
  readonly settings: () => Settings;
  readonly secrets: () => readonly string[];
  readonly workdir: () => string;
  readonly limiter: Limiter;
  /** What a tool called by this caller is given of the stores. */
  readonly store: (caller: Caller) => ContextStore | null;
  /** Where too large results for this caller go; undefined: nowhere, they are shown whole. */
  readonly room: (caller: Caller) => ResultRoom | undefined;
  /** Undefined while nobody watches: then no event is made. */
  readonly emit: ((event: CallEvent) => void) | undefined;
  readonly monotonic: () => number;
  readonly debug: (message: string) => void;
}

/** Where a call stands among calls that tools make. */
export interface Nesting {
  readonly depth: number;
  readonly accept?: NestedOptions['accept'];
  readonly onStart?: NestedOptions['onStart'];
}

export interface Prepared {
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly repairs: readonly Repair[];
}

const MAX_DEPTH = 16;
// Node fires a longer timer at once.
const MAX_TIMER_MS = 2 ** 31 - 1;
const CODE: Caller = { kind: 'code', door: 'library' };

/** Everything before the run: what exactly would run, and whether it may. Throws what is wrong. */
export async function prepare(
  parts: CallParts,
  ref: string,
  raw: unknown,
  options: PlanOptions,
  nesting: Nesting = { depth: 0 },
): Promise<Prepared> {
  const { caller = CODE, checkInput = true } = options;
  const settings = parts.settings();
  const tool = parts.find(ref, caller);
  nesting.accept?.(tool);
  const json = toJson(raw);
  const { input, repairs } = settings.repair
    ? repairInput(json, tool.input.json)
    : { input: json, repairs: [] };
  const checked = checkInput ? await check(tool, input) : input;
  const executor = parts.executors.get(tool.action.kind)!;
  const rules = parts.rules(tool, options);
  const timeoutMs = Math.min(options.timeoutMs ?? timeLimit(tool, settings), MAX_TIMER_MS);
  const plan = deepFreeze(
    await executor.plan(tool, checked, {
      workdir: parts.workdir(),
      trusted: rules.trusted,
      timeoutMs,
    }),
  );
  const verdict = decide(plan, caller, rules);
  return { plan, verdict, repairs };
}

/** Runs a tool. Never throws: whatever happens is the result (RUN-1). */
export async function call(
  parts: CallParts,
  ref: string,
  raw: unknown,
  options: CallOptions & { readonly signal: AbortSignal },
  nesting: Nesting = { depth: 0 },
): Promise<ToolResult> {
  const { caller = CODE, signal } = options;
  const base = { call: nextCallId(), ref, caller, depth: nesting.depth };
  const began = parts.monotonic();
  let prepared: Prepared | undefined;
  let result: ToolResult;
  parts.emit?.({ type: 'start', ...base });
  const shaping = () => ({
    durationMs: parts.monotonic() - began,
    repairs: prepared?.repairs ?? [],
    secrets: parts.secrets(),
  });
  try {
    if (nesting.depth > MAX_DEPTH) throw tooDeep(ref);
    prepared = await prepare(parts, ref, raw, options, nesting);
    const { plan, verdict } = prepared;
    if (verdict.verdict !== 'allow') throw refusal(plan.tool, verdict);
    assertWanted(plan.tool, signal);
    const slot = await parts.limiter.acquire(plan.tool, signal, nesting.depth > 0);
    try {
      await options.ready?.(signal);
      assertWanted(plan.tool, signal);
      const progress: ProgressListener = (step) => {
        parts.emit?.({ type: 'progress', ...base, progress: step });
        options.onProgress?.(step);
      };
      // A tool that calls another gets the whole of it, and so does whoever reads it as it is written.
      const whole = options.full === true || options.onOutput !== undefined || nesting.depth > 0;
      const room = whole ? undefined : parts.room(caller);
      nesting.onStart?.();
      const output = await parts.executors.get(plan.tool.action.kind)!.run(plan, {
        signal,
        progress,
        wantsProgress: options.onProgress !== undefined,
        ...(options.onOutput === undefined ? {} : { stream: options.onOutput }),
        ...(room === undefined ? {} : { spill: toSpill(room) }),
        store: parts.store(caller),
        workdir: parts.workdir(),
        call: (innerRef, innerInput, wishes) =>
          call(parts, innerRef, innerInput, nestedOptions(options, caller, wishes), nest(nesting, wishes)),
      });
      result = await shapeOutput(plan.tool, toShown(plan.tool, output, room), shaping());
    } finally {
      slot.release();
    }
  } catch (thrown) {
    result = shapeFailure(thrown, shaping());
    // ERR-6: a fault of ours shows where it is to someone who asked.
    if (result.error?.code === 'internal') parts.debug((thrown as Error)?.stack ?? String(thrown));
  }
  parts.emit?.({ type: 'end', ...base, result, plan: prepared?.plan, verdict: prepared?.verdict });
  return result;
}

// A nested call carries the caller, the signal and the consent of the outer one, and nothing else (RUN-7).
function nestedOptions(
  { signal, trust }: CallOptions & { readonly signal: AbortSignal },
  caller: Caller,
  { onOutput, signal: own = signal }: NestedOptions = {},
) {
  return {
    caller,
    signal: own,
    ...(trust === undefined ? {} : { trust }),
    ...(onOutput === undefined ? {} : { onOutput }),
  };
}

// What a call accepts also binds the calls inside of it; when it starts is its own affair.
function nest({ depth, accept }: Nesting, wishes: NestedOptions = {}): Nesting {
  const { onStart } = wishes;
  const both = (tool: Tool): void => {
    accept?.(tool);
    wishes.accept?.(tool);
  };
  const accepts = accept === undefined && wishes.accept === undefined ? {} : { accept: both };
  return { depth: depth + 1, ...accepts, ...(onStart === undefined ? {} : { onStart }) };
}

// The user's word on a tool, else the tool's own, else the default; what only shortens comes on top.
function timeLimit(tool: Tool, { limits, tools }: Settings): number {
  const own = tools.get(tool.name);
  const chosen =
    own?.timeoutMs ??
    Math.min(tool.traits.timeoutMs ?? limits.timeoutMs, limits.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
  return Math.min(chosen, own?.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
}

async function check(tool: Tool, input: Json): Promise<Json> {
  const checked = await tool.input.check(input);
  if (checked.ok) return checked.value;
  throw describeFaults(tool, checked.faults);
}

function assertWanted(tool: Tool, signal: AbortSignal): void {
  if (!signal.aborted) return;
  throw new ToolError('cancelled', `${tool.name} was cancelled`, {
    hint: 'call it again if that was not meant',
  });
}

function refusal(tool: Tool, verdict: Verdict): ToolError {
  const code = verdict.code ?? (verdict.verdict === 'ask' ? 'needs_approval' : 'denied');
  return new ToolError(code, `${tool.name} was not run: ${verdict.reason}`, {
    hint: verdict.hint ?? 'ask whoever keeps the configuration to allow it',
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
