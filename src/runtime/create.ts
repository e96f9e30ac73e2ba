// Creates a toolbox from its parts.

import type { References } from '../catalog/skill-references.js';
import { guardListener, onAbort, pause } from '../core/async.js';
import { CallController } from '../core/call-controller.js';
import { CODE } from '../core/caller.js';
import { isToolError, ToolError } from '../core/error.js';
import type { JsonObject } from '../core/json.js';
import type { ToolResult } from '../core/result.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { DoorListOptions, DoorOptions, Explanation, InstructionsOptions, Toolbox } from '../core/toolbox.js';
import { type NamedDefinition, toRef } from '../core/typed.js';
import { RUN_CODE } from '../core/view.js';
import { decide, findUnmatched } from '../policy/decide.js';
import { labelsOf } from '../policy/selected-tool.js';
import { call } from './call.js';
import { checkCallOptions, checkListOptions, checkSearch, findOptionFault, withFault } from './call-options.js';
import { createCatalogMethods, createOfferMethods } from './catalog-methods.js';
import { approveProgram, findSuspension, untilDecided } from './consent.js';
import { findTool, forwardOf, rulesFor } from './find.js';
import { inSession } from './labels.js';
import { listTools, type SearchTools } from './list.js';
import type { CallParts } from './parts.js';
import { checkInput, prepare, readGiven } from './prepare.js';
import { type GivenCall, OUTERMOST, toBase } from './scope.js';

export interface AssembleOptions {
  readonly parts: CallParts;
  readonly search: SearchTools;
  /** Resolves references in texts of skills; undefined without skills. */
  readonly references?: References;
  /** Returns the text to send to a model before anything else. */
  readonly instructions: (snapshot: Snapshot, options: InstructionsOptions) => string | Promise<string>;
  /** Returns what a model is shown of the tools that it may call (SRV-9). */
  readonly show?: (tools: readonly Tool[], snapshot: Snapshot, options: DoorListOptions) => readonly Tool[];
  /** Watches the files of the catalog. */
  readonly watch: (listener: () => void) => () => void;
}

const CLOSE_POLL_MS = 5;

const closed = (): ToolError =>
  new ToolError('cancelled', 'the toolbox was closed', { hint: 'call close() after the last call' });

export function assembleToolbox(options: AssembleOptions): Toolbox {
  const { parts, search, references, instructions, show, watch } = options;
  const { workspace, executors, observers, stores } = parts;
  const running: CallController[] = [];
  let isClosed = false;
  const callAs = async (
    called: string | NamedDefinition,
    raw: unknown,
    given: DoorOptions = {},
  ): Promise<ToolResult> => {
    // RUN-14: a call with wrong options fails like any other, and is recorded.
    const fault = findOptionFault(given) ?? (isClosed ? closed() : undefined);
    const options = fault === undefined ? given : withFault(given, fault);
    const controller = options.controller ?? new CallController();
    const release = options.signal && onAbort(options.signal, () => controller.abort(options.signal!.reason));
    if (isClosed) controller.abort();
    running.push(controller);
    try {
      const made = { ref: toRef(called), raw, options, controller, nesting: OUTERMOST };
      return await (options.onPending === undefined ? call(parts, made) : callToEnd(parts, made));
    } finally {
      running.splice(running.indexOf(controller), 1);
      release?.();
    }
  };
  return {
    async list(asked: DoorListOptions = {}) {
      checkListOptions(asked);
      const snapshot = workspace.snapshot(asked.caller);
      const tools = await listTools(parts, snapshot, asked);
      return asked.caller?.kind === 'model' && show !== undefined ? show(tools, snapshot, asked) : tools;
    },
    async search(query, limit, asked = {}) {
      checkSearch(query, limit, asked);
      const { caller = CODE } = asked;
      return search(query, limit, caller, workspace.snapshot(caller));
    },
    find: (ref) => findTool(parts, ref, toBase(workspace.snapshot())),
    call: callAs,
    plan: (ref, input, options = {}) => planOnly(parts, ref, input, options),
    async explain(ref, input, options = {}) {
      if (input !== undefined) return explain(parts, ref, input, options);
      // Without an input, defaults still apply, and required parameters may be missing.
      try {
        return await explain(parts, ref, {}, options);
      } catch (error) {
        if (!isToolError(error) || error.code !== 'invalid_input') throw error;
        return explain(parts, ref, {}, { ...options, checkInput: false });
      }
    },
    on: observers.on,
    telemetry: observers.telemetry,
    async close() {
      isClosed = true;
      for (const controller of [...running]) controller.abort();
      while (running.length > 0) await pause(CLOSE_POLL_MS);
      await executors.close();
      await observers.close();
      stores?.documents.close();
    },
    catalog: { ...createCatalogMethods(parts, references, watch), ...createOfferMethods(parts, callAs) },
    workspace: {
      get workdir() {
        return workspace.snapshot().workdir;
      },
      get trusted() {
        return workspace.snapshot().trusted;
      },
      instructions: async (options = {}) => instructions(workspace.snapshot(options.caller), options),
      setWorkdir: workspace.setWorkdir,
    },
  };
}

// Calls a tool. A program that waits for approvals is resumed for a caller that can wait, such as a task (COD-10).
async function callToEnd(parts: CallParts, given: GivenCall): Promise<ToolResult> {
  const { options } = given;
  const { signal } = given.controller;
  const onPending = guardListener(options.onPending!, parts.workspace.world.debug);
  let result = await call(parts, given);
  for (;;) {
    const suspension = findSuspension(result);
    const approvals = suspension && parts.consents.approvals;
    if (approvals === undefined) return result;
    const { resume, ids } = suspension!;
    onPending(approveProgram(approvals, suspension!, parts.workspace.snapshot(options.caller)));
    await untilDecided(approvals, ids, signal);
    // The program stays suspended, so that another call can resume it.
    if (signal.aborted) return result;
    onPending();
    result = await call(parts, { ...given, ref: RUN_CODE, raw: { resume } });
  }
}

async function planOnly(
  parts: CallParts,
  ref: string,
  raw: unknown,
  options: DoorOptions,
): ReturnType<Toolbox['plan']> {
  checkCallOptions(options);
  const base = toBase(parts.workspace.snapshot(options.caller), options);
  const tool = await findTool(parts, ref, base);
  const rules = await inSession(parts, base, rulesFor(parts, tool, base));
  const { plan, verdict } = await prepare(parts, tool, raw, base, rules);
  const forwarded = verdict.verdict === 'deny' ? undefined : forwardOf(tool)?.(plan.input as JsonObject, base.snapshot);
  if (forwarded === undefined) return { plan, verdict };
  return planOnly(parts, forwarded.ref, forwarded.input, { ...options, found: undefined });
}

async function explain(parts: CallParts, ref: string, raw: unknown, options: DoorOptions): Promise<Explanation> {
  checkCallOptions(options);
  const base = toBase(parts.workspace.snapshot(options.caller), options);
  const tool = await findTool(parts, ref, base);
  const rules = await inSession(parts, base, rulesFor(parts, tool, base));
  const repaired = readGiven(tool, raw, base).input;
  const input = options.checkInput === false ? repaired : await checkInput(tool, repaired);
  const judged = await prepare(parts, tool, raw, base, rules).then(
    ({ plan }) => plan,
    () => ({ tool, input }),
  );
  const sandbox = 'sandbox' in judged ? judged.sandbox : undefined;
  return {
    tool,
    labels: labelsOf(tool, base.snapshot.policy),
    entered: rules.entered,
    sandbox,
    verdict: decide(judged, base.caller, rules),
    unmatched: findUnmatched(judged, rules).map(({ selector, file, line }) => ({
      text: selector.text,
      file,
      line,
    })),
  };
}
