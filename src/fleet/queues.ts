// The queues of a fleet, one per tag, as a front uses them.

import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { explainFailure, isUnsent, loadBullmq } from './connection.js';
import { sealJob } from './job.js';
import type { FleetKey } from './key.js';
import type { FleetNames } from './names.js';
import { busyIfFull, noQueue, type Ran } from './outcome.js';
import type { Pending } from './pending.js';

export interface Queues {
  /** Adds the present attempt of a call. Throws `unavailable` or `busy` within three seconds. */
  add(call: Pending): Promise<void>;
  /** Removes the present attempt, if it is still waiting. */
  remove(call: Pending): Promise<void>;
  close(): Promise<void>;
}

export interface QueuesOptions {
  readonly redis: Redis;
  readonly key: FleetKey;
  readonly names: FleetNames;
  readonly debug: (message: string) => void;
}

const PATIENCE_MS = 2700;
const PAUSE_MS = 50;
const KEPT_EVENTS = 100;

export function createQueues({ redis, key, names, debug }: QueuesOptions): Queues {
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
    const sealed = sealJob(key, call.job);
    await Promise.all([queueOf(call.tag).add('call', sealed, options), redis.sadd(names.tags, call.tag)]);
  };
  return {
    async add(call) {
      const tool = call.plan.tool.name;
      let last = 'Redis does not answer';
      let isOver = false;
      // Whether Redis may have received it.
      let ran: Ran = 'no';
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          isOver = true;
          reject(noQueue(tool, last, ran));
        }, PATIENCE_MS);
      });
      const attempt = async (): Promise<void> => {
        while (!isOver && !call.isSettled) {
          const before = ran;
          ran = 'maybe';
          try {
            await add(call);
            return;
          } catch (error) {
            if (isUnsent(error)) ran = before;
            const busy = busyIfFull(`${tool} was not run`, error);
            if (busy !== undefined) throw busy;
            last = explainFailure(error);
            debug(`fleet: ${last}`);
            await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
          }
        }
      };
      try {
        await Promise.race([attempt(), late]);
      } finally {
        clearTimeout(timer);
      }
    },
    async remove(call) {
      await queueOf(call.tag)
        .remove(call.jobId)
        .catch((error: Error) => debug(`fleet: ${error.message}`));
    },
    async close() {
      await Promise.all([...queues.values()].map((queue) => queue.close().catch(() => {})));
    },
  };
}
