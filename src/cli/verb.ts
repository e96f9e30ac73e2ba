// A verb of the command line: what it takes, how it explains itself, what it does.

import type { FlagKind } from '../commands/index.js';
import { ToolError } from '../core/error.js';
import { nearest, quoteOutside } from '../core/text.js';
import type { NodeToolbox, NodeToolboxOptions } from '../node.js';
import type { Terminal } from './terminal.js';

export interface FlagHelp {
  readonly kind: FlagKind;
  /** How the value is shown: `DIR`. */
  readonly value?: string;
  /** Whether it may stand more than once; otherwise the last counts. */
  readonly repeats?: boolean;
  readonly description: string;
}

export interface VerbCall {
  readonly terminal: Terminal;
  readonly flags: ReadonlyMap<string, string | true>;
  /** Every value of a flag that may stand more than once, in order. */
  repeated(name: string): readonly string[];
  readonly positionals: readonly string[];
  /** Everything after the first positional, unread; only for verbs that read it themselves. */
  readonly rest: readonly string[];
  readonly json: boolean;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Words that no tool is called by: the verbs, and a few more (MOD-25). */
  readonly reserved: ReadonlySet<string>;
  /** Ends when the person interrupts. */
  readonly signal: AbortSignal;
  /** The toolbox of the workdir, made when first asked for; options count then. */
  toolbox(options?: Partial<NodeToolboxOptions>): NodeToolbox;
}

export interface Verb {
  readonly name: string;
  readonly usage: string;
  readonly summary: string;
  readonly examples: readonly string[];
  readonly flags: Readonly<Record<string, FlagHelp>>;
  /** How many positionals it takes at most. */
  readonly positionals: number;
  /** What its positionals are, for completion: these words, names of tools, or files. */
  readonly completes?: 'tools' | 'files' | readonly string[];
  /** What to do about a flag that it does not know, where that is likely to be someone else's. */
  readonly strayFlag?: string;
  /** Reads its arguments after the first positional itself. */
  readonly readsRest?: boolean;
  /** Runs until it is told to stop: a signal other than Ctrl-C is then its ordinary end. */
  readonly runsUntilStopped?: boolean;
  /** Does the work and gives the exit status. */
  run(call: VerbCall): Promise<number>;
}

/** Flags that every verb has. */
export const COMMON_FLAGS: Readonly<Record<string, FlagHelp>> = {
  cwd: { kind: 'value', value: 'DIR', description: 'Work in this directory' },
  json: { kind: 'switch', description: 'Print one JSON document' },
  plain: { kind: 'switch', description: 'No colour, no progress' },
  verbose: { kind: 'switch', description: 'Say on stderr why things happen' },
  help: { kind: 'switch', description: 'Show this' },
};

export function kindOfFlag(verb: Verb, name: string): FlagKind | undefined {
  const flags = { ...COMMON_FLAGS, ...verb.flags };
  return Object.hasOwn(flags, name) ? flags[name]!.kind : undefined;
}

/** What is wrong with a flag; without a verb only the common ones are known. */
export function unknownFlag(verb: Verb | undefined, name: string, kind: 'unknown' | 'incomplete'): ToolError {
  const help = verb === undefined ? 'wield --help' : `wield ${verb.name} --help`;
  if (kind === 'incomplete') return new ToolError('usage', `${name} needs a value`, { hint: help });
  const known = Object.keys({ ...COMMON_FLAGS, ...verb?.flags });
  const close = nearest(name.replace(/^-+/, ''), known);
  return new ToolError('usage', `unknown flag ${quoteOutside(name, 60)}`, {
    hint:
      verb?.strayFlag ??
      (close.length > 0 ? `did you mean --${close[0]}? ${help} shows all` : `${help} shows all`),
  });
}

export function formatVerbHelp(verb: Verb): string {
  const flags = Object.entries({ ...verb.flags, ...COMMON_FLAGS });
  const rows = flags.map(([name, flag]) => [
    `--${name}${flag.value === undefined ? '' : ` ${flag.value}`}`,
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
