// Counters of a fleet: calls and their durations per minute, summed up over the last hour.

import type { Redis } from 'ioredis';
import type { FleetNames } from './names.js';

/** What is counted besides durations. */
export type Counter = 'calls' | 'failed' | 'busy' | 'lost';

export interface Stats {
  count(counter: Counter): void;
  /** Counts a call that was answered by a worker. */
  observe(durationMs: number, ok: boolean): void;
  /** Estimates how long it takes until so many calls have ended, in milliseconds. */
  estimate(calls: number): number;
  /** Adds what was counted to Redis. */
  flush(now: number): Promise<void>;
}

export interface HourStats extends Readonly<Record<Counter, number>> {
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

const MINUTE_MS = 60_000;
const KEPT_MS = 2 * 60 * MINUTE_MS;
// Durations are counted in classes that grow by 5 %.
const MIN_ESTIMATE_MS = 500;
const MAX_ESTIMATE_MS = 30_000;
const GROWTH = Math.log(1.05);

export function createStats(redis: Redis, names: FleetNames): Stats {
  let counted = new Map<string, number>();
  const add = (field: string): void => {
    counted.set(field, (counted.get(field) ?? 0) + 1);
  };
  // Ends of calls since the last two flushes.
  let ended = 0;
  let perFlush = 0;
  return {
    count: add,
    estimate: (calls) => Math.min(MAX_ESTIMATE_MS, Math.max(MIN_ESTIMATE_MS, (calls / Math.max(perFlush, 1)) * 1000)),
    observe(durationMs, ok) {
      ended++;
      add('calls');
      if (!ok) add('failed');
      add(`t${Math.round(Math.log(Math.max(durationMs, 1)) / GROWTH)}`);
    },
    async flush(now) {
      perFlush = (perFlush + ended) / 2;
      ended = 0;
      if (counted.size === 0) return;
      const batch = counted;
      counted = new Map();
      const name = names.stats(Math.floor(now / MINUTE_MS));
      const pipeline = redis.pipeline();
      for (const [field, value] of batch) pipeline.hincrby(name, field, value);
      await pipeline.pexpire(name, KEPT_MS).exec();
    },
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
