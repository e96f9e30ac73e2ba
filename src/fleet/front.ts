// A front: queues the calls of a toolbox for the workers of a fleet, and waits for their results (FLT-3).

import { inBackground, onAbort, pause } from '../core/async.js';
import { ToolError } from '../core/error.js';
import type { CallScope, Dispatcher } from '../core/executor.js';
import type { Plan, Variables } from '../core/plan.js';
import type { Output } from '../core/result.js';
import type { Settings } from '../core/settings.js';
import { cancelled, runWithinLimit } from '../core/time-limit.js';
import { answers, explainFailure } from './connection.js';
import { type Job, type Order, type Refusal, type Reply, sealMessage, toBinding, toCallId } from './job.js';
import { KEYED_MS, KeyedCalls } from './keyed-calls.js';
import { busyFleet, busyIfFull, notInBackground, notRun, refused, toOutput, unknownKey } from './outcome.js';
import { type FleetOptions, newId } from './peer.js';
import { type Grant, Pending } from './pending.js';
import { join, type Member } from './presence.js';
import { createQueues, type Queues } from './queues.js';
import { readReplies } from './replies.js';
import { createStats, type Stats } from './stats.js';
import { readWaiting } from './status.js';
import { tagOf } from './tag.js';
import { Watch } from './watch.js';

const KEPT_MS = 60_000;
// How often a worker is told that a call was cancelled, and how long its answer is awaited.
const CANCEL_EVERY_MS = 100;
const CANCEL_MS = 1500;
// How long a worker has after the time limit: it ends the process, which has 2 s for that, and answers.
const GRACE_MS = 4000;
// How long a call is offered to other workers after one refused it, and how often. The one that refused it may take it
// again, and on a busy machine a round takes long, so there is a number of rounds too.
const OFFER_MS = 2000;
const OFFER_EVERY_MS = 40;
const MIN_OFFERS = 15;
const KINDS: readonly Plan['kind'][] = ['process', 'module', 'http'];

export interface FrontOptions extends FleetOptions {
  /** Returns the variables to send with a call. */
  readonly variablesOf: (plan: Plan, settings: Settings) => Variables | undefined;
}

/** The calls that a front waits for, and who could run them. */
export interface FrontLoad {
  readonly running: number;
  readonly waiting: number;
  /** Connected workers. */
  readonly workers: number;
  /** Calls whose worker was lost. */
  readonly lost: number;
}

/** Connects a front. Throws `unavailable` if Redis cannot be used. */
export function openFront(options: FrontOptions): Promise<Front> {
  const pending = new Set<Pending>();
  const connections = [
    { name: 'front', failsFast: true, silenceMs: 1500 },
    { name: 'front-replies', silenceMs: 3000 },
  ];
  const describe = () => ({
    running: [...pending].flatMap(({ job, isFollower }) => (job.binding === undefined || isFollower ? [] : [job.id])),
  });
  return join('front', options, { connections, describe }, async (member) => new Front(options, member, pending));
}

export class Front implements Dispatcher {
  readonly #options: FrontOptions;
  readonly #member: Member;
  /** The calls that are not answered. */
  readonly #pending: Set<Pending>;
  /** Calls by the id of their present attempt: only those can be given to a worker. */
  readonly #jobs = new Map<string, Pending>();
  readonly #queues: Queues;
  readonly #keyed: KeyedCalls;
  readonly #stats: Stats;
  readonly #watch: Watch;
  readonly #stopReading: () => void;
  #lost = 0;

  constructor(options: FrontOptions, member: Member, pending: Set<Pending>) {
    const { redis, connections, names, presence } = member;
    this.#options = options;
    this.#member = member;
    this.#pending = pending;
    this.#stats = createStats(redis, names, presence.now);
    this.#queues = createQueues(member);
    this.#keyed = new KeyedCalls(member);
    this.#watch = new Watch(member, {
      pending,
      keyed: this.#keyed,
      monotonic: options.monotonic,
      address: options.address.command,
      remove: this.#queues.remove,
      enqueue: (call) => this.#enqueue(call),
      repeat: (call) => this.#repeat(call),
      onLost: (worker) => this.#onLost(worker),
    });
    // A connection of its own, because it waits.
    const reading = { ...member, redis: connections[1]! };
    this.#stopReading = readReplies(reading, (jobId, reply) => this.#onReply(jobId, reply));
  }

  get id(): string {
    return this.#member.id;
  }

  takes({ kind }: Plan): boolean {
    return KINDS.includes(kind);
  }

  /** What /metrics shows. */
  describe(): FrontLoad {
    const calls = [...this.#pending];
    const running = calls.filter(({ grant }) => grant !== undefined).length;
    return { running, waiting: calls.length - running, workers: this.#watch.workers, lost: this.#lost };
  }

  /** Returns how many calls of the fleet wait, by tag. */
  waiting(): Promise<ReadonlyMap<string, number>> {
    return readWaiting(this.#member.redis, this.#member.names);
  }

  /** Whether Redis answers. */
  isReady(): Promise<boolean> {
    return answers(this.#member.redis);
  }

  async run(plan: Plan, scope: CallScope): Promise<Output> {
    if (plan.tool.traits.background === true) throw notInBackground(plan.tool.name);
    const call = new Pending(plan, scope, tagOf(plan.tool, scope.snapshot), this.#toJob(plan, scope));
    // EXE-5: a worker ends the call itself.
    const graceMs = (): number => (call.grant === undefined ? 0 : GRACE_MS);
    return runWithinLimit(plan, scope, () => this.#call(call), graceMs);
  }

  async close(): Promise<void> {
    this.#stopReading();
    this.#watch.close();
    await this.#stats.flush();
    await this.#member.presence.close();
    await this.#queues.close();
    for (const connection of this.#member.connections) connection.disconnect();
  }

  async #call(call: Pending): Promise<Output> {
    const { scope } = call;
    this.#checkLoad(call);
    const pending = this.#pending;
    pending.add(call);
    let release = (): void => {};
    const startedAt = this.#options.monotonic();
    try {
      if (scope.options.key !== undefined) await this.#reserve(call);
      if (!call.isSettled && !call.isFollower) this.#enqueue(call);
      release = onAbort(scope.controller.signal, () => void this.#cancel(call));
      const { result } = await call.settled;
      this.#stats.observe(this.#options.monotonic() - startedAt, result.ok);
      return toOutput(result);
    } finally {
      release();
      // From here on no worker is allowed to run it.
      this.#jobs.delete(call.jobId);
      pending.delete(call);
      if (call.job.binding !== undefined && !call.isFollower && call.grant === undefined) this.#release(call);
    }
  }

  #toJob(plan: Plan, scope: CallScope): Job {
    const { caller, approval, entered, traced, snapshot, stream, options } = scope;
    const { key, onProgress } = options;
    return {
      id: key === undefined ? newId() : toCallId(this.#options.key, caller, key),
      attempt: 1,
      front: this.id,
      tool: plan.tool.name,
      digest: plan.tool.origin.digest!,
      input: plan.input,
      caller,
      approval,
      timeoutMs: scope.timeoutMs ?? plan.timeoutMs,
      queued: Math.floor(this.#member.presence.now()),
      keepMs: key === undefined ? KEPT_MS : KEYED_MS,
      binding: key === undefined ? undefined : toBinding(this.#options.key, plan.tool.name, plan.input),
      trace: traced?.trace,
      variables: this.#options.variablesOf(plan, snapshot.settings),
      entered,
      isStateless: options.background === 'none',
      wants: { progress: onProgress !== undefined, output: stream !== undefined, log: scope.log !== undefined },
    };
  }

  // FLT-15
  #checkLoad({ plan, tag, scope }: Pending): void {
    let own = 0;
    for (const other of this.#pending) if (other.tag === tag && other.grant === undefined) own++;
    const waiting = Math.max(own, this.#watch.waiting.get(tag) ?? 0);
    if (waiting < scope.snapshot.settings.limits.queue) return;
    this.#stats.count('busy');
    throw busyFleet(plan.tool.name, waiting, this.#stats.estimate(waiting), scope.options.key !== undefined);
  }

  // FLT-12
  async #reserve(call: Pending): Promise<void> {
    try {
      await this.#keyed.reserve(call);
    } catch (error) {
      if (error instanceof ToolError) throw error;
      const { tool } = call.job;
      throw busyIfFull(notRun(tool, true), error, true) ?? unknownKey(tool, explainFailure(error));
    }
  }

  #release(call: Pending): void {
    this.#keyed.release(call).catch((error: Error) => this.#options.debug(`fleet: ${error.message}`));
  }

  #enqueue(call: Pending): void {
    const { jobId } = call;
    this.#jobs.set(jobId, call);
    this.#queues.add(call).then(
      () => {
        call.isQueued = true;
      },
      (error: unknown) => {
        if (call.jobId !== jobId) return;
        // The answer of Redis may have been lost: what a worker took is waited for (FLT-15).
        if (call.withdraw()) call.reject(error);
        else call.isQueued = true;
      },
    );
  }

  #repeat(call: Pending): void {
    inBackground(this.#queues.remove(call), this.#options.debug);
    this.#jobs.delete(call.jobId);
    call.next();
    this.#enqueue(call);
  }

  // FLT-13
  async #cancel(call: Pending): Promise<void> {
    call.isCancelled = true;
    const { monotonic, debug } = this.#options;
    const until = monotonic() + CANCEL_MS;
    try {
      if (call.withdraw()) {
        if (!call.isFollower) await this.#queues.remove(call);
      } else
        while (!call.isSettled && monotonic() < until) {
          await this.#order(call.grant!.worker, { type: 'cancel', jobId: call.jobId });
          await pause(CANCEL_EVERY_MS);
        }
    } catch (error) {
      debug(`fleet: ${(error as Error).message}`);
    }
    call.reject(cancelled(call.plan.tool.name));
  }

  #onLost(worker: string): void {
    this.#lost++;
    this.#stats.count('lost');
    const { redis, names, presence } = this.#member;
    redis.zadd(names.lost, Math.floor(presence.now()), worker).catch(() => {});
  }

  #onReply(jobId: string, reply: Reply): void {
    const call = this.#jobs.get(jobId);
    if (reply.type === 'offer') {
      inBackground(this.#onOffer(call, jobId, reply), this.#options.debug);
      return;
    }
    if (call === undefined) return;
    const { progress, stream, log } = call.scope;
    if (reply.type === 'refused') inBackground(this.#offerAgain(call, reply.refusal), this.#options.debug);
    else if (reply.type === 'output') void stream?.(Buffer.from(reply.base64, 'base64'), reply.from);
    // The watch looks again if this fails.
    else if (reply.type === 'done') this.#watch.fetch(call).catch(() => {});
    else if (reply.type === 'progress') progress(reply.value as object);
    else if (reply.type !== 'declined') log?.(reply.value as never);
    // That worker got no answer in time, and did not run it.
    else if (call.grant?.nonce === reply.nonce && !call.isCancelled) {
      call.takeBack();
      this.#repeat(call);
    }
  }

  // FLT-10: one worker may run a call, and only if it is still waited for.
  async #onOffer(call: Pending | undefined, jobId: string, { worker, nonce }: Grant): Promise<void> {
    const { debug } = this.#options;
    try {
      let mayRun = call?.give({ worker, nonce }) === true && (await this.#record(call));
      // It may have ended, or begun another attempt, while that was recorded.
      mayRun &&= call!.jobId === jobId && call!.give({ worker, nonce });
      await this.#order(worker, { type: mayRun ? 'run' : 'leave', jobId, nonce });
    } catch (error) {
      // The worker asks again.
      debug(`fleet: ${(error as Error).message}`);
    }
  }

  // FLT-12: another front may have taken over a call with a key, because this one seemed to be gone.
  async #record(call: Pending): Promise<boolean> {
    const { jobId, job } = call;
    if (job.binding === undefined || call.isRecorded) return true;
    const isOurs = await this.#keyed.grant(call);
    if (call.jobId !== jobId) return false;
    if (isOurs) call.isRecorded = true;
    else {
      this.#jobs.delete(jobId);
      call.follow();
    }
    return isOurs;
  }

  async #order(worker: string, order: Order): Promise<void> {
    const { redis, names } = this.#member;
    await redis.publish(names.channel(worker), sealMessage(this.#options.key, 'order', worker, order));
  }

  // FLT-5: the worker did not start the call; another one may have the tool.
  async #offerAgain(call: Pending, refusal: Refusal): Promise<void> {
    if (!call.withdraw()) return;
    const { monotonic } = this.#options;
    call.refusedSince ??= monotonic();
    call.refusals++;
    const { jobId } = call;
    await pause(OFFER_EVERY_MS);
    if (call.isSettled || call.isCancelled || call.jobId !== jobId) return;
    const isOver = monotonic() - call.refusedSince >= OFFER_MS && call.refusals >= MIN_OFFERS;
    if (!isOver) this.#repeat(call);
    else call.reject(refused(call.plan.tool.name, refusal));
  }
}
