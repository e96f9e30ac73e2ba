// Counters of a fleet: calls and their durations per minute, summed up over the last hour.

import type { Redis } from 'ioredis';
import type { FleetNames } from './names.js';

/** What is counted besides durations. */
export type Counter = 'calls' | 'failed' | 'busy' | 'lost';

export type Stats = ReturnType<typeof createStats>;

export interface HourStats extends Readonly<Record<Counter, number>> {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

const MINUTE_MS = 60_000;
const KEPT_MS = 2 * 60 * MINUTE_MS;
const MIN_ESTIMATE_MS = 500;
const MAX_ESTIMATE_MS = 30_000;
// The ends of calls that an estimate considers are about so old.
const RATE_MS = 2000;
// Durations are counted in classes that grow by 5 %.
const GROWTH = Math.log(1.05);

/** `now` is the time of Redis. Counts are sent at once, those of many calls together. */
export function createStats(redis: Redis, names: FleetNames, now: () => number) {
  let counted = new Map<string, number>();
  let sending: Promise<void> | undefined;
  const send = async (): Promise<void> => {
    while (counted.size > 0) {
      const batch = counted;
      counted = new Map();
      const name = names.stats(Math.floor(now() / MINUTE_MS));
      const pipeline = redis.pipeline();
      for (const [field, value] of batch) pipeline.hincrby(name, field, value);
      await pipeline.pexpire(name, KEPT_MS).exec();
    }
  };
  const add = (field: string): void => {
    counted.set(field, (counted.get(field) ?? 0) + 1);
    sending ??= Promise.resolve()
      .then(send)
      .catch(() => {})
      .finally(() => {
        sending = undefined;
      });
  };
  // Ends of calls, each counted less as it becomes older.
  let ends = 0;
  let last = 0;
  const decay = (): void => {
    const time = now();
    ends *= Math.exp((last - time) / RATE_MS);
    last = time;
  };
  return {
    count: (counter: Counter): void => add(counter),
    /** Estimates how long it takes until so many calls have ended, in milliseconds. */
    estimate(calls: number): number {
      decay();
      const perCall = RATE_MS / Math.max(ends, 1);
      return Math.ceil(Math.min(MAX_ESTIMATE_MS, Math.max(MIN_ESTIMATE_MS, calls * perCall)));
    },
    /** Counts a call that was answered by a worker. */
    observe(durationMs: number, ok: boolean): void {
      decay();
      ends++;
      add('calls');
      if (!ok) add('failed');
      add(`t${Math.round(Math.log(Math.max(durationMs, 1)) / GROWTH)}`);
    },
    /** Waits until everything that was counted is in Redis, or was refused. */
    flush: async (): Promise<void> => sending,
  };
}

/** Sums up the last hour before `now`. */
export async function readStats(redis: Redis, names: FleetNames, now: number): Promise<HourStats> {
  const minute = Math.floor(now / MINUTE_MS);
  const minutes = await Promise.all(Array.from({ length: 60 }, (_, back) => redis.hgetall(names.stats(minute - back))));
  const sums = new Map<string, number>();
  // Not sealed: others may write something else.
  for (const fields of minutes)
    for (const [field, value] of Object.entries(fields))
      if (/^\d{1,15}$/.test(value)) sums.set(field, (sums.get(field) ?? 0) + Number(value));
  const of = (counter: Counter): number => sums.get(counter) ?? 0;
  const classes = [...sums]
    .filter(([field]) => /^t\d+$/.test(field))
    .map(([field, count]) => ({ at: Number(field.slice(1)), count }))
    .sort((a, b) => a.at - b.at);
  return {
    calls: of('calls'),
    failed: of('failed'),
    busy: of('busy'),
    lost: of('lost'),
    p50Ms: quantile(classes, 0.5),
    p99Ms: quantile(classes, 0.99),
  };
}

function quantile(classes: readonly { at: number; count: number }[], share: number): number | null {
  const total = classes.reduce((sum, { count }) => sum + count, 0);
  let left = total * share;
  for (const { at, count } of classes) {
    left -= count;
    if (left <= 0) return Math.round(Math.exp(at * GROWTH));
  }
  return null;
}
