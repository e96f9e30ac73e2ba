// The door that all adapters go through: a toolbox in a provider's names and schemas, and calls back out of them.

import { type ErrorValue, isToolError, type ToolError } from '../../core/error.js';
import { isRecord, type Json, parseJson } from '../../core/json.js';
import { describeForModel } from '../../core/model-text.js';
import { decodeName, encodeNames } from '../../core/name.js';
import type { ToolResult } from '../../core/result.js';
import type { JsonSchema } from '../../core/schema.js';
import type { Tool } from '../../core/tool.js';
import type { Caller, CallOptions, Toolbox } from '../../core/toolbox.js';
import { type Lowering, lower } from '../lowering/lower.js';
import type { Profile, StrictBudget } from '../lowering/profile.js';
import { eachNode } from '../lowering/property-names.js';

/** What is offered to a model, the same in the listing and in the calls that answer it. */
export interface OfferOptions {
  /** Strict mode for every tool whose schema can be said in it without loss. */
  readonly strict?: boolean | undefined;
  /** Built-in tools to offer beside the visible ones, by name or group. */
  readonly offer?: readonly string[] | undefined;
}

type Passed = 'signal' | 'timeoutMs' | 'onProgress' | 'trust' | 'approve' | 'elicit' | 'ask';

/** How calls of a model are made. */
export type ModelCallOptions = { readonly [Key in Passed]?: CallOptions[Key] | undefined } & {
  /** The name of the model or the program, for records and rules. */
  readonly client?: string | undefined;
};

export interface OfferedTool {
  readonly tool: Tool;
  /** The name in the letters that providers take. */
  readonly name: string;
  readonly description: string;
  readonly lowering: Lowering;
}

/** A result, and the tool that gave it where there is one. */
export interface ModelAnswer {
  readonly result: ToolResult;
  readonly tool?: Tool;
}

export interface ModelDoor {
  list(): Promise<readonly OfferedTool[]>;
  /** Runs a call. Arguments are an object, or its JSON text. Never throws. */
  call(name: string, args: unknown, options?: ModelCallOptions): Promise<ModelAnswer>;
}

export interface DoorOptions extends OfferOptions {
  /** The word for it in records and rules. */
  readonly door: string;
  readonly profile: Profile;
}

const doors = new WeakMap<Toolbox, Map<string, ModelDoor>>();

/** The door of a toolbox; the same one for the same options, so that it knows what a model was shown. */
export function openDoor(toolbox: Toolbox, options: DoorOptions): ModelDoor {
  const key = JSON.stringify([options.door, options.strict ?? false, options.offer ?? []]);
  const known = doors.get(toolbox) ?? new Map<string, ModelDoor>();
  doors.set(toolbox, known);
  const door = known.get(key) ?? createDoor(toolbox, options);
  known.set(key, door);
  return door;
}

function createDoor(toolbox: Toolbox, { door, profile, strict = false, offer = [] }: DoorOptions): ModelDoor {
  const caller: Caller = { kind: 'model', door };
  const lowered = new WeakMap<JsonSchema, Lowering>();
  let shown: ReadonlyMap<string, OfferedTool> | undefined;

  const lowerOnce = (json: JsonSchema): Lowering => {
    const lowering = lowered.get(json) ?? lower(json, profile, { strict });
    lowered.set(json, lowering);
    return lowering;
  };
  const list = async (): Promise<readonly OfferedTool[]> => {
    const tools = await toolbox.list({ caller, offer });
    const { encode } = encodeNames(tools.map((tool) => tool.name));
    const withinBudget = createBudget(profile.strict?.perRequest);
    const offered = tools.flatMap((tool): OfferedTool[] => {
      const name = encode.get(tool.name);
      if (name === undefined) return [];
      const { json } = tool.input;
      const best = lowerOnce(json);
      return [
        {
          tool,
          name,
          description: describeForModel(tool, toolbox.workspace.trusted),
          lowering: withinBudget(best) ? best : lower(json, profile),
        },
      ];
    });
    shown = new Map(offered.map((entry) => [entry.name, entry]));
    return offered;
  };
  return {
    list,
    async call(name, args, { client, ...options } = {}) {
      const { input, ...fault } = readArguments(args);
      if (shown?.has(name) !== true) await list();
      const entry = shown?.get(name);
      const result = await toolbox.call(
        entry?.tool.name ?? decodeName(String(name)),
        entry === undefined ? input : restore(entry.lowering, input),
        {
          ...withoutGaps(options),
          ...fault,
          offer,
          caller: client === undefined ? caller : { ...caller, name: client },
        },
      );
      return entry === undefined ? { result } : { result, tool: entry.tool };
    },
  };
}

function withoutGaps(options: Omit<ModelCallOptions, 'client'>): CallOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

// What is no plain JSON is left to the call, which says what is wrong with it.
function restore(lowering: Lowering, input: Json): Json {
  return isRecord(input) ? lowering.restore(input) : input;
}

// Arguments that are no JSON are a call that failed, and is recorded as one (OBS-1).
function readArguments(args: unknown): { readonly input: Json; readonly fault?: ToolError } {
  if (typeof args !== 'string') return { input: (args ?? {}) as Json };
  try {
    return { input: args.trim() === '' ? {} : parseJson(args, 'the arguments of the call') };
  } catch (error) {
    if (!isToolError(error)) throw error;
    return { input: {}, fault: error };
  }
}

/** The result of a call that could not even be made. */
export function toFailure(error: ErrorValue): ToolResult {
  return { ok: false, content: [], error, meta: { durationMs: 0 } };
}

// A provider that bounds what all strict schemas of a request hold gets the first that fit, the rest without.
function createBudget(budget: StrictBudget | undefined): (lowering: Lowering) => boolean {
  let tools = 0;
  let optional = 0;
  let unions = 0;
  return ({ schema, strict }) => {
    if (!strict || budget === undefined) return true;
    const own = { optional: 0, unions: 0 };
    eachNode(schema as Record<string, unknown>, (node) => {
      if (Array.isArray(node.type) || node.anyOf !== undefined) own.unions++;
      if (!isRecord(node.properties)) return;
      const required = (node.required as readonly string[] | undefined) ?? [];
      own.optional += Object.keys(node.properties).length - required.length;
    });
    const fits =
      tools < budget.tools &&
      optional + own.optional <= budget.optional &&
      unions + own.unions <= budget.unions;
    if (fits) {
      tools++;
      optional += own.optional;
      unions += own.unions;
    }
    return fits;
  };
}
