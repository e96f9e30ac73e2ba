// Tests of formats, with the strings of the official JSON Schema test suite (draft 2020-12, optional/format).

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { FORMATS } from './formats.js';

type Cases = Readonly<Record<string, { readonly valid: readonly string[]; readonly invalid: readonly string[] }>>;

const suite = JSON.parse(
  readFileSync(new URL('../../test/support/json-schema-formats.json', import.meta.url), 'utf8'),
) as Cases;

// Names in Punycode are checked as names in ASCII: whether what they encode is allowed depends on tables of Unicode.
const isPunycode = (format: string, value: string): boolean => format === 'hostname' && /^xn--/i.test(value);

test.each(Object.entries(suite))('%s', (format, { valid, invalid }) => {
  const accepts = FORMATS[format]!;
  expect(valid.filter((value) => !accepts(value))).toEqual([]);
  expect(invalid.filter((value) => accepts(value) && !isPunycode(format, value))).toEqual([]);
});

test('formats that the suite does not contain', () => {
  expect(FORMATS['json-pointer-uri-fragment']!('#/a~1b/%20')).toBe(true);
  expect(FORMATS['json-pointer-uri-fragment']!('/a')).toBe(false);
  expect(FORMATS.url!('https://10.0.0.1/')).toBe(true);
  expect(FORMATS.url!('mailto:a@b')).toBe(false);
});

test('take linear time', () => {
  const long = ['a', '1', 'a.', 'a-', ':', '%20', '::', '{a}', '\\', '"', '/a~1'].map((part) => part.repeat(2000));
  const began = process.cpuUsage();
  for (const accepts of Object.values(FORMATS)) for (const value of long) accepts(`${value}\n`);
  expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
});
