// A call of a fleet runs at most once: whatever someone without the key replays, deletes, restores or writes in Redis.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import { createFleetKey } from '../../src/fleet/key.js';
import { toNames } from '../../src/fleet/names.js';
import { callFront, createMember, FLEET_KEY, frontArgs, startHere, until, workerArgs } from '../support/fleet.js';
import { sleep } from '../support/processes.js';
import { hasRedis, NO_REDIS, type RedisServer, startRedis } from '../support/redis.js';
import { onEnd } from '../support/share.js';
import { specIf } from '../support/spec.js';

// A result that is lost with what was deleted is answered when the time of the call is over.
const TOOLS = {
  count:
    '#!/bin/sh\n# @description Count.\n# @param text string A text.\necho "$WIELD_PARAM_TEXT" >> runs\nwc -l < runs\n',
  slow: '#!/bin/sh\n# @description Count slowly.\n# @timeout 20s\n# @param text string A text.\necho "$WIELD_PARAM_TEXT" >> runs\nsleep 2\necho slow\n',
};
const NAMES = toNames(createFleetKey(FLEET_KEY).fleet);
const test = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(hasRedis, NO_REDIS, ids, title, body, 120_000);

type Machine = ReturnType<typeof createMember>;
const runsOf = (machines: readonly Machine[], text: string): number =>
  machines
    .map(({ dir }) => join(dir, 'runs'))
    .filter((file) => existsSync(file))
    .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
    .filter((line) => line === text).length;

function openClient({ port }: RedisServer): Redis {
  const client = new Redis(port);
  client.on('error', () => {});
  onEnd(() => client.disconnect());
  return client;
}

/** Copies everything that Redis has, and returns a function that puts it back. */
async function copyAll(client: Redis): Promise<() => Promise<void>> {
  const keys = await client.keys('*');
  const values = await Promise.all(keys.map(async (key) => [key, await client.dumpBuffer(key)] as const));
  return async () => {
    // At once: a worker must not take a job that is there in part.
    const all = client.multi();
    for (const [key, value] of values) if (value !== null) all.restore(key, 0, value, 'REPLACE');
    await all.exec();
  };
}

describe.runIf(hasRedis)('who can write to the Redis of a fleet', () => {
  test(
    'FLT-72 FLT-10',
    'cannot run a captured job again: on its worker, on another one, or after a restart',
    async () => {
      const redis = await startRedis();
      const client = openClient(redis);
      const machines = [createMember(TOOLS), createMember(TOOLS)];
      const { name: url } = await startHere(createMember(TOOLS), frontArgs(redis.url));
      const answer = callFront(url, 'count', { text: 'once' });
      await until(async () => (await client.llen(NAMES.waiting(''))) === 1);
      const [jobId = ''] = await client.lrange(NAMES.waiting(''), 0, -1);
      const sealed = JSON.parse((await client.hget(NAMES.job('', jobId), 'data'))!);
      const restore = await copyAll(client);
      const queue = new Queue(NAMES.queue(''), { connection: { port: redis.port }, prefix: NAMES.prefix });
      onEnd(() => queue.close());
      const replay = async (): Promise<void> => {
        await queue.add('call', sealed, { jobId, removeOnComplete: true, removeOnFail: true });
        await until(async () => (await client.exists(NAMES.job('', jobId))) === 0);
      };
      let worker = await startHere(machines[0]!, workerArgs(redis.url));
      expect((await answer).text.trim()).toBe('1');
      await replay();
      await restore();
      await until(async () => (await client.llen(NAMES.waiting(''))) + (await client.llen(NAMES.active(''))) === 0);
      await client.flushall();
      await replay();
      await worker.stop();
      worker = await startHere(machines[0]!, workerArgs(redis.url));
      await replay();
      await worker.stop();
      await startHere(machines[1]!, workerArgs(redis.url));
      await replay();
      await client.flushall();
      await replay();
      expect(runsOf(machines, 'once')).toBe(1);
    },
  );

  test('FLT-10', 'cannot give a running call to a second worker', async () => {
    const redis = await startRedis();
    const client = openClient(redis);
    const machines = [createMember(TOOLS), createMember(TOOLS)];
    const { name: url } = await startHere(createMember(TOOLS), frontArgs(redis.url));
    const answer = callFront(url, 'slow', { text: 'one' });
    await until(async () => (await client.llen(NAMES.waiting(''))) === 1);
    const [jobId = ''] = await client.lrange(NAMES.waiting(''), 0, -1);
    const sealed = JSON.parse((await client.hget(NAMES.job('', jobId), 'data'))!);
    const queue = new Queue(NAMES.queue(''), { connection: { port: redis.port }, prefix: NAMES.prefix });
    onEnd(() => queue.close());
    await startHere(machines[0]!, workerArgs(redis.url, '--concurrency', '1'));
    await until(() => runsOf(machines, 'one') === 1);
    await startHere(machines[1]!, workerArgs(redis.url));
    // Queued a second time under the id that it is sealed for, for the worker that is idle.
    await client.del(NAMES.job('', jobId));
    await queue.add('call', sealed, { jobId, removeOnComplete: true, removeOnFail: true });
    await until(async () => (await client.exists(NAMES.job('', jobId))) === 0);
    await answer;
    expect(runsOf(machines, 'one')).toBe(1);
  });

  test('FLT-81', 'cannot make a front queue a running call again, and no error says that it was not run', async () => {
    const redis = await startRedis();
    const client = openClient(redis);
    const machines = [createMember(TOOLS), createMember(TOOLS)];
    const { name: url } = await startHere(createMember(TOOLS), frontArgs(redis.url));
    for (const machine of machines) await startHere(machine, workerArgs(redis.url));
    const attacks: Record<string, (key: string) => Promise<unknown>> = {
      deleted: (key) => client.del(key),
      withdrawn: (key) => client.set(key, 'front'),
      retyped: async (key) => (await client.del(key)) && client.rpush(key, 'worker-00000000'),
      kept: (key) => client.persist(key),
    };
    for (const [name, attack] of Object.entries(attacks)) {
      let isOver = false;
      const answer = callFront(url, 'slow', { text: name }, name === 'deleted' ? { key: name } : {});
      void answer.finally(() => {
        isOver = true;
      });
      await until(() => runsOf(machines, name) > 0);
      const restore = await copyAll(client);
      const [id = ''] = (await client.keys(`${NAMES.prefix}:calls:*-1`)).map((key) => key.split(':').at(-1)!);
      // Longer than the tool takes; without an end, the result would never arrive.
      for (const end = Date.now() + 3000; !isOver && Date.now() < end; ) {
        // Also what a front or worker might have written about the job.
        for (const key of [...(await client.keys('*')), `${NAMES.prefix}:claim:${id}`])
          if (!key.includes(':peer') || name === 'deleted') await attack(key).catch(() => {});
        await sleep(20);
        if (name === 'kept') await restore();
      }
      const { error } = await answer;
      expect([name, error?.data?.fleet?.ran]).not.toEqual([name, 'no']);
      await sleep(500);
      expect([name, runsOf(machines, name)]).toEqual([name, 1]);
      await client.flushall();
    }
  });

  test('FLT-83 FLT-12', 'cannot make a call with a key run again by removing what Redis knows about it', async () => {
    const redis = await startRedis();
    const client = openClient(redis);
    const machines = [createMember(TOOLS), createMember(TOOLS)];
    const front = createMember(TOOLS);
    const fronts = [await startHere(front, frontArgs(redis.url)), await startHere(front, frontArgs(redis.url))];
    let worker = await startHere(machines[0]!, workerArgs(redis.url));
    const call = (at: number, text: string) => callFront(fronts[at]!.name, 'count', { text }, { key: 'k' });
    const first = await call(0, 'keyed');
    for (const at of [0, 1]) {
      await client.flushall();
      expect(await call(at, 'keyed')).toEqual(first);
    }
    await client.flushall();
    expect((await call(1, 'other')).code).toBe('conflict');
    // Its memory is a file.
    await worker.stop();
    worker = await startHere(machines[0]!, workerArgs(redis.url));
    await client.flushall();
    expect(await call(1, 'keyed')).toEqual(first);
    // Another worker was told when the call started.
    const other = await startHere(machines[1]!, workerArgs(redis.url));
    const second = await callFront(fronts[0]!.name, 'count', { text: 'two' }, { key: 'k2' });
    const [own, rest] = runsOf([machines[0]!], 'two') === 1 ? [worker, other] : [other, worker];
    await own.stop();
    await client.flushall();
    const repeated = await callFront(fronts[1]!.name, 'count', { text: 'two' }, { key: 'k2' });
    expect(second.code).toBeUndefined();
    expect(repeated).toMatchObject({ code: 'unavailable', error: { data: { fleet: { ran: 'maybe' } } } });
    expect(repeated.error.message).toContain(own.name);
    await rest.stop();
    for (const text of ['keyed', 'two']) expect([text, runsOf(machines, text)]).toEqual([text, 1]);
    expect(runsOf(machines, 'other')).toBe(0);
  });
});
