// What a worker writes to Redis about a job: messages to its front, offers to run it (FLT-10), and the result.

import { settlesWithin } from '../core/time-limit.js';
import { type Job, type JobResult, type Order, type Reply, sealMessage, toJobId } from './job.js';
import { type FleetLink, newId } from './peer.js';
import { REPLIES_MS } from './presence.js';

export type Reporter = ReturnType<typeof createReporter>;

const KEPT_REPLIES = 20_000;
// A front that is gone gets no messages. One that has been silent for less than a minute may only be slow, or cut off.
const SEND = `
local seen = redis.call('ZSCORE', KEYS[1], ARGV[1])
local now = redis.call('TIME')[1] * 1000
if not seen or seen + ${REPLIES_MS} < now then return 0 end
redis.call('XADD', KEYS[2], 'MAXLEN', '~', ${KEPT_REPLIES}, '*', 'job', ARGV[2], 'sealed', ARGV[3])
redis.call('PEXPIRE', KEYS[2], ${REPLIES_MS})
return 1`;
// Jobs of a front that is gone must not keep a worker waiting.
const OFFER = `#!lua flags=allow-oom
if redis.call('EXISTS', KEYS[3]) == 0 then return 0 end${SEND}`;
// Allowed if Redis is full: a call that was queued is run, and one that ran is answered.
const SEND_ALWAYS = `#!lua flags=allow-oom${SEND}`;
const FINISH = `#!lua flags=allow-oom
redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[5])${SEND}`;
const OPTIONAL: readonly Reply['type'][] = ['progress', 'log', 'output'];

export function createReporter({ redis, key, names, debug }: FleetLink) {
  const toFront = ({ front }: Job): [string, string] => [names.peers('front'), names.replies(front)];
  return {
    /** Sends a message to the front of a job; false if the front is gone. */
    async send(job: Job, reply: Reply): Promise<boolean> {
      const jobId = toJobId(job);
      const script = reply.type === 'offer' ? OFFER : OPTIONAL.includes(reply.type) ? SEND : SEND_ALWAYS;
      const keys = [...toFront(job), names.peer(job.front)];
      try {
        return (await redis.eval(script, 3, ...keys, job.front, jobId, sealMessage(key, 'reply', jobId, reply))) === 1;
      } catch (error) {
        debug(`fleet: a message was not sent: ${(error as Error).message}`);
        return true;
      }
    },
    /** Stores the result and tells the front. */
    async finish(job: Job, result: JobResult): Promise<void> {
      const jobId = toJobId(job);
      const done = sealMessage(key, 'reply', jobId, { type: 'done' });
      const keys = [...toFront(job), names.result(job.id)];
      await redis.eval(
        FINISH,
        3,
        ...keys,
        job.front,
        jobId,
        done,
        sealMessage(key, 'result', job.id, result),
        job.keepMs,
      );
    },
  };
}

export type Offers = ReturnType<typeof createOffers>;

// Messages to workers can be lost, so an offer is repeated.
const REPEAT_MS = 400;
const TIMES = 12;
// How long the jobs of a front that is gone are left at once.
const GONE_MS = 5000;

/** Offers of a worker, each accepted by its front once. */
export function createOffers(worker: string, reporter: Reporter) {
  const waiting = new Map<string, (mayRun: boolean) => void>();
  const gone = new Set<string>();
  const isGone = (front: string): boolean => {
    if (gone.has(front)) return true;
    gone.add(front);
    setTimeout(() => gone.delete(front), GONE_MS).unref();
    return false;
  };
  return {
    /** Returns whether to run a job; false if the front says no, or nothing. */
    async ask(job: Job): Promise<boolean> {
      const nonce = newId();
      const answered = new Promise<boolean>((resolve) => waiting.set(`${toJobId(job)} ${nonce}`, resolve));
      try {
        for (let time = 0; time < TIMES; time++) {
          // A sign of life may be late; the second one decides.
          if (!(await reporter.send(job, { type: 'offer', worker, nonce })) && isGone(job.front)) return false;
          if (await settlesWithin(answered, REPEAT_MS)) return await answered;
        }
      } finally {
        // From here on an answer to this offer does not count.
        waiting.delete(`${toJobId(job)} ${nonce}`);
      }
      await reporter.send(job, { type: 'declined', nonce });
      return false;
    },
    /** Takes the answer of a front. */
    answer({ type, jobId, nonce }: Order & { readonly nonce: string }): void {
      waiting.get(`${jobId} ${nonce}`)?.(type === 'run');
    },
  };
}
