// Watches the calls that a front waits for: whether their workers live, and whether Redis still knows them (FLT-10).

import type { Redis } from 'ioredis';
import { isToolError } from '../core/error.js';
import { openMessage } from './job.js';
import type { KeyedCalls } from './keyed-calls.js';
import type { FleetNames } from './names.js';
import { lostCall, lostWorker, noWorker } from './outcome.js';
import type { FleetLink } from './peer.js';
import type { Pending } from './pending.js';
import { listPeers, type PeerInfo, unlessRetyped } from './presence.js';

export interface WatchOptions {
  readonly pending: ReadonlySet<Pending>;
  readonly keyed: KeyedCalls;
  readonly monotonic: () => number;
  /** Of the fleet, for messages. */
  readonly address: string;
  /** Removes a withdrawn call from the queue. */
  readonly remove: (call: Pending) => Promise<void>;
  readonly enqueue: (call: Pending) => void;
  /** Queues a call again. */
  readonly repeat: (call: Pending) => void;
  readonly onLost: (worker: string) => void;
}

const POLL_MS = 250;
/** How long something must seem wrong while Redis answers. A worker reconnects in less. */
const CONFIRM_MS = 900;
/** How often it must be seen: time also passes while this process does not run and replies wait to be read. */
const CONFIRM_TIMES = 4;
const UNLISTED_MS = 2500;
const NO_WORKER_MS = 30_000;

interface Seen {
  /** The worker that took the job from the queue; it may not be allowed to run it. */
  readonly taken: string | null;
  readonly isKnown: boolean;
}

/** Watches calls until it is closed. */
export class Watch {
  /** Number of waiting calls of all fronts, by tag. */
  readonly waiting = new Map<string, number>();
  /** Number of connected workers. */
  workers = 0;
  readonly #link: FleetLink;
  readonly #options: WatchOptions;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(link: FleetLink, options: WatchOptions) {
    this.#link = link;
    this.#options = options;
    void this.#loop();
  }

  async fetch(call: Pending): Promise<boolean> {
    const { redis, key, names, debug } = this.#link;
    const sealed = await redis.get(names.result(call.job.id));
    if (sealed === null || call.isSettled) return call.isSettled;
    try {
      const found = openMessage(key, 'result', call.job.id, sealed);
      // Nothing was started by an earlier attempt.
      if (!found.started && found.attempt < call.job.attempt) return false;
      call.resolve(found);
      return true;
    } catch (error) {
      debug(`fleet: a result was ignored: ${(error as Error).message}`);
      return false;
    }
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
      for (const call of this.#options.pending) call.suspicion = undefined;
      this.#link.debug(`fleet: ${(error as Error).message}`);
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#loop(), POLL_MS);
  }

  async #poll(): Promise<void> {
    const { redis, names } = this.#link;
    const waited = [...this.#options.pending].filter((call) => !call.isCancelled && !call.isSettled);
    const calls = waited.filter((call) => call.isQueued && !call.isFollower);
    const followers = waited.filter((call) => call.isFollower);
    const tags = [...new Set([...this.waiting.keys(), ...calls.map(({ tag }) => tag)])];
    const workers = toMap(await listPeers(redis, names, 'worker'));
    const fronts = followers.length === 0 ? new Map() : toMap(await listPeers(redis, names, 'front'));
    this.workers = workers.size;
    const running = new Set([...workers.values()].flatMap(({ running: ids = [] }) => ids));
    // Most calls are running on a worker that lives, so that nothing needs to be asked about them.
    const unsure = calls.filter((call) => call.grant === undefined || !running.has(call.jobId));
    const [lengths, seen] = await Promise.all([
      Promise.all(tags.map((tag) => unlessRetyped(redis.llen(names.waiting(tag)), 0))),
      Promise.all(unsure.map((call) => look(redis, names, call))),
    ]);
    tags.forEach((tag, at) => {
      this.waiting.set(tag, lengths[at]!);
    });
    for (const call of calls) if (!unsure.includes(call)) call.suspicion = undefined;
    await Promise.all([
      ...unsure.map((call, at) => this.#settle(call, () => this.#judge(call, seen[at]!, workers))),
      ...followers.map((call) => this.#settle(call, () => this.#judgeFollower(call, workers, fronts))),
    ]);
  }

  // Values that are not sealed concern one call only.
  async #settle(call: Pending, judge: () => Promise<void>): Promise<void> {
    try {
      if (!call.isSettled) await judge();
    } catch (error) {
      if (!isToolError(error)) throw error;
      if (call.withdraw()) call.reject(error);
      else this.#link.debug(`fleet: ${error.message}`);
    }
  }

  async #judge(call: Pending, seen: Seen, workers: Workers): Promise<void> {
    const { repeat, onLost } = this.#options;
    if (call.grant === undefined) return this.#judgeWaiting(call, seen, workers);
    const { worker } = call.grant;
    if (runs(workers, worker, call)) {
      call.suspicion = undefined;
      return;
    }
    const isLost = this.#isConfirmed(call, workers.has(worker));
    // Messages of the worker that are still to be read come before its result.
    if (call.suspicion!.times === 1 || (await this.fetch(call)) || !isLost) return;
    onLost(worker);
    if (call.mayRepeat) repeat(call);
    else call.reject(lostWorker(call.plan.tool.name, worker));
  }

  async #judgeWaiting(call: Pending, { isKnown, taken }: Seen, workers: Workers): Promise<void> {
    const { monotonic, remove, repeat, address } = this.#options;
    if (!isKnown || (taken !== null && !runs(workers, taken, call))) {
      // No worker was allowed to run it, so that it can be queued again, whatever it does (FLT-18).
      if (this.#isConfirmed(call, isKnown && workers.has(taken!)) && call.withdraw()) repeat(call);
      return;
    }
    call.suspicion = undefined;
    const canRun = [...workers.values()].some(({ tags = [] }) => call.tag === '' || tags.includes(call.tag));
    call.idleSince = canRun ? undefined : (call.idleSince ?? monotonic());
    if (call.idleSince === undefined || monotonic() - call.idleSince < NO_WORKER_MS || !call.withdraw()) return;
    await remove(call);
    call.reject(noWorker(call.plan.tool.name, call.tag, NO_WORKER_MS, address));
  }

  // FLT-12: the front that runs the call may be gone.
  async #judgeFollower(call: Pending, workers: Workers, fronts: ReadonlyMap<string, PeerInfo>): Promise<void> {
    const { keyed, pending, enqueue } = this.#options;
    const { id } = call.job;
    if (await this.fetch(call)) return;
    const { record, sealed } = await keyed.read(id);
    const isOwned =
      [...pending].some(({ job, isFollower }) => job.id === id && !isFollower) ||
      [...fronts.values()].some((peer) => peer.id !== this.#link.id && peer.running?.includes(id));
    const isRun = [...workers.values()].some(({ running = [] }) => running.some((jobId) => jobId.startsWith(`${id}-`)));
    if (isOwned || isRun) call.suspicion = undefined;
    else if (this.#isConfirmed(call, fronts.has(record?.front ?? '')) && !(await this.fetch(call))) {
      if (record?.isGranted && !call.mayRepeat) call.reject(lostCall(call.plan.tool.name));
      else if ((await keyed.takeOver(call, sealed, record?.attempt ?? 0)) && !call.isSettled) {
        if (record?.isGranted) call.lostWorker = `of ${record.front}`;
        enqueue(call);
      }
    }
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
  const fields = redis.hmget(names.job(call.tag, call.jobId), 'name', 'pb');
  const [name = null, taken = null] = await unlessRetyped(fields, []);
  return { isKnown: name !== null, taken };
}

function toMap(peers: readonly PeerInfo[]): ReadonlyMap<string, PeerInfo> {
  return new Map(peers.map((info) => [info.id, info]));
}
