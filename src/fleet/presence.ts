// Presence: fronts and workers join a fleet, show that they are alive, and learn the time of Redis.

import type { Redis } from 'ioredis';
import { orNothing } from '../core/error.js';
import { list, number, object, optional, readShape, string, strings, text } from '../core/shape.js';
import { begin, type ConnectOptions, connect } from './connection.js';
import { type FleetNames, type PeerKind, toNames } from './names.js';
import { type FleetLink, type FleetOptions, newId } from './peer.js';
import { TAG } from './tag.js';

/** What a front or worker says about itself. */
export interface PeerInfo {
  readonly id: string;
  readonly host: string;
  /** Of wield; members from before it was written have none. */
  readonly version?: string;
  readonly pid: number;
  /** Time of Redis. */
  readonly since: number;
  readonly tags?: readonly string[];
  /** Ids of the jobs that a worker runs. */
  readonly running?: readonly string[];
}

const BEAT_MS = 300;
/** A peer whose last sign of life is older is not alive. */
const ALIVE_MS = 1200;
/** How long a front finds the messages that arrived while it was cut off. */
export const REPLIES_MS = 60_000;

// Allowed if Redis is full, because the workers are alive all the same.
const BEAT = `#!lua flags=allow-oom
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
if redis.call('TYPE', KEYS[2]).ok ~= 'zset' then redis.call('DEL', KEYS[2]) end
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], 0, now - 3600000)
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return now`;

/** A front or worker that is connected, and shows that it is alive. */
export interface Member extends FleetLink {
  readonly presence: Awaited<ReturnType<typeof createPresence>>;
  /** All connections, to be closed; `redis` is the first one. */
  readonly connections: Redis[];
}

interface JoinOptions {
  readonly connections: readonly ConnectOptions[];
  /** Returns what it says about itself besides its id. */
  readonly describe: () => Partial<PeerInfo>;
}

/** Connects a front or worker, and starts it. Throws `unavailable` if Redis cannot be used. */
export async function join<T>(
  kind: PeerKind,
  options: FleetOptions,
  { connections: wanted, describe }: JoinOptions,
  start: (member: Member) => Promise<T>,
): Promise<T> {
  const { address, key, debug } = options;
  const names = toNames(key.fleet);
  const id = `${kind}-${newId().slice(0, 8)}`;
  const connections = await Promise.all(wanted.map((one) => connect(address, { ...one, onError: debug })));
  const link = { redis: connections[0]!, key, names, debug, id };
  return begin(connections, address, names, async () => {
    const presence = await createPresence(kind, link, options, describe);
    return start({ ...link, connections, presence });
  });
}

async function createPresence(
  kind: PeerKind,
  { redis, names, id, debug }: FleetLink,
  { host, version, monotonic }: FleetOptions,
  describe: () => Partial<PeerInfo>,
) {
  const [seconds, microseconds] = await redis.time();
  let offset = Number(seconds) * 1000 + Number(microseconds) / 1000 - monotonic();
  const now = (): number => offset + monotonic();
  const since = Math.floor(now());
  const beat = async (): Promise<void> => {
    const info: PeerInfo = { id, host, version, pid: process.pid, since, ...describe() };
    const sent = monotonic();
    const keys = [names.peer(id), names.peers(kind), names.replies(id)];
    const time = await redis.eval(BEAT, 3, ...keys, id, JSON.stringify(info), ALIVE_MS, REPLIES_MS);
    // A slow answer says little about the time.
    const took = monotonic() - sent;
    if (took < BEAT_MS) offset = Number(time) + took / 2 - monotonic();
  };
  let isBeating = false;
  const beatOnce = async (): Promise<void> => {
    if (isBeating) return;
    isBeating = true;
    try {
      await beat();
    } catch (error) {
      debug(`presence: ${(error as Error).message}`);
    } finally {
      isBeating = false;
    }
  };
  await beat();
  const timer = setInterval(() => void beatOnce(), BEAT_MS);
  return {
    /** Milliseconds of the time of Redis, which all machines share (FLT-14). */
    now,
    /** Says goodbye, so that nobody misses this peer. */
    async close(): Promise<void> {
      clearInterval(timer);
      await redis
        .pipeline()
        .del(names.peer(id))
        .zrem(names.peers(kind), id)
        .exec()
        .catch(() => {});
    },
  };
}

/** Returns the fallback if someone replaced a value by one of another type, which no member does (FLT-81). */
export async function unlessRetyped<T>(answer: Promise<T>, fallback: T): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (/\bWRONGTYPE\b/.test((error as Error).message)) return fallback;
    throw error;
  }
}

// Signs of life are not sealed, so anything may be written there (FLT-73).
const PEER = object(
  {
    id: text('an id', /^(?:front|worker)-[0-9a-f]{8}$/),
    host: string,
    version: optional(text('a version', /^\d[\w.+-]{0,40}$/)),
    pid: number,
    since: number,
    tags: optional(list(text('a tag', TAG))),
    running: optional(strings),
  },
  { unknown: 'drop' },
);

/** Reads all peers of a kind that are alive. */
export async function listPeers(redis: Redis, names: FleetNames, kind: PeerKind): Promise<readonly PeerInfo[]> {
  const ids = await unlessRetyped(redis.zrange(names.peers(kind), '0', '-1'), []);
  const texts = ids.length === 0 ? [] : await redis.mget(ids.map(names.peer));
  return texts.flatMap((sign, at) => {
    const { value, faults } = readShape(
      PEER,
      orNothing(() => JSON.parse(sign ?? 'null') as unknown),
    );
    return value === undefined || faults.length > 0 || value.id !== ids[at] ? [] : [value];
  });
}
