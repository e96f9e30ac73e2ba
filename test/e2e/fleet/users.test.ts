// Users of a fleet: they travel sealed with a call, and the worker's rules and audit log see them.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import { createFleetKey } from '../../../src/fleet/key.js';
import { toNames } from '../../../src/fleet/names.js';
import { json, wield } from '../../support/cli.js';
import { callFront, createMember, FLEET_KEY, frontArgs, startHere, until, workerArgs } from '../../support/fleet.js';
import { hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { onEnd, share } from '../../support/share.js';
import { specIf } from '../../support/spec.js';

const TOOLS = {
  deploy:
    '#!/bin/sh\n# @description Deploys.\n# @param text string A text.\necho "$WIELD_PARAM_TEXT" >> runs\necho done\n',
};
const TOKENS = { ada: `ada-${'a'.repeat(30)}`, bob: `bob-${'b'.repeat(30)}` };
const NAMES = toNames(createFleetKey(FLEET_KEY).fleet);
const test = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(hasRedis, NO_REDIS, ids, title, body, 120_000);

describe('users of a fleet', () => {
  const fleet = share(async () => {
    const redis = await startRedis();
    const table = (user: string, group: string): string =>
      `[serve.tokens.${user}]\nfile = "~/${user}"\ngroups = ["${group}"]\n`;
    const front = createMember(TOOLS, table('ada', 'ops') + table('bob', 'contractors'));
    for (const [user, token] of Object.entries(TOKENS)) writeFileSync(join(front.home, user), `${token}\n`);
    const machine = createMember(TOOLS, '[trust]\nrules = ["deploy($group=contractors,$deny)"]\n');
    const { name: url } = await startHere(front, frontArgs(redis.url));
    const worker = await startHere(machine, workerArgs(redis.url));
    const client = new Redis(redis.port);
    onEnd(() => client.disconnect());
    const runs = (): string[] => {
      const file = join(machine.dir, 'runs');
      return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
    };
    return { redis, front, machine, url, worker, client, runs };
  });

  test('IDN-5 FLT-6', 'the audit log of the worker has the user, and its rules see user and groups', async () => {
    const { url, machine, runs } = fleet();
    expect((await callFront(url, 'deploy', { text: 'one' }, { token: TOKENS.ada })).text).toBe('done\n');
    const denied = await callFront(url, 'deploy', { text: 'two' }, { token: TOKENS.bob });
    expect(denied.code).toBe('denied');
    expect(runs()).toEqual(['one']);
    const { records } = json(await wield(machine, ['audit', '--user', '*', '--json']));
    const seen = records.map(({ user, tool, code }: Record<string, string>) => [user, tool, code ?? null]);
    expect(seen).toEqual([
      ['ada', 'deploy', null],
      ['bob', 'deploy', 'denied'],
    ]);
  });

  test('IDN-5 FLT-6', 'a call whose user was altered or replaced in Redis does not run', async () => {
    const { url, machine, redis, client, worker, runs } = fleet();
    await worker.stop();
    const before = runs();
    const stop = new AbortController();
    const calls = (['ada', 'bob'] as const).map((user) =>
      callFront(url, 'deploy', { text: `by ${user}` }, { token: TOKENS[user], signal: stop.signal }).catch(() => {}),
    );
    const waiting = (): Promise<string[]> => client.lrange(NAMES.waiting(''), 0, -1);
    await until(async () => (await waiting()).length === 2);
    const [first, second] = (await waiting()).map((id) => NAMES.job('', id)) as [string, string];
    const [one, other] = [(await client.hget(first, 'data'))!, (await client.hget(second, 'data'))!];
    expect(one + other).not.toMatch(/"(?:ada|bob|ops|contractors)\\?"/);
    // The sealed call of one user under the id of that of the other; and one with a changed byte.
    await client.hset(first, 'data', other);
    const at = Math.floor(other.length / 2);
    const changed = other[at] === 'A' ? 'B' : 'A';
    await client.hset(second, 'data', other.slice(0, at) + changed + other.slice(at + 1));
    await startHere(machine, workerArgs(redis.url));
    await until(async () => (await client.exists(first, second)) === 0);
    stop.abort();
    await Promise.all(calls);
    expect(runs()).toEqual(before);
  });
});
