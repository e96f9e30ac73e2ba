// Tests of globs: syntax, limits, and agreement with picomatch.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect } from 'vitest';
import { CORPORA, NO_CORPORA } from '../../test/support/corpora.js';
import { rounds } from '../../test/support/effort.js';
import { patience } from '../../test/support/patience.js';
import { finding, spec, specIf } from '../../test/support/spec.js';
import { compileGlob } from './glob.js';
import { matchPattern } from './selector-match.js';

const accepted = (pattern: string, values: readonly string[]): string[] =>
  values.filter((value) => compileGlob(pattern).matches(value));

describe('the grammar', () => {
  spec('SEL-1', 'stars, question marks and escapes', () => {
    expect(accepted('a*c', ['ac', 'abc', 'a/c', 'a\nc', 'ab', 'bac'])).toEqual(['ac', 'abc', 'a/c', 'a\nc']);
    expect(accepted('a**', ['a', 'ab', 'a/b/c', 'b'])).toEqual(['a', 'ab', 'a/b/c']);
    expect(accepted('?x', ['ax', '/x', '\u{1f600}x', 'x', 'aax'])).toEqual(['ax', '/x', '\u{1f600}x']);
    expect(accepted('\\*\\{\\\\', ['*{\\', 'a{\\'])).toEqual(['*{\\']);
    expect(accepted('A', ['a', 'A'])).toEqual(['A']);
  });

  spec('SEL-1', 'classes', () => {
    expect(accepted('[a-cx-]', ['a', 'b', 'x', '-', 'd'])).toEqual(['a', 'b', 'x', '-']);
    expect(accepted('[!a-c]', ['a', 'd', '!', '/'])).toEqual(['d', '!', '/']);
    expect(accepted('[^a]', ['a', 'b', '^'])).toEqual(['b', '^']);
    expect(accepted('[]a]', [']', 'a', 'b'])).toEqual([']', 'a']);
    expect(accepted('[\\]*]', [']', '*', 'a'])).toEqual([']', '*']);
    expect(accepted('[[:digit:]_]', ['1', '_', 'a'])).toEqual(['1', '_']);
    expect(accepted('[![:alpha:]]', ['1', 'a', 'B'])).toEqual(['1']);
  });

  finding('D16 SEL-1', 'ranges with a step, and characters by [=a=] and [.a.]', () => {
    const letters = [...'abcdefg'];
    expect(accepted('{a..e..2}', letters)).toEqual(['a', 'c', 'e']);
    expect(accepted('{e..a..3}', letters)).toEqual(['b', 'e']);
    expect(accepted('{a..c..0}', letters)).toEqual(['a', 'b', 'c']);
    expect(accepted('x{1..9..4}', ['x1', 'x4', 'x5', 'x9', 'x{1..9..4}'])).toEqual(['x1', 'x5', 'x9']);
    expect(accepted('{9..1..-4}', ['9', '5', '1', '8'])).toEqual(['9', '5', '1']);
    expect(accepted('{08..12..2}', ['08', '8', '10', '12', '09'])).toEqual(['08', '10', '12']);
    expect(accepted('[[=a=]b]', ['a', 'b', '=', '[', 'a]'])).toEqual(['a', 'b']);
    expect(accepted('[[.-.][.a.]-[.c.]]', ['-', 'a', 'b', 'c', '.', 'd'])).toEqual(['-', 'a', 'b', 'c']);
    for (const pattern of ['x[[.hyphen.]]', 'x[[=ab=]]', 'x[[..]]'])
      expect(() => compileGlob(pattern)).toThrow(/an unknown character .* at column 3/);
    expect(() => compileGlob('{1..5000..2}')).toThrow(/a range of more than 1000 numbers at column 1/);
  });

  spec('SEL-1', 'braces: nested and empty choices, ranges, literal braces without a comma', () => {
    expect(accepted('x{a,b*,{c,d}e}', ['xa', 'xb', 'xbz', 'xce', 'xde', 'xe', 'xc'])).toEqual([
      'xa',
      'xb',
      'xbz',
      'xce',
      'xde',
    ]);
    expect(accepted('a{,b}c', ['ac', 'abc', 'a,c'])).toEqual(['ac', 'abc']);
    expect(accepted('v{8..11}', ['v7', 'v8', 'v10', 'v11', 'v1'])).toEqual(['v8', 'v10', 'v11']);
    expect(accepted('{-1..1}', ['-1', '0', '1', '2'])).toEqual(['-1', '0', '1']);
    expect(accepted('{08..10}', ['8', '08', '09', '10'])).toEqual(['08', '09', '10']);
    expect(accepted('{c..a}', ['a', 'b', 'd'])).toEqual(['a', 'b']);
    expect(accepted('{a}', ['a', '{a}'])).toEqual(['{a}']);
    expect(accepted('{a*b}', ['{axb}', 'axb'])).toEqual(['{axb}']);
  });

  spec('SEL-1', 'rejects invalid patterns with the column', () => {
    const columns: Record<string, number> = {
      'ab[c': 3,
      'a{b,c': 2,
      'a\\': 2,
      'a[z-a]': 3,
      '[[:nope:]]': 2,
      '{1..5000}': 1,
    };
    const column = (pattern: string): unknown => {
      try {
        compileGlob(pattern);
      } catch (error) {
        return (error as { data?: { column?: number } }).data?.column;
      }
      return undefined;
    };
    expect(Object.fromEntries(Object.keys(columns).map((text) => [text, column(text)]))).toEqual(columns);
  });
});

describe('the cost', () => {
  spec('SEL-5', 'matches in linear time and limits the length of patterns', () => {
    const long = 'a'.repeat(100_000);
    const started = performance.now();
    expect(matchPattern('*a*a*a*b', long)).toBe(false);
    expect(matchPattern('*a*a*a*b', `${long}b`)).toBe(true);
    expect(matchPattern(`${'*a'.repeat(400)}*b`, long)).toBe(false);
    expect(matchPattern(`${'{a,a*}'.repeat(100)}b`, long.slice(0, 2000))).toBe(false);
    expect(matchPattern(`${'{'.repeat(240)}a${',b}'.repeat(240)}*c`, long)).toBe(false);
    // Milliseconds on a quiet machine; anything that backtracks takes years.
    expect(performance.now() - started).toBeLessThan(patience(10_000));
    expect(matchPattern('a'.repeat(1000), 'b')).toBe(false);
    expect(() => matchPattern('a'.repeat(1001), 'b')).toThrow('longer than 1000 characters');
  });
});

describe('picomatch', () => {
  const letter = fc.constantFrom('a', 'b', 'c', '-', '_', '.', '1');
  const word = fc.array(letter, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(''));
  const piece = fc.oneof(
    { weight: 4, arbitrary: word },
    fc.constantFrom('*', '?', '[abc]', '[a-c]', '[^a]', '[b1]', '\\*', '\\?'),
    fc.array(fc.oneof(word, fc.constant('*')), { minLength: 2, maxLength: 3 }).map((all) => `{${all.join(',')}}`),
  );
  const pattern = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(''));
  const text = fc.array(fc.constantFrom('a', 'b', 'c', '-', '_', '.', '1', '2', '*'), { minLength: 1, maxLength: 7 });

  spec('SEL-5', 'agrees on ordinary patterns and values without a slash', () => {
    let matched = 0;
    fc.assert(
      fc.property(pattern, text, (glob, characters) => {
        const value = characters.join('');
        // To picomatch `.` and `..` are directories, whatever the pattern, and two dots in braces a range.
        fc.pre(value !== '.' && value !== '..' && !glob.includes('..'));
        const theirs = picomatch(glob, { dot: true })(value);
        if (theirs) matched++;
        expect(compileGlob(glob).matches(value), `${glob} on ${value}`).toBe(theirs);
      }),
      { numRuns: rounds(400, 5000) },
    );
    // Random patterns match about 60 of 1,000 values: enough that agreeing means something.
    expect(matched).toBeGreaterThan(15);
  });

  interface Case {
    readonly input: string;
    readonly glob: string;
    readonly options?: Readonly<Record<string, unknown>>;
    readonly match: boolean;
  }
  const FILE = resolve(CORPORA, 'globs/cases.jsonl');
  const present = existsSync(FILE);
  const cases: Case[] = present
    ? readFileSync(FILE, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Case)
    : [];

  // Why a case is outside our grammar, first reason first.
  const REASONS: readonly (readonly [string, (test: Case) => boolean])[] = [
    ['options that change the grammar', ({ options = {} }) => Object.keys(options).some((key) => !SAME.has(key))],
    [
      'slashes: wildcards match them here, and none is left out at an end',
      ({ glob, input }) =>
        (/[/\\]/.test(input) || glob.includes('/')) &&
        (/[*?[]/.test(glob) || input.includes('\\') || [glob, input].some((text) => /^\.?\/|\/$/.test(text))),
    ],
    ['groups and extglobs: parentheses are specifiers', ({ glob }) => /[()|]/.test(glob)],
    ['a leading !: an error here', ({ glob }) => glob.startsWith('!')],
    ['[!…] and POSIX classes: options there', ({ glob }) => /\[!|\[:/.test(glob)],
    ['a repeated class or brace: a regular expression there', ({ glob }) => /[\]}][+*?]/.test(glob)],
    ['quotes: characters here', ({ glob }) => glob.includes('"')],
    ['what is not closed: an error here', ({ glob }) => !compiles(glob)],
    ['a class matches its own text too there', ({ input }) => input.includes('[')],
    ['nothing, . and ..: never matched there', ({ input }) => ['', '.', '..'].includes(input)],
    [
      'a leading dot: * matches it here',
      ({ glob, input, options }) => options?.dot !== true && input.startsWith('.') && !glob.startsWith('.'),
    ],
  ];
  const SAME = new Set(['dot', 'windows', 'strictSlashes', 'noglobstar', 'maxExtglobRecursion']);
  const compiles = (glob: string): boolean => {
    try {
      compileGlob(glob);
      return true;
    } catch {
      return false;
    }
  };

  specIf(present, NO_CORPORA, 'SEL-5', "picomatch's own cases pass, or say why not", () => {
    const counts: Record<string, number> = { passed: 0 };
    const wrong: string[] = [];
    for (const test of cases) {
      const reason = REASONS.find(([, applies]) => applies(test))?.[0];
      if (reason !== undefined) counts[reason] = (counts[reason] ?? 0) + 1;
      else if (compileGlob(test.glob).matches(test.input) === test.match) counts.passed!++;
      else wrong.push(JSON.stringify(test));
    }
    expect(wrong).toEqual([]);
    // How the cases that we know divide; a larger set may have more of each.
    if (cases.length === 4235)
      expect(counts).toEqual({
        passed: 490,
        'options that change the grammar': 421,
        'slashes: wildcards match them here, and none is left out at an end': 1971,
        'groups and extglobs: parentheses are specifiers': 1080,
        'a leading !: an error here': 43,
        '[!…] and POSIX classes: options there': 93,
        'a repeated class or brace: a regular expression there': 59,
        'quotes: characters here': 50,
        'what is not closed: an error here': 1,
        'a class matches its own text too there': 7,
        'nothing, . and ..: never matched there': 4,
        'a leading dot: * matches it here': 16,
      });
  });
});
