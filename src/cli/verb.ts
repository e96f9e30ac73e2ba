// The definition of a verb, its flags and its help.

import type { Argument, FlagKind } from '../commands/index.js';
import { ToolError } from '../core/error.js';
import { didYouMean, nearest, quoteOutside } from '../core/text.js';
import type { NodeToolbox, NodeToolboxOptions } from '../node.js';
import type { Signal } from './io.js';
import type { Terminal } from './terminal.js';

export interface FlagHelp {
  readonly kind: FlagKind;
  /** The placeholder of the value: `DIR`. */
  readonly value?: string;
  /** Its letter: `N` for `-N`. */
  readonly short?: string;
  /** The accepted values, if they are a fixed set. */
  readonly choices?: readonly string[];
  /** The accepted whole numbers, and the hint for others. */
  readonly range?: readonly [least: number, most: number, hint: string];
  /** What the value names, if it can be completed. */
  readonly names?: 'profile' | 'format';
  readonly description: string;
}

/** Describes a flag without a value. */
export const toggle = (description: string, short?: string): FlagHelp => ({
  kind: 'switch',
  description,
  ...(short === undefined ? {} : { short }),
});

/** Describes a flag with a value. */
export function option(
  value: string,
  description: string,
  more?: Pick<FlagHelp, 'short' | 'choices' | 'range' | 'names'>,
): FlagHelp {
  return { kind: 'value', value, description, ...more };
}

export function usageError(message: string, hint: string): ToolError {
  return new ToolError('usage', message, { hint });
}

/** Returns a positional. Throws `usage` if it is missing; `what` is its name and the usage of the verb. */
export function required(value: string | undefined, what: string, hint: string): string {
  if (value !== undefined) return value;
  throw usageError(`missing ${what}`, hint);
}

/** The parsed arguments of a verb. */
export interface VerbArguments {
  readonly flags: ReadonlyMap<string, string | true>;
  /** Returns all values of a flag, in order; in `flags` the last one counts. */
  repeated(name: string): readonly string[];
  readonly positionals: readonly string[];
  /** `--json` and `--dry-run`. */
  readonly json: boolean;
  readonly dryRun: boolean;
  /** Everything after the first positional, for verbs with `readsRest`. */
  readonly rest: readonly string[];
}

export interface VerbCall extends VerbArguments {
  readonly terminal: Terminal;
  /** All arguments, as typed. */
  readonly typed: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Commands of wield itself, which no tool can have (MOD-25). */
  readonly reserved: ReadonlySet<string>;
  /** Loads another verb, and parses its arguments; `before` are flags that preceded it. */
  load(
    word: string,
    before: readonly Argument[],
    rest: readonly string[],
  ): Promise<{ readonly verb: NamedVerb; readonly parsed: VerbArguments }>;
  /** Tells which flags belong to wield, once the parameters of a tool are known. */
  settleFlags(flags: ReadonlyMap<string, string | true>): void;
  /** Calls a listener on SIGHUP, which then does not stop the command; not at a terminal, where it means that it was closed. */
  onHangup(listener: () => void): void;
  /** Aborted by a signal such as Ctrl-C. */
  readonly signal: AbortSignal;
  /** Returns the signal that stopped the command. */
  stoppedBy(): Signal | undefined;
  /** Returns the toolbox of the workdir; the options of the first call count. */
  toolbox(options?: Partial<NodeToolboxOptions>): NodeToolbox;
}

export interface Verb {
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
  /** None by default. */
  readonly flags?: Readonly<Record<string, FlagHelp>>;
  /** The maximum number of positionals; none by default. */
  readonly positionals?: number;
  /** How to complete positionals: fixed words, tool names, or files. */
  readonly completes?: 'tools' | 'files' | readonly string[];
  /** The hint for an unknown flag that probably belongs to another program. */
  readonly strayFlag?: string;
  /** Parses the arguments after the first positional itself. */
  readonly readsRest?: boolean;
  /** Runs until stopped: a signal other than Ctrl-C is then a normal exit. */
  readonly runsUntilStopped?: boolean;
  /** Returns the exit status. */
  run(call: VerbCall): Promise<number>;
}

/** A verb with its name, which the table of verbs gives it. */
export interface NamedVerb extends Verb {
  readonly name: string;
  readonly flags: NonNullable<Verb['flags']>;
  readonly positionals: number;
}

/** Flags of every verb. */
export const COMMON_FLAGS: Readonly<Record<string, FlagHelp>> = {
  cwd: option('DIR', 'Run in this directory'),
  json: toggle('Print one JSON document'),
  plain: toggle('Disable colour and progress output'),
  verbose: toggle('Print debug output to stderr'),
  help: toggle('Show this help'),
};

export function kindOfFlag(verb: NamedVerb, name: string): FlagKind | undefined {
  const flags = { ...COMMON_FLAGS, ...verb.flags };
  return Object.hasOwn(flags, name) ? flags[name]!.kind : undefined;
}

export function flagOfLetter(verb: NamedVerb, letter: string): string | undefined {
  return Object.keys(verb.flags).find((name) => verb.flags[name]!.short === letter);
}

/** The error for a flag that is unknown or has no value. */
export function unknownFlag(verb: NamedVerb | undefined, name: string, kind: 'unknown' | 'incomplete'): ToolError {
  const help = verb === undefined ? 'wield --help' : `wield ${verb.name} --help`;
  if (kind === 'incomplete') return usageError(`${name} needs a value`, help);
  const known = Object.keys({ ...COMMON_FLAGS, ...verb?.flags });
  const close = nearest(name.replace(/^-+/, ''), known);
  return new ToolError('usage', `unknown flag ${quoteOutside(name, 60)}`, {
    hint: verb?.strayFlag ?? (close.length > 0 ? `did you mean --${close[0]}? ${help} shows all` : `${help} shows all`),
  });
}

/** The error for a value that is not in a fixed set; `before` is what is typed before it. */
export function unknownChoice(what: string, value: string, choices: readonly string[], before: string): ToolError {
  const hint = didYouMean(value, choices, `use ${before} ${choices.join('|')}`, (close) => `${before} ${close}`);
  return usageError(`unknown ${what} "${quoteOutside(value, 40)}"`, hint);
}

/** Checks the values of flags that accept a fixed set, or a number. Throws `usage`. */
export function checkValues(flags: Readonly<Record<string, FlagHelp>>, { repeated }: VerbArguments): void {
  for (const [name, { choices, range }] of Object.entries(flags)) {
    const odd = choices && repeated(name).find((value) => !choices.includes(value));
    if (odd !== undefined) throw unknownChoice(`value of --${name}:`, odd, choices!, `--${name}`);
    if (range === undefined) continue;
    const [least, most, hint] = range;
    const isIn = (text: string): boolean => /^\d{1,15}$/.test(text) && Number(text) >= least && Number(text) <= most;
    const wrong = repeated(name).find((value) => !isIn(value));
    if (wrong === undefined) continue;
    const upTo = most === Number.MAX_SAFE_INTEGER ? '' : ` to ${most}`;
    throw usageError(`--${name} "${quoteOutside(wrong, 40)}" is not a whole number from ${least}${upTo}`, hint);
  }
}

/** Returns the value of a flag with a `range`. */
export function numberOf({ flags }: Pick<VerbArguments, 'flags'>, name: string): number | undefined {
  const value = flags.get(name);
  return value === undefined ? undefined : Number(value);
}

export function formatVerbHelp(verb: NamedVerb): string {
  const flags = Object.entries({ ...verb.flags, ...COMMON_FLAGS });
  const rows = flags.map(([name, flag]) => [
    `${flag.short === undefined ? '' : `-${flag.short}, `}--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`,
    flag.description,
  ]);
  const width = Math.max(...rows.map(([flag]) => flag!.length));
  return [
    verb.summary,
    '',
    `  wield ${verb.usage}`,
    '',
    ...rows.map(([flag, description]) => `  ${flag!.padEnd(width)}   ${description}`),
    '',
    verb.examples.length === 1 ? 'Example' : 'Examples',
    ...verb.examples.map((example) => `  ${example}`),
    '',
  ].join('\n');
}
