// Tests of values that a person gives for the options of a server.

import { expect } from 'vitest';
import { spec } from '../../../test/support/spec.js';
import { type ConfigOption, checkValue } from './server-config.js';

const PLACES = { cwd: '/work', home: '/home/ada' };

function check(option: Partial<ConfigOption>, text: string): string {
  const whole = { description: 'About it.', min: null, max: null, ...option } as ConfigOption;
  try {
    return checkValue('key', whole, text, PLACES);
  } catch (error) {
    return (error as Error).message;
  }
}

spec('INS-69', 'a boolean is true or false, and nothing else', () => {
  for (const text of ['true', 'false']) expect(check({ type: 'boolean' }, text)).toBe(text);
  for (const text of ['yes', '1', 'TRUE', 'true ', ' false', 'true\nx', '${HOME}', 'null'])
    expect([text, check({ type: 'boolean' }, text)]).toEqual([text, 'key must be true or false']);
  expect(check({ type: 'boolean' }, '')).toBe('key must be set');
});

spec('INS-69', 'a number is finite and within its limits, which are included', () => {
  const limits = { type: 'number', min: 1, max: 9 } as const;
  for (const text of ['1', '9', '4.5']) expect(check(limits, text)).toBe(text);
  for (const text of ['0.999', '9.001', '-1']) expect(check(limits, text)).toBe('key must be from 1 to 9');
  for (const text of ['one', ' ', 'Infinity', 'NaN', '1,5']) expect(check(limits, text)).toBe('key must be a number');
  expect(check({ type: 'number' }, '-1e9')).toBe('-1e9');
});

spec('INS-69', 'a path is absolute, and no text is a reference', () => {
  expect(check({ type: 'directory' }, '~/notes')).toBe('/home/ada/notes');
  expect(check({ type: 'file' }, 'notes')).toBe('/work/notes');
  expect(check({ type: 'file' }, '~other/notes')).toBe('/work/~other/notes');
  expect(check({ type: 'string' }, '~/notes ${TOKEN}')).toBe('~/notes $${TOKEN}');
});
