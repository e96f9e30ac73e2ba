// Parses regular expressions of schemas into a tree, so that their cost is known and they can be matched in steps.

import type { Branches, Part } from '../core/automaton.js';

const ESCAPE = /\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|p\{[^}]*\}|k<[^>]*>|[1-9]\d*|.)/isuy;
const PAIR = /\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})/iuy;
const CLASS = /\[(?:[^\]\\]|\\.)*\]/suy;
const GROUP = /\((?:\?(?:[:=!]|<[=!]|<[^>]*>))?/uy;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/uy;
const RANGES: Readonly<Record<string, readonly [number, number]>> = {
  '*': [0, Number.POSITIVE_INFINITY],
  '+': [1, Number.POSITIVE_INFINITY],
  '?': [0, 1],
};

/** Parses an expression that is valid with the flag `u`; undefined if it uses newer syntax. */
export function parsePattern(source: string): Branches | undefined {
  const reader = { source, at: 0 };
  try {
    const branches = readBranches(reader);
    return reader.at === source.length ? branches : undefined;
  } catch (error) {
    if (error === UNKNOWN) return undefined;
    throw error;
  }
}

const UNKNOWN = new Error('unknown syntax');

interface Reader {
  readonly source: string;
  at: number;
}

function readBranches(reader: Reader): Branches {
  const branches: Part[][] = [[]];
  while (reader.at < reader.source.length && reader.source[reader.at] !== ')') {
    if (reader.source[reader.at] === '|') {
      branches.push([]);
      reader.at++;
    } else {
      const what = readPart(reader);
      const [min, max] = readQuantifier(reader);
      branches.at(-1)!.push({ what, min, max });
    }
  }
  return branches;
}

function take(reader: Reader, expression: RegExp): RegExpExecArray | null {
  expression.lastIndex = reader.at;
  const match = expression.exec(reader.source);
  if (match !== null) reader.at += match[0].length;
  return match;
}

function readPart(reader: Reader): Part['what'] {
  switch (reader.source[reader.at]) {
    case '^':
      reader.at++;
      return { kind: 'start' };
    case '$':
      reader.at++;
      return { kind: 'end' };
    case '(':
      return readGroup(reader);
    case '\\':
      return readEscape(reader);
  }
  const text = take(reader, CLASS)?.[0] ?? String.fromCodePoint(reader.source.codePointAt(reader.at)!);
  if (text.startsWith('[') || text === '.') {
    if (text === '.') reader.at++;
    return toTest(text);
  }
  reader.at += text.length;
  const character = text.codePointAt(0);
  return { kind: 'character', test: (other) => other === character };
}

function readGroup(reader: Reader): Part['what'] {
  const opener = take(reader, GROUP)![0];
  // A modifier such as `(?i:`.
  if (opener === '(' && reader.source[reader.at] === '?') throw UNKNOWN;
  const branches = readBranches(reader);
  if (reader.source[reader.at++] !== ')') throw UNKNOWN;
  if (opener === '(?=' || opener === '(?!') return { kind: 'ahead', negative: opener === '(?!', branches };
  return { kind: opener === '(?<=' || opener === '(?<!' ? 'other' : 'group', branches };
}

function readEscape(reader: Reader): Part['what'] {
  const text = (take(reader, PAIR) ?? take(reader, ESCAPE))![0];
  if (text === '\\b' || text === '\\B') return { kind: 'boundary', negative: text === '\\B' };
  if (/^\\(?:k|[1-9])/.test(text)) return { kind: 'other', branches: [[ANY_NUMBER]] };
  return toTest(text);
}

const ANY_NUMBER: Part = { what: { kind: 'character', test: () => true }, min: 0, max: Number.POSITIVE_INFINITY };

// The engine decides about one character at a time, which takes constant time.
function toTest(source: string): Part['what'] {
  const expression = new RegExp(`^${source}$`, 'u');
  return { kind: 'character', test: (character) => expression.test(String.fromCodePoint(character)) };
}

function readQuantifier(reader: Reader): readonly [number, number] {
  const match = take(reader, QUANTIFIER);
  if (match === null) return [1, 1];
  const [, symbol, low, comma, high] = match;
  if (symbol !== undefined) return RANGES[symbol]!;
  const min = Number(low);
  if (comma === '') return [min, min];
  return [min, high === '' ? Number.POSITIVE_INFINITY : Number(high)];
}
