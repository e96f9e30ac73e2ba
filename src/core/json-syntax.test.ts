// Tests the position and text of JSON faults.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rounds } from '../../test/support/effort.js';
import { finding, spec } from '../../test/support/spec.js';
import { describeValue, parseJson, toJson } from './json.js';
import { findSyntaxFault } from './json-syntax.js';

describe('faults of JSON', () => {
  const cases: [string, number, number, string][] = [
    ['{\n  "a": 1,\n  "b" 2\n}', 3, 7, 'expected ":", found "2"'],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, 'expected "," or "}", found """'],
    ['{ "a": [1, 2 }', 1, 14, 'expected "," or "]", found "}"'],
    ['{ "a": 1, }', 1, 11, 'expected a quoted key, found "}"'],
    ["{ 'a': 1 }", 1, 3, `expected a quoted key or "}", found "'"`],
    ['[1, oops]', 1, 5, 'expected a value, found "o"'],
    ['[01]', 1, 3, 'expected "," or "]", found "1"'],
    ['', 1, 1, 'expected a value, found the end'],
    ['{"é😀": tru}', 1, 8, 'expected a value, found "t"'],
    ['["a\nb"]', 1, 4, 'a line break or control character in a text'],
    ['["a\\x"]', 1, 4, 'invalid escape in a text'],
    ['["a', 1, 4, 'a quote is never closed'],
    ['{} {}', 1, 4, 'expected the end, found "{"'],
    ['// note\n{}', 1, 1, 'expected a value, found "/"'],
    ['[\u0000]', 1, 2, 'expected a value, found U+0000'],
  ];
  for (const [text, line, column, problem] of cases) {
    finding('N6', `${JSON.stringify(text)} at line ${line}, column ${column}`, () => {
      expect(findSyntaxFault(text)).toEqual({ line, column, problem });
      expect(() => parseJson(text, 'x')).toThrow(`x is not valid JSON: line ${line}, column ${column}: ${problem}`);
    });
  }

  spec('ERR-6', 'are found after texts of any length', () => {
    const long = JSON.stringify(`${'a'.repeat(9_000_000)}\n`);
    expect(findSyntaxFault(`[${long} 1]`)).toMatchObject({ line: 1, problem: 'expected "," or "]", found "1"' });
    expect(findSyntaxFault(`["${'a'.repeat(9_000_000)}`).problem).toBe('a quote is never closed');
  });

  finding('N6', 'a key that occurs twice has its line', () => {
    expect(() => parseJson('{\n"a": 1,\n"a": 2 }', 'x')).toThrow('x has the key "a" twice in one object (line 3)');
  });

  test('agrees with JSON.parse on what is valid', () => {
    const part = fc.constantFrom(
      ...'{}[],:"\\ \n'.split(''),
      '"a"',
      '1',
      '-',
      '.5',
      'e1',
      'null',
      'tru',
      '\\u00e9',
      '0',
    );
    const texts = fc.oneof(
      fc.array(part, { maxLength: 14 }).map((parts) => parts.join('')),
      fc.json().chain((text) => fc.nat(text.length).map((at) => text.slice(0, at) + text.slice(at + 1))),
      fc.json(),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let valid = true;
        try {
          JSON.parse(text);
        } catch {
          valid = false;
        }
        expect(findSyntaxFault(text).problem === 'expected the end, found the end').toBe(valid);
      }),
      { numRuns: rounds(400, 5000) },
    );
  });
});

spec('ERR-5', 'hidden characters of keys and values are in no fault of JSON', () => {
  const hidden = 'a\u001b[2K\u202e';
  const faults = [
    () => toJson({ [hidden]: { b: () => {} } }),
    () => toJson({ [hidden]: [Number.NaN] }),
    () => parseJson(JSON.stringify({ [hidden]: 1 }).replace(/\{(.*)\}/, '{$1,$1}'), 'text'),
    () => parseJson(`{"${hidden}`, 'text'),
  ];
  for (const fault of faults) expect(fault).toThrow(/^[ -~]+$/);
  expect(() => toJson({ [hidden]: { b: () => {} } })).toThrow('input at /a/b is');
  expect(describeValue(hidden)).toBe('text "a"');
});
