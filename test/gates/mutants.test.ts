// Every mutation of the list still fits the code, and names tests that exist.

import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readMutations, readResults, toPage } from '../../scripts/mutants-page.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const all = readMutations();

test('the text of every mutation occurs exactly once', () => {
  const wrong = all
    .map(({ file, find }) => ({
      file,
      find,
      found: readFileSync(ROOT + file, 'utf8').split(find).length - 1,
    }))
    .filter(({ found }) => found !== 1);
  expect(wrong).toEqual([]);
  expect(all.filter(({ find, replace }) => find === replace)).toEqual([]);
});

// B22 is right as it is (decision 0068).
const WITHOUT = ['B22'];

test('there is a mutation for every finding, and a test that cites it', () => {
  const findings = [...Array.from({ length: 29 }, (_, at) => `B${at + 1}`), 'C1', 'C2'];
  const covered = all.flatMap(({ finding }) => finding ?? []);
  expect(findings.filter((id) => !WITHOUT.includes(id) && !covered.includes(id))).toEqual([]);
  const uncited = all.filter(({ finding, tests }) => {
    const cites = new RegExp(`['\\s]${finding}\\b`);
    return finding !== undefined && !tests.some((file) => cites.test(readFileSync(ROOT + file, 'utf8')));
  });
  expect(uncited).toEqual([]);
});

test('there are at least 80 mutations, with tests that exist', () => {
  expect(all.length).toBeGreaterThanOrEqual(80);
  expect(new Set(all.map(({ what }) => what)).size).toBe(all.length);
  for (const { tests } of all) for (const file of tests) expect([file, existsSync(ROOT + file)]).toEqual([file, true]);
});

test('the page is current: run node scripts/mutants-page.mjs', () => {
  expect(readFileSync(`${ROOT}docs/reports/mutants.md`, 'utf8')).toBe(toPage(all, readResults()));
});
