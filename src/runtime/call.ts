// The path of every call: find, repair, check, plan, decide, execute, shape, record. Read this file first.

import type { Consent } from '../core/approval.js';
import { CODE } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import type { EndEvent } from '../core/event.js';
import type { Plan } from '../core/plan.js';
import type { Repair, ToolResult } from '../core/result.js';
import type { Tool } from '../core/tool.js';
import type { CallOptions, PlanOptions, Verdict } from '../core/toolbox.js';
import { decide, findDenial, type Rules } from '../policy/decide.js';
import { assertNotCancelled, execute } from './execute.js';
import { findTool, rulesFor } from './find.js';
import { checkInput, jsonOrNothing, readInput } from './input.js';
import { toInlineOutput, toLargeResults } from './large-results.js';
import { nestedCall } from './nested.js';
import { type CallParts, type CallScope, type Nesting, OUTERMOST } from './parts.js';
import { planCall } from './plan.js';
import { shapeFailure, shapeOutput } from './shape.js';

export interface Prepared {
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly repairs: readonly Repair[];
}

const MAX_DEPTH = 16;

/** Calls a tool. Never throws: every outcome is a result (RUN-1). */
export async function call(
  parts: CallParts,
  ref: string,
  raw: unknown,
  options: CallOptions & { readonly signal: AbortSignal },
  nesting: Nesting = OUTERMOST,
): Promise<ToolResult> {
  const { workspace, observers } = parts;
  const { caller = CODE, signal, trace } = options;
  const snapshot = workspace.snapshot();
  const scope = { snapshot, options, nesting };
  const { depth, parent } = nesting;
  const base = { call: nextCallId(), ref, caller, depth, parent, trace };
  const startedAt = workspace.world.monotonic();
  let tool: Tool | undefined;
  let prepared: Prepared | undefined;
  let verdict: Verdict | undefined;
  let approval: Consent | undefined;
  let outputHash: string | undefined;
  let result: ToolResult;
  const shaping = () => ({
    durationMs: workspace.world.monotonic() - startedAt,
    repairs: prepared?.repairs ?? [],
    snapshot,
  });
  observers.emit?.({ type: 'start', ...base });
  try {
    if (depth > MAX_DEPTH) throw tooDeep(ref);
    const found = findTool(parts, ref, scope);
    // Avoids an await when the result is synchronous (10 % of an in-process call).
    tool = found instanceof Promise ? await found : found;
    nesting.accept?.(tool);
    const rules = rulesFor(parts, tool, scope);
    // POL-8: a tool that is denied whatever the input reveals nothing, not even its parameters.
    verdict = findDenial(tool, caller, rules);
    if (verdict !== undefined) throw refusal(tool, verdict);
    prepared = await prepare(parts, tool, raw, scope, rules);
    const { plan } = prepared;
    verdict = prepared.verdict;
    observers.recorder?.assertReady(verdict, snapshot);
    if (verdict.verdict === 'ask') {
      const { requestConsent } = await import('./consent.js');
      approval = await requestConsent(parts, {
        plan,
        verdict,
        snapshot,
        caller,
        depth,
        signal,
        approve: options.approve,
      });
      // POL-21: whoever saw the changes and agreed has approved the new definition.
      if (verdict.changes !== undefined) parts.consents.accept(plan.tool, snapshot);
    } else if (verdict.verdict !== 'allow') throw refusal(plan.tool, verdict);
    assertNotCancelled(plan.tool, signal);
    // A nested call returns the whole result, and so does a call whose output is streamed.
    const isWhole = options.full === true || options.onOutput !== undefined || depth > 0;
    const large =
      isWhole || parts.stores === undefined ? undefined : toLargeResults(parts.stores, caller, snapshot);
    const output = await execute(parts, {
      plan,
      snapshot,
      caller,
      signal,
      nesting,
      options,
      large,
      progress: (progress) => {
        observers.emit?.({ type: 'progress', ...base, progress });
        options.onProgress?.(progress);
      },
      nest: (place, inner, input, asked) => {
        const nested = nestedCall(parts, {
          plan,
          snapshot,
          options,
          nesting,
          place,
          asked,
          parent: base.call,
        });
        return call(parts, inner, input, nested.options, nested.nesting);
      },
    });
    const shown = toInlineOutput(plan.tool, output, large);
    outputHash = shown.storedHash;
    result = await shapeOutput(plan.tool, shown, shaping());
  } catch (thrown) {
    result = shapeFailure(thrown, shaping());
    // ERR-6: a bug of wield shows its stack in the debug output.
    if (result.error?.code === 'internal') workspace.world.debug((thrown as Error)?.stack ?? String(thrown));
  }
  if (observers.recorder !== undefined || observers.emit !== undefined) {
    const plan = prepared?.plan;
    const input = plan === undefined ? jsonOrNothing(raw) : plan.input;
    const end: EndEvent = { type: 'end', ...base, result, tool, input, plan, verdict, approval, outputHash };
    observers.recorder?.record(end, snapshot);
    observers.emit?.(end);
  }
  return result;
}

/** Does everything before the run: plans the call and decides on it. Throws what is wrong. */
export async function prepare(
  parts: CallParts,
  tool: Tool,
  raw: unknown,
  { snapshot, options }: CallScope & { readonly options: PlanOptions },
  rules: Rules,
): Promise<Prepared> {
  const { caller = CODE, checkInput: isChecked = true, fault, timeoutMs } = options;
  if (fault !== undefined) throw fault;
  const { input: repaired, repairs } = readInput(tool, raw, snapshot.settings);
  // POL-21: nobody approved the schema of a changed tool, so a model does not see it in an error either.
  const hideFaults = caller.kind === 'model' && rules.changes !== undefined;
  const input = isChecked ? await checkInput(tool, repaired, { hideFaults }) : repaired;
  const plan = await planCall(parts, { tool, input, snapshot, rules, timeoutMs });
  return { plan, verdict: decide(plan, caller, rules), repairs };
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
