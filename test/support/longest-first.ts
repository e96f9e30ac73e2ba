// Order of the test files of a run.

import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Those that take longest on an idle machine, although they are not the largest files.
const LONGEST = [
  'gates/readme',
  'browser/page',
  'attacks/one-policy',
  'gates/examples',
  'faults/crash-points',
  'e2e/mcp-server/lifecycle',
  'faults/upstream',
  'attacks/one-policy-offers',
  'e2e/mcp-server/foreign-clients',
  'gates/package',
  'faults/store',
  'attacks/slow-clients',
].map((name) => `/test/${name}.test.ts`);

/** Starts the files that take longest first, so that none of them runs alone at the end. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONGEST.some((path) => moduleId.endsWith(path));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
