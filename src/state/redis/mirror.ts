// A hash in Redis with a copy in memory, so that it can be read without waiting: loaded at the start, then told of changes.

import type { Redis } from 'ioredis';
import type { Json } from '../../core/json.js';
import { subscribe } from '../../fleet/connection.js';
import { type RedisKeyspace, send } from './keyspace.js';

export type Mirror = Awaited<ReturnType<typeof createMirror>>;

export interface MirrorOptions {
  readonly name: string;
  readonly keyspace: RedisKeyspace;
  /** A connection that does nothing but receive messages. */
  readonly subscriber: Redis;
  /** Called with each value that came from another front. */
  readonly onChange?: (field: string, value: Json) => void;
}

/** Loads a hash. Values that are not sealed with the key of the fleet are ignored and reported. */
export async function createMirror(options: MirrorOptions) {
  const { name, keyspace, subscriber, onChange = () => {} } = options;
  const { redis } = keyspace;
  const key = keyspace.keyOf(name);
  const values = new Map<string, Json>();
  let version = 0;
  const take = (field: string, sealed: string | null): void => {
    if (sealed === null) return;
    try {
      const value = keyspace.open(key, field, sealed);
      values.set(field, value);
      version++;
      onChange(field, value);
    } catch (error) {
      keyspace.warn(`ignored a value of ${name}: ${(error as Error).message}`);
    }
  };
  const load = async (): Promise<void> => {
    for (const [field, sealed] of Object.entries(await redis.hgetall(key))) take(field, sealed);
  };
  const reload = (field: string): void =>
    send(
      keyspace,
      name,
      redis.hget(key, field).then((sealed) => take(field, sealed)),
    );
  subscriber.on('message', (channel: string, field: string) => {
    if (channel === key) reload(field);
  });
  await subscribe(subscriber, key);
  // Messages that were sent while the connection was broken are lost.
  subscriber.on('ready', () => send(keyspace, name, load()));
  await load();

  return {
    /** Incremented with every change. */
    get version(): number {
      return version;
    },
    get: (field: string): Json | undefined => values.get(field),
    entries: (): Iterable<readonly [string, Json]> => values.entries(),
    /** Changes the copy at once and Redis soon after. With `ifNew`, a value that another front set before wins. */
    set(field: string, value: Json, { ifNew = false } = {}): void {
      values.set(field, value);
      version++;
      const sealed = keyspace.seal(key, field, value);
      const store = async (): Promise<void> => {
        if (ifNew && (await redis.hsetnx(key, field, sealed)) === 0) return take(field, await redis.hget(key, field));
        if (!ifNew) await redis.hset(key, field, sealed);
        await redis.publish(key, field);
      };
      send(keyspace, name, store());
    },
  };
}
