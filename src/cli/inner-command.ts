// Runs a command inside another one, with a toolbox of that one: `wield record FILE call hello`.

import { findCommandWord } from './command-line.js';
import { printHelp } from './print.js';
import { formatVerbHelp, usageError, type VerbCall } from './verb.js';

/** Runs the command of these words, `serve` if there are none. */
export async function runInner(
  call: VerbCall,
  words: readonly string[],
  toolbox: VerbCall['toolbox'],
): Promise<number> {
  const { word = 'serve', before, rest } = findCommandWord(words);
  const { verb, parsed } = await call.load(word, before, rest);
  if (parsed.flags.has('cwd')) throw usageError('--cwd must come before the command', 'write: wield --cwd DIR …');
  const json = parsed.flags.has('json');
  if (parsed.flags.has('help') && !verb.readsRest) {
    printHelp(call.terminal, formatVerbHelp(verb), json);
    return 0;
  }
  return verb.run({ ...call, ...parsed, json, toolbox });
}
