// Checks that every attack and fault of the catalogue, and every finding, has a test with its number.

import { expect, test } from 'vitest';
import { CATALOGUE, findUnproven, findUntested, readCitations, readTestLines } from '../support/catalogue.js';

test('every number of the catalogue is in the title of a test', () => {
  expect(CATALOGUE).toHaveLength(60 + 30 + 29 + 2);
  expect(findUntested(readTestLines())).toEqual([]);
});

test('a number counts only if the test passed or was skipped for a reason', () => {
  const tests = CATALOGUE.map((id) => ({ title: `POL-1: ${id} refuses`, counts: true }));
  expect(findUntested(tests)).toEqual([]);
  expect(findUntested(tests.map((entry, at) => ({ ...entry, counts: at > 1 })))).toEqual(['A01', 'A02']);
  expect(findUntested([{ title: 'A01x xA02 A3 A004', counts: true }])).toHaveLength(CATALOGUE.length);
});

test('npm test proves what is cited by tests of npm run thorough', () => {
  const tests = readCitations();
  expect(tests.filter(({ counts }) => !counts).length).toBeGreaterThan(10);
  expect(findUnproven(tests)).toEqual([]);
  expect(findUnproven([...tests, { findings: ['B3', 'XX-1'], counts: false }])).toEqual(['XX-1']);
});
