// A worker: takes calls from the queues of its tags and runs them with its own toolbox (FLT-4).

import type { Job as BullJob, Worker as BullWorker } from 'bullmq';
import type { Redis } from 'ioredis';
import { Cancellation } from '../core/cancellation.js';
import { isToolError } from '../core/error.js';
import type { KnownSecrets } from '../core/redact.js';
import { settlesWithin } from '../core/time-limit.js';
import { needsTrust } from '../core/tool.js';
import type { Toolbox } from '../core/toolbox.js';
import { connect, loadBullmq } from './connection.js';
import { type Job, openJob, type Refusal, toJobId } from './job.js';
import { type FleetNames, toNames } from './names.js';
import { type FleetOptions, newPeerId } from './peer.js';
import { createPresence, type Presence } from './presence.js';
import { createReporter, type Reporter } from './reporter.js';
import { runJob } from './run-job.js';

export interface WorkerOptions extends FleetOptions {
  readonly toolbox: Toolbox;
  /** What the toolbox must not show. */
  readonly secrets: KnownSecrets;
  readonly tags: readonly string[];
  /** Calls at the same time, per tag. */
  readonly concurrency: number;
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
export async function openWorker(options: WorkerOptions): Promise<Worker> {
  const { address, key, host, monotonic, debug, tags } = options;
  const names = toNames(key.fleet);
  const id = newPeerId('worker');
  const running = new Map<string, Cancellation>();
  const connections = await Promise.all([
    connect(address, { name: 'worker', onError: debug }),
    connect(address, { name: 'worker-channel', onError: debug }),
  ]);
  const [redis, listening] = connections;
  await listening.subscribe(names.channel(id));
  listening.on('message', (_channel: string, jobId: string) => running.get(jobId)?.cancel());
  const presence = await createPresence({
    redis,
    names,
    kind: 'worker',
    id,
    host,
    monotonic,
    describe: () => ({ tags, running: [...running.keys()] }),
    onError: debug,
  });
  const worker = new Worker(id, options, { names, redis, connections, presence, running });
  await worker.start();
  return worker;
}

interface WorkerParts {
  readonly names: FleetNames;
  readonly redis: Redis;
  /** All connections, to be closed. */
  readonly connections: Redis[];
  readonly presence: Presence;
  /** What cancels the running jobs. */
  readonly running: Map<string, Cancellation>;
}

export class Worker {
  readonly id: string;
  readonly #options: WorkerOptions;
  readonly #parts: WorkerParts;
  readonly #reporter: Reporter;
  /** Jobs that were started here, with the time until which they could be started again. */
  readonly #started = new Map<string, number>();
  #takers: readonly BullWorker[] = [];

  constructor(id: string, options: WorkerOptions, parts: WorkerParts) {
    this.id = id;
    this.#options = options;
    this.#parts = parts;
    this.#reporter = createReporter({ ...parts, key: options.key, debug: options.debug });
  }

  async start(): Promise<void> {
    const { Worker: Taker } = loadBullmq();
    const { address, tags, concurrency, debug } = this.#options;
    const { names, connections } = this.#parts;
    this.#takers = await Promise.all(
      ['', ...tags].map(async (tag) => {
        const connection = await connect(address, { name: 'worker-queue', silenceMs: SILENCE_MS, onError: debug });
        connections.push(connection);
        const taker = new Taker(names.queue(tag), (job: BullJob) => this.#take(job), {
          connection,
          prefix: names.prefix,
          name: this.id,
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

  /** Takes no further call, and returns when those that run have ended (FLT-16). */
  async drain(): Promise<void> {
    const closed = Promise.all(this.#takers.map((taker) => taker.close().catch(() => {})));
    // Without Redis there is nobody to tell: it is enough that no call runs.
    while (!(await settlesWithin(closed, CLOSE_MS)) && this.#parts.running.size > 0);
  }

  async close(): Promise<void> {
    const { presence, connections, running } = this.#parts;
    for (const cancellation of running.values()) cancellation.cancel();
    await this.drain();
    await settlesWithin(presence.close(), CLOSE_MS);
    for (const connection of connections) connection.disconnect();
  }

  async #take({ id: jobId = '', data }: BullJob): Promise<void> {
    const { running } = this.#parts;
    const cancellation = new Cancellation();
    running.set(jobId, cancellation);
    try {
      await this.#runOrRefuse(jobId, data, cancellation);
    } catch (error) {
      // FLT-6: there is nobody to answer.
      this.#options.debug(`fleet: the job ${jobId} was refused: ${(error as Error).message}`);
    } finally {
      running.delete(jobId);
    }
  }

  async #runOrRefuse(jobId: string, data: unknown, cancellation: Cancellation): Promise<void> {
    const { key, toolbox, secrets } = this.#options;
    const { presence } = this.#parts;
    const job = openJob(key, jobId, data);
    const timeoutMs = Math.floor(job.timeoutMs - (presence.now() - job.queued));
    if (timeoutMs <= 0) throw new Error('its time is over');
    const refusal = await this.#findRefusal(job);
    if (refusal !== undefined) return this.#reporter.send(job, { type: 'refused', refusal });
    // FLT-6, FLT-10: a job runs once, even if it is added to the queue again, also without its claim (FLT-72).
    const isNew = this.#remember(jobId, presence.now(), timeoutMs);
    if (!isNew || !(await this.#reporter.claim(job, this.id, timeoutMs)))
      throw new Error('its decision was used before');
    const { result, started } = await runJob({
      toolbox,
      secrets,
      job,
      timeoutMs,
      cancellation,
      reporter: this.#reporter,
    });
    await this.#reporter.finish(job, { worker: this.id, attempt: job.attempt, started, result });
    this.#options.debug(`fleet: ${toJobId(job)} ${job.tool} ${result.ok ? 'ok' : result.error?.code}`);
  }

  // Returns false if the job is known.
  #remember(jobId: string, now: number, timeoutMs: number): boolean {
    for (const [id, until] of this.#started) if (until < now) this.#started.delete(id);
    if (this.#started.has(jobId)) return false;
    this.#started.set(jobId, now + timeoutMs);
    return true;
  }

  // Checked again when the call is planned.
  async #findRefusal({ tool: name, digest, caller }: Job): Promise<Refusal | undefined> {
    const { toolbox } = this.#options;
    const worker = this.id;
    try {
      const tool = await toolbox.find(name);
      if (tool.origin.digest !== digest)
        return { worker, code: 'integrity', message: `worker ${worker} has another version of it` };
      if (caller.kind !== 'model' || !needsTrust(tool) || toolbox.workspace.trusted) return undefined;
      return { worker, code: 'needs_trust', message: `the workspace of worker ${worker} is not trusted` };
    } catch (error) {
      if (!isToolError(error)) throw error;
      return { worker, code: 'not_found', message: `worker ${worker} does not have it: ${error.message}` };
    }
  }
}
