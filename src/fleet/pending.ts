// A call that a front waits for.

import type { CallScope } from '../core/executor.js';
import type { Plan } from '../core/plan.js';
import { type Job, type JobResult, toJobId } from './job.js';
import { lostWorker, saysNotRun } from './outcome.js';
import { mayRepeat } from './tag.js';

export interface Grant {
  readonly worker: string;
  readonly nonce: string;
}

export class Pending {
  readonly plan: Plan;
  readonly scope: CallScope;
  readonly tag: string;
  /** The present attempt. */
  job: Job;
  /** Whether the queue confirmed the job. */
  isQueued = false;
  isCancelled = false;
  /** The worker that may run the present attempt, and the nonce of its offer. */
  grant: Grant | undefined;
  /** The last worker that was allowed to run an earlier attempt. */
  lostWorker: string | undefined;
  /** That a worker may run it is recorded under its key. */
  isRecorded = false;
  /** Another call with the same key runs; this one waits for its result (FLT-12). */
  isFollower = false;
  /** Since when something seems to be wrong, by the clock of this machine, and how often that was seen. */
  suspicion: { readonly since: number; times: number } | undefined;
  /** Since when no worker could take it. */
  idleSince: number | undefined;
  /** When the attempts began that were refused. */
  refusedSince: number | undefined;
  /** How many of them there were. */
  refusals = 0;
  /** Resolved by a result, rejected by an error. */
  readonly settled: Promise<JobResult>;
  isSettled = false;
  #isWithdrawn = false;
  #resolve!: (result: JobResult) => void;
  #reject!: (error: unknown) => void;

  constructor(plan: Plan, scope: CallScope, tag: string, job: Job) {
    this.plan = plan;
    this.scope = scope;
    this.tag = tag;
    this.job = job;
    this.settled = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.settled.catch(() => {});
  }

  get jobId(): string {
    return toJobId(this.job);
  }

  /** Whether it may run more than once (FLT-11). */
  get mayRepeat(): boolean {
    return mayRepeat(this.plan.tool);
  }

  /** Lets one worker run the present attempt; false if another one may, or none (FLT-10). */
  give(grant: Grant): boolean {
    if (this.#isWithdrawn || this.isSettled || this.isCancelled) return false;
    this.grant ??= grant;
    return this.grant.nonce === grant.nonce;
  }

  /** Withdraws the present attempt; true if no worker may run it, and none will. */
  withdraw(): boolean {
    if (this.grant !== undefined) return false;
    this.#isWithdrawn = true;
    return true;
  }

  /** Takes the present attempt back from a worker that says that it did not run it. */
  takeBack(): void {
    this.grant = undefined;
    this.#isWithdrawn = true;
  }

  /** Waits for the result of another call with the same key. */
  follow(): void {
    this.grant = undefined;
    this.isFollower = true;
  }

  resolve(result: JobResult): void {
    this.isSettled = true;
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.isSettled = true;
    // An earlier attempt may have run (FLT-80).
    const isFalse = this.lostWorker !== undefined && saysNotRun(error);
    this.#reject(isFalse ? lostWorker(this.plan.tool.name, this.lostWorker!) : error);
  }

  /** Begins the next attempt. */
  next(): void {
    this.lostWorker = this.grant?.worker ?? this.lostWorker;
    this.job = { ...this.job, attempt: this.job.attempt + 1 };
    this.isQueued = false;
    this.#isWithdrawn = false;
    this.grant = undefined;
    this.isRecorded = false;
    this.suspicion = undefined;
    this.idleSince = undefined;
  }
}
