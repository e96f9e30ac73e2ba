// A sample of the points at which `npm run crash-points` interrupts operations.

import { expect, test } from 'vitest';
import { GROUPS, OPERATIONS } from '../support/crash-operations.js';
import { compareTrees, createCrashPlace } from '../support/crash-place.js';
import { type Prepared, prepareOperation, tryPoint } from '../support/crash-points.js';
import { ALL_TESTS, rounds, SEED } from '../support/effort.js';
import { specIf } from '../support/spec.js';
import { FAULTS, type Fault, hasStrace, NO_STRACE, type Step } from '../support/strace.js';

const POINTS = rounds(ALL_TESTS ? 2 : 1, 60);
const REGRESSIONS = rounds(ALL_TESTS ? 4 : 1, 10);

let state = SEED + 1;
function pick<T>(values: readonly T[]): T {
  state = (state * 48271) % 2147483647;
  return values[state % values.length]!;
}

/** Interrupts an operation at a step and returns what went wrong, with the command that repeats it. */
async function findFailures(prepared: Prepared, step: Step, fault: Fault): Promise<string[]> {
  const { missed, failures } = await tryPoint(prepared, step, fault);
  const point = `--only '${prepared.operation.name}' --fault ${fault} --at ${step.call}:${step.at}`;
  return [...(missed ? ['not reached'] : []), ...failures].map((text) => `npm run crash-points -- ${point}\n${text}`);
}

for (const [title, ids, operations] of [
  ['F01 F06 F07 an installation', 'INS-31 INS-23', GROUPS.installing],
  ['F02 F06 F07 recovery', 'INS-31 STA-4', GROUPS.recovering],
  ['clean', 'CLI-16 STA-4', GROUPS.cleaning],
  ['F04 F06 F07 a context write', 'CTX-50', GROUPS.context],
  ['F06 F07 an approval', 'POL-7', GROUPS.approving],
  ['F06 F07 trust or a pin', 'POL-20 POL-21', GROUPS.consent],
  ['F03 F06 F07 a record', 'OBS-2', GROUPS.records],
] as const) {
  const operation = pick(operations);
  specIf(
    hasStrace,
    NO_STRACE,
    ids,
    `${title} leaves the old or the new state (${operation.name}; WIELD_SEED=${SEED})`,
    async () => {
      const prepared = await prepareOperation(operation);
      const failures: string[] = [];
      try {
        for (let tried = 0; tried < POINTS; tried++) {
          const fault = pick(FAULTS);
          const step = pick(prepared.steps.filter(({ isStart }) => fault === 'KILL' || !isStart));
          failures.push(...(await findFailures(prepared, step, fault)));
        }
      } finally {
        prepared.place.remove();
      }
      expect(failures).toEqual([]);
    },
    240_000,
  );
}

test('files whose names differ only by a time or a random part are compared one by one', () => {
  const place = createCrashPlace();
  const write = (...times: readonly number[]) => {
    place.write(Object.fromEntries(times.map((time) => [`home/a.standing-17000000000${time}.json`, String(time)])));
    return place.tree();
  };
  try {
    const one = write(11);
    const two = write(10);
    expect([...two.values()].map((content) => content.split(' ')[1])).toEqual(['10', '11']);
    expect(compareTrees(two, one)).not.toEqual([]);
    expect(compareTrees(two, two)).toEqual([]);
  } finally {
    place.remove();
  }
});

// Points at which a state was once neither the old nor the new one, or an error did not name its reason.
const POINTS_ONCE_WRONG = [
  ['INS-31 STA-4', 'install', 'KILL', /^write .*\/\.staging-.*SKILL\.md$/],
  ['INS-31 POL-21', 'upgrade', 'KILL', /^unlink .*install\.journal$/],
  ['INS-31', 'recovery of an uninstall', 'KILL', /^rename .*\.wield-link-RANDOM .*\.claude\/skills\/scan$/],
  ['INS-31', 'recovery of a finished upgrade', 'ENOSPC', /^rmdir .*\/objects$/],
  ['CLI-16', 'clean', 'EIO', /^unlink .*pending\.json$/],
  ['CTX-50', 'changed document', 'ENOSPC', /^pwrite64 .*documents\.db-wal$/],
  ['POL-7', 'approve always', 'KILL', /^rename .*\.last\.json$/],
  ['POL-21', 'accept a changed tool', 'KILL', /^mkdir .*cache\/upstream$/],
  ['POL-20', 'trust', 'EIO', /^mkdir /],
  ['INS-31', 'remove-source', 'ENOSPC', /^unlink .*\.wield\/wield\.lock$/],
] as const;

const first = pick(POINTS_ONCE_WRONG.map((_, at) => at));
for (let number = 0; number < REGRESSIONS; number++) {
  const [ids, name, fault, what] = POINTS_ONCE_WRONG[(first + number) % POINTS_ONCE_WRONG.length]!;
  specIf(
    hasStrace,
    NO_STRACE,
    ids,
    `${name}, ${fault} at ${what.source} (WIELD_SEED=${SEED})`,
    async () => {
      const prepared = await prepareOperation(OPERATIONS.find((operation) => operation.name === name)!);
      try {
        const step = prepared.steps.find((one) => what.test(one.what));
        expect(step).toBeDefined();
        expect(await findFailures(prepared, step!, fault)).toEqual([]);
      } finally {
        prepared.place.remove();
      }
    },
    240_000,
  );
}
