// The lines that end a test run: what was skipped, why and what would run it, and the counts.

/** A test of a run, as far as the summary needs it. */
export interface CountedTest {
  readonly title: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped on this machine. */
  readonly skipReason?: string | undefined;
  /** Whether it was skipped because it is for `npm run thorough`. */
  readonly thorough?: boolean | undefined;
}

const FURTHER = 'further tests, which take long; to run: npm run thorough';

/** Returns a line per reason, those with most tests first. `unproven` are statements whose only tests were skipped. */
export function summariseSkips(tests: readonly CountedTest[], unproven: ReadonlyMap<string, string>): string[] {
  const counts = new Map<string, number>();
  for (const test of tests) {
    const reason = reasonOf(test);
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => {
      const statements = [...unproven.values()].filter((other) => other === reason).length;
      const only = statements === 0 ? '' : ` (${statements} ${statements === 1 ? 'statement' : 'statements'} unproven)`;
      return `${String(count).padStart(6)}  ${reason}${only}`;
    });
}

/** Returns the titles of tests that were skipped without a reason. */
export function findUnexplained(tests: readonly CountedTest[]): string[] {
  return tests.filter((test) => test.state === 'skipped' && reasonOf(test) === undefined).map(({ title }) => title);
}

/** Returns the last line of a run. `errors` are faults that are not those of one test. */
export function countTests(tests: readonly CountedTest[], errors: number): string {
  const count = (state: CountedTest['state']): number => tests.filter((test) => test.state === state).length;
  return `${count('passed')} passed, ${count('failed') + errors} failed, ${count('skipped')} skipped`;
}

function reasonOf({ state, skipReason, thorough }: CountedTest): string | undefined {
  if (state !== 'skipped') return undefined;
  return thorough === true ? FURTHER : skipReason;
}
