// Prepares a call: its input is repaired and validated, and what exactly will run is planned.

import type { Caller, Verdict } from '../core/caller.js';
import { CODE } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import type { Variables } from '../core/executor.js';
import { deepFreeze, escapePointer, isRecord, type Json, parseJson, toJson } from '../core/json.js';
import type { Plan } from '../core/plan.js';
import type { Repair } from '../core/result.js';
import { acceptedTypes, type Check, followRef, type JsonSchema, type SchemaNode } from '../core/schema.js';
import type { Settings } from '../core/settings.js';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { PlanOptions } from '../core/toolbox.js';
import { decide } from '../policy/decide.js';
import type { Rules } from '../policy/rules.js';
import { findHidden, toFace, withFixed } from '../policy/view.js';
import { describeFaults } from '../schema/faults.js';
import { isOfModel } from './find.js';
import type { CallParts, CallScope } from './parts.js';

export interface Prepared {
  readonly plan: Plan;
  readonly verdict: Verdict;
  readonly repairs: readonly Repair[];
}

/** Does everything before the run: plans the call and decides on it. Throws what is wrong. */
export function prepare(
  parts: CallParts,
  tool: Tool,
  raw: unknown,
  { snapshot, options }: CallScope & { readonly options: PlanOptions },
  rules: Rules,
): Prepared | Promise<Prepared> {
  const { caller = CODE, checkInput: isChecked = true, fault, timeoutMs, sandbox } = options;
  if (fault !== undefined) throw fault;
  const { input: repaired, repairs } = readGiven(tool, raw, { snapshot, options });
  // POL-21: nobody approved the schema of a changed tool, so a model does not see it in an error either.
  const hideFaults = caller.kind === 'model' && rules.changes !== undefined;
  const shown = isOfModel(options) ? toFace(tool, snapshot.settings.view) : tool;
  const checked = isChecked ? checkInput(tool, repaired, { hideFaults, shown }) : repaired;
  const withoutSandbox = sandbox === 'none' && caller.kind === 'person';
  const { dispatched } = options;
  const given = { tool, repairs, snapshot, rules, timeoutMs, withoutSandbox, variables: dispatched?.variables };
  // Synchronous where validator and executor are: an async function takes 0.2 µs and 0.4 kB per call.
  const planned =
    checked instanceof Promise
      ? checked.then((input) => planCall(parts, given, input))
      : planCall(parts, given, checked);
  return planned instanceof Promise
    ? planned.then((plan) => judge(plan, caller, rules, repairs))
    : judge(planned, caller, rules, repairs);
}

function judge(planned: Plan, caller: Caller, rules: Rules, repairs: readonly Repair[]): Prepared {
  const plan = deepFreeze(planned);
  return { plan, verdict: decide(plan, caller, rules), repairs };
}

export interface RepairedInput {
  readonly input: Json;
  readonly repairs: readonly Repair[];
}

/** Reads the input of a call. A model gives it to the face of an aliased tool (RES-48). */
export function readGiven(tool: Tool, raw: unknown, { snapshot: { settings }, options }: CallScope): RepairedInput {
  const { view } = settings;
  if (!isOfModel(options) || view.aliases.size === 0) return readInput(tool, raw, settings);
  const face = toFace(tool, view);
  const { input, repairs } = readInput(face, raw, settings);
  const faults = findHidden(tool, input, view);
  if (faults.length > 0) throw describeFaults(face, faults);
  return { input: withFixed(tool, input, view), repairs };
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const MAX_DEPTH = 64;
const NULL_AS_ABSENT = 'null taken as absent';
const NONE: readonly string[] = [];

/** Converts input to JSON and, unless that is disabled, repairs it. Throws `invalid_input` if it is not JSON. */
export function readInput(tool: Tool, raw: unknown, { repair }: Pick<Settings, 'repair'>): RepairedInput {
  const input = renameParameters(toJson(raw), tool.traits.aliases);
  return repair ? repairInput(input, tool.input.json, findSwitches(tool)) : { input, repairs: [] };
}

// A parameter that is given by both names keeps both, and the other one is unknown.
function renameParameters(input: Json, aliases: Readonly<Record<string, string>> | undefined): Json {
  if (aliases === undefined || !isRecord(input)) return input;
  const rename = (name: string): string => {
    const own = Object.hasOwn(aliases, name) ? aliases[name]! : name;
    return Object.hasOwn(input, own) ? name : own;
  };
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [rename(name), value as Json]));
}

/**
 * Validates input and applies defaults. Throws `invalid_input` about the tool as it is shown; with `hideFaults` without
 * details of the schema.
 */
export function checkInput(tool: Tool, input: Json, { hideFaults = false, shown = tool } = {}): Json | Promise<Json> {
  const checked = tool.input.check(input);
  const read = (done: Check): Json => assertValid(tool, done, hideFaults ? undefined : shown);
  return checked instanceof Promise ? checked.then(read) : read(checked);
}

function assertValid(tool: Tool, checked: Check, shown: Tool | undefined): Json {
  if (checked.ok) return checked.value;
  if (shown !== undefined) throw describeFaults(shown, checked.faults);
  throw new ToolError('invalid_input', `${tool.name} changed since it was approved and takes different input`, {
    hint: `a person must review it first: wield show ${tool.name}`,
  });
}

/** Returns input for the record of a call that failed before its input was checked; undefined if it is not JSON. */
export function jsonOrNothing(raw: unknown): Json | undefined {
  try {
    return toJson(raw);
  } catch {
    return undefined;
  }
}

/** Drops null for optional properties and parses JSON text where the schema does not allow text (RUN-4). */
function repairInput(input: Json, schema: JsonSchema, switches: ReadonlySet<string>): RepairedInput {
  const repairs = new Repairs(schema, switches);
  return { input: repairs.repair(input, schema, '', 0), repairs: repairs.made };
}

/** The repairs of one input. */
class Repairs {
  readonly made: Repair[] = [];
  readonly #schema: JsonSchema;
  readonly #switches: ReadonlySet<string>;

  constructor(schema: JsonSchema, switches: ReadonlySet<string>) {
    this.#schema = schema;
    this.#switches = switches;
  }

  repair(value: Json, node: unknown, path: string, depth: number): Json {
    const here = followRef(node, this.#schema);
    if (depth > MAX_DEPTH) return value;
    if (typeof value === 'string') {
      const parsed = parseWanted(value, acceptedTypes(here, this.#schema));
      if (parsed === undefined) return value;
      this.made.push({ path, repair: 'text parsed as JSON' });
      return parsed;
    }
    if (Array.isArray(value)) return this.#repairItems(value, here.items, path, depth);
    if (isRecord(value)) return this.#repairProperties(value as { [key: string]: Json }, here, path, depth);
    return value;
  }

  #repairItems(values: readonly Json[], items: unknown, path: string, depth: number): readonly Json[] {
    if (!isRecord(items)) return values;
    const mapped = values.map((value, index) => this.repair(value, items, `${path}/${index}`, depth + 1));
    return mapped.some((value, index) => value !== values[index]) ? mapped : values;
  }

  #repairProperties(value: { [key: string]: Json }, here: SchemaNode, path: string, depth: number): Json {
    const { properties } = here;
    if (!isRecord(properties)) return value;
    const schema = this.#schema;
    const required = Array.isArray(here.required) ? here.required : NONE;
    let copy: Record<string, Json> | undefined;
    for (const key of Object.keys(value)) {
      const child = value[key]!;
      if (!Object.hasOwn(properties, key) || needsNoRepair(child, properties[key], this.#switches)) continue;
      const childPath = `${path}/${escapePointer(key)}`;
      if (child === null && !required.includes(key) && !allowsNull(properties[key], schema)) {
        copy ??= { ...value };
        delete copy[key];
        this.made.push({ path: childPath, repair: NULL_AS_ABSENT });
        continue;
      }
      const isSwitch = path === '' && this.#switches.has(key) && typeof child !== 'boolean';
      const meant = isSwitch ? toSwitch(child, acceptedTypes(followRef(properties[key], schema), schema)) : undefined;
      if (meant !== undefined) this.made.push({ path: childPath, repair: 'taken as boolean' });
      const repaired = meant ?? this.repair(child, properties[key], childPath, depth + 1);
      if (repaired !== child) {
        copy ??= { ...value };
        copy[key] = repaired;
      }
    }
    return copy ?? value;
  }
}

// Whether a value is certainly kept: most are, and looking further takes 0.3 µs for each.
function needsNoRepair(value: Json, node: unknown, switches: ReadonlySet<string>): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return switches.size === 0;
  return typeof value === 'string' && switches.size === 0 && isRecord(node) && node.type === 'string';
}

/** Returns the parameters that were given as null and dropped. */
function droppedNulls(repairs: readonly Repair[]): readonly string[] {
  if (repairs.length === 0) return NONE;
  return repairs.flatMap(({ path, repair }) =>
    repair === NULL_AS_ABSENT && !path.includes('/', 1)
      ? [path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')]
      : [],
  );
}

const NO_SWITCHES: ReadonlySet<string> = new Set();

// TJS-9: the parameters that a declared command maps to one flag or another.
function findSwitches({ action }: Tool): ReadonlySet<string> {
  if (action.kind !== 'process' || action.runs !== 'command') return NO_SWITCHES;
  const mappings = action.executions.flatMap(({ args }) => args);
  return new Set(mappings.flatMap(({ kind, param }) => (kind === 'flagifboolean' ? [param] : [])));
}

// "TRUE" and 1 are true where the schema accepts neither text nor numbers; "true" is parsed like any text.
function toSwitch(value: Json, types: ReadonlySet<string>): boolean | undefined {
  if (!types.has('boolean')) return undefined;
  if (typeof value === 'string' && !types.has('string') && /^(?:true|false)$/i.test(value)) {
    const lower = value.toLowerCase();
    return value === lower ? undefined : lower === 'true';
  }
  const isNumber = (value === 0 || value === 1) && !types.has('number') && !types.has('integer');
  return isNumber ? value === 1 : undefined;
}

function allowsNull(node: unknown, root: JsonSchema): boolean {
  const types = acceptedTypes(followRef(node, root), root);
  return types.size === 0 || types.has('null');
}

function parseWanted(text: string, wanted: ReadonlySet<string>): Json | undefined {
  if (wanted.has('string')) return undefined;
  if ((text === 'true' || text === 'false') && wanted.has('boolean')) return text === 'true';
  if (NUMBER.test(text) && (wanted.has('number') || wanted.has('integer'))) {
    const number = Number(text);
    // A number that would lose precision stays text, which validation rejects.
    const exact = Number.isInteger(number) ? Number.isSafeInteger(number) : Number.isFinite(number);
    return exact ? number : undefined;
  }
  const opener = text[0];
  if ((opener === '[' && wanted.has('array')) || (opener === '{' && wanted.has('object'))) {
    try {
      return parseJson(text, 'text');
    } catch {
      return undefined;
    }
  }
  return undefined;
}

// Node fires longer timers immediately.
const MAX_TIMER_MS = 2 ** 31 - 1;

interface PlanCallOptions {
  readonly tool: Tool;
  readonly repairs: readonly Repair[];
  readonly snapshot: Snapshot;
  readonly rules: Rules;
  /** The time limit that the caller set. */
  readonly timeoutMs: number | undefined;
  readonly withoutSandbox: boolean;
  readonly variables: Variables | undefined;
}

/** Returns the plan of a call. Throws if the tool could not run. */
function planCall(
  { executors, cascade }: Pick<CallParts, 'executors' | 'cascade'>,
  { tool, repairs, snapshot, rules, timeoutMs, withoutSandbox, variables }: PlanCallOptions,
  input: Json,
): Plan | Promise<Plan> {
  const inherited = cascade.inheritedTimeout(tool, snapshot);
  // Listed explicitly: spread properties take 1 µs a call.
  return executors.of(tool).plan(tool, input, {
    snapshot,
    rules,
    withoutSandbox,
    variables,
    nulls: droppedNulls(repairs),
    timeoutMs: Math.min(timeoutMs ?? timeLimit(tool, snapshot.settings, inherited), MAX_TIMER_MS),
  });
}

// The user's setting for the tool, else the tool's own limit, else the inherited one; ceilings apply on top.
function timeLimit(tool: Tool, { limits, tools }: Settings, inherited: number): number {
  const own = tools.get(tool.name);
  const chosen =
    own?.timeoutMs ?? Math.min(tool.traits.timeoutMs ?? inherited, limits.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
  return Math.min(chosen, own?.timeoutCeilingMs ?? Number.POSITIVE_INFINITY);
}
