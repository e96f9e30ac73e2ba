// Gate: the documentation stays short enough to be read.

import { expect, test } from 'vitest';
import { listDocuments, readDocument } from '../support/documents.js';

const LIMIT = 30_000;

test(`the documentation without decisions has at most ${LIMIT} words`, () => {
  const pages = listDocuments().filter((path) => path.startsWith('docs/') && !path.startsWith('docs/decisions/'));
  expect(pages.length).toBeGreaterThan(30);
  // Bars of tables, numbers and signs are no words.
  const isWord = (text: string): boolean => /[a-z]/i.test(text);
  const words = pages.map((path) => ({ path, count: readDocument(path).split(/\s+/).filter(isWord).length }));
  const longest = words.sort((a, b) => b.count - a.count).slice(0, 5);
  const total = words.reduce((sum, { count }) => sum + count, 0);
  expect(total, longest.map(({ path, count }) => `${path}: ${count}`).join(', ')).toBeLessThanOrEqual(LIMIT);
});
