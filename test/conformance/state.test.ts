// The state of calls in files and in Redis, by the same suite; and what Redis gets to see.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { connect, parseFleetAddress } from '../../src/fleet/connection.js';
import { createFleetKey } from '../../src/fleet/key.js';
import { createNodeToolbox } from '../../src/node.js';
import { createFileState, type FileState } from '../../src/state/files.js';
import { readSharedAudit } from '../../src/state/redis/audit.js';
import { openRedisState, type RedisState } from '../../src/state/redis/state.js';
import { patience } from '../support/patience.js';
import { hasRedis, NO_REDIS, type RedisServer, startRedis } from '../support/redis.js';
import { onEnd, share } from '../support/share.js';
import { specIf } from '../support/spec.js';
import { describeState, recordOf } from './state.js';
import { describeResultStore } from './store.js';

const KEY = 'ab'.repeat(32);

function createHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'wield-state-'));
  onEnd(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

function createLocal(home: string, onListing?: RedisState['onListing']): FileState {
  const { machine, close } = createNodeToolbox({ workdir: home, env: { HOME: home } });
  onEnd(close);
  const results = (): string => join(home, 'results');
  return createFileState({ wieldHome: home, results, world: machine.world, ...(onListing && { onListing }) });
}

interface Front {
  readonly state: ReturnType<RedisState['share']>;
  readonly shared: RedisState;
  readonly warnings: string[];
}

/** The state of a front with its own home. */
async function openFront({ url }: RedisServer, key = KEY): Promise<Front> {
  const address = parseFleetAddress(url, {});
  const [redis, subscriber] = await Promise.all(['state', 'messages'].map((name) => connect(address, { name })));
  onEnd(() => [redis, subscriber].map((connection) => connection!.disconnect()));
  const warnings: string[] = [];
  const warn = (message: string): void => void warnings.push(message);
  const fleetKey = createFleetKey(key);
  const shared = await openRedisState({ redis: redis!, subscriber: subscriber!, key: fleetKey, warn });
  return { state: shared.share(createLocal(createHome(), shared.onListing)), shared, warnings };
}

const keyOf = (at: number): string => at.toString(16).padStart(64, '0');
let fleets = 0;
const server = share(() => (hasRedis ? startRedis() : (undefined as unknown as RedisServer)));

describeState({
  name: 'files',
  condition: true,
  reason: '',
  open: async () => {
    const home = createHome();
    return [createLocal(home), createLocal(home)];
  },
});

describeState({
  name: 'Redis',
  condition: hasRedis,
  reason: NO_REDIS,
  // Another key is another fleet, so the tests share a server.
  open: async () => {
    const key = keyOf(++fleets);
    const [one, two] = await Promise.all([openFront(server(), key), openFront(server(), key)]);
    return [one.state, two.state];
  },
});

if (hasRedis) {
  const front = share(() => openFront(server()));
  describeResultStore('Redis', () => front().state.results);
}

specIf(hasRedis, NO_REDIS, 'FLT-63', 'Redis sees neither inputs nor results, and cannot change either', async () => {
  const redis = await startRedis();
  const [one, two] = [await openFront(redis), await openFront(redis)];
  const approvals = one.state.approvals;
  const record = recordOf({ secret: 'hunter2-input' }, approvals.key(), Date.now());
  await approvals.ask(record);
  const writer = one.state.results.create('mine', { keepMs: 60_000, totalBytes: 1e6 });
  writer.write(Buffer.from('hunter2-output'));
  const { handle } = writer.finish();
  await one.state.results.share?.();
  for (const sink of one.state.auditSinks) await sink.write('{"time":"hunter2-line"}\n');
  const lines: string[] = [];
  const countLines = async (): Promise<number> => {
    lines.length = 0;
    await readSharedAudit(two.shared.keyspace, (line) => lines.push(line));
    return lines.length;
  };
  await expect.poll(countLines, { timeout: patience(30_000) }).toBe(1);
  expect(lines).toEqual(['{"time":"hunter2-line"}\n']);

  const stored = redis
    .command('--raw', 'keys', '*')
    .split('\n')
    .flatMap((key) => {
      const type = redis.command('type', key);
      if (type === 'hash') return [key, redis.command('--raw', 'hgetall', key)];
      return [key, redis.command('--raw', ...(type === 'stream' ? ['xrange', key, '-', '+'] : ['get', key]))];
    });
  // Approvals, a result and the audit stream.
  expect(stored.length).toBeGreaterThanOrEqual(6);
  expect(stored.join('\n')).not.toContain('hunter2');
  expect(stored.join('\n')).not.toContain(Buffer.from('hunter2').toString('base64').slice(0, 8));

  // An approval that someone with access to Redis writes, copies or moves is none.
  const hash = one.shared.keyspace.keyOf('approvals');
  const fields = redis.command('--raw', 'hkeys', hash).split('\n');
  const pending = fields.find((field) => field.endsWith('.pending.json'))!;
  const approved = pending.replace('pending', `approved-${Date.now()}`);
  redis.command('hset', hash, approved, redis.command('--raw', 'hget', hash, pending));
  expect(await approvals.take(record)).toBeUndefined();
  redis.command('hset', hash, approved, JSON.stringify({ version: 1, call: record }));
  expect(await approvals.take(record)).toBeUndefined();
  // So is a line, and a result of another session.
  redis.command('xadd', one.shared.keyspace.keyOf('audit'), '*', 'line', 'forged');
  expect(await readSharedAudit(two.shared.keyspace, () => {})).toBe(1);
  const result = one.shared.keyspace.hiddenKeyOf('result', handle.id);
  redis.command('hset', result, '0', redis.command('--raw', 'hget', result, 'head'));
  await expect((async () => two.state.results.open(handle.id, 'mine'))()).rejects.toMatchObject({ code: 'integrity' });
  // Another key is another fleet.
  const stranger = await openFront(redis, 'cd'.repeat(32));
  expect(await stranger.state.approvals.list()).toEqual([]);
});

specIf(hasRedis, NO_REDIS, 'FLT-60', 'a result expires, also if it does so while it changes its session', async () => {
  const redis = await startRedis();
  const { state, shared } = await openFront(redis);
  const writer = state.results.create('mine', { keepMs: 60_000, totalBytes: 1e7 });
  writer.write(Buffer.alloc(2_500_000, 7));
  const { handle } = writer.finish();
  await state.results.share?.();
  const key = shared.keyspace.hiddenKeyOf('result', handle.id);
  const keptMs = (): number => Number(redis.command('pttl', key));
  expect(keptMs()).toBeGreaterThan(0);
  await state.results.adopt?.(handle.id, 'yours');
  expect(keptMs()).toBeGreaterThan(0);
  // As if its time were over between two commands.
  const { redis: connection } = shared.keyspace;
  const read = connection.hget.bind(connection);
  connection.hget = (async (...of: Parameters<typeof read>) => {
    const value = await read(...of);
    redis.command('del', key);
    return value;
  }) as typeof connection.hget;
  await state.results.adopt?.(handle.id, 'mine');
  expect(redis.command('exists', key)).toBe('0');
});

specIf(hasRedis, NO_REDIS, 'FLT-64', 'a lost Redis is named, and state is shared again when it is back', async () => {
  const redis = await startRedis({ appendOnly: true });
  const [one, two] = [await openFront(redis), await openFront(redis)];
  const approvals = one.state.approvals;
  const record = recordOf({ page: 1 }, approvals.key(), Date.now());
  await approvals.ask(record);
  await redis.kill();
  await expect((async () => approvals.take(record))()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('Redis'),
  });
  await redis.start();
  const others = two.state.approvals;
  const isBack = async (): Promise<boolean> => {
    const [pending] = await approvals.list();
    await others.approve(pending!.id, false);
    return true;
  };
  await expect.poll(() => isBack().catch(() => false), { timeout: patience(30_000) }).toBe(true);
  expect(await approvals.take(record)).toMatchObject({ by: 'record' });
});
