// The path of every call: find, repair, check, plan, decide, execute, shape, record. Read this file first.

import type { Consent } from '../core/approval.js';
import type { Verdict } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import type { EndEvent } from '../core/event.js';
import type { Json, JsonObject } from '../core/json.js';
import { callerKey } from '../core/name.js';
import type { BackgroundRun, Output, ToolResult } from '../core/result.js';
import { formatDuration } from '../core/text.js';
import { cancelled } from '../core/time-limit.js';
import type { Tool } from '../core/tool.js';
import type { DispatchedCall } from '../core/toolbox.js';
import { findDenial } from '../policy/decide.js';
import { dependsOnLabels } from '../policy/flow.js';
import { labelsOf } from '../policy/selected-tool.js';
import { withNewName } from '../policy/view.js';
import { recordBackground } from './background.js';
import { requestConsent } from './consent.js';
import { execute } from './execute.js';
import { findTool, forwardOf, isOfModel, rulesFor } from './find.js';
import { foreseeCall } from './foresee.js';
import { enterLabels, inSession } from './labels.js';
import type { CallParts } from './parts.js';
import { inputOf, prepare } from './prepare.js';
import { type Call, type GivenCall, openCall, withoutApps } from './scope.js';
import { hideVariables, shapeFailure, shapeOutput, toInlineOutput } from './shape.js';
import { endCallSpan, startCallSpan } from './telemetry.js';

const MAX_DEPTH = 16;

/** Calls a tool. Never throws: every outcome is a result (RUN-1). */
export async function call(parts: CallParts, given: GivenCall): Promise<ToolResult> {
  const { observers } = parts;
  const { world } = parts.workspace;
  const current = openCall(parts, given, { call, foresee: foreseeCall });
  observers.recorder?.begin(current.event, current.snapshot);
  observers.emit?.({ type: 'start', ...current.event });
  const { telemetry } = observers;
  if (telemetry?.isOn) current.span = startCallSpan(telemetry, current);
  let result: ToolResult;
  let background: BackgroundRun | undefined;
  try {
    const output = await run(parts, current);
    background = output.background;
    result = await shapeOutput(current, output, world.monotonic());
  } catch (thrown) {
    result = shapeFailure(current, thrown, world.monotonic());
    // ERR-6: a bug of wield shows its stack in the debug output.
    if (result.error?.code === 'internal') world.debug((thrown as Error)?.stack ?? String(thrown));
  }
  // RES-48: a model knows the new name of a renamed tool only.
  if (result.error !== undefined && current.tool !== undefined && isOfModel(current))
    result = { ...result, error: withNewName(result.error, current.tool, current.snapshot.settings.view) };
  record(parts, current, result);
  if (background !== undefined) recordBackground(parts, current, background);
  return result;
}

// The steps from the reference to the output. Throws what ended the call before the tool ran.
async function run(parts: CallParts, current: Call): Promise<Output> {
  const { event, caller, options, snapshot, nesting } = current;
  const { recorder } = parts.observers;
  if (nesting.depth > MAX_DEPTH) throw tooDeep(event.ref);
  const tool = await findTool(parts, event.ref, current);
  current.tool = tool;
  const forwardTo = forwardOf(tool);
  const isForwarding = forwardTo !== undefined;
  if (!isForwarding) nesting.accept?.(tool);
  if (options.dispatched !== undefined) assertSameVersion(tool, options.dispatched);
  const rules = rulesFor(parts, tool, current);
  // POL-8: a tool that is denied whatever the input reveals nothing, not even its parameters.
  current.verdict = findDenial(tool, caller, rules);
  if (current.verdict !== undefined) throw refusal(tool, current.verdict);
  const inside = dependsOnLabels(rules) ? await inSession(parts, current, rules) : rules;
  current.entered = inside.entered;
  const { plan, verdict, repairs } = await prepare(parts, tool, current.raw, current, inside);
  current.plan = plan;
  current.verdict = verdict;
  current.repairs = repairs;
  if (!isForwarding) options.checkPlan?.(plan);
  recorder?.assertReady(verdict, snapshot);
  if (verdict.verdict === 'deny') throw refusal(tool, verdict);
  if (verdict.verdict === 'ask') current.approval = await getConsent(parts, current);
  if (current.controller.isAborted) throw cancelled(tool.name);
  if (isForwarding) return forward(parts, current, forwardTo(plan.input as JsonObject, snapshot));
  if (snapshot.settings.limits.callsPerMinute !== undefined) await assertRate(parts, tool, current);
  current.caller = withoutApps(caller);
  // FLW-3: before progress, questions, errors and anything else of the tool can reach the caller.
  const labels = labelsOf(tool, snapshot.policy);
  if (labels.length > 0) await enterLabels(parts, current, labels);
  recorder?.start({ tool, plan, verdict, approval: current.approval, input: plan.input, ...event }, snapshot);
  const output = hideVariables(current, await execute(parts, current));
  // Of calls inside an output that is cached, or that another machine made.
  const others = output.meta?.labels?.filter((label) => current.labels?.has(label) !== true);
  if (others !== undefined) await enterLabels(parts, current, others);
  const shown = await toInlineOutput(parts, current, output);
  current.outputHash = shown.storedHash;
  return shown;
}

// SRV-9, SKL-13: the call goes on as that of the tool that its input names, with the same options and position.
function forward(parts: CallParts, current: Call, { ref, input }: { ref: string; input: Json }): Promise<Output> {
  const caller = withoutApps(current.caller);
  Object.assign(current.event, { ref, caller });
  // What the door found is the tool that forwards.
  const options = { ...current.options, found: undefined };
  Object.assign(current, { raw: input, caller, options, plan: undefined, approval: undefined, decision: undefined });
  return run(parts, current);
}

async function getConsent(parts: CallParts, current: Call): Promise<Consent> {
  const { options, tool, verdict, snapshot } = current;
  if (options.dispatched?.approval !== undefined) return options.dispatched.approval;
  const { monotonic } = parts.workspace.world;
  const asked = monotonic();
  const consent = await requestConsent(parts, current).finally(() => {
    current.approvalMs = monotonic() - asked;
  });
  // POL-21: consent to a changed tool approves its new definition.
  if (verdict!.changes !== undefined) await parts.consents.accept(tool!, snapshot);
  return consent;
}

function record({ observers }: CallParts, current: Call, result: ToolResult): void {
  const { recorder, emit, telemetry } = observers;
  const { tool, caller, plan, verdict, approval, decision, outputHash, snapshot } = current;
  if (telemetry?.isOn) {
    telemetry.count({ tool, caller, result, byUser: snapshot.settings.metrics.users });
    if (current.span !== undefined) endCallSpan(current.span, telemetry, current, result);
  }
  if (recorder === undefined && emit === undefined) return;
  const known = { tool, input: inputOf(current), plan, verdict, approval, decision, outputHash };
  const event: EndEvent = { type: 'end', ...current.event, result, ...known };
  recorder?.record(event, snapshot);
  emit?.(event);
}

function refusal(tool: Tool, verdict: Verdict): ToolError {
  return new ToolError(verdict.code ?? 'denied', `${tool.name} was not run: ${verdict.reason}`, {
    hint: verdict.hint ?? `the configuration can allow it; see: wield explain ${tool.name}`,
    data: { rule: verdict.rule },
  });
}

function tooDeep(ref: string): ToolError {
  return new ToolError('invalid_ref', `${ref} was called more than ${MAX_DEPTH} levels deep`, {
    hint: 'the tools call each other in a cycle',
  });
}

// FLT-5: the tool must be the one that a front decided on.
function assertSameVersion({ name, origin }: Tool, { digest }: DispatchedCall): void {
  if (origin.digest === digest) return;
  throw new ToolError('integrity', `${name} was not run: this worker has another version of it`, {
    hint: 'install the same version of the tool on fronts and workers',
  });
}

// FLT-74: counts the calls of a caller per minute.
async function assertRate(
  { limiter }: CallParts,
  { name }: Tool,
  { caller, snapshot, nesting, options }: Call,
): Promise<void> {
  if (nesting.depth > 0 || options.dispatched !== undefined) return;
  const callsPerMinute = snapshot.settings.limits.callsPerMinute!;
  const retryAfterMs = await limiter.admit(callerKey(caller), callsPerMinute);
  if (retryAfterMs === 0) return;
  throw new ToolError('busy', `${name} was not run: this caller has made ${callsPerMinute} calls in a minute`, {
    hint: `call again in ${formatDuration(retryAfterMs)}; limits.calls-per-minute of the configuration sets the number`,
    data: { retryAfterMs },
  });
}
