// Repairs the input of a call where a schema says what was meant: null for a missing value, JSON in a string (RUN-4).

import { orNothing } from '../core/error.js';
import {
  escapePointer,
  isRecord,
  type Json,
  type JsonObject,
  parseJson,
  toJson,
  unescapePointer,
} from '../core/json.js';
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

// Drops null for optional properties and parses JSON text where the schema does not allow text.
function repairInput(input: Json, schema: JsonSchema, switches: readonly string[]): RepairedInput {
  const repairs: Repair[] = [];
  const typesOf = (node: unknown): ReadonlySet<string> => acceptedTypes(followRef(node, schema), schema);
  const repair = (value: Json, node: unknown, path: string, depth: number): Json => {
    const here = followRef(node, schema);
    if (depth > MAX_DEPTH) return value;
    if (typeof value === 'string') {
      const parsed = parseWanted(value, acceptedTypes(here, schema));
      if (parsed === undefined) return value;
      repairs.push({ path, repair: 'text parsed as JSON' });
      return parsed;
    }
    if (Array.isArray(value)) {
      const { items } = here.items === undefined ? (findBranch(value, here, schema) ?? here) : here;
      if (!isRecord(items)) return value;
      return value.map((item, index) => repair(item, items, `${path}/${index}`, depth + 1));
    }
    if (!isRecord(value)) return value;
    const own = repairProperties(value as JsonObject, here, path, depth);
    const branch = findBranch(own, here, schema);
    return branch === undefined ? own : repair(own, branch, path, depth + 1);
  };
  const repairProperties = (value: JsonObject, here: SchemaNode, path: string, depth: number): JsonObject => {
    const { properties } = here;
    if (!isRecord(properties)) return value;
    const required: readonly unknown[] = Array.isArray(here.required) ? here.required : [];
    const repaired: Record<string, Json> = {};
    for (const [key, child] of Object.entries(value)) {
      if (!Object.hasOwn(properties, key)) {
        repaired[key] = child;
        continue;
      }
      const childPath = `${path}/${escapePointer(key)}`;
      if (child === null && !required.includes(key) && isRestricted(typesOf(properties[key]))) {
        repairs.push({ path: childPath, repair: NULL_AS_ABSENT });
        continue;
      }
      const meant = path === '' && switches.includes(key) ? toSwitch(child, typesOf(properties[key])) : undefined;
      if (meant !== undefined) repairs.push({ path: childPath, repair: 'taken as boolean' });
      repaired[key] = meant ?? repair(child, properties[key], childPath, depth + 1);
    }
    return repaired;
  };
  return { input: repair(input, schema, '', 0), repairs };
}

// The only branch of a union that a value can mean: by its type, required properties and constants.
function findBranch(value: Json, here: SchemaNode, root: JsonSchema): SchemaNode | undefined {
  if (here.anyOf === undefined && here.oneOf === undefined) return undefined;
  const branches = [here.anyOf, here.oneOf]
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .map((branch) => followRef(branch, root));
  const fitting = branches.filter((branch) => mayFit(value, branch, root));
  return fitting.length === 1 ? fitting[0] : undefined;
}

function mayFit(value: Json, branch: SchemaNode, root: JsonSchema): boolean {
  const types = acceptedTypes(branch, root);
  if (!types.has(Array.isArray(value) ? 'array' : 'object')) return false;
  if (!isRecord(value)) return true;
  const { required, properties } = branch;
  if (Array.isArray(required) && !required.every((name) => Object.hasOwn(value, String(name)))) return false;
  return Object.entries(isRecord(properties) ? properties : {}).every(([name, property]) => {
    const { const: constant, enum: choices } = followRef(property, root);
    const given = value[name];
    if (given === undefined || given === null) return true;
    const allowed = constant !== undefined ? [constant] : Array.isArray(choices) ? choices : undefined;
    return allowed === undefined || allowed.includes(given as never);
  });
}

/** Returns the parameters that were given as null and dropped. */
export function droppedNulls(repairs: readonly Repair[]): readonly string[] {
  return repairs.flatMap(({ path, repair }) =>
    repair === NULL_AS_ABSENT && !path.includes('/', 1) ? [unescapePointer(path.slice(1))] : [],
  );
}

// TJS-9: the parameters that a declared command maps to one flag or another.
function findSwitches({ action }: Tool): readonly string[] {
  if (action.kind !== 'process' || action.runs !== 'command') return [];
  const mappings = action.executions.flatMap(({ args }) => args);
  return mappings.flatMap(({ kind, param }) => (kind === 'flagifboolean' ? [param] : []));
}

// Whether a value of these types cannot be null.
function isRestricted(types: ReadonlySet<string>): boolean {
  return types.size > 0 && !types.has('null');
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
    return orNothing(() => parseJson(text, 'text'));
  }
  return undefined;
}
