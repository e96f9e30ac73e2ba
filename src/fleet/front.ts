// A front: queues the calls of a toolbox for the workers of a fleet, and waits for their results (FLT-3).

import type { Redis } from 'ioredis';
import { inBackground } from '../core/background.js';
import { ToolError } from '../core/error.js';
import type { Dispatcher, RunContext, Variables } from '../core/executor.js';
import type { Plan } from '../core/plan.js';
import type { Output } from '../core/result.js';
import type { Settings } from '../core/settings.js';
import { cancelled, runWithinLimit } from '../core/time-limit.js';
import { connect, explainFailure } from './connection.js';
import { type Job, openResult, type Refusal, type Reply, toBinding, toCallId } from './job.js';
import { type FleetNames, toNames } from './names.js';
import { busyFleet, busyIfFull, noQueue, otherCall, refused, toOutput } from './outcome.js';
import { type FleetOptions, newId, newPeerId, sleep } from './peer.js';
import { Pending } from './pending.js';
import { createPresence, type Presence } from './presence.js';
import { createQueues, type Queues } from './queues.js';
import { readReplies } from './replies.js';
import { createStats, type Stats } from './stats.js';
import { tagOf } from './tag.js';
import { Watch } from './watch.js';

const KEPT_MS = 60_000;
const KEYED_MS = 3_600_000;
// How often a worker is told that a call was cancelled, and how long its answer is awaited.
const CANCEL_EVERY_MS = 100;
const CANCEL_MS = 1500;
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

interface Connections {
  readonly redis: Redis;
  /** For commands that wait. */
  readonly reading: Redis;
}

/** Connects a front. Throws `unavailable` if Redis cannot be used. */
export async function openFront(options: FrontOptions): Promise<Front> {
  const { address, key, host, monotonic, debug } = options;
  const names = toNames(key.fleet);
  const id = newPeerId('front');
  const [redis, reading] = await Promise.all([
    connect(address, { name: 'front', failsFast: true, silenceMs: 1500, onError: debug }),
    connect(address, { name: 'front-replies', silenceMs: 3000, onError: debug }),
  ]);
  const presence = await createPresence({ redis, names, kind: 'front', id, host, monotonic, onError: debug });
  return new Front(id, options, names, { redis, reading }, presence);
}

export class Front implements Dispatcher {
  readonly id: string;
  readonly #options: FrontOptions;
  readonly #names: FleetNames;
  readonly #connections: Connections;
  readonly #presence: Presence;
  readonly #pending = new Map<string, Pending>();
  readonly #queues: Queues;
  readonly #stats: Stats;
  readonly #watch: Watch;
  readonly #stopReading: () => void;
  #lost = 0;

  constructor(id: string, options: FrontOptions, names: FleetNames, connections: Connections, presence: Presence) {
    const { redis, reading } = connections;
    const shared = { redis, names, key: options.key, debug: options.debug };
    this.id = id;
    this.#options = options;
    this.#names = names;
    this.#connections = connections;
    this.#presence = presence;
    this.#stats = createStats(redis, names, presence.now);
    this.#queues = createQueues(shared);
    this.#watch = new Watch({
      ...shared,
      pending: this.#pending,
      monotonic: options.monotonic,
      remove: this.#queues.remove,
      repeat: (call) => this.#repeat(call),
      onLost: (worker) => this.#onLost(worker),
    });
    const onReply = (jobId: string, reply: Reply): void => this.#onReply(jobId, reply);
    this.#stopReading = readReplies({ ...shared, redis: reading, front: id, onReply });
  }

  takes({ kind }: Plan): boolean {
    return KINDS.includes(kind);
  }

  /** What /metrics shows. */
  describe(): FrontLoad {
    const calls = [...this.#pending.values()];
    const running = calls.filter(({ worker }) => worker !== undefined).length;
    return { running, waiting: calls.length - running, workers: this.#watch.workers, lost: this.#lost };
  }

  run(plan: Plan, context: RunContext): Promise<Output> {
    return runWithinLimit(plan, context, (limited) => this.#call(plan, limited));
  }

  async close(): Promise<void> {
    this.#stopReading();
    this.#watch.close();
    await this.#stats.flush();
    await this.#presence.close();
    await this.#queues.close();
    this.#connections.redis.disconnect();
    this.#connections.reading.disconnect();
  }

  async #call(plan: Plan, context: RunContext): Promise<Output> {
    const { tool } = plan;
    const call = new Pending(plan, context, tagOf(tool, context.snapshot), this.#toJob(plan, context));
    this.#checkLoad(call);
    const { id } = call.job;
    const place = this.#pending.has(id) ? `${id} ${newId()}` : id;
    this.#pending.set(place, call);
    const onCancel = (): void => void this.#cancel(call);
    const startedAt = this.#options.monotonic();
    try {
      if (context.key !== undefined) await this.#reserve(call);
      if (!call.isSettled) this.#enqueue(call);
      context.cancellation.onCancel(onCancel);
      const { result } = await call.settled;
      this.#stats.observe(this.#options.monotonic() - startedAt, result.ok);
      return toOutput(result);
    } finally {
      context.cancellation.offCancel(onCancel);
      this.#pending.delete(place);
    }
  }

  #toJob(plan: Plan, context: RunContext): Job {
    const { caller, approval, key, trace, snapshot, stream, log, wantsProgress } = context;
    return {
      id: key === undefined ? newId() : toCallId(this.#options.key, caller, key),
      attempt: 1,
      front: this.id,
      tool: plan.tool.name,
      digest: plan.tool.origin.digest!,
      input: plan.input,
      caller,
      approval,
      timeoutMs: context.timeoutMs ?? plan.timeoutMs,
      queued: Math.floor(this.#presence.now()),
      keepMs: key === undefined ? KEPT_MS : KEYED_MS,
      trace,
      variables: this.#options.variablesOf(plan, snapshot.settings),
      wants: { progress: wantsProgress, output: stream !== undefined, log: log !== undefined },
    };
  }

  // FLT-15
  #checkLoad({ plan, tag, context }: Pending): void {
    let own = 0;
    for (const other of this.#pending.values()) if (other.tag === tag && other.worker === undefined) own++;
    const waiting = Math.max(own, this.#watch.waiting.get(tag) ?? 0);
    if (waiting < context.snapshot.settings.limits.queue) return;
    this.#stats.count('busy');
    throw busyFleet(plan.tool.name, waiting, this.#stats.estimate(waiting));
  }

  // FLT-12: finds the result of an earlier call with the same key, or the attempt to make.
  async #reserve(call: Pending): Promise<void> {
    const { job } = call;
    const { redis } = this.#connections;
    const { key } = this.#options;
    const binding = toBinding(key, job.tool, job.input);
    try {
      const known = await redis.set(this.#names.call(job.id), binding, 'PX', KEYED_MS + job.timeoutMs, 'NX', 'GET');
      if (known !== null && known !== binding) throw otherCall(job.tool);
      const sealed = known === null ? null : await redis.get(this.#names.result(job.id));
      if (sealed === null) return;
      const found = openResult(key, job.id, sealed);
      if (found.started) call.resolve(found);
      else call.job = { ...job, attempt: found.attempt + 1 };
    } catch (error) {
      if (error instanceof ToolError) throw error;
      throw busyIfFull(`${job.tool} was not run`, error) ?? noQueue(job.tool, explainFailure(error), 'maybe');
    }
  }

  #enqueue(call: Pending): void {
    this.#queues.add(call).then(
      () => {
        call.isQueued = true;
      },
      (error: unknown) => call.reject(error),
    );
  }

  #repeat(call: Pending): void {
    inBackground(this.#queues.remove(call), this.#options.debug);
    call.next();
    this.#enqueue(call);
  }

  // FLT-13
  async #cancel(call: Pending): Promise<void> {
    call.isCancelled = true;
    const { redis } = this.#connections;
    const { monotonic, debug } = this.#options;
    const until = monotonic() + CANCEL_MS;
    try {
      if (await this.#watch.withdraw(call)) await this.#queues.remove(call);
      else
        while (!call.isSettled && monotonic() < until) {
          const worker = call.worker ?? (await redis.get(this.#names.claim(call.jobId)));
          if (worker !== null) await redis.publish(this.#names.channel(worker), call.jobId);
          await sleep(CANCEL_EVERY_MS);
        }
    } catch (error) {
      debug(`fleet: ${(error as Error).message}`);
    }
    call.reject(cancelled(call.plan.tool.name));
  }

  #onLost(worker: string): void {
    this.#lost++;
    this.#stats.count('lost');
    this.#connections.redis.zadd(this.#names.lost, Math.floor(this.#presence.now()), worker).catch(() => {});
  }

  #onReply(jobId: string, reply: Reply): void {
    const call = this.#pending.get(jobId.slice(0, jobId.lastIndexOf('-')));
    if (call === undefined || call.jobId !== jobId) return;
    const { progress, stream, log } = call.context;
    if (reply.type === 'refused') inBackground(this.#offerAgain(call, reply.refusal), this.#options.debug);
    else if (reply.type === 'output') void stream?.(Buffer.from(reply.base64, 'base64'), reply.from);
    // The watch looks again if this fails.
    else if (reply.type === 'done') this.#watch.fetch(call).catch(() => {});
    else if (reply.type === 'progress') progress(reply.value as object);
    else log?.(reply.value as never);
  }

  // FLT-5: the worker did not start the call; another one may have the tool.
  async #offerAgain(call: Pending, refusal: Refusal): Promise<void> {
    const { monotonic, debug } = this.#options;
    call.refusedSince ??= monotonic();
    call.refusals++;
    const { jobId } = call;
    try {
      if (!(await this.#watch.withdraw(call))) return;
      await sleep(OFFER_EVERY_MS);
      if (call.isSettled || call.isCancelled || call.jobId !== jobId) return;
      const isOver = monotonic() - call.refusedSince >= OFFER_MS && call.refusals >= MIN_OFFERS;
      if (!isOver) this.#repeat(call);
      else call.reject(refused(call.plan.tool.name, refusal));
    } catch (error) {
      debug(`fleet: ${(error as Error).message}`);
    }
  }
}
