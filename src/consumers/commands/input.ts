// Turns the arguments of a command into a tool's input, by its schema and nothing else.

import { ToolError } from '../../core/error.js';
import { type Json, type JsonObject, parseJson } from '../../core/json.js';
import { acceptedTypes, followRef, type JsonSchema } from '../../core/schema.js';
import { nearest } from '../../core/text.js';
import type { Tool } from '../../core/tool.js';
import { type Argument, type FlagKind, ownFlagValue, splitArguments } from './arguments.js';
import { OWN_FLAGS, type Parameter, toParameters, toPositionals } from './parameters.js';

export interface CommandInput {
  readonly input: JsonObject;
  /** Whether anything of the input was given as an argument. */
  readonly given: boolean;
}

/** Reads a tool's command line, the caller's own flags left aside. Throws `invalid_input` or `usage` for what does not fit. */
export function readCommandInput(
  tool: Tool,
  argv: readonly string[],
  ownKind: (name: string) => FlagKind | undefined,
): CommandInput {
  const parameters = toParameters(tool.input.json);
  const values = new Map<Parameter, Json>();
  const positionals: string[] = [];
  for (const argument of split(argv, parameters, ownKind)) {
    if (argument.kind === 'positional') positionals.push(argument.value);
    else if (argument.kind !== 'flag') throw badFlag(tool, argument, parameters);
    else if (ownKind(argument.name) === undefined)
      setValue(values, findTarget(argument.name, parameters)!, argument.value, tool.input.json);
  }
  placePositionals(tool, positionals, parameters, values);
  const input: Record<string, Json> = {};
  for (const parameter of parameters) {
    const value = values.get(parameter);
    if (value !== undefined) input[parameter.name] = value;
  }
  return { input, given: values.size > 0 };
}

/** The flags that belong to the caller of this function, by name, of a tool's command line, whatever else is wrong with it. */
export function readOwnFlags(
  tool: Tool,
  argv: readonly string[],
  ownKind: (name: string) => FlagKind | undefined,
): Map<string, string | true> {
  const own = new Map<string, string | true>();
  for (const argument of split(argv, toParameters(tool.input.json), ownKind)) {
    const kind = argument.kind === 'flag' ? ownKind(argument.name) : undefined;
    if (argument.kind !== 'flag' || kind === undefined) continue;
    const value = ownFlagValue(argument.name, kind, argument.value);
    if (value === undefined) own.delete(argument.name);
    else own.set(argument.name, value);
  }
  return own;
}

function split(
  argv: readonly string[],
  parameters: readonly Parameter[],
  ownKind: (name: string) => FlagKind | undefined,
): readonly Argument[] {
  const kindOf = (name: string): FlagKind | undefined => {
    const own = ownKind(name);
    if (own !== undefined) return own;
    const found = findTarget(name, parameters);
    return found && (isSwitch(found.parameter) && found.path.length === 0 ? 'switch' : 'value');
  };
  return splitArguments(argv, kindOf).parsed;
}

interface Target {
  readonly parameter: Parameter;
  /** Steps below the parameter: `--x.y` is y of x. */
  readonly path: readonly string[];
  readonly negated: boolean;
}

function findTarget(name: string, parameters: readonly Parameter[]): Target | undefined {
  const exact = (wanted: string): Parameter | undefined =>
    parameters.find((parameter) => parameter.flag === wanted) ??
    parameters.find((parameter) => parameter.name === wanted && !parameter.flag.startsWith('param-'));
  const direct = exact(name);
  if (direct) return { parameter: direct, path: [], negated: false };
  if (name.startsWith('no-')) {
    const parameter = exact(name.slice(3));
    if (parameter && isSwitch(parameter)) return { parameter, path: [], negated: true };
  }
  const [head = '', ...path] = name.split('.');
  const parameter = path.length > 0 ? exact(head) : undefined;
  return parameter && { parameter, path, negated: false };
}

function isSwitch(parameter: Parameter): boolean {
  return parameter.types.length === 1 && parameter.types[0] === 'boolean';
}

function setValue(values: Map<Parameter, Json>, target: Target, raw: string | true, root: JsonSchema): void {
  const { parameter, path, negated } = target;
  if (negated) {
    values.set(parameter, raw === 'false');
    return;
  }
  if (path.length > 0) {
    const object = (values.get(parameter) ?? {}) as Record<string, Json>;
    values.set(parameter, setPath(object, path, raw === true ? 'true' : raw, parameter.schema, root));
    return;
  }
  if (parameter.types.includes('array')) {
    values.set(parameter, appendTo(values.get(parameter), raw === true ? 'true' : raw, parameter, root));
    return;
  }
  values.set(parameter, raw === true ? true : toValue(raw, parameter.types, parameter.flag));
}

function setPath(
  object: Record<string, Json>,
  [head = '', ...rest]: readonly string[],
  raw: string,
  schema: Readonly<Record<string, unknown>>,
  root: JsonSchema,
): Record<string, Json> {
  const properties = schema.properties as Record<string, unknown> | undefined;
  const node = followRef(
    properties !== undefined && Object.hasOwn(properties, head) ? properties[head] : undefined,
    root,
  );
  const inner = (Object.hasOwn(object, head) ? object[head] : {}) as Record<string, Json>;
  const value =
    rest.length === 0
      ? toValue(raw, [...acceptedTypes(node, root)], head)
      : setPath(inner, rest, raw, node, root);
  // Not an assignment: a step named __proto__ must stay a plain key for the check to refuse.
  return Object.defineProperty({ ...object }, head, {
    value,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

// `--tag a --tag b`, or the whole array as JSON.
function appendTo(before: Json | undefined, raw: string, parameter: Parameter, root: JsonSchema): Json {
  if (before === undefined && raw.startsWith('[')) return parseJson(raw, `--${parameter.flag}`);
  const items = [...acceptedTypes(followRef(parameter.schema.items, root), root)];
  return [...(Array.isArray(before) ? before : []), toValue(raw, items, parameter.flag)];
}

const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

// What is not of a wanted type stays text, for the one check to say what is wrong with it (MOD-23).
function toValue(raw: string, types: readonly string[], flag: string): Json {
  if (types.length === 0 || types.includes('string')) return raw;
  if (types.includes('boolean') && (raw === 'true' || raw === 'false')) return raw === 'true';
  if ((types.includes('integer') || types.includes('number')) && NUMBER.test(raw)) return Number(raw);
  if (types.includes('null') && raw === 'null') return null;
  if (types.includes('object') || types.includes('array')) return parseJson(raw, `--${flag}`);
  return raw;
}

function placePositionals(
  tool: Tool,
  positionals: readonly string[],
  parameters: readonly Parameter[],
  values: Map<Parameter, Json>,
): void {
  const free = toPositionals(parameters, tool.traits.positional).filter(
    (parameter) => !values.has(parameter),
  );
  if (positionals.length > free.length) {
    throw new ToolError('usage', `unexpected argument "${positionals[free.length]}"`, {
      hint: `give parameters as flags; wield call ${tool.name} --help shows them`,
    });
  }
  positionals.forEach((value, index) => {
    const parameter = free[index]!;
    values.set(parameter, toValue(value, parameter.types, parameter.flag));
  });
}

function badFlag(
  tool: Tool,
  argument: Argument & { name: string },
  parameters: readonly Parameter[],
): ToolError {
  const help = `wield call ${tool.name} --help shows all`;
  if (argument.kind === 'incomplete') {
    return new ToolError('usage', `${argument.name} needs a value`, { hint: help });
  }
  const name = argument.name.replace(/^--?/, '');
  const close = nearest(name, [...parameters.map((parameter) => parameter.flag), ...OWN_FLAGS]);
  return new ToolError('invalid_input', `unknown parameter "${name}"`, {
    hint: close.length > 0 ? `did you mean --${close[0]}? ${help}` : help,
    data: { faults: [{ path: `/${name}`, expected: 'no such parameter', got: `undeclared "${name}"` }] },
  });
}
