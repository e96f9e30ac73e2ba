// Parses globs: `*`, `?`, `[…]`, `{a,b}`, `{1..9}` and backslash escapes.

import type { Branches, Part, Test } from './automaton.js';
import { ToolError } from './error.js';
import { quoteOutside } from './text.js';

/** A part of a glob; `exact` is the one character that it matches. */
export type GlobItem = Part & { readonly exact?: number };

/** Location of a pattern in its source text, for error messages. */
export interface PatternContext {
  readonly text: string;
  readonly offset: number;
  /** Number of the text in a list, counted from 1. */
  readonly entry?: number;
  /** Whether the pattern is the value of an argument, of which braces around all are a set (SEL-6). */
  readonly isValue?: boolean;
}

/** Maximum length of a pattern, and size of a range such as `{1..100}`. */
const PATTERN_LIMIT = 1000;

const POSIX: Readonly<Record<string, RegExp>> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[\x21-\x7e]/,
  lower: /[a-z]/,
  print: /[\x20-\x7e]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /\s/,
  upper: /[A-Z]/,
  word: /\w/,
  xdigit: /[A-Fa-f0-9]/,
};

/** Creates the `invalid_definition` error of selectors and patterns, with the column (SEL-3). */
export function selectorError(context: PatternContext, at: number, problem: string, hint: string): ToolError {
  const column = context.offset + at + 1;
  return new ToolError(
    'invalid_definition',
    `${problem} at column ${column} of the selector "${quoteOutside(context.text)}"`,
    { hint, data: { column, entry: context.entry, selector: quoteOutside(context.text, 1000) } },
  );
}

export function parseGlob(pattern: string, context: PatternContext): GlobItem[] {
  if (pattern === '') throw selectorError(context, 0, 'an empty pattern', 'write * to match everything');
  if (pattern.length > PATTERN_LIMIT) {
    const problem = `a pattern longer than ${PATTERN_LIMIT} characters`;
    throw selectorError(context, 0, problem, 'split it into several selectors');
  }
  if (pattern.startsWith('!')) {
    const hint = 'patterns cannot be negated; deny with name($deny), or write \\! for the character';
    throw selectorError(context, 0, 'a leading "!"', hint);
  }
  return readSequence({ pattern, context, at: 0 }, false);
}

interface Reader {
  readonly pattern: string;
  readonly context: PatternContext;
  at: number;
}

function readSequence(reader: Reader, inBraces: boolean): GlobItem[] {
  const items: GlobItem[] = [];
  while (reader.at < reader.pattern.length) {
    const character = reader.pattern[reader.at]!;
    if (inBraces && (character === ',' || character === '}')) break;
    if (character === '*') {
      if (items.at(-1)?.max !== Number.POSITIVE_INFINITY) items.push(anyNumber(() => true, !inBraces));
      reader.at++;
    } else if (character === '?') {
      items.push(one(() => true));
      reader.at++;
    } else if (character === '[') items.push(one(readClass(reader)));
    else if (character === '{') items.push(...readBraces(reader));
    else items.push(exactly(readCharacter(reader)));
  }
  return items;
}

export function one(test: Test): GlobItem {
  return { min: 1, max: 1, what: { kind: 'character', test } };
}

/** Any number of characters that pass. */
export function anyNumber(test: Test, isGate = false): GlobItem {
  return { ...one(test), min: 0, max: Number.POSITIVE_INFINITY, isGate };
}

export function exactly(character: number | string): GlobItem {
  const exact = typeof character === 'string' ? character.codePointAt(0)! : character;
  return { ...one((other) => other === exact), exact };
}

export function oneOf(branches: Branches): GlobItem {
  return { min: 1, max: 1, what: { kind: 'group', branches } };
}

// Reads one character, escaped or not.
function readCharacter(reader: Reader): number {
  if (reader.pattern[reader.at] === '\\') {
    reader.at++;
    if (reader.at === reader.pattern.length) {
      const hint = 'write \\\\ for a backslash';
      throw selectorError(reader.context, reader.at - 1, 'a trailing backslash', hint);
    }
  }
  const character = reader.pattern.codePointAt(reader.at)!;
  reader.at += character > 0xffff ? 2 : 1;
  return character;
}

// Braces without a comma or a range are literal, except around a text that is a whole value.
function readBraces(reader: Reader): readonly GlobItem[] {
  const start = reader.at;
  const range = RANGE.exec(reader.pattern.slice(start));
  if (range !== null) {
    const item = readRange(range[1]!, range[2]!, Math.abs(Number(range[3] ?? 1)) || 1, reader);
    if (item !== undefined) {
      reader.at += range[0].length;
      return [item];
    }
  }
  const choices: GlobItem[][] = [];
  const spaces: number[] = [];
  do {
    reader.at++;
    const from = reader.at;
    choices.push(readSequence(reader, true));
    if (/^\s|(?<!\\)\s$/.test(reader.pattern.slice(from, reader.at))) spaces.push(from);
  } while (reader.pattern[reader.at] === ',');
  if (reader.at === reader.pattern.length) {
    const hint = 'close it with }, without a space inside, or write \\{ for the character';
    throw selectorError(reader.context, start, 'an unclosed brace', hint);
  }
  reader.at++;
  const isSet = reader.context.isValue && start === 0 && reader.at === reader.pattern.length;
  if (isSet && spaces.length > 0) {
    const hint = 'remove it, or write a backslash before it for the character';
    throw selectorError(reader.context, spaces[0]!, 'a space at the edge of an entry of a set', hint);
  }
  if (choices.length > 1) return [oneOf(choices)];
  const [only = []] = choices;
  const literal = [exactly(0x7b), ...only, exactly(0x7d)];
  const isText = only.length > 0 && only.every(({ exact }) => exact !== undefined);
  return isSet && isText ? [oneOf([only, literal])] : literal;
}

// `{1..9}`, `{a..e}`, and with a step `{a..e..2}`.
const RANGE = /^\{(-?\d+|[^\\{}[\]*?,.])\.\.(-?\d+|[^\\{}[\]*?,.])(?:\.\.(-?\d{1,15}))?\}/u;

// Steps are counted from the first bound, as in bash: `{9..1..4}` is 9, 5, 1.
function readRange(from: string, to: string, step: number, reader: Reader): GlobItem | undefined {
  const numbers = /^-?\d+$/;
  if (numbers.test(from) && numbers.test(to)) {
    const low = Math.min(Number(from), Number(to));
    const high = Math.max(Number(from), Number(to));
    if ((high - low) / step >= PATTERN_LIMIT) {
      const problem = `a range of more than ${PATTERN_LIMIT} numbers`;
      throw selectorError(reader.context, reader.at, problem, 'use a shorter range, or [0-9] and *');
    }
    const padded = [from, to].some((bound) => /^-?0\d/.test(bound));
    const width = padded ? Math.max(from.replace('-', '').length, to.replace('-', '').length) : 0;
    const sign = Number(from) <= Number(to) ? step : -step;
    const choices = Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => {
      const value = Number(from) + index * sign;
      const digits = String(Math.abs(value)).padStart(width, '0');
      return [...(value < 0 ? `-${digits}` : digits)].map((digit) => exactly(digit.charCodeAt(0)));
    });
    return oneOf(choices);
  }
  if ([...from].length > 1 || [...to].length > 1) return undefined;
  const first = from.codePointAt(0)!;
  const [low = 0, high = 0] = [first, to.codePointAt(0)!].sort((a, b) => a - b);
  return one((character) => character >= low && character <= high && (character - first) % step === 0);
}

function readClass(reader: Reader): Test {
  const start = reader.at;
  const tests: Test[] = [];
  reader.at++;
  const negated = /[!^]/.test(reader.pattern.charAt(reader.at));
  if (negated) reader.at++;
  const first = reader.at;
  while (reader.at < reader.pattern.length) {
    if (reader.pattern[reader.at] === ']' && reader.at > first) {
      reader.at++;
      return (character) => tests.some((test) => test(character)) !== negated;
    }
    tests.push(readClassPart(reader));
  }
  const hint = 'close it with ], or write \\[ for the character';
  throw selectorError(reader.context, start, 'an unclosed bracket', hint);
}

function readClassPart(reader: Reader): Test {
  const named = /^\[:(\w*):\]/.exec(reader.pattern.slice(reader.at));
  if (named !== null) {
    const expression = Object.hasOwn(POSIX, named[1]!) ? POSIX[named[1]!]! : undefined;
    if (expression === undefined) {
      const hint = `known classes: ${Object.keys(POSIX).join(', ')}`;
      throw selectorError(reader.context, reader.at, `an unknown class "${named[1]}"`, hint);
    }
    reader.at += named[0].length;
    return (character) => expression.test(String.fromCodePoint(character));
  }
  const start = reader.at;
  const low = readClassCharacter(reader);
  const next = reader.pattern[reader.at + 1];
  if (reader.pattern[reader.at] !== '-' || next === undefined || next === ']') {
    return (character) => character === low;
  }
  reader.at++;
  const high = readClassCharacter(reader);
  if (high < low) {
    const hint = 'write the smaller character first';
    throw selectorError(reader.context, start, 'a reversed range', hint);
  }
  return (character) => character >= low && character <= high;
}

// Reads one character of a class: plain, escaped, `[=a=]` or `[.a.]`.
function readClassCharacter(reader: Reader): number {
  const special = /^\[([=.])(.*?)\1\]/su.exec(reader.pattern.slice(reader.at));
  if (special === null) return readCharacter(reader);
  const [whole, , name = ''] = special;
  if ([...name].length !== 1) {
    const problem = `an unknown character "${quoteOutside(name, 40)}"`;
    throw selectorError(reader.context, reader.at, problem, 'write one character: [[.a.]]');
  }
  reader.at += whole.length;
  return name.codePointAt(0)!;
}
