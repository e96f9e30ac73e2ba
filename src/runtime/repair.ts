// Repairs the input of a call where a schema says what was meant: null for a missing value, JSON in a string (RUN-4).

import { escapePointer, isRecord, type Json, parseJson, toJson } from '../core/json.js';
import type { Repair } from '../core/result.js';
import { acceptedTypes, followRef, type JsonSchema, type SchemaNode } from '../core/schema.js';
import type { Settings } from '../core/settings.js';
import type { Tool } from '../core/tool.js';

export interface RepairedInput {
  readonly input: Json;
  readonly repairs: readonly Repair[];
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
export function droppedNulls(repairs: readonly Repair[]): readonly string[] {
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
