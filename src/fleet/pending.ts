// A call that a front waits for.

import type { RunContext } from '../core/executor.js';
import type { Plan } from '../core/plan.js';
import { type Job, type JobResult, toJobId } from './job.js';

export class Pending {
  readonly plan: Plan;
  readonly context: RunContext;
  readonly tag: string;
  /** The present attempt. */
  job: Job;
  /** Whether the queue confirmed the job. */
  isQueued = false;
  isCancelled = false;
  /** The worker that started it, as far as known. */
  worker: string | undefined;
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
  #resolve!: (result: JobResult) => void;
  #reject!: (error: unknown) => void;

  constructor(plan: Plan, context: RunContext, tag: string, job: Job) {
    this.plan = plan;
    this.context = context;
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
    const { readOnly, idempotent } = this.plan.tool.traits;
    return readOnly === true || idempotent === true;
  }

  resolve(result: JobResult): void {
    this.isSettled = true;
    this.#resolve(result);
  }

  reject(error: unknown): void {
    this.isSettled = true;
    this.#reject(error);
  }

  /** Begins the next attempt. */
  next(): void {
    this.job = { ...this.job, attempt: this.job.attempt + 1 };
    this.isQueued = false;
    this.worker = undefined;
    this.suspicion = undefined;
    this.idleSince = undefined;
  }
}
