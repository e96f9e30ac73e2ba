// The index of the approvals of a fleet: which of them count. Values that someone puts back into Redis do not (FLT-71).

import { isRecord, type Json } from '../../core/json.js';
import type { RedisKeyspace } from './keyspace.js';

/** The field of the index. */
export const INDEX = 'index';

// Consent that might have been used or withdrawn. Questions and refusals may come back.
const CONSENT = /\.(?:approved|standing)-/;

export function createIndex(keyspace: RedisKeyspace, hash: string) {
  // The highest version that this process saw.
  let seen = 0;
  const open = (sealed: string): { version: number; names: readonly Json[] } => {
    try {
      const value = keyspace.open(hash, INDEX, sealed);
      if (isRecord(value) && typeof value.version === 'number' && Array.isArray(value.names))
        return { version: value.version, names: value.names };
    } catch {
      // Not ours: nothing counts.
    }
    return { version: 0, names: [] };
  };
  return {
    /** Returns the fields that count, the index as it is stored, and what makes the next index. */
    async read() {
      // Another read may return a newer version meanwhile.
      const before = seen;
      const { [INDEX]: sealed = '', ...stored } = await keyspace.redis.hgetall(hash);
      const { version, names } = open(sealed);
      const isOlder = version < before;
      if (isOlder) keyspace.warn('the approvals in Redis are older than before: what was approved is asked again');
      seen = Math.max(seen, version);
      const counts = new Set(names.filter((name) => !(isOlder && CONSENT.test(String(name)))));
      const fields = new Map(Object.entries(stored).filter(([name]) => counts.has(name)));
      return {
        fields,
        sealed,
        /** Returns the field and the value of the next index, for the fields that count then. */
        commit(after: ReadonlyMap<string, string>): readonly [string, string] {
          const next = { version: Math.max(before, version) + 1, names: [...after.keys()] };
          return [INDEX, keyspace.seal(hash, INDEX, next)];
        },
      };
    },
  };
}
