// The table of promises names tests that exist, among them those of every finding that has a mutation.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(`${ROOT}docs/concepts/safety.md`, 'utf8');
const rows = page
  .slice(page.indexOf('| promise | mechanism | test | limits |'), page.indexOf('## Sandboxes'))
  .split('\n')
  .slice(2)
  .filter((line) => line !== '')
  .map((line) => line.split(' | '));
const named = rows.map(([, , file = '']) => file.replaceAll('`', ''));

test('every promise has a mechanism and a test that exists', () => {
  expect(rows.length).toBeGreaterThan(25);
  for (const row of rows) expect([row[0], row.length, row[1] !== '']).toEqual([row[0], 4, true]);
  expect(named.filter((file) => !existsSync(ROOT + file))).toEqual([]);
});

test('the tests of every finding are named', () => {
  const mutations = readdirSync(`${ROOT}test/mutants`).flatMap(
    (name) =>
      JSON.parse(readFileSync(`${ROOT}test/mutants/${name}`, 'utf8')) as { finding?: string; tests: string[] }[],
  );
  const missing = mutations.filter(
    ({ finding, tests }) => finding !== undefined && !tests.some((file) => named.includes(file)),
  );
  expect(missing.map(({ finding, tests }) => [finding, tests])).toEqual([]);
});
