// Vitest reporter that checks the statements of spec/ and the catalogue of attacks against the tests that ran, and fails
// the run if they differ.

import { relative } from 'node:path';
import type { Reporter, TestCase, TestModule, TestSpecification, Vitest } from 'vitest/node';
import { type ClosingTest, findUnproven, findUntested, type TitledTest } from './catalogue.js';
import { type Citation, checkCoverage, readStatements } from './statements.js';

export function createSpecReporter(): Reporter {
  let vitest: Vitest;
  let fullRun = false;
  return {
    onInit(instance) {
      vitest = instance;
    },
    async onTestRunStart(specifications: readonly TestSpecification[]) {
      const all = await vitest.globTestSpecifications();
      fullRun = specifications.length === all.length && vitest.config.testNamePattern === undefined;
    },
    onTestRunEnd(modules, _errors, reason) {
      if (reason === 'interrupted') return;
      const { proven, skipped, errors } = checkCoverage(readStatements(), modules.flatMap(listCitations), fullRun);
      if (fullRun) vitest.logger.log(` Statements  ${proven} proven, ${skipped.length} skipped`);
      if (fullRun) for (const statement of skipped) vitest.logger.log(`    skipped  ${statement}`);
      const untested = fullRun ? findUntested(modules.flatMap(listTitles)) : [];
      const unproven = fullRun ? findUnproven(modules.flatMap(listFindings)) : [];
      const all = [
        ...errors,
        ...untested.map((id) => `no passed test has ${id} in its title`),
        ...unproven.map((id) => `no passed test closes ${id}`),
      ];
      for (const error of all) vitest.logger.error(`      error  ${error}`);
      if (all.length > 0) process.exitCode = 1;
    },
  };
}

function listFindings(module: TestModule): ClosingTest[] {
  return [...module.children.allTests()].map((test) => ({
    findings: test.meta().findings ?? [],
    counts: counts(test),
  }));
}

function counts(test: TestCase): boolean {
  return test.result().state === 'passed' || test.meta().skipReason !== undefined;
}

function listTitles(module: TestModule): TitledTest[] {
  return [...module.children.allTests()].map((test) => ({ title: test.fullName, counts: counts(test) }));
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
