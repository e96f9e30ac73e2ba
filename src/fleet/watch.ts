// Watches the calls that a front waits for: whether their workers live, and whether Redis still knows them (FLT-10).

import type { Redis } from 'ioredis';
import { claimJob, WITHDRAWN } from './claim.js';
import { openResult } from './job.js';
import type { FleetKey } from './key.js';
import type { FleetNames } from './names.js';
import { lostCall, lostWorker, noWorker } from './outcome.js';
import type { Pending } from './pending.js';
import { listPeers, type PeerInfo } from './presence.js';

export interface WatchOptions {
  readonly redis: Redis;
  readonly key: FleetKey;
  readonly names: FleetNames;
  readonly pending: ReadonlyMap<string, Pending>;
  readonly monotonic: () => number;
  /** Removes a withdrawn call from the queue. */
  readonly remove: (call: Pending) => Promise<void>;
  /** Queues a call again. */
  readonly repeat: (call: Pending) => void;
  readonly onLost: (worker: string) => void;
  readonly debug: (message: string) => void;
}

export interface Watch {
  /** Number of waiting calls of all fronts, by tag. */
  readonly waiting: ReadonlyMap<string, number>;
  /** Fetches the result of a call, if there is one. */
  fetch(call: Pending): Promise<boolean>;
  /** Withdraws an attempt; true if no worker started it, and none will. */
  withdraw(call: Pending): Promise<boolean>;
  close(): void;
}

const POLL_MS = 250;
/** How long something must seem wrong while Redis answers. A worker reconnects in less. */
const CONFIRM_MS = 900;
const UNLISTED_MS = 2500;
const NO_WORKER_MS = 30_000;

interface Seen {
  readonly claim: string | null;
  /** The worker that took the job from the queue; it may not have started it. */
  readonly taken: string | null;
  readonly isKnown: boolean;
}

export function createWatch(options: WatchOptions): Watch {
  const { redis, key, names, pending, monotonic, remove, repeat, onLost, debug } = options;
  const waiting = new Map<string, number>();
  const fetch = async (call: Pending): Promise<boolean> => {
    const sealed = await redis.get(names.result(call.job.id));
    if (sealed === null || call.isSettled) return call.isSettled;
    call.resolve(openResult(key, call.job.id, sealed));
    return true;
  };
  const withdraw = ({ jobId, job }: Pending): Promise<boolean> =>
    claimJob(redis, names, jobId, { by: WITHDRAWN, keepMs: job.timeoutMs + job.keepMs });
  /** Whether something has been wrong for long enough; a worker that lives tells soon which jobs it runs. */
  const isConfirmed = (call: Pending, isAlive: boolean): boolean => {
    call.suspectSince ??= monotonic();
    return monotonic() - call.suspectSince >= (isAlive ? UNLISTED_MS : CONFIRM_MS);
  };
  const judge = async (call: Pending, seen: Seen, workers: ReadonlyMap<string, PeerInfo>): Promise<void> => {
    const runs = (id: string): boolean => workers.get(id)?.running?.includes(call.jobId) === true;
    if (seen.claim === WITHDRAWN) {
      // By another front that waited for the same call.
      if (!(await fetch(call))) repeat(call);
      return;
    }
    if (seen.claim !== null) call.worker = seen.claim;
    const { worker } = call;
    if (worker !== undefined) {
      if (runs(worker)) call.suspectSince = undefined;
      else if (!(await fetch(call)) && isConfirmed(call, workers.has(worker))) {
        onLost(worker);
        if (call.mayRepeat) repeat(call);
        else call.reject(lostWorker(call.plan.tool.name, worker));
      }
      return;
    }
    if (!seen.isKnown || (seen.taken !== null && !runs(seen.taken))) {
      if ((await fetch(call)) || !isConfirmed(call, seen.isKnown && workers.has(seen.taken!))) return;
      const isWithdrawn = await withdraw(call);
      // Taken, not started: certain only while Redis still knows the job.
      if ((isWithdrawn && seen.isKnown) || call.mayRepeat) repeat(call);
      else if (isWithdrawn) call.reject(lostCall(call.plan.tool.name));
      return;
    }
    call.suspectSince = undefined;
    if ([...workers.values()].some(({ tags = [] }) => call.tag === '' || tags.includes(call.tag))) {
      call.idleSince = undefined;
      return;
    }
    call.idleSince ??= monotonic();
    if (monotonic() - call.idleSince < NO_WORKER_MS) return;
    if (!(await withdraw(call))) return;
    await remove(call);
    call.reject(noWorker(call.plan.tool.name, call.tag));
  };

  const poll = async (): Promise<void> => {
    const calls = [...pending.values()].filter((call) => call.isQueued && !call.isCancelled && !call.isSettled);
    const tags = [...new Set([...waiting.keys(), ...calls.map(({ tag }) => tag)])];
    const workers = new Map((await listPeers(redis, names, 'worker')).map((info) => [info.id, info]));
    const running = new Set([...workers.values()].flatMap(({ running: ids = [] }) => ids));
    // Most calls are running on a worker that lives, so that nothing needs to be asked about them.
    const unsure = calls.filter((call) => call.worker === undefined || !running.has(call.jobId));
    const [lengths, seen] = await Promise.all([
      Promise.all(tags.map((tag) => redis.llen(names.waiting(tag)))),
      Promise.all(unsure.map((call) => look(redis, names, call))),
    ]);
    tags.forEach((tag, at) => {
      waiting.set(tag, lengths[at]!);
    });
    for (const call of calls) if (!unsure.includes(call)) call.suspectSince = undefined;
    await Promise.all(unsure.map((call, at) => (call.isSettled ? undefined : judge(call, seen[at]!, workers))));
  };
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;
  const loop = async (): Promise<void> => {
    try {
      await poll();
    } catch (error) {
      // Nothing is known while Redis does not answer.
      for (const call of pending.values()) call.suspectSince = undefined;
      debug(`fleet: ${(error as Error).message}`);
    }
    if (!isClosed) timer = setTimeout(() => void loop(), POLL_MS);
  };
  void loop();
  return {
    waiting,
    fetch,
    withdraw,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

async function look(redis: Redis, names: FleetNames, call: Pending): Promise<Seen> {
  const [claim, fields] = await Promise.all([
    redis.get(names.claim(call.jobId)),
    redis.hmget(names.job(call.tag, call.jobId), 'name', 'pb'),
  ]);
  return { claim, isKnown: fields[0] !== null, taken: fields[1] ?? null };
}
