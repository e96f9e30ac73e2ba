// Limits of all fronts together: running calls are members of sorted sets that expire unless their front renews them (RUN-8).

import { pause } from '../../core/async.js';
import { cancelled } from '../../core/time-limit.js';
import { type Limiter, RATE_MS, type Slot } from '../../runtime/limiter.js';
import { type RedisKeyspace, reach } from './keyspace.js';

// Takes a slot in each set, or in none: the id, how long it is valid, then the limit of each set.
// Allowed if Redis is full: a call that was queued before runs.
const ENTER = `#!lua flags=allow-oom
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for at, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, 0, now)
  if redis.call('ZCARD', key) >= tonumber(ARGV[2 + at]) then return 0 end
end
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', key, ARGV[2] * 2)
end
return 1`;
const RENEW = `#!lua flags=allow-oom
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', key, ARGV[2] * 2)
end`;
// Counts a call as the local limiter does: a number per caller, by the clock of Redis.
const ADMIT = `#!lua flags=allow-oom
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local last = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + ARGV[1] / ARGV[2]
local wait = last - now - ARGV[1]
if wait > 0.01 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.3f', last), 'PX', ARGV[1])
return 0`;
// A front that was killed holds its slots for so long.
const LEASE_MS = 10_000;
const RENEW_MS = 3000;
const RETRY_MS = 100;

/**
 * Limits of a tool or group protect something outside, such as the quota of a service, so the fleet shares those that are
 * narrower than what one machine may run. `limits.concurrent` protects a machine, and each has its own.
 */
export function createSharedLimiter(keyspace: RedisKeyspace, local: Limiter): Limiter {
  const id = createIds(keyspace);
  return {
    load: local.load,
    // The key of a caller does not show who it is.
    admit: async (caller, perMinute) =>
      Number(
        await reach(
          'the call was not run',
          keyspace.redis.eval(ADMIT, 1, keyspace.keyOf('rate', keyspace.secret(`rate ${caller}`)), RATE_MS, perMinute),
        ),
      ),
    async acquire(tool, limits, call, nested) {
      const slot = await local.acquire(tool, limits, call, nested);
      const { group } = tool.traits;
      const shared = [
        { set: `tool ${tool.name}`, most: limits.concurrentPerTool },
        ...(group === undefined ? [] : [{ set: `group ${group}`, most: limits.concurrentPerGroup }]),
      ].filter(({ most }) => most < limits.concurrent);
      // A nested call runs within its outermost one.
      if (nested || shared.length === 0) return slot;
      return enter(keyspace, slot, {
        id: id(),
        tool: tool.name,
        sets: shared.map(({ set }) => keyspace.keyOf('running', set)),
        most: shared.map(({ most }) => most),
        signal: call.signal,
      });
    },
  };
}

interface Entering {
  readonly id: string;
  readonly tool: string;
  readonly sets: readonly string[];
  readonly most: readonly number[];
  readonly signal: AbortSignal;
}

async function enter(keyspace: RedisKeyspace, slot: Slot, entering: Entering): Promise<Slot> {
  const { id, tool, sets, most, signal } = entering;
  try {
    for (;;) {
      const entered = await reach(
        `${tool} was not run`,
        keyspace.redis.eval(ENTER, sets.length, ...sets, id, LEASE_MS, ...most),
      );
      if (entered === 1) return hold(keyspace, slot, entering);
      await pause(RETRY_MS);
      if (signal.aborted) throw cancelled(tool);
    }
  } catch (error) {
    slot.release();
    throw error;
  }
}

// Unique among all fronts and workers.
function createIds(keyspace: RedisKeyspace): () => string {
  const own = keyspace.secret(`limiter ${process.pid} ${Math.random()}`).slice(0, 16);
  let calls = 0;
  return () => `${own}-${++calls}`;
}

function hold(keyspace: RedisKeyspace, slot: Slot, { id, sets }: Entering): Slot {
  const renew = setInterval(() => {
    keyspace.redis.eval(RENEW, sets.length, ...sets, id, LEASE_MS).catch(() => {});
  }, RENEW_MS);
  renew.unref();
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      clearInterval(renew);
      for (const set of sets) keyspace.track(keyspace.redis.zrem(set, id));
      slot.release();
    },
  };
}
