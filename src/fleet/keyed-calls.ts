// Calls with a key: a sealed record in Redis says which front runs one, and what it does (FLT-12).

import type { Json } from '../core/json.js';
import { type JobResult, openMessage } from './job.js';
import { otherCall } from './outcome.js';
import type { FleetLink } from './peer.js';
import type { Pending } from './pending.js';

interface CallRecord {
  /** What the call does. */
  readonly binding: string;
  /** Who may let a worker run it. */
  readonly front: string;
  readonly attempt: number;
  /** A worker may run it, or have run it. */
  readonly isGranted: boolean;
}

/** How long the result of a call with a key is kept. */
export const KEYED_MS = 3_600_000;
const ATTEMPTS = 5;

// Changes a record only if it is the one that was read. Allowed if Redis is full: what was queued is run, and what was not is refused by the queue.
const REPLACE = `#!lua flags=allow-oom
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1`;

export class KeyedCalls {
  readonly #link: FleetLink;

  constructor(link: FleetLink) {
    this.#link = link;
  }

  /** Finds the result of an earlier call with the same key, or who runs it. Throws `conflict` if it did something else. */
  async reserve(call: Pending): Promise<void> {
    const { job } = call;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const [{ record, sealed }, found] = await Promise.all([this.read(job.id), this.#readResult(job.id)]);
      if ((record ?? found ?? job).binding !== job.binding) throw otherCall(job.tool);
      if (found?.started) return call.resolve(found);
      const last = Math.max(record?.attempt ?? 0, found?.attempt ?? 0);
      // Nobody has it, or nothing was started.
      if (record === undefined || record.attempt === found?.attempt) {
        if (await this.takeOver(call, sealed, last)) return;
      } else {
        call.isFollower = true;
        return;
      }
    }
    call.isFollower = true;
  }

  /** Reads a record, and how it is stored; empty without one. */
  async read(id: string): Promise<{ readonly record: CallRecord | undefined; readonly sealed: string }> {
    const sealed = (await this.#link.redis.get(this.#link.names.call(id))) ?? '';
    const record = sealed === '' ? undefined : (this.#link.key.open(`call ${id}`, sealed) as unknown as CallRecord);
    return { record, sealed };
  }

  /** Makes this front run the call, as the attempt after `last`; false if the record has changed. */
  async takeOver(call: Pending, sealed: string, last: number): Promise<boolean> {
    const attempt = last + 1;
    if (!(await this.#replace(call, sealed, { attempt, isGranted: false }))) return false;
    call.job = { ...call.job, attempt };
    call.isFollower = false;
    return true;
  }

  /** Records that a worker may run the call; false if another front runs it by now. */
  async grant(call: Pending): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { record, sealed } = await this.read(call.job.id);
      if (record !== undefined && record.front !== this.#link.id) return false;
      if (await this.#replace(call, sealed, { attempt: call.job.attempt, isGranted: true })) return true;
    }
    return false;
  }

  /** Gives up a call that no worker may run. */
  async release(call: Pending): Promise<void> {
    const { record, sealed } = await this.read(call.job.id);
    if (record?.front === this.#link.id && !record.isGranted) await this.#replace(call, sealed, undefined);
  }

  async #readResult(id: string): Promise<JobResult | undefined> {
    const sealed = await this.#link.redis.get(this.#link.names.result(id));
    return sealed === null ? undefined : openMessage(this.#link.key, 'result', id, sealed);
  }

  async #replace(
    { job }: Pending,
    sealed: string,
    next: Pick<CallRecord, 'attempt' | 'isGranted'> | undefined,
  ): Promise<boolean> {
    const record = { ...next, binding: job.binding!, front: this.#link.id } satisfies Partial<CallRecord>;
    const value = next === undefined ? '' : this.#link.key.seal(`call ${job.id}`, record as unknown as Json);
    const keepMs = KEYED_MS + Math.ceil(job.timeoutMs);
    return (await this.#link.redis.eval(REPLACE, 1, this.#link.names.call(job.id), sealed, value, keepMs)) === 1;
  }
}
