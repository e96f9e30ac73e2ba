// Parses a tool's command line into its input and the program's own flags.

import { ToolError } from '../core/error.js';
import type { Json, JsonObject } from '../core/json.js';
import { nearest, parseDuration, quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { type Argument, type FlagKind, ownFlagValue, splitArguments } from './arguments.js';
import { isVariadic, OWN_FLAGS, type Parameter, toParameters, toPositionals } from './parameters.js';
import { createTargetFinder, kindOfTarget } from './target.js';
import { addValue, type Given } from './values.js';

/** The input that was read from a command line. */
export interface CommandInput {
  /** The input object. */
  readonly input: JsonObject;
  /** Whether an argument set a parameter. */
  readonly given: boolean;
}

/** Options of `readCommandInput`. */
export interface CommandInputOptions {
  /** Returns the kind of a flag that belongs to the program, not to the tool. */
  readonly ownKind?: (name: string) => FlagKind | undefined;
  /** The command in hints: `wield deploy`. */
  readonly command?: string;
}

/** A tool's command line, split once. */
export type ToolArguments = ReturnType<typeof parseToolArguments>;

const noOwnFlags = (): undefined => undefined;

export function parseToolArguments(
  tool: Tool,
  argv: readonly string[],
  { ownKind = noOwnFlags, command = `wield call ${tool.name}` }: CommandInputOptions = {},
) {
  const root = tool.input.json;
  const parameters = toParameters(root);
  const find = createTargetFinder(parameters, tool.traits.aliases);
  const { parsed } = splitArguments(argv, (name) => kindOfTarget(find(name)) ?? ownKind(name));
  return {
    /** Returns the program's own flags by name, even if other arguments are wrong. */
    flags: () => toOwnFlags(parsed, (name) => (find(name) === undefined ? ownKind(name) : undefined)),
    /** Returns the tool's input. Throws `invalid_input` or `usage`. */
    toInput(): CommandInput {
      const values = new Map<Parameter, Json>();
      const add = (parameter: Parameter, given: Given): void => {
        values.set(parameter, addValue(values.get(parameter), given, parameter.schema, root));
      };
      const positionals: string[] = [];
      for (const argument of parsed) {
        if (argument.kind === 'positional') positionals.push(argument.value);
        else if (argument.kind !== 'flag') throw badFlag(argument, parameters, { command, ownKind });
        else {
          const target = find(argument.name);
          // A flag of the program.
          if (target === undefined) continue;
          const { parameter, path, json, negated } = target;
          const raw = negated ? negate(argument.value) : argument.value === true ? 'true' : argument.value;
          add(parameter, { raw, json, path, positional: false, flag: `--${quoteOutside(argument.name, 80)}` });
        }
      }
      const free = toPositionals(parameters, tool.traits.positional).filter((one) => !values.has(one));
      const variadic = free.slice(-1).find(isVariadic);
      for (const [index, raw] of positionals.entries()) {
        const parameter = free[index] ?? variadic;
        if (parameter === undefined)
          throw new ToolError('usage', `unexpected argument "${quoteOutside(raw, 80)}"`, {
            hint: `pass parameters as flags; ${command} --help shows them`,
          });
        add(parameter, { raw, json: false, path: [], positional: true, flag: parameter.flag });
      }
      const input: Record<string, Json> = {};
      for (const parameter of parameters) {
        const value = values.get(parameter);
        if (value !== undefined) input[parameter.name] = value;
      }
      return { input, given: values.size > 0 };
    },
  };
}

/** Parses the input of a tool's command line and skips the program's own flags. Throws `invalid_input` or `usage`. */
export function readCommandInput(tool: Tool, argv: readonly string[], options: CommandInputOptions = {}): CommandInput {
  return parseToolArguments(tool, argv, options).toInput();
}

/** Parses the program's own flags of a tool's command line, even if other arguments are wrong. */
export function readOwnFlags(
  tool: Tool,
  argv: readonly string[],
  ownKind: (name: string) => FlagKind | undefined,
): Map<string, string | true> {
  return parseToolArguments(tool, argv, { ownKind }).flags();
}

/** Collects flags by name; the last value counts, and `--x=false` removes a switch. */
export function toOwnFlags(
  parsed: readonly Argument[],
  kindOf: (name: string) => FlagKind | undefined,
): Map<string, string | true> {
  const flags = new Map<string, string | true>();
  for (const argument of parsed) {
    const kind = argument.kind === 'flag' ? kindOf(argument.name) : undefined;
    if (argument.kind !== 'flag' || kind === undefined) continue;
    const value = ownFlagValue(argument.name, kind, argument.value);
    if (value === undefined) flags.delete(argument.name);
    else flags.set(argument.name, value);
  }
  return flags;
}

/** The error for an input given both as `--input` and as flags. */
export function inputTwice(): ToolError {
  return new ToolError('usage', '--input and parameter flags cannot be combined', {
    hint: 'pass all parameters in --input, or all as flags',
  });
}

/** Parses `--timeout` into milliseconds. */
export function parseTimeout(text: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined) return milliseconds;
  throw new ToolError('usage', `--timeout "${quoteOutside(text, 40)}" is not a duration`, {
    hint: 'write 500ms, 30s, 5m or 1h',
  });
}

// `--no-x=false` is true; other text is left for validation to reject.
function negate(value: string | true): string {
  if (value === true || value === 'true') return 'false';
  return value === 'false' ? 'true' : value;
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
    data: { faults: [{ path: `/${name}`, expected: 'no such parameter', got: `undeclared "${name}"` }] },
  });
}
