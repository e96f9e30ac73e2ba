// The common part of all adapters: lists a toolbox with a provider's names and schemas, and runs the model's calls.

import type { Caller } from '../../core/caller.js';
import { isToolError, type ToolError } from '../../core/error.js';
import { isRecord, type Json, parseJson } from '../../core/json.js';
import { memoize } from '../../core/memoize.js';
import { decodeName, encodeNames } from '../../core/name.js';
import type { ToolResult } from '../../core/result.js';
import type { JsonSchema } from '../../core/schema.js';
import { describeForModel, type Tool } from '../../core/tool.js';
import type { CallOptions, DoorListOptions, DoorOptions, Toolbox } from '../../core/toolbox.js';
import { type Lowering, lower } from '../lowering/lower.js';
import type { Profile } from '../lowering/profile.js';
import { createStrictBudget } from '../lowering/strict-limits.js';

/** Which tools a model is offered. Pass the same options when listing tools and when running calls. */
export interface OfferOptions {
  /** Uses strict mode for every tool whose schema it can express without loss. */
  readonly strict?: boolean | undefined;
  /** Built-in tools to offer in addition to the visible ones, by name or group. */
  readonly offer?: readonly string[] | undefined;
}

type PassedOption = 'signal' | 'timeoutMs' | 'onProgress' | 'trust' | 'approve' | 'elicit' | 'ask';

/** Options of a model's calls. */
export type ModelCallOptions = { readonly [Key in PassedOption]?: CallOptions[Key] | undefined } & {
  /** The name of the model or the program, for the audit log and for rules. */
  readonly client?: string | undefined;
  /** Names the conversation: what it has read counts for its later calls, and only it can read its large results. */
  readonly session?: string | undefined;
};

/** What only the agent loop sets. */
export type LoopCallOptions = ModelCallOptions & Pick<DoorOptions, 'joined'> & Pick<DoorListOptions, 'decideMode'>;

export interface AdaptedTool {
  readonly tool: Tool;
  /** The name, encoded in characters that providers accept. */
  readonly name: string;
  readonly description: string;
  readonly lowering: Lowering;
}

export interface ModelCallResult {
  readonly result: ToolResult;
  /** The tool that was called, if it was found. */
  readonly tool?: Tool;
}

export interface Adapter {
  list(decideMode?: DoorListOptions['decideMode']): Promise<readonly AdaptedTool[]>;
  /** Runs a call. Arguments are an object, or its JSON text. Never throws. */
  call(name: string, args: unknown, options?: LoopCallOptions): Promise<ModelCallResult>;
}

export interface AdapterOptions extends OfferOptions {
  /** The caller's door, as audit log and rules name it. */
  readonly door: string;
  readonly profile: Profile;
}

const adapters = new WeakMap<Toolbox, Map<string, Adapter>>();

/** Returns the adapter of a toolbox; the same one for the same options, since it knows what a model was shown. */
export function getAdapter(toolbox: Toolbox, options: AdapterOptions): Adapter {
  const key = JSON.stringify([options.door, options.strict ?? false, options.offer ?? []]);
  const known = adapters.get(toolbox) ?? new Map<string, Adapter>();
  adapters.set(toolbox, known);
  const adapter = known.get(key) ?? createAdapter(toolbox, options);
  known.set(key, adapter);
  return adapter;
}

function createAdapter(toolbox: Toolbox, { door, profile, strict = false, offer = [] }: AdapterOptions): Adapter {
  const caller: Caller = { kind: 'model', door };
  let listed: ReadonlyMap<string, AdaptedTool> | undefined;

  const lowerOnce = memoize((json: JsonSchema) => lower(json, profile, { strict }));
  const list: Adapter['list'] = async (decideMode) => {
    const options: DoorListOptions = { caller, offer, ...(decideMode && { decideMode }) };
    const tools = await toolbox.list(options);
    const { encode } = encodeNames(tools.map((tool) => tool.name));
    const fitsBudget = createStrictBudget(profile.strict?.perRequest);
    const adapted = tools.flatMap((tool): AdaptedTool[] => {
      const name = encode.get(tool.name);
      if (name === undefined) return [];
      const lowering = lowerOnce(tool.input.json);
      return [
        {
          tool,
          name,
          description: describeForModel(tool, toolbox.workspace.trusted),
          lowering: fitsBudget(lowering) ? lowering : lower(tool.input.json, profile),
        },
      ];
    });
    listed = new Map(adapted.map((entry) => [entry.name, entry]));
    return adapted;
  };
  return {
    list,
    async call(name, args, { client, session, decideMode, ...options } = {}) {
      const { input, fault } = readArguments(args);
      if (listed?.has(name) !== true) await list(decideMode);
      const entry = listed?.get(name);
      const own: Caller = { ...caller, ...(client && { name: client }), ...(session && { session }) };
      const door: DoorOptions = { ...options, fault, offer, caller: own };
      const result = await toolbox.call(
        entry?.tool.name ?? decodeName(String(name)),
        // Input that is not an object is left for validation to report.
        entry !== undefined && isRecord(input) ? entry.lowering.restore(input) : input,
        door,
      );
      return { result, tool: entry?.tool };
    },
  };
}

// Malformed JSON is reported as a failed call, so that it is recorded (OBS-1).
function readArguments(args: unknown): { readonly input: Json; readonly fault?: ToolError } {
  if (typeof args !== 'string') return { input: (args ?? {}) as Json };
  try {
    return { input: args.trim() === '' ? {} : parseJson(args, 'the argument string') };
  } catch (error) {
    if (!isToolError(error)) throw error;
    return { input: {}, fault: error };
  }
}
