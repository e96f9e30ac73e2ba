// Someone who can write to the Redis server of a fleet, and has no key: what was used, withdrawn or written does not count.

import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import { createFleetKey } from '../../src/fleet/key.js';
import { toNames } from '../../src/fleet/names.js';
import { json, wield } from '../support/cli.js';
import { callFront, createMember, FLEET_KEY, frontArgs, startHere, until, workerArgs } from '../support/fleet.js';
import { openPage } from '../support/page.js';
import { hasRedis, NO_REDIS, startRedis } from '../support/redis.js';
import { onEnd, share } from '../support/share.js';
import { specIf } from '../support/spec.js';

const TOOLS = {
  erase: '#!/bin/sh\n# @description Erase.\n# @destructive\necho erased\n',
  long: '#!/bin/sh\n# @description Long.\nhead -c 20000 /dev/zero | tr "\\0" x\n',
  count: '#!/bin/sh\n# @description Count.\n# @param text string A text.\necho "$WIELD_PARAM_TEXT" >> runs\n',
};
const KEY = createFleetKey(FLEET_KEY);
const NAMES = toNames(KEY.fleet);
const APPROVALS = `${NAMES.prefix}:state:approvals`;
const test = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(hasRedis, NO_REDIS, ids, title, body, 120_000);

describe('who can write to the Redis of a fleet', () => {
  const fleet = share(async () => {
    const redis = await startRedis();
    const [member, machine] = [createMember(TOOLS), createMember(TOOLS)];
    const { name: url } = await startHere(member, frontArgs(redis.url));
    await startHere(machine, workerArgs(redis.url));
    const client = new Redis(redis.port);
    onEnd(() => client.disconnect());
    const approvals = async (...words: string[]) =>
      json(await wield(member, ['approvals', ...words, '--fleet', redis.url, '--json']));
    return { redis, url, member, machine, client, approvals };
  });

  test('FLT-71 FLT-61', 'cannot bring back an approval that was used, or a standing one that was revoked', async () => {
    const { url, client, approvals } = fleet();
    const restore = async (saved: Record<string, string>, fields = Object.keys(saved)): Promise<void> => {
      for (const field of fields) await client.hset(APPROVALS, field, saved[field]!);
    };
    const asked = await callFront(url, 'erase');
    expect((await approvals('approve', asked.error.data.id)).ok).toBe(true);
    const approved = await client.hgetall(APPROVALS);
    expect((await callFront(url, 'erase')).text).toBe('erased\n');
    // One value, then everything as it was.
    for (const fields of [Object.keys(approved).filter((name) => name.includes('.approved-')), Object.keys(approved)]) {
      expect(fields.length).toBeGreaterThan(0);
      await restore(approved, fields);
      expect([fields, (await callFront(url, 'erase')).code]).toEqual([fields, 'needs_approval']);
    }
    const names = Object.keys(approved);
    await client.hset(APPROVALS, { ...approved, index: JSON.stringify({ version: 1e9, names }) });
    expect((await callFront(url, 'erase')).code).toBe('needs_approval');
    await client.del(APPROVALS);
    await restore(approved);
    expect((await callFront(url, 'erase')).code).toBe('needs_approval');
    // It can be approved again, by a person.
    const { id } = (await callFront(url, 'erase')).error.data;
    await approvals('approve', id, '--always');
    expect((await callFront(url, 'erase')).text).toBe('erased\n');
    const standing = await client.hgetall(APPROVALS);
    const [revoked] = (await approvals()).approvals.filter(({ state }: { state: string }) => state === 'standing');
    await approvals('deny', revoked.id);
    expect((await callFront(url, 'erase')).code).toBe('needs_approval');
    await restore(standing);
    expect((await callFront(url, 'erase')).code).toBe('needs_approval');
  });

  test('FLT-78', 'sees no id of a session or a stored result', async () => {
    const { url, client } = fleet();
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const post = (method: string, params: object, more = {}) =>
      fetch(url, {
        method: 'POST',
        headers: { ...headers, ...more },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
    const clientInfo = { name: 'c', version: '1' };
    const opened = await post('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    const session = opened.headers.get('mcp-session-id')!;
    const called = await post('tools/call', { name: 'long', arguments: {} }, { 'mcp-session-id': session });
    const [handle] = /r_[\w-]{22}/.exec(await called.text())!;
    await until(async () => (await client.keys('*:state:result:*')).length > 0);
    expect((await client.keys('*:state:session:*')).length).toBeGreaterThan(0);
    expect((await client.keys('*')).filter((key) => key.includes(session) || key.includes(handle))).toEqual([]);
  });

  test('FLT-73', 'cannot break a front or a terminal with values that no member writes', async () => {
    const { client, redis, member, url } = fleet();
    const now = Number((await client.time())[0]) * 1000;
    const peer = { host: 'h', pid: 1, since: now };
    const values = [
      'not json',
      'null',
      '[]',
      '5',
      { tags: 5, running: 5 },
      { tags: ['\u001b[31mevil'] },
      { tags: ['gpu', 7] },
      { running: [null] },
      { version: '\u001b[31mevil' },
      { since: '\u001b[2J', pid: {} },
    ];
    for (const [at, value] of values.entries()) {
      const id = `worker-0000000${at}`;
      const text = typeof value === 'string' ? value : JSON.stringify({ id, ...peer, ...value });
      await client.set(NAMES.peer(id), text, 'PX', 60_000);
      for (const kind of ['worker', 'front'] as const) await client.zadd(NAMES.peers(kind), now, id);
    }
    await client.zadd(NAMES.peers('worker'), now, '\u001b[31mid');
    await client.sadd(NAMES.tags, '\u001b[31mtag');
    await client.hset(NAMES.stats(Math.floor(now / 60_000)), { calls: 'many', t1: 'x', '\u001b[31m': '1' });
    const status = await wield(member, ['fleet', 'status', '--fleet', redis.url]);
    expect([status.status, status.stdout.includes('\u001b'), status.stdout.includes('NaN')]).toEqual([0, false, false]);
    expect(status.stdout).toContain('workers 1');
    expect(json(await wield(member, ['fleet', 'status', '--fleet', redis.url, '--json'])).workers).toHaveLength(1);
    expect((await callFront(url, 'count', { text: 'still' })).code).toBeUndefined();
  });

  test('UI-8', 'the page of a front shows and answers the approvals of the fleet', async () => {
    const { redis } = fleet();
    const member = createMember(TOOLS);
    await startHere(createMember(TOOLS), workerArgs(redis.url));
    const page = await openPage(member, ['serve', '--http', '0', '--ui', '--trust', '--fleet', redis.url]);
    const [front] = page.printed().split('\n');
    const asked = await callFront(front!, 'erase');
    const shown = (await page.get('/api/approvals')).json.approvals;
    const [found] = shown.filter(({ id }: { id: string }) => id === asked.error.data.id);
    expect(found).toMatchObject({ state: 'pending', tool: 'erase' });
    const answer = await page.post(`/api/approvals/${found.id}`, { answer: 'once', digest: found.digest });
    expect(answer.status).toBe(200);
    expect((await callFront(front!, 'erase')).text).toBe('erased\n');
    const { digest, verdict } = (await page.post('/api/plan', { tool: 'count', input: { text: 'page' } })).json;
    expect(verdict.verdict).toBe('allow');
    expect((await page.post('/api/run', { tool: 'count', input: { text: 'page' }, digest })).status).toBe(200);
  });
});
