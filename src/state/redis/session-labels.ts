// The labels of sessions of a fleet: what a session read at one front counts at all of them.

import {
  type EnteredLabel,
  joinLabels,
  type LabelAdmin,
  type SessionLabels,
  withoutExpired,
} from '../../core/label.js';
import { matches } from '../../core/shape.js';
import { LABELLED, labelledId, unknownSession } from '../../policy/session-labels.js';
import { type RedisKeyspace, reach } from './keyspace.js';

const KEEP_MS = 90 * 24 * 3_600_000;
const WHAT = 'what the session has read is unknown, so nothing ran';

// Each label is a field of its own, so that two fronts can add labels at the same time.
export function createSharedLabels(keyspace: RedisKeyspace, now: () => number): SessionLabels & LabelAdmin {
  const { redis } = keyspace;
  const prefix = keyspace.keyOf('labels', '');
  const keyOf = (id: string): string => `${prefix}${id}`;
  const read = async (id: string): Promise<{ of: string; labels: readonly EnteredLabel[] }> => {
    const key = keyOf(id);
    const fields = Object.entries(await reach(WHAT, redis.hgetall(key)));
    const stored = fields
      .map(([field, sealed]) => keyspace.open(key, field, sealed))
      .filter((one) => matches(LABELLED, one));
    const labels = stored.flatMap((one) => one.labels as readonly EnteredLabel[]).sort((a, b) => a.at - b.at);
    return { of: stored[0]?.of ?? '', labels: withoutExpired(labels, now()) };
  };
  return {
    read: async (session) => (await read(labelledId(session))).labels,
    async enter(session, of, added) {
      const id = labelledId(session);
      const key = keyOf(id);
      const { labels: known } = await read(id);
      const changed = joinLabels(known, added).filter((one) => !known.includes(one));
      if (changed.length === 0) return;
      const fields = changed.flatMap((one) => {
        const value = { version: 1, of, labels: [{ ...one }] };
        return [one.label, keyspace.seal(key, one.label, value)];
      });
      await reach(WHAT, redis.hset(key, ...fields));
      await reach(WHAT, redis.pexpire(key, KEEP_MS));
    },
    async list() {
      const keys = await reach(WHAT, redis.keys(`${prefix}*`));
      const sessions = await Promise.all(
        keys.map(async (key) => ({ id: key.slice(prefix.length), ...(await read(key.slice(prefix.length))) })),
      );
      return sessions.filter(({ labels }) => labels.length > 0);
    },
    async clear(id) {
      if ((await reach(WHAT, redis.del(keyOf(id)))) === 0) throw unknownSession(id);
    },
  };
}
