// The only path of a call: find, repair, check, plan, decide, execute, shape, record. Read this file first.

import type { Consent } from '../core/approval.js';
import type { ProgressListener } from '../core/context.js';
import { ToolError } from '../core/error.js';
import type { CallEvent } from '../core/event.js';
import type { Executor } from '../core/executor.js';
import { deepFreeze, type Json, toJson } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { Repair, ToolResult } from '../core/result.js';
import type { AllowList } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import type { Action, Tool } from '../core/tool.js';
import type { Caller, CallOptions, PlanOptions, Verdict } from '../core/toolbox.js';
import { decide, findDenial, type Rules } from '../policy/decide.js';
import { listsWithin } from '../policy/nested.js';
import type { ConsentParts } from './consent.js';
import { describeFaults } from './faults.js';
import type { Limiter } from './limiter.js';
import { repairInput } from './repair.js';
import { shapeFailure, shapeOutput } from './shape.js';

/** What a call needs of the toolbox around it. */
export interface CallParts extends ConsentParts {
  readonly find: (ref: string, options: CallOptions, within: readonly AllowList[]) => Tool;
  readonly executors: ReadonlyMap<Action['kind'], Executor>;
  readonly rules: (tool: Tool, options: CallOptions, within: readonly AllowList[]) => Rules;
  readonly settings: () => Settings;
  readonly secrets: () => readonly string[];
  readonly workdir: () => string;
  readonly limiter: Limiter;
  /** Undefined while nobody watches: then no event is made. */
  readonly emit: ((event: CallEvent) => void) | undefined;
  readonly monotonic: () => number;
}

/** Where a call stands among calls that tools make. */
export interface Nesting {
  readonly depth: number;
  /** What the tools on the way here may call: each list holds for this call too (RUN-11). */
  readonly within: readonly AllowList[];
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
}

const MAX_DEPTH = 16;
// Node fires a longer timer at once.
const MAX_TIMER_MS = 2 ** 31 - 1;
const CODE: Caller = { kind: 'code', door: 'library' };
const OUTERMOST: Nesting = { depth: 0, within: [] };

/** The tool of a reference and the rules for this call. Throws `not_found` or `invalid_ref`. */
export function locate(
  parts: CallParts,
  ref: string,
  options: CallOptions,
  within: readonly AllowList[] = [],
): Found {
  const { caller = CODE } = options;
  const tool = parts.find(ref, options, within);
  return { tool, caller, rules: parts.rules(tool, options, within) };
}

/** The input as it is judged and run: repaired, and checked unless that is not wanted. Throws `invalid_input`. */
export async function settleInput(
  parts: CallParts,
  tool: Tool,
  raw: unknown,
  { checkInput = true }: PlanOptions,
): Promise<{ readonly input: Json; readonly repairs: readonly Repair[] }> {
  const json = toJson(raw);
  const { input, repairs } = parts.settings().repair
    ? repairInput(json, tool.input.json)
    : { input: json, repairs: [] };
  return { input: checkInput ? await check(tool, input) : input, repairs };
}

/** Everything before the run: what exactly would run, and whether it may. Throws what is wrong. */
export async function prepare(
  parts: CallParts,
  { tool, caller, rules }: Found,
  raw: unknown,
  options: PlanOptions,
): Promise<Prepared> {
  const settings = parts.settings();
  const { input, repairs } = await settleInput(parts, tool, raw, options);
  const executor = parts.executors.get(tool.action.kind)!;
  const timeoutMs = Math.min(options.timeoutMs ?? timeLimit(tool, settings), MAX_TIMER_MS);
  const workdir = parts.workdir();
  const plan = deepFreeze(await executor.plan(tool, input, { workdir, trusted: rules.trusted, timeoutMs }));
  const verdict = decide(plan, caller, rules);
  return { plan, verdict, workdir, repairs };
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
  const base = { call: nextCallId(), ref, caller, depth: nesting.depth };
  const began = parts.monotonic();
  let prepared: Prepared | undefined;
  let verdict: Verdict | undefined;
  let approval: Consent | undefined;
  let result: ToolResult;
  parts.emit?.({ type: 'start', ...base });
  const shaping = () => ({
    durationMs: parts.monotonic() - began,
    repairs: prepared?.repairs ?? [],
    secrets: parts.secrets(),
  });
  try {
    if (nesting.depth > MAX_DEPTH) throw tooDeep(ref);
    const found = locate(parts, ref, options, nesting.within);
    // POL-8: what is denied whatever the input says nothing about itself, not even what it would take.
    verdict = findDenial(found.tool, caller, found.rules);
    if (verdict !== undefined) throw refusal(found.tool, verdict);
    prepared = await prepare(parts, found, raw, options);
    const { plan, workdir } = prepared;
    verdict = prepared.verdict;
    if (verdict.verdict === 'ask') {
      const { consent } = await import('./consent.js');
      approval = await consent(parts, { ...prepared, ...nesting, caller, signal, approve: options.approve });
    } else if (verdict.verdict !== 'allow') throw refusal(plan.tool, verdict);
    assertWanted(plan.tool, signal);
    const slot = await parts.limiter.acquire(plan.tool, signal, nesting.depth > 0);
    try {
      await options.ready?.(signal);
      assertWanted(plan.tool, signal);
      const progress: ProgressListener = (step) => {
        parts.emit?.({ type: 'progress', ...base, progress: step });
        options.onProgress?.(step);
      };
      const output = await parts.executors.get(plan.tool.action.kind)!.run(plan, {
        signal,
        progress,
        wantsProgress: options.onProgress !== undefined,
        ...(options.onOutput === undefined ? {} : { stream: options.onOutput }),
        workdir,
        call: (innerRef, innerInput) =>
          call(parts, innerRef, innerInput, nestedOptions(options, caller), {
            depth: nesting.depth + 1,
            within: listsWithin(plan.tool, nesting.within),
          }),
      });
      result = await shapeOutput(plan.tool, output, shaping());
    } finally {
      slot.release();
    }
  } catch (thrown) {
    result = shapeFailure(thrown, shaping());
    // ERR-6: a fault of ours shows where it is to someone who asked.
    if (result.error?.code === 'internal') parts.debug((thrown as Error)?.stack ?? String(thrown));
  }
  const given = approval === undefined ? {} : { approval };
  parts.emit?.({ type: 'end', ...base, result, plan: prepared?.plan, verdict, ...given });
  return result;
}

// A nested call carries the caller, the signal, the trust and whom to ask of the outer one, and nothing else (RUN-7).
// Consent is not inherited: what must be asked for is asked for again, through the same door.
function nestedOptions(
  { signal, trust, approve }: CallOptions & { readonly signal: AbortSignal },
  caller: Caller,
) {
  return {
    caller,
    signal,
    ...(trust === undefined ? {} : { trust }),
    ...(approve === undefined ? {} : { approve }),
  };
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
