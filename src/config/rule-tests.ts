// The tables `[[trust.tests]]`: what rules must decide.

import type { Problem } from '../core/problem.js';
import type { Policy } from '../core/rule.js';
import { findTestFault, type RuleTest } from '../policy/rule-tests.js';
import { type ConfigValue, LAYERS } from './value.js';

export interface RuleTests {
  /** How many tests passed. */
  readonly passed: number;
  /** One for each test that failed. */
  readonly problems: readonly Problem[];
  /** Why nothing may run, if one failed. */
  readonly fault?: string;
}

// What a command may spend on them when it starts: each test is compared with each rule.
const MAX_COMPARISONS = 500_000;

/**
 * Runs the tests of all files. Those of a layer see the rules of that layer and the layers above: nobody else can break
 * them.
 */
export function runRuleTests(
  values: readonly ConfigValue[],
  policyOf: (values: readonly ConfigValue[]) => Policy,
  now: number,
): RuleTests {
  const tests = values.filter(({ path }) => path[0] === 'trust' && path[1] === 'tests');
  const [first] = tests;
  if (first === undefined) return { passed: 0, problems: [] };
  const rules = values.reduce((sum, value) => sum + (value.rules?.length ?? 0), 0);
  if (tests.length * (rules + 1) > MAX_COMPARISONS)
    return toFailed([toProblem(first, `${tests.length} tests of ${rules} rules are too many`, 'keep fewer of them')]);
  const policies = LAYERS.map((_, at) => policyOf(values.filter(({ layer }) => LAYERS.indexOf(layer) <= at)));
  const problems = tests.flatMap((test) => {
    const fault = findTestFault(test.value as RuleTest, policies[LAYERS.indexOf(test.layer)]!, now);
    return fault === undefined ? [] : [toProblem(test, fault, 'fix the rules, or the test')];
  });
  return problems.length === 0
    ? { passed: tests.length, problems }
    : { ...toFailed(problems), passed: tests.length - problems.length };
}

function toFailed(problems: readonly Problem[]): RuleTests {
  const [{ path, line, message }] = problems as [Problem, ...Problem[]];
  return { passed: 0, problems, fault: `${path}:${line}: ${message}` };
}

function toProblem({ file, line }: ConfigValue, message: string, hint: string): Problem {
  return { severity: 'error', path: file, line, message, hint };
}
