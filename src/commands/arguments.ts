// Splits a command line into flags and positionals.

import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';

/** `switch`: no value, or `--x=false`. `value`: takes the next argument, even one that starts with a dash. */
export type FlagKind = 'switch' | 'value';

/** One argument of a command line. */
export type Argument =
  | { readonly kind: 'flag'; readonly name: string; readonly value: string | true }
  | { readonly kind: 'positional'; readonly value: string }
  /** An unknown flag, or one without its value. */
  | { readonly kind: 'unknown' | 'incomplete'; readonly name: string; readonly raw: string };

const NEGATIVE_NUMBER = /^-\d|^-\.\d/;

/** Returns the value of one of the program's own flags; undefined for `--x=false`. Throws `usage` for other values of a switch. */
export function ownFlagValue(name: string, kind: FlagKind, value: string | true): string | true | undefined {
  if (kind === 'value' || value === true) return value;
  if (value === 'true') return true;
  if (value === 'false') return undefined;
  throw new ToolError('usage', `--${name} takes true or false, not "${quoteOutside(value, 40)}"`, {
    hint: `write --${name}, or leave it out`,
  });
}

/**
 * Splits all arguments, or those up to the first positional (included) with `stopAtPositional`. `longOf` returns the name of a
 * flag by its letter, such as `namespace` for `-N`; `-h` is always `help`.
 */
export function splitArguments(
  argv: readonly string[],
  kindOf: (name: string) => FlagKind | undefined,
  {
    stopAtPositional = false,
    longOf = () => undefined,
  }: { stopAtPositional?: boolean; longOf?: (letter: string) => string | undefined } = {},
): { readonly parsed: readonly Argument[]; readonly rest: readonly string[] } {
  const parsed: Argument[] = [];
  for (let at = 0; at < argv.length; at++) {
    const raw = argv[at]!;
    if (raw === '--') {
      parsed.push(...argv.slice(at + 1).map((value) => ({ kind: 'positional', value }) as const));
      return { parsed, rest: [] };
    }
    if (!raw.startsWith('-') || raw === '-' || NEGATIVE_NUMBER.test(raw)) {
      parsed.push({ kind: 'positional', value: raw });
      if (stopAtPositional) return { parsed, rest: argv.slice(at + 1) };
      continue;
    }
    const equals = raw.indexOf('=');
    const letter = /^-([A-Za-z])(?==|$)/.exec(raw)?.[1];
    const name =
      letter === undefined
        ? raw.slice(2, equals === -1 ? undefined : equals)
        : letter === 'h'
          ? 'help'
          : longOf(letter);
    const inline = equals === -1 ? undefined : raw.slice(equals + 1);
    const kind = name !== undefined && (letter !== undefined || raw.startsWith('--')) ? kindOf(name) : undefined;
    if (name === undefined || kind === undefined)
      parsed.push({ kind: 'unknown', name: equals === -1 ? raw : raw.slice(0, equals), raw });
    else if (inline !== undefined) parsed.push({ kind: 'flag', name, value: inline });
    else if (kind === 'switch') parsed.push({ kind: 'flag', name, value: true });
    else if (at + 1 < argv.length) parsed.push({ kind: 'flag', name, value: argv[++at]! });
    else parsed.push({ kind: 'incomplete', name: raw, raw });
  }
  return { parsed, rest: [] };
}
