// Prepares a call: its input is repaired and validated, and what exactly will run is planned.

import type { Verdict } from '../core/caller.js';
import { orNothing, ToolError } from '../core/error.js';
import { deepFreeze, type Json, toJson } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { Repair } from '../core/result.js';
import type { Settings } from '../core/settings.js';
import type { Tool } from '../core/tool.js';
import { decide } from '../policy/decide.js';
import type { Rules } from '../policy/rules.js';
import { findHidden, withAlias, withFixed } from '../policy/view.js';
import { describeFaults } from '../schema/faults.js';
import { isOfModel } from './find.js';
import type { CallParts } from './parts.js';
import { droppedNulls, type RepairedInput, readInput } from './repair.js';
import type { Call, CallBase } from './scope.js';

export interface Prepared {
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly repairs: readonly Repair[];
}

// Node fires longer timers immediately.
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Does everything before the run: plans the call and decides on it. Throws what is wrong. */
export async function prepare(
  { executors, cascade }: Pick<CallParts, 'executors' | 'cascade'>,
  tool: Tool,
  raw: unknown,
  base: CallBase,
  rules: Rules,
): Promise<Prepared> {
  const { caller, snapshot, options } = base;
  const { checkInput: isChecked = true, fault, timeoutMs, sandbox, dispatched } = options;
  if (fault !== undefined) throw fault;
  const { input: repaired, repairs } = readGiven(tool, raw, base);
  // POL-21: nobody approved the schema of a changed tool, so a model does not see it in an error either.
  const hideFaults = caller.kind === 'model' && rules.changes !== undefined;
  const shown = isOfModel(base) ? withAlias(tool, snapshot.settings.view) : tool;
  const input = isChecked ? await checkInput(tool, repaired, { hideFaults, shown }) : repaired;
  const limitMs = timeoutMs ?? timeLimit(tool, snapshot.settings, cascade.inheritedTimeout(tool, snapshot));
  const planned = await executors.of(tool).plan(tool, input, {
    snapshot,
    rules,
    withoutSandbox: sandbox === 'none' && caller.kind === 'person',
    variables: dispatched?.variables,
    nulls: droppedNulls(repairs),
    timeoutMs: Math.min(limitMs, MAX_TIMER_MS),
  });
  const plan = deepFreeze(planned);
  return { plan, verdict: decide(plan, caller, rules), repairs };
}

// BGR-5: a process in the background has a life time, which the limits of calls do not concern.
const LIFE_MS = 24 * 3_600_000;

// The user's setting for the tool, else the tool's own limit, else the inherited one; ceilings apply on top.
function timeLimit(tool: Tool, { limits, tools }: Settings, inherited: number): number {
  const own = tools.get(tool.name);
  const { timeoutMs = inherited, background } = tool.traits;
  const chosen =
    own?.timeoutMs ??
    (background === true
      ? (tool.traits.timeoutMs ?? LIFE_MS)
      : Math.min(timeoutMs, limits.timeoutCeilingMs ?? Number.POSITIVE_INFINITY));
  return Math.min(chosen, own?.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
}

/** Reads the input of a call. A model gives that of the alias of a tool (RES-48). */
export function readGiven(tool: Tool, raw: unknown, base: CallBase): RepairedInput {
  const { settings } = base.snapshot;
  const { view } = settings;
  if (!isOfModel(base) || view.aliases.size === 0) return readInput(tool, raw, settings);
  const shown = withAlias(tool, view);
  const { input, repairs } = readInput(shown, raw, settings);
  const faults = findHidden(tool, input, view);
  if (faults.length > 0) throw describeFaults(shown, faults);
  return { input: withFixed(tool, input, view), repairs };
}

/**
 * Validates input and applies defaults. Throws `invalid_input` about the tool as it is shown; with `hideFaults` without
 * details of the schema.
 */
export async function checkInput(tool: Tool, input: Json, { hideFaults = false, shown = tool } = {}): Promise<Json> {
  const checked = await tool.input.check(input);
  if (checked.ok) return checked.value;
  if (!hideFaults) throw describeFaults(shown, checked.faults);
  throw new ToolError('invalid_input', `${tool.name} changed since it was approved and takes different input`, {
    hint: `a person must review it first: wield show ${tool.name}`,
  });
}

/** Returns the input of a call for its record: as run, or as received if it failed before; undefined if it is not JSON. */
export function inputOf({ plan, raw }: Pick<Call, 'plan' | 'raw'>): Json | undefined {
  return plan === undefined ? orNothing(() => toJson(raw)) : plan.input;
}
