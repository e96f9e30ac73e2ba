// The claim of a job: set once, by the worker that starts it or the front that withdraws it. It decides what may run (FLT-10).

import type { Redis } from 'ioredis';
import type { FleetNames } from './names.js';

/** The claim of a front. */
export const WITHDRAWN = 'front';

// Allowed if Redis is full: calls are started, and cancelled, all the same.
const CLAIM = `#!lua flags=allow-oom
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX')`;

/** Claims a job; false if it was claimed before. */
export async function claimJob(
  redis: Redis,
  names: FleetNames,
  jobId: string,
  { by, keepMs }: { readonly by: string; readonly keepMs: number },
): Promise<boolean> {
  return (await redis.eval(CLAIM, 1, names.claim(jobId), by, Math.ceil(keepMs))) === 'OK';
}
