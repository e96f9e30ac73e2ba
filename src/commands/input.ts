// Turns the arguments of a command into a tool's input, by its schema and nothing else.

import { ToolError } from '../core/error.js';
import type { Json, JsonObject } from '../core/json.js';
import { nearest, parseDuration, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { type Argument, type FlagKind, ownFlagValue, splitArguments } from './arguments.js';
import {
  createFlagTable,
  isSwitch,
  isVariadic,
  OWN_FLAGS,
  type Parameter,
  toParameters,
  toPositionals,
} from './parameters.js';
import { addValue } from './values.js';

export interface CommandInput {
  readonly input: JsonObject;
  /** Whether anything of the input was given as an argument. */
  readonly given: boolean;
}

export interface CommandInputOptions {
  /** The kind of a flag that is the caller's own and no parameter. */
  readonly ownKind?: (name: string) => FlagKind | undefined;
  /** What hints call the command: `wield deploy`. */
  readonly command?: string;
}

const noOwnFlags = (): undefined => undefined;

/** Reads a tool's command line, the caller's own flags left aside. Throws `invalid_input` or `usage` for what does not fit. */
export function readCommandInput(
  tool: Tool,
  argv: readonly string[],
  { ownKind = noOwnFlags, command = `wield call ${tool.name}` }: CommandInputOptions = {},
): CommandInput {
  const root = tool.input.json;
  const parameters = toParameters(root);
  const find = createTargetFinder(parameters);
  const values = new Map<Parameter, Json>();
  const positionals: string[] = [];
  for (const argument of split(argv, find, ownKind)) {
    if (argument.kind === 'positional') positionals.push(argument.value);
    else if (argument.kind !== 'flag') throw badFlag(argument, parameters, { command, ownKind });
    else if (ownKind(argument.name) === undefined) {
      const { parameter, path, json, negated } = find(argument.name)!;
      const raw = negated ? negate(argument.value) : argument.value === true ? 'true' : argument.value;
      const given = { raw, json, path, positional: false, flag: `--${quoteOutside(argument.name, 80)}` };
      values.set(parameter, addValue(values.get(parameter), given, parameter.schema, root));
    }
  }
  const free = toPositionals(parameters, tool.traits.positional).filter((one) => !values.has(one));
  placePositionals(positionals, free, command, (parameter, raw) => {
    const given = { raw, json: false, path: [], positional: true, flag: parameter.flag };
    values.set(parameter, addValue(values.get(parameter), given, parameter.schema, root));
  });
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
  for (const argument of split(argv, createTargetFinder(toParameters(tool.input.json)), ownKind)) {
    const kind = argument.kind === 'flag' ? ownKind(argument.name) : undefined;
    if (argument.kind !== 'flag' || kind === undefined) continue;
    const value = ownFlagValue(argument.name, kind, argument.value);
    if (value === undefined) own.delete(argument.name);
    else own.set(argument.name, value);
  }
  return own;
}

/** What is wrong with giving the input in two ways at once. */
export function inputTwice(): ToolError {
  return new ToolError('usage', '--input and parameters as flags exclude each other', {
    hint: 'put everything into --input, or nothing',
  });
}

/** The milliseconds of `--timeout`. */
export function parseTimeout(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined) return milliseconds;
  throw new ToolError('usage', `--timeout "${quoteOutside(text, 40)}" is not a duration`, {
    hint: 'write 500ms, 30s, 5m or 1h',
  });
}

function split(
  argv: readonly string[],
  find: TargetFinder,
  ownKind: (name: string) => FlagKind | undefined,
): readonly Argument[] {
  return splitArguments(argv, (name) => ownKind(name) ?? kindOfTarget(find(name))).parsed;
}

/** What a flag is about. */
export interface Target {
  readonly parameter: Parameter;
  readonly path: readonly string[];
  readonly json: boolean;
  readonly negated: boolean;
}

export type TargetFinder = (name: string) => Target | undefined;

/** Finds what a flag without its dashes is about: a parameter first, then `no-`, a colon at the end, fields. */
export function createTargetFinder(parameters: readonly Parameter[]): TargetFinder {
  const table = createFlagTable(parameters);
  const find = (name: string): Target | undefined => {
    const direct = table(name);
    if (direct) return { parameter: direct, path: [], json: false, negated: false };
    if (name.endsWith(':')) {
      const target = find(name.slice(0, -1));
      return target && !target.negated ? { ...target, json: true } : undefined;
    }
    if (name.startsWith('no-')) {
      const parameter = table(name.slice(3));
      if (parameter && isSwitch(parameter)) return { parameter, path: [], json: false, negated: true };
    }
    return findField(name);
  };
  // The longest name that is a parameter's, since a name may have dots of its own.
  const findField = (name: string): Target | undefined => {
    for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
      const parameter = table(name.slice(0, dot));
      const path = name.slice(dot + 1).split('.');
      if (parameter && path.every((step) => step !== ''))
        return { parameter, path, json: false, negated: false };
    }
    return undefined;
  };
  return find;
}

export function kindOfTarget(target: Target | undefined): FlagKind | undefined {
  if (target === undefined) return undefined;
  const { parameter, path, json } = target;
  return isSwitch(parameter) && path.length === 0 && !json ? 'switch' : 'value';
}

// `--no-x=false` is true; any other text stays for the check to refuse.
function negate(value: string | true): string {
  if (value === true || value === 'true') return 'false';
  return value === 'false' ? 'true' : value;
}

function placePositionals(
  positionals: readonly string[],
  free: readonly Parameter[],
  command: string,
  place: (parameter: Parameter, value: string) => void,
): void {
  const last = free[free.length - 1];
  const variadic = last !== undefined && isVariadic(last) ? last : undefined;
  positionals.forEach((value, index) => {
    const parameter = free[index] ?? variadic;
    if (parameter === undefined) {
      throw new ToolError('usage', `unexpected argument "${quoteOutside(value, 80)}"`, {
        hint: `give parameters as flags; ${command} --help shows them`,
      });
    }
    place(parameter, value);
  });
}

function badFlag(
  argument: Argument & { name: string },
  parameters: readonly Parameter[],
  { command, ownKind }: Required<CommandInputOptions>,
): ToolError {
  const help = `${command} --help shows all`;
  if (argument.kind === 'incomplete') {
    return new ToolError('usage', `${quoteOutside(argument.name, 80)} needs a value`, { hint: help });
  }
  const name = argument.name.replace(/^--?/, '');
  const shown = quoteOutside(name, 80);
  const own = [...OWN_FLAGS].filter((flag) => ownKind(flag) !== undefined);
  const close = nearest(name, [...parameters.map((parameter) => parameter.flag), ...own]);
  return new ToolError('invalid_input', `unknown parameter "${shown}"`, {
    hint: close.length > 0 ? `did you mean --${close[0]}? ${help}` : help,
    data: {
      faults: [
        { kind: 'unknown', path: `/${name}`, expected: 'no such parameter', got: `undeclared "${name}"` },
      ],
    },
  });
}
