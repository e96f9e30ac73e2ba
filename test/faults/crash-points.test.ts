// A random sample of the points at which `npm run crash-points` interrupts operations.

import { expect } from 'vitest';
import { GROUPS } from '../support/crash-operations.js';
import { prepareOperation, tryPoint } from '../support/crash-points.js';
import { THOROUGH } from '../support/effort.js';
import { specIf } from '../support/spec.js';
import { FAULTS, hasStrace } from '../support/strace.js';

const SEED = Number(process.env.WIELD_CRASH_SEED ?? (Date.now() % 1_000_000) + 1);
const POINTS = THOROUGH ? 60 : 5;

let state = SEED;
function pick<T>(values: readonly T[]): T {
  state = (state * 48271) % 2147483647;
  return values[state % values.length]!;
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
    'no strace',
    ids,
    `${title} leaves the old or the new state (${operation.name}; WIELD_CRASH_SEED=${SEED})`,
    async () => {
      const prepared = await prepareOperation(operation);
      const failures: string[] = [];
      try {
        for (let tried = 0; tried < POINTS; tried++) {
          const fault = pick(FAULTS);
          const step = pick(prepared.steps.filter(({ isStart }) => fault === 'KILL' || !isStart));
          const outcome = await tryPoint(prepared, step, fault);
          const command = `npm run crash-points -- --only '${operation.name}' --fault ${fault} --at ${step.call}:${step.at}`;
          failures.push(...outcome.failures.map((text) => `${command}\n${text}`));
        }
      } finally {
        prepared.place.remove();
      }
      expect(failures).toEqual([]);
    },
    240_000,
  );
}
