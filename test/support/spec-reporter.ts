// Vitest reporter that checks the statements of spec/ against the tests that ran, and fails the run if they differ. It ends the run with what was skipped and why, and shows progress where there is no terminal.

import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSpecification, Vitest } from 'vitest/node';
import { type Citation, checkCoverage, readIds, readStatements } from './statements.js';
import { type CountedTest, countTests, findUnexplained, summariseSkips } from './summary.js';

const PROGRESS_MS = 10_000;
/** Test files of `npm run attacks` and `npm run browser`, which `npm test` leaves out. */
const ELSEWHERE = /\/test\/(?:attacks|browser|faults)\//;

export function createSpecReporter(): Reporter {
  let vitest: Vitest;
  let fullRun = false;
  let others: ReadonlySet<string> = new Set();
  let timer: NodeJS.Timeout | undefined;
  const done: CountedTest[] = [];
  return {
    onInit(instance) {
      vitest = instance;
    },
    async onTestRunStart(specifications: readonly TestSpecification[]) {
      const started = Date.now();
      const finished = (): number =>
        vitest.state.getTestModules().filter((module) => module.state() !== 'pending' && module.state() !== 'queued')
          .length;
      const show = (): void => {
        const seconds = Math.round((Date.now() - started) / 1000);
        vitest.logger.log(
          `${String(seconds).padStart(5)} s  ${finished()} of ${specifications.length} files, ${countTests(done, 0)}`,
        );
      };
      // A terminal shows the progress of vitest.
      if (!process.stdout.isTTY) timer = setInterval(show, PROGRESS_MS);
      const all = await vitest.globTestSpecifications();
      const run = new Set(specifications.map(({ moduleId }) => moduleId));
      const left = all.map(({ moduleId }) => moduleId).filter((file) => !run.has(file));
      fullRun = left.every((file) => ELSEWHERE.test(file)) && vitest.config.testNamePattern === undefined;
      if (fullRun) others = readIds(left);
    },
    onTestCaseResult(test) {
      done.push(toCounted(test));
    },
    onTestRunEnd(modules, errors, reason) {
      clearInterval(timer);
      if (reason === 'interrupted') return;
      const tests = modules.flatMap((module) => [...module.children.allTests()]).map(toCounted);
      const coverage = checkCoverage(readStatements(), modules.flatMap(listCitations), fullRun, others);
      // With a pattern of names, all other tests are skipped.
      const unexplained = vitest.config.testNamePattern === undefined ? findUnexplained(tests) : [];
      const wrong = [
        ...modules
          .flatMap(findEmptySuites)
          .map((suite) => `no test in the suite ${suite}: use specIf for tests that may be skipped`),
        ...coverage.errors,
        ...unexplained.map((title) => `skipped without a reason, use specIf: ${title}`),
      ];
      const skips = summariseSkips(tests, fullRun ? coverage.skipped : new Map());
      if (skips.length > 0) vitest.logger.log(['    Skipped', ...skips].join('\n'));
      if (fullRun)
        vitest.logger.log(` Statements  ${coverage.proven} proven, ${coverage.skipped.size} not on this machine`);
      for (const error of wrong) vitest.logger.error(`      error  ${error}`);
      if (wrong.length > 0) process.exitCode = 1;
      const broken = modules.filter((module) => module.state() === 'failed' && !hasFailedTest(module)).length;
      vitest.logger.log(`\n${countTests(tests, wrong.length + errors.length + broken)}`);
    },
  };
}

// Also suites that are skipped, about which vitest says nothing.
function findEmptySuites(module: TestModule): string[] {
  return [...module.children.allSuites()].filter(({ children }) => children.size === 0).map(({ fullName }) => fullName);
}

// A module can fail without a failed test, for example because a suite of it is empty.
function hasFailedTest(module: TestModule): boolean {
  return [...module.children.allTests('failed')].length > 0;
}

function toCounted(test: TestCase): CountedTest {
  const { skipReason, thorough } = test.meta();
  const { state, note } = test.result() as { state: string; note?: string };
  const known = state === 'passed' || state === 'failed' ? state : 'skipped';
  return { title: test.fullName, state: known, skipReason: skipReason ?? note, thorough };
}

function listCitations(module: TestModule): Citation[] {
  return [...module.children.allTests()].flatMap((test) => {
    const { statements, skipReason } = test.meta();
    const { state } = test.result();
    if (statements === undefined) return [];
    const outcome = state === 'pending' ? 'skipped' : state;
    return [{ ids: statements, file: relative(process.cwd(), module.moduleId), outcome, skipReason }];
  });
}
