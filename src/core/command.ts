// Declared command lines: how a JSON input becomes arguments of an allowlisted program, as data.

import type { Json } from './json.js';

/** Binary name to the subcommands that may be run; nothing else may. */
export type Allowlist = Readonly<Record<string, readonly string[]>>;

/** One way to run a tool; a tool with several tells them apart by conditions. */
export interface Execution {
  readonly binary: string;
  /** Matched whole against the allowlist, split on spaces for the command line; may be empty. */
  readonly subcommand: string;
  readonly args: readonly Mapping[];
  /** Insert `--` before the first positional. */
  readonly endOfOptions: boolean;
  /** Which parameters must be given, or not, for this execution to be the one. */
  readonly when?: { readonly present: readonly string[]; readonly absent: readonly string[] };
  /** The group of required programs that must be the one that is there. */
  readonly binGroup?: number;
  readonly successExitCodes: readonly number[];
  readonly maxOutputLines?: number;
  readonly truncationHint?: string;
  readonly hints: readonly OutputHint[];
  readonly postProcess?: Resolver;
}

export type MappingKind =
  | 'positional'
  | 'flag'
  | 'flagifboolean'
  | 'stdin'
  | 'workingdir'
  | 'tempfile'
  | 'literal';

/** How one parameter is passed. */
export interface Mapping {
  readonly kind: MappingKind;
  /** Empty for a literal. */
  readonly param: string;
  /** With its dashes, as it stands on the command line. */
  readonly flag: string;
  readonly flagIfTrue?: string;
  readonly flagIfFalse?: string;
  readonly subcommandOverride?: string;
  readonly literal?: string;
  readonly normalizeNewlines: boolean;
  /** The author says that the program is safe with a value that begins with a dash. */
  readonly allowDash: boolean;
  readonly split: boolean;
  readonly absentDefault?: Json;
  /** A missing value still goes to the resolver, as empty text. */
  readonly optional: boolean;
  /** Insert `--` before it where an optional positional before it was left out. */
  readonly separateIfSkipped: boolean;
  /** A path that must stay within the workdir. */
  readonly contained: boolean;
  readonly resolve?: Resolver;
}

/** A command whose output replaces a value. */
export interface Resolver {
  /** A file in the skill's `scripts` directory; wins over the binary. */
  readonly script?: string;
  readonly binary?: string;
  readonly subcommand: string;
  /** `$param` stands for the value, `$name` for another parameter's. */
  readonly args: readonly string[];
  /** Keep the value that was given, or refuse the call. */
  readonly onFailure: 'keep' | 'reject';
  /** For output: nothing is an answer too. */
  readonly emptyIsResult: boolean;
}

/** A line for the model, added where all of its conditions hold. */
export interface OutputHint {
  readonly hint: string;
  readonly match?: string;
  readonly exitCode?: number | 'nonzero';
  readonly notEmpty: boolean;
  readonly whenArg: Readonly<Record<string, Json>>;
}
