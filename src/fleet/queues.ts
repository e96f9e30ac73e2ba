// The queues of a fleet, one per tag, as a front uses them.

import type { Queue } from 'bullmq';
import { pause } from '../core/async.js';
import { settlesWithin } from '../core/time-limit.js';
import { explainFailure, loadBullmq } from './connection.js';
import { sealMessage } from './job.js';
import { busyIfFull, noQueue, notRun } from './outcome.js';
import type { FleetLink } from './peer.js';
import type { Pending } from './pending.js';

export type Queues = ReturnType<typeof createQueues>;

const PATIENCE_MS = 2700;
const PAUSE_MS = 50;
const KEPT_EVENTS = 100;

export function createQueues({ redis, key, names, debug }: FleetLink) {
  const { Queue: BullQueue } = loadBullmq();
  const queues = new Map<string, Queue>();
  const queueOf = (tag: string): Queue => {
    let queue = queues.get(tag);
    if (queue === undefined) {
      const options = { connection: redis, prefix: names.prefix, streams: { events: { maxLen: KEPT_EVENTS } } };
      queue = new BullQueue(names.queue(tag), options);
      queue.on('error', (error: Error) => debug(`fleet: ${error.message}`));
      queues.set(tag, queue);
    }
    return queue;
  };
  const add = async (call: Pending): Promise<void> => {
    const { jobId } = call;
    // Adding the same id twice is adding it once, so that it can be tried again.
    const options = { jobId, removeOnComplete: true, removeOnFail: true, stackTraceLimit: 0 };
    const sealed = sealMessage(key, 'job', jobId, call.job);
    await queueOf(call.tag).add('call', sealed, options);
    // Only shown by the status.
    redis.sadd(names.tags, call.tag).catch((error: Error) => debug(`fleet: ${error.message}`));
  };
  return {
    /** Adds the present attempt of a call. Throws `unavailable` or `busy` within three seconds; it may be in the queue even so. */
    async add(call: Pending): Promise<void> {
      const tool = call.plan.tool.name;
      let last = 'Redis does not answer';
      let isOver = false;
      const attempt = async (): Promise<void> => {
        while (!isOver && !call.isSettled) {
          try {
            return await add(call);
          } catch (error) {
            const busy = busyIfFull(notRun(tool, false), error);
            if (busy !== undefined) throw busy;
            last = explainFailure(error);
            debug(`fleet: ${last}`);
            await pause(PAUSE_MS);
          }
        }
      };
      try {
        if (!(await settlesWithin(attempt(), PATIENCE_MS))) throw noQueue(tool, last);
      } finally {
        isOver = true;
      }
    },
    /** Removes the present attempt, if it is still waiting. */
    async remove(call: Pending): Promise<void> {
      await queueOf(call.tag)
        .remove(call.jobId)
        .catch((error: Error) => debug(`fleet: ${error.message}`));
    },
    async close(): Promise<void> {
      await Promise.all([...queues.values()].map((queue) => queue.close().catch(() => {})));
    },
  };
}
