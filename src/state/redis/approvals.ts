// Approvals of a fleet: the rules of the local store, applied to a copy of the hash and stored if nobody changed it meanwhile.

import type { Approvals } from '../../core/approval.js';
import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { type ApprovalTexts, createApprovalStorage } from '../../policy/approval-directory.js';
import { type ApprovalAdmin, type ApprovalStore, createApprovals, expiryOf } from '../../policy/approvals.js';
import { createIndex, INDEX } from './approval-index.js';
import { PATIENCE_MS, type RedisKeyspace, reach } from './keyspace.js';

// Stores changes if the index is still the one that was read: fields to remove, then fields and values to set.
const COMMIT = `
if (redis.call('HGET', KEYS[1], '${INDEX}') or '') ~= ARGV[1] then return 0 end
local removed = tonumber(ARGV[2])
for at = 3, 2 + removed do redis.call('HDEL', KEYS[1], ARGV[at]) end
for at = 3 + removed, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end
return 1`;
const ATTEMPTS = 50;

export function createSharedApprovals(keyspace: RedisKeyspace): Approvals & ApprovalAdmin {
  const { redis } = keyspace;
  const hash = keyspace.keyOf('approvals');
  const index = createIndex(keyspace, hash);
  const key = (): string => keyspace.secret('approvals');
  const flag = ` --fleet ${keyspace.address}`;

  // What the rules decide is stored as a whole or decided again: an approval is used once (POL-7).
  const decide = <T>(rule: (store: ApprovalStore) => T): Promise<T> =>
    reach('the approvals of the fleet cannot be used, so nothing ran', attempt(rule));
  const attempt = async <T>(rule: (store: ApprovalStore) => T): Promise<T> => {
    const since = performance.now();
    for (let tried = 0; tried < ATTEMPTS; tried++) {
      const [{ fields, sealed, commit }, [seconds]] = await Promise.all([index.read(), redis.time()]);
      const copy = createCopy(fields, { keyspace, hash, now: Number(seconds) * 1000 });
      let result: T;
      let thrown: unknown;
      try {
        result = rule(createApprovals(copy.approvals, key));
      } catch (error) {
        thrown = error;
      }
      const { removed, set } = copy.changes();
      // The caller has given up, so its approval must not be used.
      if (performance.now() - since > PATIENCE_MS) throw new Error('no answer in time');
      const isStored =
        removed.length + set.length === 0 ||
        (await redis.eval(COMMIT, 1, hash, sealed, removed.length, ...removed, ...set.flat(), ...commit(fields))) === 1;
      if (!isStored) continue;
      if (thrown !== undefined) throw thrown;
      return result!;
    }
    throw new ToolError('busy', 'the approvals of the fleet change too fast', { hint: 'try again' });
  };

  return {
    flag,
    key,
    take: (record) => decide((store) => store.take(record)),
    ask: (record) => decide((store) => store.ask(record, flag)),
    decisionOn: (record) => decide((store) => store.decisionOn(record)),
    isPending: (id) => decide((store) => store.isPending(id)),
    always: (record) => decide((store) => store.always(record)),
    remember: (record) => decide((store) => store.remember(record)),
    changes: (record) => decide((store) => store.changes(record)),
    list: () => decide((store) => store.list()),
    find: (id) => decide((store) => store.find(id)),
    approve: (id, always, by) => decide((store) => store.approve(id, always, by)),
    deny: (id, reason, by) => decide((store) => store.deny(id, reason, by)),
    expiry: expiryOf,
    stale: () => decide((store) => store.stale()),
  };
}

interface CopyOptions {
  readonly keyspace: RedisKeyspace;
  readonly hash: string;
  /** By the clock of Redis: those of machines may differ (FLT-14). */
  readonly now: number;
}

// A copy of the hash that remembers what was changed.
function createCopy(fields: Map<string, string>, { keyspace, hash, now }: CopyOptions) {
  const removed = new Set<string>();
  const set = new Map<string, string>();
  const put = (name: string, text: string): void => {
    fields.set(name, keyspace.seal(hash, name, text as Json));
    set.set(name, fields.get(name)!);
    removed.delete(name);
  };
  const drop = (name: string): void => {
    if (!fields.delete(name)) return;
    set.delete(name);
    removed.add(name);
  };
  const textOf = (name: string): string => {
    try {
      return String(keyspace.open(hash, name, fields.get(name)!));
    } catch {
      return 'null';
    }
  };
  const texts: ApprovalTexts = {
    now: () => now,
    list: () => [...fields.keys()],
    read: textOf,
    pathOf: (name) => name,
    write: put,
    move(from, to) {
      const text = textOf(from);
      drop(from);
      put(to, text);
      return true;
    },
    remove: drop,
    setsTime: true,
  };
  return { approvals: createApprovalStorage(texts), changes: () => ({ removed: [...removed], set: [...set] }) };
}
