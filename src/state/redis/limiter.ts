// Limits of all fronts together: running calls are members of sorted sets that expire unless their front renews them (RUN-8).

import { pause } from '../../core/async.js';
import { cancelled } from '../../core/time-limit.js';
import { newId } from '../../fleet/peer.js';
import { type Limiter, RATE_MS, type Slot } from '../../runtime/limiter.js';
import { type RedisKeyspace, reach } from './keyspace.js';

// Allowed if Redis is full: a call that was queued before runs.
const AT = `#!lua flags=allow-oom
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)`;
// With the id, and how long it is valid.
const HOLD = `
for _, key in ipairs(KEYS) do
  redis.call('ZADD', key, now + ARGV[2], ARGV[1])
  redis.call('PEXPIRE', key, ARGV[2] * 2)
end
return 1`;
const RENEW = AT + HOLD;
// Takes a slot in each set, or in none; the limit of each set follows.
const ENTER = `${AT}
for at, key in ipairs(KEYS) do
  redis.call('ZREMRANGEBYSCORE', key, 0, now)
  if redis.call('ZCARD', key) >= tonumber(ARGV[2 + at]) then return 0 end
end${HOLD}`;
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
  const { redis } = keyspace;
  return {
    load: local.load,
    // The key of a caller does not show who it is.
    async admit(caller, perMinute) {
      const key = keyspace.keyOf('rate', keyspace.secret(`rate ${caller}`));
      return Number(await reach('the call was not run', redis.eval(ADMIT, 1, key, RATE_MS, perMinute)));
    },
    async acquire(tool, limits, call, nested) {
      const slot = await local.acquire(tool, limits, call, nested);
      const { group } = tool.traits;
      const shared = [
        { set: `tool ${tool.name}`, most: limits.concurrentPerTool },
        ...(group === undefined ? [] : [{ set: `group ${group}`, most: limits.concurrentPerGroup }]),
      ].filter(({ most }) => most < limits.concurrent);
      // A nested call runs within its outermost one.
      if (nested || shared.length === 0) return slot;
      const keys = shared.map(({ set }) => keyspace.keyOf('running', set));
      const most = shared.map((one) => one.most);
      const id = newId();
      const enter = (): Promise<unknown> => redis.eval(ENTER, keys.length, ...keys, id, LEASE_MS, ...most);
      try {
        while ((await reach(`${tool.name} was not run`, enter())) !== 1) {
          await pause(RETRY_MS);
          if (call.signal.aborted) throw cancelled(tool.name);
        }
      } catch (error) {
        slot.release();
        throw error;
      }
      return hold(keyspace, slot, keys, id);
    },
  };
}

function hold(keyspace: RedisKeyspace, slot: Slot, keys: readonly string[], id: string): Slot {
  const { redis } = keyspace;
  const renew = setInterval(() => {
    redis.eval(RENEW, keys.length, ...keys, id, LEASE_MS).catch(() => {});
  }, RENEW_MS);
  renew.unref();
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      clearInterval(renew);
      for (const key of keys) keyspace.track(redis.zrem(key, id));
      slot.release();
    },
  };
}
