// The attacks and faults that must be tried, and the review findings that must be closed, each by a test with its number.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const number = (letter: string, count: number, digits: number): string[] =>
  Array.from({ length: count }, (_, at) => `${letter}${String(at + 1).padStart(digits, '0')}`);

/** Attacks A01 to A60, faults F01 to F30, findings B1 to B29, C1 and C2. */
export const CATALOGUE: readonly string[] = [
  ...number('A', 60, 2),
  ...number('F', 30, 2),
  ...number('B', 29, 1),
  ...number('C', 2, 1),
];

/** A test with its whole title, and whether it passed or was skipped for a reason. */
export interface TitledTest {
  readonly title: string;
  readonly counts: boolean;
}

/** Returns the numbers that no test has in its title. */
export function findUntested(tests: readonly TitledTest[]): string[] {
  const named = new Set(
    tests.flatMap(({ title, counts }) => (counts ? (title.match(/\b[ABCF]\d{1,2}\b/g) ?? []) : [])),
  );
  return CATALOGUE.filter((id) => !named.has(id));
}

/** Returns the text of each line of a test file that is not a comment, as a title that counts. */
export function readTestLines(): TitledTest[] {
  const files = ['src', 'test'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(ROOT, folder, name)),
  );
  return files
    .filter((file) => file.endsWith('.test.ts') && !file.includes('/gates/'))
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .filter((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line))
    .map((title) => ({ title, counts: true }));
}
