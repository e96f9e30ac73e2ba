// Gate: the picture and the tables of the call path show the steps that the code takes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { drawCallPath, STEPS } from '../../scripts/call-path.mjs';
import { ERROR_CODES } from '../../src/core/error.js';
import { findSection, ROOT, readDocument } from '../support/documents.js';

/** Rows of the tables of a text, without their headings. */
const rowsOf = (text: string): string[][] =>
  [...text.matchAll(/^\| ([^|`-][^|]*) \| (.*?) \|(?: .*\|)?$/gm)].map(([, first, second]) => [first!, second!]);

const sourceOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

test('call.ts calls each step by name', () => {
  const text = sourceOf('src/runtime/call.ts') + sourceOf('src/runtime/prepare.ts');
  for (const { calls, from } of STEPS) {
    expect(text, calls).toMatch(new RegExp(`[ .(]${calls}\\(`));
    expect(sourceOf(from), from).toMatch(new RegExp(`\\b${calls}\\(`));
  }
});

test('every error of a step is a known code', () => {
  for (const code of STEPS.flatMap(({ errors }) => errors)) expect(Object.keys(ERROR_CODES)).toContain(code);
});

test('the picture is current: run npm run picture', () => {
  expect(sourceOf('docs/how-wield-works.svg')).toBe(drawCallPath());
});

test('the path of a call describes the same steps', () => {
  const names = STEPS.map(({ name }) => name);
  const page = readDocument('docs/concepts/calls.md');
  const described = rowsOf(page).map(([name]) => name);
  expect(described.slice(described.indexOf('find'), described.indexOf('record') + 1)).toEqual(names);
});

test('the manual uses the words of the glossary', () => {
  const glossary = new Map(rowsOf(findSection(readDocument('ARCHITECTURE.md'), 'Glossary')) as [string, string][]);
  const words = rowsOf(findSection(readDocument('docs/how-wield-works.md'), 'Words'));
  expect(words.length).toBeGreaterThan(10);
  for (const [term, text] of words) expect([term, text]).toEqual([term, glossary.get(term!)]);
});
