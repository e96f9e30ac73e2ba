// Offers of a worker to run a job, which its front accepts once (FLT-10).

import { settlesWithin } from '../core/time-limit.js';
import { type Job, type Order, toJobId } from './job.js';
import { newId } from './peer.js';
import type { Reporter } from './reporter.js';

export type Offers = ReturnType<typeof createOffers>;

// Messages to workers can be lost, so an offer is repeated.
const REPEAT_MS = 400;
const TIMES = 12;
// How long the jobs of a front that is gone are left at once.
const GONE_MS = 5000;

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
