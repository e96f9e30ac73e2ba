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

const POLL_MS = 250;
/** How long something must seem wrong while Redis answers. A worker reconnects in less. */
const CONFIRM_MS = 900;
/** How often it must be seen: time also passes while this process does not run and replies wait to be read. */
const CONFIRM_TIMES = 4;
const UNLISTED_MS = 2500;
const NO_WORKER_MS = 30_000;

interface Seen {
  readonly claim: string | null;
  /** The worker that took the job from the queue; it may not have started it. */
  readonly taken: string | null;
  readonly isKnown: boolean;
}

/** Watches calls until it is closed. */
export class Watch {
  /** Number of waiting calls of all fronts, by tag. */
  readonly waiting = new Map<string, number>();
  /** Number of connected workers. */
  workers = 0;
  readonly #options: WatchOptions;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    void this.#loop();
  }

  /** Fetches the result of a call, if there is one. */
  async fetch(call: Pending): Promise<boolean> {
    const { redis, key, names } = this.#options;
    const sealed = await redis.get(names.result(call.job.id));
    if (sealed === null || call.isSettled) return call.isSettled;
    call.resolve(openResult(key, call.job.id, sealed));
    return true;
  }

  /** Withdraws an attempt; true if no worker started it, and none will. */
  withdraw({ jobId, job }: Pending): Promise<boolean> {
    const { redis, names } = this.#options;
    return claimJob(redis, names, jobId, { by: WITHDRAWN, keepMs: job.timeoutMs + job.keepMs });
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  async #loop(): Promise<void> {
    try {
      await this.#poll();
    } catch (error) {
      // Nothing is known while Redis does not answer.
      for (const call of this.#options.pending.values()) call.suspicion = undefined;
      this.#options.debug(`fleet: ${(error as Error).message}`);
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#loop(), POLL_MS);
  }

  async #poll(): Promise<void> {
    const { redis, names, pending } = this.#options;
    const calls = [...pending.values()].filter((call) => call.isQueued && !call.isCancelled && !call.isSettled);
    const tags = [...new Set([...this.waiting.keys(), ...calls.map(({ tag }) => tag)])];
    const workers = new Map((await listPeers(redis, names, 'worker')).map((info) => [info.id, info]));
    this.workers = workers.size;
    const running = new Set([...workers.values()].flatMap(({ running: ids = [] }) => ids));
    // Most calls are running on a worker that lives, so that nothing needs to be asked about them.
    const unsure = calls.filter((call) => call.worker === undefined || !running.has(call.jobId));
    const [lengths, seen] = await Promise.all([
      Promise.all(tags.map((tag) => redis.llen(names.waiting(tag)))),
      Promise.all(unsure.map((call) => look(redis, names, call))),
    ]);
    tags.forEach((tag, at) => {
      this.waiting.set(tag, lengths[at]!);
    });
    for (const call of calls) if (!unsure.includes(call)) call.suspicion = undefined;
    await Promise.all(unsure.map((call, at) => (call.isSettled ? undefined : this.#judge(call, seen[at]!, workers))));
  }

  async #judge(call: Pending, seen: Seen, workers: Workers): Promise<void> {
    const { repeat, onLost } = this.#options;
    if (seen.claim === WITHDRAWN) {
      // By another front that waited for the same call.
      if (!(await this.fetch(call))) repeat(call);
      return;
    }
    if (seen.claim !== null) call.worker = seen.claim;
    const { worker } = call;
    if (worker === undefined) return this.#judgeWaiting(call, seen, workers);
    if (runs(workers, worker, call)) call.suspicion = undefined;
    else if (!(await this.fetch(call)) && this.#isConfirmed(call, workers.has(worker))) {
      onLost(worker);
      if (call.mayRepeat) repeat(call);
      else call.reject(lostWorker(call.plan.tool.name, worker));
    }
  }

  async #judgeWaiting(call: Pending, { isKnown, taken }: Seen, workers: Workers): Promise<void> {
    const { monotonic, remove, repeat } = this.#options;
    const tool = call.plan.tool.name;
    if (!isKnown || (taken !== null && !runs(workers, taken, call))) {
      if ((await this.fetch(call)) || !this.#isConfirmed(call, isKnown && workers.has(taken!))) return;
      const isWithdrawn = await this.withdraw(call);
      // Taken, not started: certain only while Redis still knows the job.
      if ((isWithdrawn && isKnown) || call.mayRepeat) repeat(call);
      else if (isWithdrawn) call.reject(lostCall(tool));
      return;
    }
    call.suspicion = undefined;
    const canRun = [...workers.values()].some(({ tags = [] }) => call.tag === '' || tags.includes(call.tag));
    call.idleSince = canRun ? undefined : (call.idleSince ?? monotonic());
    if (call.idleSince === undefined || monotonic() - call.idleSince < NO_WORKER_MS) return;
    if (!(await this.withdraw(call))) return;
    await remove(call);
    call.reject(noWorker(tool, call.tag));
  }

  /** Whether something has been wrong for long enough; a worker that lives tells soon which jobs it runs. */
  #isConfirmed(call: Pending, isAlive: boolean): boolean {
    const now = this.#options.monotonic();
    call.suspicion ??= { since: now, times: 0 };
    call.suspicion.times++;
    return call.suspicion.times >= CONFIRM_TIMES && now - call.suspicion.since >= (isAlive ? UNLISTED_MS : CONFIRM_MS);
  }
}

type Workers = ReadonlyMap<string, PeerInfo>;

function runs(workers: Workers, id: string, { jobId }: Pending): boolean {
  return workers.get(id)?.running?.includes(jobId) === true;
}

async function look(redis: Redis, names: FleetNames, call: Pending): Promise<Seen> {
  const [claim, fields] = await Promise.all([
    redis.get(names.claim(call.jobId)),
    redis.hmget(names.job(call.tag, call.jobId), 'name', 'pb'),
  ]);
  return { claim, isKnown: fields[0] !== null, taken: fields[1] ?? null };
}
