// Where state is in Redis: keys below the name of the fleet, values sealed with its key.

import type { Redis } from 'ioredis';
import { isToolError, ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { settlesWithin } from '../../core/time-limit.js';
import { explainFailure } from '../../fleet/connection.js';
import type { FleetKey } from '../../fleet/key.js';
import { toPrefix } from '../../fleet/names.js';
import { busyIfFull } from '../../fleet/outcome.js';

/** The Redis server of a fleet, as the stores use it. */
export type RedisKeyspace = ReturnType<typeof createKeyspace>;

export interface RedisKeyspaceOptions {
  readonly redis: Redis;
  readonly key: FleetKey;
  readonly warn: (message: string) => void;
  /** What a person writes after `--fleet`, without a password. */
  readonly address?: string;
}

export function createKeyspace({ redis, key, warn, address = 'URL' }: RedisKeyspaceOptions) {
  let warned = '';
  const pending = new Set<Promise<unknown>>();
  const keyOf = (...parts: readonly string[]): string => [toPrefix(key.fleet), 'state', ...parts].join(':');
  return {
    redis,
    address,
    /** Returns a key of the state of this fleet. */
    keyOf,
    /** Likewise for an id that gives access, which Redis must not see (FLT-78). */
    hiddenKeyOf: (kind: string, id: string): string => keyOf(kind, key.name('state', kind, id).slice(0, 32)),
    /** Seals a value for the key and field that it is stored in: it counts nowhere else. */
    seal: (name: string, field: string, value: Json): string => key.seal(`${name} ${field}`, value),
    /** Throws `integrity`. */
    open: (name: string, field: string, sealed: string): Json => key.open(`${name} ${field}`, sealed),
    /** A secret that all fronts derive from the key of the fleet. */
    secret: (purpose: string): string => key.name('state', purpose),
    /** Likewise those that change with the key: the one to use, and others that are still accepted. */
    secrets: key.secrets,
    /** Receives failures that end no call. */
    warn(message: string): void {
      if (message !== warned) warn(message);
      warned = message;
    },
    /** Remembers a command that no call waits for until it is answered. */
    track(sent: Promise<unknown>): void {
      const answered: Promise<unknown> = sent.catch(() => {}).finally(() => pending.delete(answered));
      pending.add(answered);
    },
    /** Waits for the answers to such commands: before the connection is closed (FLT-64). */
    async flush(): Promise<void> {
      const answered = async (): Promise<void> => {
        // An answer may be followed by another command.
        while (pending.size > 0) await Promise.all(pending);
      };
      await settlesWithin(answered(), FLUSH_MS);
    },
  };
}

/** Sends a command that no call waits for; a failure is reported. */
export function send(keyspace: RedisKeyspace, what: string, sent: Promise<unknown>): void {
  keyspace.track(
    sent.catch((error: Error) => keyspace.warn(`${what} could not be shared with the fleet: ${explainFailure(error)}`)),
  );
}

// A connection that is lost answers with an error long before.
const FLUSH_MS = 10_000;

/** How long a call waits for an answer; Redis takes milliseconds. */
export const PATIENCE_MS = 2500;

/** Waits for an answer that a call needs. Throws `unavailable` if Redis does not give one, `busy` if it is full. */
export async function reach<T>(what: string, answer: Promise<T>): Promise<T> {
  try {
    if (!(await settlesWithin(answer, PATIENCE_MS))) throw new Error('no answer');
    return await answer;
  } catch (error) {
    if (isToolError(error)) throw error;
    const busy = busyIfFull(what, error);
    if (busy !== undefined) throw busy;
    throw new ToolError('unavailable', `${what}: ${explainFailure(error)}`, {
      hint: 'call again when the Redis server of the fleet answers',
      cause: error,
    });
  }
}
