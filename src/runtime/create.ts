// Creates a toolbox from its parts.

import type { References } from '../catalog/skill-references.js';
import { guardListener } from '../core/async.js';
import { CODE } from '../core/caller.js';
import { Cancellation } from '../core/cancellation.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type {
  CallOptions,
  Explanation,
  InstructionsOptions,
  ListOptions,
  PlanOptions,
  Toolbox,
} from '../core/toolbox.js';
import { decide, findUnmatched } from '../policy/decide.js';
import { call } from './call.js';
import { checkCaller, checkCallOptions, findOptionFault, withFault } from './call-options.js';
import { createCatalogMethods } from './catalog-methods.js';
import { findTool, rulesFor } from './find.js';
import { listTools } from './list.js';
import { createOfferMethods } from './offer-methods.js';
import { type CallParts, OUTERMOST } from './parts.js';
import { checkInput, prepare, readGiven } from './prepare.js';
import type { SearchTools } from './search.js';

export interface AssembleOptions {
  readonly parts: CallParts;
  readonly search: SearchTools;
  /** Resolves references in texts of skills; undefined without skills. */
  readonly references?: References;
  /** Returns the text to send to a model before anything else. */
  readonly instructions: (snapshot: Snapshot, options: InstructionsOptions) => string | Promise<string>;
  /** Returns what a model is shown of the tools that it may call (SRV-9). */
  readonly show?: (tools: readonly Tool[], snapshot: Snapshot, options: ListOptions) => readonly Tool[];
  /** Watches the files of the catalog. */
  readonly watch: (listener: () => void) => () => void;
}

const CLOSE_POLL_MS = 5;
const NO_OPTIONS: CallOptions = {};

export function assembleToolbox(options: AssembleOptions): Toolbox {
  const { parts, search, references, instructions, show, watch } = options;
  const { workspace, executors, observers, stores } = parts;
  // An array: adding to and deleting from a Set takes three times as long.
  const running: Cancellation[] = [];
  let isClosed = false;
  const callAs: Toolbox['call'] = async (ref, raw, given = NO_OPTIONS) => {
    // RUN-14: a call with wrong options fails like any other, and is recorded.
    const fault = findOptionFault(given);
    const options = fault === undefined ? given : withFault(given, fault);
    const cancellation = new Cancellation();
    const release = follow(cancellation, options);
    running.push(cancellation);
    if (isClosed) cancellation.cancel();
    try {
      const guarded = guardOptions(options, parts);
      const made = { ref, raw, options: guarded, cancellation, nesting: OUTERMOST };
      const result = await call(parts, made);
      if (options.onPending === undefined || result.error?.code !== 'needs_approval') return result;
      return await (await import('./resume.js')).resumeWhenDecided(parts, made, result);
    } finally {
      remove(running, cancellation);
      release?.();
    }
  };
  return {
    async list(asked = {}) {
      checkCaller(asked.caller);
      const snapshot = workspace.snapshot();
      const tools = await listTools(parts, snapshot, asked);
      return asked.caller?.kind === 'model' && show !== undefined ? show(tools, snapshot, asked) : tools;
    },
    async search(query, limit, { caller = CODE } = {}) {
      checkCaller(caller);
      return search(query, limit, caller, workspace.snapshot());
    },
    find: async (ref) => findTool(parts, ref, { snapshot: workspace.snapshot(), options: {} }),
    call: callAs,
    plan: (ref, input, options = {}) => planOnly(parts, ref, input, options),
    explain: (ref, input, options = {}) => explain(parts, ref, input, options),
    on: observers.on,
    async close() {
      isClosed = true;
      for (const cancellation of [...running]) cancellation.cancel();
      while (running.length > 0) await new Promise((resolve) => setTimeout(resolve, CLOSE_POLL_MS));
      await executors.close();
      await observers.recorder?.close();
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
      instructions: async (options = {}) => instructions(workspace.snapshot(), options),
      setWorkdir: workspace.setWorkdir,
    },
  };
}

async function planOnly(parts: CallParts, ref: string, raw: unknown, options: PlanOptions) {
  checkCallOptions(options);
  const scope = { snapshot: parts.workspace.snapshot(), options };
  const tool = await findTool(parts, ref, scope);
  const { plan, verdict } = await prepare(parts, tool, raw, scope, rulesFor(parts, tool, scope));
  return { plan, verdict };
}

async function explain(parts: CallParts, ref: string, raw: unknown, options: PlanOptions): Promise<Explanation> {
  checkCallOptions(options);
  const { caller = CODE } = options;
  const scope = { snapshot: parts.workspace.snapshot(), options };
  const tool = await findTool(parts, ref, scope);
  const rules = rulesFor(parts, tool, scope);
  const repaired = readGiven(tool, raw, scope).input;
  const prepareAll = async () => prepare(parts, tool, raw, scope, rules);
  const input = options.checkInput === false ? repaired : await checkInput(tool, repaired);
  const judged = await prepareAll().then(
    ({ plan }) => plan,
    () => ({ tool, input }),
  );
  const sandbox = 'sandbox' in judged ? judged.sandbox : undefined;
  return {
    tool,
    sandbox,
    verdict: decide(judged, caller, rules),
    unmatched: findUnmatched(judged, rules).map(({ selector, file, line }) => ({
      text: selector.text,
      file,
      line,
    })),
  };
}

// Listed explicitly only if given, to keep the common case free of wrappers.
function guardOptions(options: CallOptions, { workspace }: CallParts): CallOptions {
  const { onProgress, onOutput, onLog, onPending } = options;
  if (onProgress === undefined && onOutput === undefined && onLog === undefined && onPending === undefined)
    return options;
  const { debug } = workspace.world;
  return {
    ...options,
    onProgress: onProgress && guardListener(onProgress, debug),
    onOutput: onOutput && guardListener(onOutput, debug),
    onLog: onLog && guardListener(onLog, debug),
    onPending: onPending && guardListener(onPending, debug),
  };
}

function remove(from: Cancellation[], cancellation: Cancellation): void {
  from[from.lastIndexOf(cancellation)] = from.at(-1)!;
  from.pop();
}

function follow(cancellation: Cancellation, options: CallOptions): (() => void) | undefined {
  const other = options.cancellation ?? options.signal;
  return other && cancellation.follow(other);
}
