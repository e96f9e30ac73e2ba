// Limits on real time, scaled by how slow or busy the machine is: a test must not fail because it had to wait for a core.

import { pbkdf2Sync } from 'node:crypto';
import { availableParallelism, loadavg } from 'node:os';

const SLOWNESS_VARIABLE = 'WIELD_TEST_SLOWNESS';
/** How long the work below takes on an idle machine of today. */
const USUAL_MS = 40;
const MOST = 30;

/** Measured once per run, when the configuration is read, and passed on to the workers. */
process.env[SLOWNESS_VARIABLE] ??= `${measure()}`;
const slowness = Number(process.env[SLOWNESS_VARIABLE]);

/** Returns a time limit for this machine: at least twice the given one, since other work may start later. */
export function patience(milliseconds: number): number {
  return Math.min(Math.round(milliseconds * 2 * slowness), 2 ** 31 - 1);
}

function measure(): number {
  const began = performance.now();
  pbkdf2Sync('a', 'b', 100_000, 32, 'sha256');
  const slow = (performance.now() - began) / USUAL_MS;
  const busy = loadavg()[0]! / availableParallelism();
  return Math.min(Math.max(1, slow, busy), MOST);
}
