// The status of a fleet: who is connected, what runs and waits, and the last hour (FLT-30).

import type { Redis } from 'ioredis';
import { orNothing } from '../core/error.js';
import { openMessage } from './job.js';
import type { FleetKey } from './key.js';
import { type FleetNames, toNames } from './names.js';
import { listPeers, type PeerInfo } from './presence.js';
import { type HourStats, readStats } from './stats.js';
import { isWorkerTag } from './tag.js';

export interface FleetStatus {
  readonly fleet: string;
  readonly fronts: readonly Peer[];
  readonly workers: readonly (Peer & { readonly tags: readonly string[]; readonly running: number })[];
  readonly running: number;
  readonly waiting: number;
  /** Waiting calls by tag; an empty one: for any worker. */
  readonly waitingByTag: Readonly<Record<string, number>>;
  /** How long the oldest waiting call has waited. */
  readonly oldestMs: number | null;
  readonly lastHour: HourStats & { readonly lostWorkers: number };
}

interface Peer {
  readonly id: string;
  readonly host: string;
  readonly version: string | null;
  readonly pid: number;
  readonly uptimeMs: number;
}

const HOUR_MS = 3_600_000;

export async function readStatus(redis: Redis, key: FleetKey): Promise<FleetStatus> {
  const names = toNames(key.fleet);
  const [seconds, microseconds] = await redis.time();
  const now = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  const [fronts, workers, waiting] = await Promise.all([
    listPeers(redis, names, 'front'),
    listPeers(redis, names, 'worker'),
    readWaiting(redis, names),
  ]);
  const toPeer = ({ id, host, version, pid, since }: PeerInfo): Peer => ({
    id,
    host,
    version: version ?? null,
    pid,
    uptimeMs: now - since,
  });
  const [ages, lastHour, lostWorkers] = await Promise.all([
    Promise.all([...waiting.keys()].map((tag) => readOldest(redis, key, names, tag))),
    readStats(redis, names, now),
    redis.zcount(names.lost, now - HOUR_MS, now),
  ]);
  const queued = ages.filter((age) => age !== undefined);
  return {
    fleet: key.fleet,
    fronts: fronts.map(toPeer),
    workers: workers.map((worker) => ({
      ...toPeer(worker),
      tags: worker.tags ?? [],
      running: worker.running?.length ?? 0,
    })),
    running: workers.reduce((sum, { running = [] }) => sum + running.length, 0),
    waiting: [...waiting.values()].reduce((sum, count) => sum + count, 0),
    waitingByTag: Object.fromEntries(waiting),
    oldestMs: queued.length === 0 ? null : Math.max(0, now - Math.min(...queued)),
    lastHour: { ...lastHour, lostWorkers },
  };
}

/** Returns how many calls wait, by tag; an empty one: for any worker. */
export async function readWaiting(redis: Redis, names: FleetNames): Promise<ReadonlyMap<string, number>> {
  const used = await redis.smembers(names.tags);
  const tags = used.filter((tag) => tag === '' || isWorkerTag(tag));
  return new Map(
    await Promise.all(tags.map(async (tag): Promise<[string, number]> => [tag, await redis.llen(names.waiting(tag))])),
  );
}

// When the oldest waiting call was queued; BullMQ takes calls from the end of the list.
async function readOldest(redis: Redis, key: FleetKey, names: FleetNames, tag: string): Promise<number | undefined> {
  const jobId = await redis.lindex(names.waiting(tag), -1);
  const data = jobId === null ? null : await redis.hget(names.job(tag, jobId), 'data');
  if (jobId === null || data === null) return undefined;
  // Not ours.
  return orNothing(() => openMessage(key, 'job', jobId, String(JSON.parse(data))).queued);
}
