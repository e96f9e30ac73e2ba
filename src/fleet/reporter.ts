// What a worker writes to Redis about a job: that it starts it, messages to the front, and the result.

import type { Redis } from 'ioredis';
import { claimJob, WITHDRAWN } from './claim.js';
import { type Job, type JobResult, type Reply, sealReply, sealResult, toJobId } from './job.js';
import type { FleetKey } from './key.js';
import type { FleetNames } from './names.js';
import { REPLIES_MS } from './presence.js';

export interface Reporter {
  /** Claims a job for a worker; false if it was started or withdrawn before. */
  claim(job: Job, worker: string, timeoutMs: number): Promise<boolean>;
  send(job: Job, reply: Reply): Promise<void>;
  /** Stores the result and tells the front, unless another worker claimed the job meanwhile. */
  finish(job: Job, result: JobResult): Promise<void>;
}

export interface ReporterOptions {
  readonly redis: Redis;
  readonly key: FleetKey;
  readonly names: FleetNames;
  readonly debug: (message: string) => void;
}

const KEPT_REPLIES = 20_000;
// A front that is gone gets no messages. One that has been silent for less than a minute may only be slow, or cut off.
const SEND = `
local seen = redis.call('ZSCORE', KEYS[1], ARGV[1])
local now = redis.call('TIME')[1] * 1000
if not seen or seen + ${REPLIES_MS} < now then return 0 end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ${KEPT_REPLIES}, '*', 'job', ARGV[2], 'sealed', ARGV[3])
redis.call('PEXPIRE', KEYS[2], ${REPLIES_MS})
return 1`;
// Allowed if Redis is full: a call that ran is answered. If Redis lost the claim, it is set again, so that nobody else runs
// the job; if another worker has it by now, the result of that one counts (FLT-77). What ran counts although a front, which
// could not know, withdrew it.
const FINISH = `#!lua flags=allow-oom
local by = redis.call('GET', KEYS[4])
if by and by ~= ARGV[6] and (by ~= '${WITHDRAWN}' or ARGV[8] == 'no') then return 0 end
redis.call('SET', KEYS[4], ARGV[6], 'PX', ARGV[7], 'NX')
redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[5])
${SEND}`;

export function createReporter({ redis, key, names, debug }: ReporterOptions): Reporter {
  const toFront = ({ front }: Job): [string, string] => [names.peers('front'), names.replies(front)];
  return {
    // The claim outlives the job, whose deadline is in it, and the time in which a call is known by its key.
    claim: (job, by, timeoutMs) => claimJob(redis, names, toJobId(job), { by, keepMs: timeoutMs + job.keepMs }),
    async send(job, reply) {
      const jobId = toJobId(job);
      try {
        await redis.eval(SEND, 2, ...toFront(job), job.front, jobId, sealReply(key, jobId, reply));
      } catch (error) {
        debug(`fleet: a message was not sent: ${(error as Error).message}`);
      }
    },
    async finish(job, result) {
      const jobId = toJobId(job);
      const done = sealReply(key, jobId, { type: 'done' });
      const keys = [...toFront(job), names.result(job.id), names.claim(jobId)];
      const sealed = sealResult(key, job.id, result);
      const claim = [result.worker, Math.ceil(job.timeoutMs + job.keepMs), result.started ? 'yes' : 'no'];
      await redis.eval(FINISH, 4, ...keys, job.front, jobId, done, sealed, job.keepMs, ...claim);
    },
  };
}
