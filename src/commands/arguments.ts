// Splits a command line into flags and positionals; which flags take a value, the caller says.

import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';

/** `switch`: stands alone, or `--x=false`. `value`: takes the next argument, whatever it looks like. */
export type FlagKind = 'switch' | 'value';

export type Argument =
  | { readonly kind: 'flag'; readonly name: string; readonly value: string | true }
  | { readonly kind: 'positional'; readonly value: string }
  /** A flag that nobody knows, or one that lacks its value. */
  | { readonly kind: 'unknown' | 'incomplete'; readonly name: string };

const NEGATIVE_NUMBER = /^-\d|^-\.\d/;

/** The value of a flag that is the program's own: `--x=false` takes a switch back, and only true and false fit one. */
export function ownFlagValue(name: string, kind: FlagKind, value: string | true): string | true | undefined {
  if (kind === 'value' || value === true) return value;
  if (value === 'true') return true;
  if (value === 'false') return undefined;
  throw new ToolError('usage', `--${name} is on or off, not "${quoteOutside(value, 40)}"`, {
    hint: `write --${name}, or leave it out`,
  });
}

/** Reads arguments up to the end, or up to and with the first positional where `stopAtPositional` says so. */
export function splitArguments(
  argv: readonly string[],
  kindOf: (name: string) => FlagKind | undefined,
  { stopAtPositional = false } = {},
): { readonly parsed: readonly Argument[]; readonly rest: readonly string[] } {
  const parsed: Argument[] = [];
  for (let at = 0; at < argv.length; at++) {
    const argument = argv[at]!;
    if (argument === '--') {
      parsed.push(...argv.slice(at + 1).map((value) => ({ kind: 'positional', value }) as const));
      return { parsed, rest: [] };
    }
    if (!argument.startsWith('-') || argument === '-' || NEGATIVE_NUMBER.test(argument)) {
      parsed.push({ kind: 'positional', value: argument });
      if (stopAtPositional) return { parsed, rest: argv.slice(at + 1) };
      continue;
    }
    const equals = argument.indexOf('=');
    const name = argument === '-h' ? 'help' : argument.slice(2, equals === -1 ? undefined : equals);
    const inline = equals === -1 ? undefined : argument.slice(equals + 1);
    const kind = argument.startsWith('--') || argument === '-h' ? kindOf(name) : undefined;
    if (kind === undefined)
      parsed.push({ kind: 'unknown', name: equals === -1 ? argument : argument.slice(0, equals) });
    else if (inline !== undefined) parsed.push({ kind: 'flag', name, value: inline });
    else if (kind === 'switch') parsed.push({ kind: 'flag', name, value: true });
    else if (at + 1 < argv.length) parsed.push({ kind: 'flag', name, value: argv[++at]! });
    else parsed.push({ kind: 'incomplete', name: argument });
  }
  return { parsed, rest: [] };
}
