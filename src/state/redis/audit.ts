// The audit stream of a fleet: every front keeps its own log, and adds each line to a stream that all share.

import type { AuditSink } from '../../audit/sinks.js';
import { type RedisKeyspace, send } from './keyspace.js';

// Bounds the memory of Redis; the logs of the fronts have older lines.
const MAX_LINES = 100_000;
const BATCH = 1000;
const FIELD = 'line';

export function createAuditStream(keyspace: RedisKeyspace): AuditSink {
  const key = keyspace.keyOf('audit');
  return {
    name: 'the fleet',
    write(line) {
      const sealed = keyspace.seal(key, FIELD, line);
      send(keyspace, 'a line of the audit log', keyspace.redis.xadd(key, 'MAXLEN', '~', MAX_LINES, '*', FIELD, sealed));
    },
  };
}

/** Passes on the lines of all fronts, oldest first; returns how many were not sealed with the key of the fleet. */
export async function readSharedAudit(keyspace: RedisKeyspace, take: (line: string) => void): Promise<number> {
  const key = keyspace.keyOf('audit');
  let skipped = 0;
  for (let from = '-'; ; ) {
    const entries = await keyspace.redis.xrange(key, from, '+', 'COUNT', BATCH);
    for (const [, [, sealed = '']] of entries) {
      try {
        take(String(keyspace.open(key, FIELD, sealed)));
      } catch {
        skipped++;
      }
    }
    if (entries.length < BATCH) return skipped;
    from = `(${entries.at(-1)![0]}`;
  }
}
