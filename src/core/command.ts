// Declared command lines: how an input is mapped to arguments of an allowlisted program.

import type { Json } from './json.js';

/** Allowed subcommands by binary. */
export type Allowlist = Readonly<Record<string, readonly string[]>>;

/** One command line of a tool; a tool with several selects one by conditions. */
export interface Execution {
  readonly binary: string;
  /** Matched whole against the allowlist; may be empty. */
  readonly subcommand: string;
  readonly args: readonly Mapping[];
  /** Insert `--` before the first positional. */
  readonly endOfOptions: boolean;
  /** Parameters that must be given, or absent, to select this execution. */
  readonly when?: { readonly present: readonly string[]; readonly absent: readonly string[] };
  /** Index of the group of required programs that must be installed. */
  readonly binGroup?: number;
  readonly successExitCodes: readonly number[];
  readonly maxOutputLines?: number;
  readonly truncationHint?: string;
  readonly hints: readonly OutputHint[];
  readonly postProcess?: Resolver;
  /** A command that starts the binary: `nix develop --command`. */
  readonly wrapper?: readonly string[];
  readonly sideRead?: SideRead;
}

/** A file next to a path among the parameters; its text is appended to the output. */
export interface SideRead {
  /** The parameter with the directory. */
  readonly param: string;
  /** A name without separators. */
  readonly file: string;
  readonly label: string;
  readonly oncePerSession: boolean;
}

export type MappingKind =
  | 'positional'
  | 'flag'
  | 'flagifboolean'
  | 'stdin'
  | 'workingdir'
  | 'tempfile'
  | 'envvar'
  | 'literal';

/** How a parameter is passed. */
export interface Mapping {
  readonly kind: MappingKind;
  /** Empty for a literal. */
  readonly param: string;
  /** Including its dashes. */
  readonly flag: string;
  readonly flagIfTrue?: string;
  readonly flagIfFalse?: string;
  readonly subcommandOverride?: string;
  readonly literal?: string;
  readonly normalizeNewlines: boolean;
  /** The author declares that a value may begin with a dash. */
  readonly allowDash: boolean;
  readonly split: boolean;
  readonly absentDefault?: Json;
  /** Passes a missing value to the resolver as empty text. */
  readonly optional: boolean;
  /** Insert `--` before it if an earlier optional positional was left out. */
  readonly separateIfSkipped: boolean;
  /** A path that must stay within the workdir. */
  readonly contained: boolean;
  readonly resolve?: Resolver;
  /** For `positional`: text before each value, such as `NAME=`. */
  readonly prefix?: string;
  /** For `envvar`: the variable. */
  readonly variable?: string;
  readonly deny?: Deny;
}

/** Values that a parameter must not have. */
export interface Deny {
  /** A regular expression. */
  readonly pattern: string;
  /** Returns the value to check if the parameter is missing or empty, or always. */
  readonly resolve?: Resolver;
  readonly always: boolean;
}

/** A command whose output replaces a value. */
export interface Resolver {
  /** A file in the skill's `scripts` directory; wins over the binary. */
  readonly script?: string;
  readonly binary?: string;
  readonly subcommand: string;
  /** `$param` is replaced by the value, `$name` by that of another parameter. */
  readonly args: readonly string[];
  /** Keep the given value, or reject the call. */
  readonly onFailure: 'keep' | 'reject';
  /** For output: an empty result is valid. */
  readonly emptyIsResult: boolean;
}

/** Returns the commands that an execution runs besides its program. */
export function resolversOf({ args, postProcess }: Execution): Resolver[] {
  const all = [...args.flatMap(({ resolve, deny }) => [resolve, deny?.resolve]), postProcess];
  return all.filter((resolver) => resolver !== undefined);
}

/** A line for the model, added if all of its conditions are met. */
export interface OutputHint {
  readonly hint: string;
  readonly match?: string;
  readonly exitCode?: number | 'nonzero';
  readonly notEmpty: boolean;
  readonly whenArg: Readonly<Record<string, Json>>;
}

/** The names of programs that are looked up on the PATH. */
export const PROGRAM_NAME = /^[A-Za-z0-9_][A-Za-z0-9_.+-]*$/;

/** Whether text is the name of a program that is looked up on the PATH. */
export function isProgramName(text: string): boolean {
  return PROGRAM_NAME.test(text);
}
