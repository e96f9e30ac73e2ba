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

/** A test with the findings that it closes. */
export interface ClosingTest {
  readonly findings: readonly string[];
  readonly counts: boolean;
}

/** Returns the findings that are cited only by tests that did not run. */
export function findUnproven(tests: readonly ClosingTest[]): string[] {
  const closed = new Set(tests.flatMap(({ findings, counts }) => (counts ? findings : [])));
  return [...new Set(tests.flatMap(({ findings }) => findings))].filter((id) => !closed.has(id));
}

const CITATION = /\b(?:spec|finding)(\.thorough)?\(\s*'([^']+)',\s*(?:'[^']*'|`[^`]*`)/g;

/** Returns the statements and findings that tests cite by name, and whether `npm test` runs the test. */
export function readCitations(): ClosingTest[] {
  return readTestFiles().flatMap((text) =>
    [...text.matchAll(CITATION)].map(([, thorough, ids]) => ({
      findings: ids!.split(/\s+/),
      counts: thorough === undefined,
    })),
  );
}

/** Returns the text of each line of a test file that is not a comment, as a title that counts in `npm test`. */
export function readTestLines(): TitledTest[] {
  return readTestFiles()
    .map((text) => text.replace(CITATION, (call, thorough) => (thorough === undefined ? call : '')))
    .flatMap((text) => text.split('\n'))
    .filter((line) => !/^\s*(?:\/\/|\*|\/\*)/.test(line))
    .map((title) => ({ title, counts: true }));
}

function readTestFiles(): string[] {
  return ['src', 'test']
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(ROOT, folder, name)),
    )
    .filter((file) => file.endsWith('.test.ts') && !file.includes('/gates/'))
    .map((file) => readFileSync(file, 'utf8'));
}
