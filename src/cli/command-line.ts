// Parses the command line: the command word first, then the flags and positionals of its verb.

import { type Argument, splitArguments } from '../commands/index.js';
import { toOwnFlags } from '../commands/input.js';
import { kindOfOwnFlag } from '../commands/parameters.js';
import { sanitize } from '../core/text.js';
import { printHelp } from './print.js';
import {
  checkValues,
  flagOfLetter,
  formatVerbHelp,
  kindOfFlag,
  type NamedVerb,
  unknownFlag,
  usageError,
  type VerbArguments,
  type VerbCall,
} from './verb.js';

export type CommandWord = ReturnType<typeof findCommandWord>;

/**
 * Finds the first word that is not a flag, the flags before it, and the arguments after it, whose meaning depends on the word:
 * `wield --cwd DIR list` works.
 */
export function findCommandWord(argv: readonly string[]) {
  const { parsed, rest } = splitArguments(argv, kindOfOwnFlag, { stopAtPositional: true });
  const at = parsed.findIndex((argument) => argument.kind === 'positional');
  if (at === -1) return { word: undefined, before: parsed, rest };
  const [word, ...others] = parsed.slice(at).flatMap((one) => (one.kind === 'positional' ? one.value : []));
  return { word, before: parsed.slice(0, at), rest: others.length > 0 ? ['--', ...others] : rest };
}

/** Parses the arguments of a verb; `before` are flags that preceded it. Throws `usage`. */
export function parseVerbArguments(
  verb: NamedVerb,
  before: readonly Argument[],
  argv: readonly string[],
): VerbArguments {
  const kindOf = (name: string) => kindOfFlag(verb, name);
  const longOf = (letter: string) => flagOfLetter(verb, letter);
  const { parsed: own, rest } = splitArguments(argv, kindOf, { stopAtPositional: verb.readsRest ?? false, longOf });
  // A flag before the verb may be a switch of the verb.
  const known = before.flatMap((one) => ('raw' in one ? splitArguments([one.raw], kindOf, { longOf }).parsed : one));
  const parsed = [...known, ...own];
  const positionals: string[] = [];
  for (const argument of parsed) {
    if (argument.kind === 'positional') positionals.push(argument.value);
    else if (argument.kind !== 'flag') throw unknownFlag(verb, argument.name, argument.kind);
    else if (kindOf(argument.name) === undefined) throw unknownFlag(verb, `--${argument.name}`, 'unknown');
  }
  if (positionals.length > verb.positionals) {
    throw usageError(`unexpected argument "${sanitize(positionals[verb.positionals]!)}"`, `wield ${verb.usage}`);
  }
  const flags = toOwnFlags(parsed, kindOf);
  const verbArguments: VerbArguments = {
    flags,
    json: flags.has('json'),
    dryRun: flags.has('dry-run'),
    repeated: (name) => parsed.flatMap((one) => (one.kind === 'flag' && one.name === name ? String(one.value) : [])),
    positionals,
    rest,
  };
  checkValues(verb.flags, verbArguments);
  return verbArguments;
}

/** Runs a command inside another one, with a toolbox of that one: `wield record FILE call hello`; `serve` by default. */
export async function runInner(
  call: VerbCall,
  words: readonly string[],
  toolbox: VerbCall['toolbox'],
): Promise<number> {
  const { word = 'serve', before, rest } = findCommandWord(words);
  const { verb, parsed } = await call.load(word, before, rest);
  if (parsed.flags.has('cwd')) throw usageError('--cwd must come before the command', 'write: wield --cwd DIR …');
  if (parsed.flags.has('help') && !verb.readsRest) {
    printHelp(call.terminal, formatVerbHelp(verb), parsed.json);
    return 0;
  }
  return verb.run({ ...call, ...parsed, toolbox });
}
