// Values from a fixed set: of flags, actions and shells (CLI-26).

import type { ToolError } from '../core/error.js';
import { didYouMean, quoteOutside } from '../core/text.js';
import { type FlagHelp, usageError, type VerbArguments } from './verb.js';

/** The error for a value that is not in a fixed set; `before` is what is typed before it. */
export function unknownChoice(what: string, value: string, choices: readonly string[], before: string): ToolError {
  const hint = didYouMean(value, choices, `use ${before} ${choices.join('|')}`, (close) => `${before} ${close}`);
  return usageError(`unknown ${what} "${quoteOutside(value, 40)}"`, hint);
}

/** Checks the values of flags that accept a fixed set. Throws `usage`. */
export function checkChoices(flags: Readonly<Record<string, FlagHelp>>, { repeated }: VerbArguments): void {
  for (const [name, { choices }] of Object.entries(flags)) {
    if (choices === undefined) continue;
    const odd = repeated(name).find((value) => !choices.includes(value));
    if (odd !== undefined) throw unknownChoice(`value of --${name}:`, odd, choices, `--${name}`);
  }
}
