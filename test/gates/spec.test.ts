// Checks the statements of spec/ themselves, and the comparison with tests that `spec-reporter.ts` makes after a run.

import { describe, expect, test } from 'vitest';
import { type Citation, checkCoverage, readStatements, type Statement } from '../support/statements.js';

const BUILT: Statement = { id: 'AAA-1', file: 'a.md', status: 'built' };
const PASSED: Citation = { ids: ['AAA-1'], file: 'a.test.ts', outcome: 'passed' };

const errorsOf = (statements: readonly Statement[], citations: readonly Citation[], fullRun = true) =>
  checkCoverage(statements, citations, fullRun).errors;

test('every id of spec/ is used once', () => {
  const ids = readStatements().map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(200);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
});

describe('a full run', () => {
  test('is complete if a passed test proves every built statement', () => {
    const untested: Statement = { id: 'AAA-2', file: 'a.md', status: 'untested' };
    const planned: Statement = { id: 'AAA-3', file: 'a.md', status: 'planned' };
    expect(checkCoverage([BUILT, untested, planned], [PASSED], true)).toEqual({
      proven: 1,
      skipped: new Map(),
      errors: [],
    });
  });

  test('need not prove what another command proves', () => {
    expect(checkCoverage([BUILT], [], true, new Set(['AAA-1'])).errors).toEqual([]);
    expect(checkCoverage([BUILT], [], true, new Set(['AAA-10'])).errors).toHaveLength(1);
  });

  test.each(['failed', 'skipped'] as const)('does not count a %s test', (outcome) => {
    expect(errorsOf([BUILT], [{ ...PASSED, outcome }])).toEqual(['spec/a.md: no passed test proves AAA-1']);
  });

  test('reports a statement as skipped if its tests were skipped for a reason', () => {
    const skipped: Citation = { ...PASSED, outcome: 'skipped', skipReason: 'no strace' };
    expect(checkCoverage([BUILT], [skipped], true)).toEqual({
      proven: 0,
      skipped: new Map([['AAA-1', 'no strace']]),
      errors: [],
    });
    expect(checkCoverage([BUILT], [skipped, PASSED], true)).toEqual({ proven: 1, skipped: new Map(), errors: [] });
  });
});

test('a partial run need not prove every statement', () => {
  expect(errorsOf([BUILT], [], false)).toEqual([]);
});

test.each([true, false])('unknown and planned statements must not be cited (full run: %s)', (fullRun) => {
  const planned: Statement = { ...BUILT, status: 'planned' };
  expect(errorsOf([], [PASSED], fullRun)).toEqual(['a.test.ts: cites AAA-1, which is not a statement']);
  expect(errorsOf([planned], [PASSED], fullRun)).toEqual(['a.test.ts: cites AAA-1, which is still (planned)']);
});
