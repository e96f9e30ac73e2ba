// Tests the grammar of parameter types.

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { rounds } from '../../../test/support/effort.js';
import { finding, spec } from '../../../test/support/spec.js';
import { readScriptHeader } from './header.js';
import { parseType } from './types.js';

const parameter = (declaration: string) => {
  const { header, errors, warnings } = readScriptHeader(`#!/bin/sh\n# @description D\n#   @param ${declaration}\n`);
  return { parameter: header?.parameters[0], errors, warnings };
};

describe('types', () => {
  const valid: [string, Record<string, unknown>][] = [
    ['x enum(fast|slow)=fast How', { type: 'string', keywords: { enum: ['fast', 'slow'], default: 'fast' } }],
    ['x enum( a | "b c" |"d|e)" ) How', { type: 'string', keywords: { enum: ['a', 'b c', 'd|e)'] } }],
    ['x string=main How', { type: 'string', keywords: { default: 'main' } }],
    ['x string="two words" How', { type: 'string', keywords: { default: 'two words' } }],
    ['x string= How', { type: 'string', keywords: { default: '' } }],
    ['x string(1..80) How', { type: 'string', keywords: { minLength: 1, maxLength: 80 } }],
    ['x integer(1..10)=3 How', { type: 'integer', keywords: { minimum: 1, maximum: 10, default: 3 } }],
    ['x integer( 1-10 ) How', { type: 'integer', keywords: { minimum: 1, maximum: 10 } }],
    ['x Int(-5..) How', { type: 'integer', keywords: { minimum: -5 } }],
    ['x number(0..) How', { type: 'number', keywords: { minimum: 0 } }],
    ['x float(..0.5)=0.25 How', { type: 'number', keywords: { maximum: 0.5, default: 0.25 } }],
    ['x number(0..1e3)=1e0 How', { type: 'number', keywords: { minimum: 0, maximum: 1000, default: 1 } }],
    ['x integer(-1E2..1e+2)=1e1 How', { type: 'integer', keywords: { minimum: -100, maximum: 100, default: 10 } }],
    ['x number(1e-3-2.5e0) How', { type: 'number', keywords: { minimum: 0.001, maximum: 2.5 } }],
    ['x boolean=true How', { type: 'boolean', keywords: { default: true } }],
    ['x string[] How', { type: 'array', keywords: { items: { type: 'string' } } }],
    ['x string[1..] How', { type: 'array', keywords: { items: { type: 'string' }, minItems: 1 } }],
    [
      'x integer(1..9)[..3]=[1, 2] How',
      { type: 'array', keywords: { items: { type: 'integer', minimum: 1, maximum: 9 }, maxItems: 3, default: [1, 2] } },
    ],
    ['x enum(a|b)[] How', { type: 'array', keywords: { items: { type: 'string', enum: ['a', 'b'] } } }],
    ['x array(2..3) How', { type: 'array', keywords: { minItems: 2, maxItems: 3 } }],
    ['x object={"a": "} {"} How', { type: 'object', keywords: { default: { a: '} {' } } }],
  ];
  for (const [declaration, expected] of valid) {
    finding('N8 SCR-26', `reads ${declaration}`, () => {
      const { parameter: read, errors, warnings } = parameter(declaration);
      expect({ errors, warnings }).toEqual({ errors: [], warnings: [] });
      expect(read).toEqual({ name: 'x', required: false, description: 'How', ...expected });
    });
  }

  // The column of the mistake, as it is counted in the third line of the script.
  const invalid: [string, string, RegExp][] = [
    ['x integer(10..1) How', '1', /the range 10\.\.1 is empty/],
    ['x integer(1.5..) How', '1', /1\.5 is not a bound of an integer/],
    ['x integer(10-1) How', '1', /the range 10-1 is empty/],
    ['x integer(..) How', '..', /is not a range/],
    ['x string(5)=a How', '5', /is not a range/],
    ['x string(-1..) How', '-1', /-1 is not a bound of a length/],
    ['x boolean(0..1) How', '0', /boolean has no range/],
    ['x enum(a||b) How', '|b', /a value of the enum is empty/],
    ['x enum() How', ')', /a value of the enum is empty/],
    ['x enum(a|a) How', 'a)', /"a" is in the enum twice/],
    ['x enum(a|b How', '(', /"\(" is never closed/],
    ['x enum(a|"b) How', '"b', /a quote is never closed/],
    ['x enum(a|b)=c How', 'c How', /the default "c" is not one of a, b/],
    ['x integer(1..10)=11 How', '11', /the default "11" is above the range/],
    ['x integer(1..10)=0 How', '0 How', /the default "0" is below the range/],
    ['x integer=1.5 How', '1.5', /the default "1.5" is not a value of integer/],
    ['x integer=9007199254740993 How', '9007199254740993', /the default "9007199254740993" is not a value of integer/],
    ['x integer(9007199254740993..) How', '9007199254740993', /9007199254740993 is not a bound of an integer/],
    ['x number=1e400 How', '1e400', /the default "1e400" is not a value of number/],
    ['x number(0..1e400) How', '0..', /1e400 is not a bound of a number/],
    ['x boolean=yes How', 'yes', /the default "yes" is not a value of boolean/],
    ['x string(2..)=a How', 'a How', /the default "a" is below the range/],
    ['x string[]=a How', 'a How', /the default "a" is not a value of array/],
    ['x string[]=[1] How', '[1]', /the default "1" is not a value of string/],
    ['x string[1..0] How', '1..0', /the range 1\.\.0 is empty/],
    ['x string[ How', '[', /"\[" is never closed/],
    ['x integer(1..2)x How', 'x How', /unexpected "x" after the type/],
  ];
  for (const [declaration, mark, message] of invalid) {
    finding('N8 SCR-26', `reports ${declaration} with line and column`, () => {
      const { parameter: read, errors } = parameter(declaration);
      expect(read).toBeUndefined();
      const at = declaration.indexOf(mark, 2);
      expect(errors).toMatchObject([{ line: 3, column: '#   @param '.length + at + 1 }]);
      expect(errors[0]!.message).toMatch(message);
      expect(errors[0]!.hint).toMatch(/\S/);
    });
  }

  finding('N8 SCR-27', 'warns about the default of a required parameter', () => {
    const { parameter: read, warnings } = parameter('*x string=a');
    expect(read).toMatchObject({ required: true, keywords: { default: 'a' } });
    expect(warnings[0]!.message).toBe('@param x is required, so its default is never used');
  });

  spec('SCR-7 SCR-26', 'never throws, and takes only what it read', () => {
    const word = fc.constantFrom(
      'string',
      'enum',
      'int',
      'x',
      '(',
      ')',
      '[',
      ']',
      '=',
      '..',
      '|',
      '"',
      '\\',
      '1',
      'a',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (words) => {
        const text = words.join('');
        const parsed = parseType(text);
        if (parsed === undefined) return;
        const end = 'length' in parsed ? parsed.length : parsed.offset;
        expect(end).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: rounds(250, 3000) },
    );
  });
});
