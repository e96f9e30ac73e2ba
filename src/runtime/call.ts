// The path of every call: find, repair, check, plan, decide, execute, shape, record. Read this file first.

import { narrowPlaces } from '../catalog/narrow-places.js';
import type { Consent, Decision } from '../core/approval.js';
import type { Verdict } from '../core/caller.js';
import { CODE } from '../core/caller.js';
import { Cancellation } from '../core/cancellation.js';
import type { EndEvent } from '../core/event.js';
import type { Output, ToolResult } from '../core/result.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { CallOptions } from '../core/toolbox.js';
import { CALL_TOOL } from '../core/view.js';
import { findDenial } from '../policy/decide.js';
import { nameFace } from '../policy/view.js';
import { assertNotCancelled, execute } from './execute.js';
import { findTool, isOfModel, rulesFor } from './find.js';
import { nestedCall } from './nested.js';
import type { CallParts, Nesting } from './parts.js';
import { jsonOrNothing, type Prepared, prepare } from './prepare.js';
import { shapeFailure, shapeOutput, toInlineOutput, toLargeResults } from './shape.js';

const MAX_DEPTH = 16;

/** What is known of a call so far: filled in step by step, and recorded at the end. */
interface CallState {
  tool?: Tool;
  prepared?: Prepared;
  verdict?: Verdict;
  approval?: Consent;
  decision?: Decision;
  outputHash?: string;
}

/** A call as it was made. */
export interface GivenCall {
  readonly ref: string;
  readonly raw: unknown;
  /** Its signal, if it has one, cancels `cancellation`. */
  readonly options: CallOptions;
  readonly cancellation: Cancellation;
  readonly nesting: Nesting;
}

interface RunningCall {
  readonly base: Omit<EndEvent, 'type' | 'result' | 'tool' | 'input' | 'plan' | 'verdict'>;
  readonly raw: unknown;
  readonly snapshot: Snapshot;
  readonly options: CallOptions;
  readonly cancellation: Cancellation;
  readonly nesting: Nesting;
  readonly state: CallState;
}

/** Calls a tool. Never throws: every outcome is a result (RUN-1). */
export async function call(parts: CallParts, given: GivenCall): Promise<ToolResult> {
  const { ref, raw, options, cancellation, nesting } = given;
  const { workspace, observers } = parts;
  const { world } = workspace;
  const { caller = CODE, trace } = options;
  const { depth, parent } = nesting;
  const whole = workspace.snapshot();
  const snapshot = nesting.narrowing.length === 0 ? whole : narrowPlaces(whole, nesting.narrowing);
  if (ref === CALL_TOOL && options.as === undefined) {
    const { readForwarded } = await import('./forward.js');
    const inner = await readForwarded(parts, raw, { snapshot, options, nesting });
    if (inner !== undefined) return call(parts, { ...given, ...inner });
  }
  const base = { call: nextCallId(), ref, caller, depth, parent, trace };
  const state: CallState = {};
  const startedAt = world.monotonic();
  const shaping = () => ({
    durationMs: world.monotonic() - startedAt,
    repairs: state.prepared?.repairs ?? [],
    snapshot,
  });
  let result: ToolResult;
  observers.recorder?.begin(base, snapshot);
  observers.emit?.({ type: 'start', ...base });
  try {
    const output = await run(parts, { base, raw, snapshot, options, cancellation, nesting, state });
    const shaped = shapeOutput(state.tool!, output, shaping());
    result = shaped instanceof Promise ? await shaped : shaped;
  } catch (thrown) {
    result = shapeFailure(thrown, shaping());
    // ERR-6: a bug of wield shows its stack in the debug output.
    if (result.error?.code === 'internal') world.debug((thrown as Error)?.stack ?? String(thrown));
  }
  // RES-48: a model knows the new name of a renamed tool only.
  if (result.error !== undefined && state.tool !== undefined && isOfModel(options))
    result = { ...result, error: nameFace(result.error, state.tool, snapshot.settings.view) };
  if (observers.recorder !== undefined || observers.emit !== undefined) {
    const { tool, verdict, approval, decision, outputHash } = state;
    const plan = state.prepared?.plan;
    const input = plan === undefined ? jsonOrNothing(raw) : plan.input;
    const end: EndEvent = {
      type: 'end',
      ...base,
      result,
      tool,
      input,
      plan,
      verdict,
      approval,
      decision,
      outputHash,
    };
    observers.recorder?.record(end, snapshot);
    observers.emit?.(end);
  }
  return result;
}

// The steps from the reference to the output. Throws what ended the call before the tool ran.
async function run(parts: CallParts, running: RunningCall): Promise<Output> {
  const { base, raw, snapshot, options, cancellation, nesting, state } = running;
  const { ref, caller, depth } = base;
  if (depth > MAX_DEPTH) throw (await loadRefusals()).tooDeep(ref, MAX_DEPTH);
  const found = findTool(parts, ref, running);
  // Avoids an await when the result is synchronous (10 % of an in-process call).
  const tool = found instanceof Promise ? await found : found;
  state.tool = tool;
  nesting.accept?.(tool);
  const { dispatched } = options;
  if (dispatched !== undefined) (await loadRefusals()).assertSameVersion(tool, dispatched);
  const rules = rulesFor(parts, tool, running);
  // POL-8: a tool that is denied whatever the input reveals nothing, not even its parameters.
  state.verdict = findDenial(tool, caller, rules);
  if (state.verdict !== undefined) throw (await loadRefusals()).refusal(tool, state.verdict);
  const preparing = prepare(parts, tool, raw, running, rules);
  state.prepared = preparing instanceof Promise ? await preparing : preparing;
  const { plan, verdict } = state.prepared;
  state.verdict = verdict;
  options.checkPlan?.(plan);
  parts.observers.recorder?.assertReady(verdict, snapshot);
  if (verdict.verdict === 'ask' && dispatched?.approval !== undefined) state.approval = dispatched.approval;
  else if (verdict.verdict === 'ask') {
    const { requestConsent } = await import('./consent.js');
    state.approval = await requestConsent(parts, {
      onPending: options.onPending,
      plan,
      verdict,
      snapshot,
      caller,
      depth,
      signal: cancellation.signal,
      approve: options.approve,
      onDecision: (decision: Decision) => {
        state.decision = decision;
      },
      defer: nesting.deferApproval,
    });
    // POL-21: consent to a changed tool approves its new definition.
    if (verdict.changes !== undefined) await parts.consents.accept(tool, snapshot);
  } else if (verdict.verdict !== 'allow') throw (await loadRefusals()).refusal(tool, verdict);
  assertNotCancelled(tool, cancellation);
  const { callsPerMinute } = snapshot.settings.limits;
  if (callsPerMinute !== undefined && depth === 0 && dispatched === undefined)
    await (await loadRefusals()).assertRate(parts, tool, caller, callsPerMinute);
  // A nested call returns the whole result unless it asks for handles, and so does a call whose output is streamed.
  const isNested = depth > 0 && nesting.handles !== true;
  const isWhole = options.full === true || options.onOutput !== undefined || isNested;
  const large = isWhole || parts.stores === undefined ? undefined : toLargeResults(parts.stores, caller, snapshot);
  const { approval } = state;
  parts.observers.recorder?.start({ ...base, tool, plan, verdict, approval, input: plan.input }, snapshot);
  const executing = execute(parts, {
    plan,
    snapshot,
    caller,
    cancellation,
    nesting,
    options,
    approval: state.approval,
    large,
    id: base.call,
    progress: (progress) => {
      parts.observers.emit?.({ type: 'progress', ...base, progress });
      options.onProgress?.(progress);
    },
    nest: async (place, inner, input, asked) => {
      const nested = nestedCall(parts, { plan, snapshot, options, nesting, place, asked, parent: base.call });
      const own = new Cancellation();
      const release = own.follow(asked.until);
      try {
        return await call(parts, { ref: inner, raw: input, cancellation: own, ...nested });
      } finally {
        release();
      }
    },
  });
  const output = executing instanceof Promise ? await executing : executing;
  const inline = toInlineOutput(tool, output, large);
  const shown = inline instanceof Promise ? await inline : inline;
  state.outputHash = shown.storedHash;
  return shown;
}

// Few calls are refused.
const loadRefusals = () => import('./refusals.js');

let calls = 0;

// Not decimal: the engine keeps decimal texts of numbers in a cache, where they outlive their call.
function nextCallId(): string {
  return `c${(++calls).toString(36)}`;
}
