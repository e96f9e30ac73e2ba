// A worker: takes calls from the queues of its tags and runs them with its own toolbox (FLT-4).

import type { Job as BullJob, Worker as BullWorker } from 'bullmq';
import { isToolError } from '../core/error.js';
import type { Json } from '../core/json.js';
import type { Variables } from '../core/plan.js';
import { addSecrets, type KnownSecrets } from '../core/redact.js';
import { settlesWithin } from '../core/time-limit.js';
import { needsTrust, type Tool } from '../core/tool.js';
import type { DoorOptions, Toolbox } from '../core/toolbox.js';
import { answers, connect, loadBullmq, subscribe } from './connection.js';
import { type Job, type JobResult, openMessage, type Refusal } from './job.js';
import type { FleetOptions } from './peer.js';
import { join, type Member } from './presence.js';
import { createOffers, createReporter, type Offers, type Reporter } from './reporter.js';
import { createRunMemory, type Run, type RunMemory } from './run-memory.js';
import { readWaiting } from './status.js';
import { mayRepeat } from './tag.js';

export interface WorkerOptions extends FleetOptions {
  readonly toolbox: Toolbox;
  /** What the toolbox must not show. */
  readonly secrets: KnownSecrets;
  readonly tags: readonly string[];
  /** Calls at the same time, per tag. */
  readonly concurrency: number;
  /** Where calls with a key are remembered. */
  readonly wieldHome: string;
  readonly now: () => number;
  /** Returns the names of variables that a front sent and this machine does not grant the tool. */
  readonly findUngranted: (tool: Tool, variables: Variables) => readonly string[];
}

// The front finds lost workers by itself; this only cleans up the queue.
const LOCK_MS = 10_000;
const STALLED_MS = 5000;
// Seconds that BullMQ waits for a job, and then asks again.
const WAIT_SECONDS = 1;
const SILENCE_MS = 5000;
// How long a worker that ends waits for Redis.
const CLOSE_MS = 3000;

/** Connects a worker, which then takes calls. Throws `unavailable` if Redis cannot be used. */
export function openWorker(options: WorkerOptions): Promise<Worker> {
  const running = new Map<string, AbortController>();
  const connections = [{ name: 'worker' }, { name: 'worker-channel' }];
  const describe = () => ({ tags: options.tags, running: [...running.keys()] });
  return join('worker', options, { connections, describe }, async (member) => {
    const worker = new Worker(options, member, running);
    await worker.start();
    return worker;
  });
}

export class Worker {
  readonly #options: WorkerOptions;
  readonly #member: Member;
  /** What cancels the running jobs. */
  readonly #running: Map<string, AbortController>;
  readonly #reporter: Reporter;
  readonly #offers: Offers;
  readonly #memory: RunMemory;
  #takers: readonly BullWorker[] = [];

  constructor(options: WorkerOptions, member: Member, running: Map<string, AbortController>) {
    this.#options = options;
    this.#member = member;
    this.#running = running;
    this.#reporter = createReporter(member);
    this.#offers = createOffers(member.id, this.#reporter);
    this.#memory = createRunMemory(options.key, member.id, options.wieldHome);
  }

  get id(): string {
    return this.#member.id;
  }

  async start(): Promise<void> {
    const { Worker: Taker } = loadBullmq();
    const { address, tags, concurrency, debug } = this.#options;
    const { id, names, connections } = this.#member;
    const listening = connections[1]!;
    listening.on('message', (channel: string, sealed: string) => this.#receive(channel, sealed));
    await subscribe(listening, names.channel(id), names.started);
    this.#takers = await Promise.all(
      ['', ...tags].map(async (tag) => {
        const connection = await connect(address, { name: 'worker-queue', silenceMs: SILENCE_MS, onError: debug });
        connections.push(connection);
        const taker = new Taker(names.queue(tag), (job: BullJob) => this.#take(job), {
          connection,
          prefix: names.prefix,
          name: id,
          concurrency,
          lockDuration: LOCK_MS,
          stalledInterval: STALLED_MS,
          maxStalledCount: 0,
          drainDelay: WAIT_SECONDS,
        });
        taker.on('error', (error) => debug(`fleet: ${error.message}`));
        await taker.waitUntilReady();
        return taker;
      }),
    );
  }

  /** Takes an order of a front, or an announcement of another worker; anything else is ignored. */
  #receive(channel: string, sealed: string): void {
    try {
      if (channel === this.#member.names.started) {
        this.#memory.note(sealed);
        return;
      }
      const order = openMessage(this.#options.key, 'order', this.id, sealed);
      if (order.type === 'cancel') this.#running.get(order.jobId)?.abort();
      else this.#offers.answer(order);
    } catch (error) {
      this.#options.debug(`fleet: a message was ignored: ${(error as Error).message}`);
    }
  }

  /** Takes no further call, and returns when those that run have ended (FLT-16). */
  async drain(): Promise<void> {
    const closed = Promise.all(this.#takers.map((taker) => taker.close().catch(() => {})));
    // Without Redis there is nobody to tell: it is enough that no call runs.
    while (!(await settlesWithin(closed, CLOSE_MS)) && this.#running.size > 0);
  }

  /** Returns how many calls of the fleet wait, by tag. */
  waiting(): Promise<ReadonlyMap<string, number>> {
    return readWaiting(this.#member.redis, this.#member.names);
  }

  /** Whether Redis answers. */
  isReady(): Promise<boolean> {
    return answers(this.#member.redis);
  }

  async close(): Promise<void> {
    const { presence, connections } = this.#member;
    for (const controller of this.#running.values()) controller.abort();
    await this.drain();
    await settlesWithin(presence.close(), CLOSE_MS);
    for (const connection of connections) connection.disconnect();
  }

  async #take({ id: jobId = '', data }: BullJob): Promise<void> {
    const running = this.#running;
    // Someone added a job again that runs here.
    if (running.has(jobId)) return;
    const controller = new AbortController();
    running.set(jobId, controller);
    try {
      await this.#runOrRefuse(jobId, data, controller.signal);
    } catch (error) {
      // FLT-6: there is nobody to answer.
      this.#options.debug(`fleet: the job ${jobId} was refused: ${(error as Error).message}`);
    } finally {
      running.delete(jobId);
    }
  }

  async #runOrRefuse(jobId: string, data: unknown, signal: AbortSignal): Promise<void> {
    const { key } = this.#options;
    const { presence } = this.#member;
    const job = openMessage(key, 'job', jobId, String(data));
    const timeLeft = (): number => Math.floor(job.timeoutMs - (presence.now() - job.queued));
    if (timeLeft() <= 0) throw new Error('its time is over');
    const known = job.binding === undefined ? undefined : this.#memory.find(job);
    const refusal = await this.#findRefusal(job, known);
    if (refusal !== undefined) {
      await this.#reporter.send(job, { type: 'refused', refusal });
      return;
    }
    // FLT-6, FLT-10: the front lets one worker run a job, once, whatever is in the queue.
    if (!(await this.#offers.ask(job))) throw new Error('its front does not let this worker run it');
    const timeoutMs = Math.max(1, timeLeft());
    const finished = known?.result ?? (await this.#run(job, timeoutMs, signal));
    await this.#reporter.finish(job, { ...finished, attempt: job.attempt });
    this.#options.debug(`fleet: ${jobId} ${job.tool} ${finished.result.ok ? 'ok' : finished.result.error?.code}`);
  }

  // The one call path, with the decision of the front.
  async #run(job: Job, timeoutMs: number, signal: AbortSignal): Promise<JobResult> {
    const { toolbox, secrets, now } = this.#options;
    const { id: worker, names, redis } = this.#member;
    const { attempt, binding, caller, digest, approval, trace, variables, entered, wants } = job;
    addSecrets(secrets, Object.values(variables ?? {}));
    let started = false;
    let sending: Promise<unknown> = Promise.resolve();
    const send = (type: 'progress' | 'log', value: unknown): void => {
      sending = this.#reporter.send(job, { type, value: value as Json });
    };
    const call: DoorOptions = {
      caller,
      dispatched: { digest, approval, variables, entered },
      timeoutMs,
      signal,
      full: true,
      background: job.isStateless ? 'none' : undefined,
      trace,
      // FLT-83: before it runs, so that it is known even if this process is killed.
      ready: async () => {
        if (binding !== undefined) {
          this.#memory.start(job, now());
          await redis.publish(names.started, this.#memory.announce(job));
        }
        started = true;
      },
      onProgress: wants.progress ? (progress) => send('progress', progress) : undefined,
      onLog: wants.log ? (entry) => send('log', entry) : undefined,
      onOutput: wants.output ? (chunk, from) => this.#sendOutput(job, chunk, from) : undefined,
    };
    const result = await toolbox.call(job.tool, job.input, call);
    await sending;
    const finished = { worker, attempt, started, binding, result };
    if (binding !== undefined && started) this.#memory.finish(job, finished);
    return finished;
  }

  async #sendOutput(job: Job, chunk: Uint8Array, from: 'stdout' | 'stderr'): Promise<void> {
    await this.#reporter.send(job, { type: 'output', from, base64: Buffer.from(chunk).toString('base64') });
  }

  // Checked again when the call is planned.
  async #findRefusal(job: Job, known: Run | undefined): Promise<Refusal | undefined> {
    const { toolbox, findUngranted } = this.#options;
    const { tool: name, digest, caller, variables = {} } = job;
    const worker = this.id;
    try {
      const tool = await toolbox.find(name);
      if (known !== undefined && known.binding !== job.binding)
        return { worker, code: 'conflict', message: 'another call with another input has the same key' };
      if (known !== undefined && known.result === undefined && !mayRepeat(tool))
        return { worker, code: 'unavailable', message: `worker ${known.worker} started it before, with the same key` };
      if (tool.origin.digest !== digest)
        return { worker, code: 'integrity', message: `worker ${worker} has another version of it` };
      const ungranted = findUngranted(tool, variables);
      if (ungranted.length > 0)
        return { worker, code: 'denied', message: `worker ${worker} does not grant it ${ungranted.join(', ')}` };
      if (caller.kind !== 'model' || !needsTrust(tool) || toolbox.workspace.trusted) return undefined;
      return { worker, code: 'needs_trust', message: `the workspace of worker ${worker} is not trusted` };
    } catch (error) {
      if (!isToolError(error)) throw error;
      return { worker, code: 'not_found', message: `worker ${worker} does not have it: ${error.message}` };
    }
  }
}
