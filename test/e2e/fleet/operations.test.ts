// Running a fleet: a cluster, packages, rotation of the key, granted variables, probes and commands that can be pasted.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import { toInstallCommand } from '../../../src/fleet/connection.js';
import { createFleetKey, createKeyFile, loadFleetKey, rotateKeyFile } from '../../../src/fleet/key.js';
import { json, wield } from '../../support/cli.js';
import { callFront, createMember, frontArgs, startHere, until, workerArgs } from '../../support/fleet.js';
import { hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const TOOLS = {
  greet: '#!/bin/sh\n# @description Greet.\necho "hello $TOKEN"\n',
  erase: '#!/bin/sh\n# @description Erase.\n# @destructive\necho gone\n',
};
const test = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(hasRedis, NO_REDIS, ids, title, body, 120_000);
const HOUR = 3_600_000;

describe.concurrent('a fleet', () => {
  test('FLT-84', 'runs on one node of a cluster; another one names the right address', async () => {
    const [redis, other] = await Promise.all([
      startRedis({ options: ['--cluster-enabled', 'yes'] }),
      startRedis({ options: ['--cluster-enabled', 'yes'] }),
    ]);
    redis.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    redis.command('CLUSTER', 'MEET', '127.0.0.1', `${other.port}`);
    await until(() => [redis, other].every((node) => node.command('CLUSTER', 'INFO').includes('cluster_state:ok')));
    const member = createMember(TOOLS);
    const { name: url } = await startHere(member, frontArgs(redis.url));
    await startHere(member, workerArgs(redis.url));
    expect((await callFront(url, 'greet', {}, { key: 'k' })).text).toBe('hello \n');
    const asked = await callFront(url, 'erase');
    expect(asked.code).toBe('needs_approval');
    await wield(member, ['approvals', 'approve', asked.error.data.id, '--fleet', redis.url]);
    expect((await callFront(url, 'erase')).text).toBe('gone\n');
    for (const args of [frontArgs(other.url), workerArgs(other.url), ['fleet', 'status', '--fleet', other.url]]) {
      const failed = await wield(member, args);
      expect([args[0], failed.status]).toEqual([args[0], 8]);
      expect(failed.stderr).toContain(`--fleet ${redis.url}`);
    }
  });

  test('FLT-70 FLT-88 FLT-87 FLT-61', 'serves probes, and prints commands that work', async () => {
    const redis = await startRedis();
    const env = { TOKEN: 'front-token' };
    const front = createMember(TOOLS, '[env]\npass = ["TOKEN"]\n');
    Object.assign(front.env, env);
    const { name: url } = await startHere(front, frontArgs(redis.url));
    const probe = async (path: string) => (await fetch(new URL(path, url))).status;
    expect([await probe('/healthz'), await probe('/readyz')]).toEqual([200, 200]);
    // A worker that does not grant the variable refuses the call, instead of running it without.
    const strict = createMember(TOOLS);
    const worker = await startHere(strict, workerArgs(redis.url));
    const refused = await callFront(url, 'greet');
    expect(refused).toMatchObject({ code: 'denied', error: { data: { fleet: { ran: 'no' } } } });
    expect(refused.error.message).toContain(`${worker.name} does not grant it TOKEN`);
    await worker.stop();
    // The value reaches the tool; models do not see it in the result.
    await startHere(createMember(TOOLS, '[env]\npass = ["TOKEN"]\n'), workerArgs(redis.url));
    expect((await callFront(url, 'greet')).text).toBe('hello [redacted]\n');
    const asked = await callFront(url, 'erase');
    const [, command = ''] = /wield (approvals approve \S+ --fleet [^\s;]+);/.exec(asked.error.hint)!;
    expect((await wield(front, command.split(' '))).status).toBe(0);
    expect((await callFront(url, 'erase')).text).toBe('gone\n');
    // The variable serves every verb.
    const again = await callFront(url, 'erase');
    const set = { env: { WIELD_FLEET: redis.url } };
    const { approvals } = json(await wield(front, ['approvals', '--json'], set));
    expect(approvals.map(({ id }: { id: string }) => id)).toContain(again.error.data.id);
    expect(json(await wield(front, ['audit', '--json'], set)).records.length).toBeGreaterThan(3);
    const none = { env: { WIELD_FLEET: '' } };
    expect(json(await wield(front, ['approvals', '--json'], none)).approvals).toEqual([]);
    const second = await startHere({ ...front, env: { ...front.env, ...set.env } }, [
      'serve',
      '--http',
      '0',
      '--trust',
    ]);
    expect(second.stderr()).toContain('workers of the fleet');
    expect((await callFront(second.name, 'erase')).error.hint).toContain(`--fleet ${redis.url};`);
    await second.stop();
    await redis.kill();
    await until(async () => (await probe('/readyz')) === 503);
    expect(await probe('/healthz')).toBe(200);
  });

  test('FLT-61 FLT-88', 'hides the password in its address, and nothing else of it', async () => {
    const member = createMember({ tell: "#!/bin/sh\n# @description x\necho '10.9.8.7 p%40ss-7 p@ss-7'\n" });
    const caller = { kind: 'model', door: 'mcp' } as const;
    const toolbox = member.toolbox({
      env: { ...member.env, WIELD_FLEET: 'redis://:p%40ss-7@10.9.8.7' },
      trust: true,
    });
    expect(textOf(await toolbox.call('tell', {}, { caller }))).toBe('10.9.8.7 [redacted] [redacted]\n');
  });

  test('FLT-90', 'has workers that answer probes, and nothing else', async () => {
    const redis = await startRedis();
    const member = createMember(TOOLS);
    const worker = await startHere(member, [...workerArgs(redis.url), '--health', '0']);
    const [, address = ''] = /answering probes at (127\.0\.0\.1:\d+)/.exec(worker.stderr())!;
    const probe = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`http://${address}${path}`, init);
      return [response.status, await response.text()];
    };
    expect([await probe('/healthz'), await probe('/readyz?verbose')]).toEqual([
      [200, 'ok\n'],
      [200, 'ok\n'],
    ]);
    for (const path of ['/', '/metrics', '/mcp', '/healthz/', '//healthz'])
      expect(await probe(path), path).toEqual([404, 'not found\n']);
    expect((await probe('/readyz', { method: 'POST', body: '{}' }))[0]).toBe(405);
    member.config('x = [\n');
    expect([(await probe('/readyz'))[0], (await probe('/healthz'))[0]]).toEqual([503, 200]);
    member.config('');
    expect((await probe('/readyz'))[0]).toBe(200);
    await redis.kill();
    await until(async () => (await probe('/readyz'))[0] === 503);
    expect(await probe('/readyz')).toEqual([503, 'not ready\n']);
    expect((await probe('/healthz'))[0]).toBe(200);
    const wrong = await wield(createMember(TOOLS), [...workerArgs(redis.url), '--health', 'here']);
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining('--health "here" is not an address')]);
  });

  test('FLT-91', 'shows metrics of workers to those with a token, with the calls that wait by tag', async () => {
    const redis = await startRedis();
    const token = '0123456789abcdef0123';
    const metrics = [...workerArgs(redis.url), '--metrics'];
    const open = await wield(createMember(TOOLS), [...metrics, '0.0.0.0:0']);
    expect([open.status, open.stderr]).toEqual([2, expect.stringContaining('needs a token')]);
    const member = createMember(TOOLS);
    member.env.WIELD_TOKEN = token;
    const worker = await startHere(member, [...metrics, '0']);
    const [, address = ''] = /showing metrics at (127\.0\.0\.1:\d+)/.exec(worker.stderr())!;
    const read = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(`http://${address}${path}`, { headers });
      return [response.status, await response.text()] as const;
    };
    const bearer = { authorization: `Bearer ${token}` };
    expect((await read('/metrics'))[0]).toBe(401);
    expect((await read('/metrics', { authorization: `Bearer ${token}x` }))[0]).toBe(401);
    expect((await read('/metrics', { ...bearer, origin: 'http://evil.example' }))[0]).toBe(403);
    for (const path of ['/', '/healthz', '/mcp']) expect((await read(path, bearer))[0], path).toBe(404);
    const front = await startHere(createMember(TOOLS), frontArgs(redis.url));
    expect((await callFront(front.name, 'greet')).text).toBe('hello \n');
    await until(async () =>
      (await read('/metrics', bearer))[1].includes('wield_calls_total{tool="greet",outcome="ok"'),
    );
    const shown = (await read('/metrics', bearer))[1];
    expect(shown).toContain('wield_fleet_queued{tag="(any)"} 0\n');
    expect(await (await fetch(new URL('/metrics', front.name))).text()).toContain(
      'wield_fleet_queued{tag="(any)"} 0\n',
    );
    await redis.kill();
    await until(async () => !(await read('/metrics', bearer))[1].includes('wield_fleet_queued'));
    expect((await read('/metrics', bearer))[1]).toContain('wield_calls_total');
  });

  test('FLT-86', 'rotates its key without losing a call, a question or a session', async () => {
    const redis = await startRedis();
    const [front, machine] = [createMember(TOOLS), createMember(TOOLS)];
    const [home, other] = [front, machine].map(({ env }) => env.WIELD_HOME!) as [string, string];
    for (const member of [front, machine]) delete member.env.WIELD_FLEET_KEY;
    expect((await wield(front, ['fleet', 'key', '--yes', '--rotate'])).stderr).toContain('wield fleet key');
    await wield(front, ['fleet', 'key', '--yes']);
    const share = (): void => {
      mkdirSync(other, { recursive: true });
      writeFileSync(join(other, 'fleet.key'), readFileSync(join(home, 'fleet.key')), { mode: 0o600 });
    };
    share();
    const old = loadFleetKey({}, home);
    let serving = await startHere(front, frontArgs(redis.url));
    let working = await startHere(machine, workerArgs(redis.url));
    const asked = await callFront(serving.name, 'erase');
    expect((await callFront(serving.name, 'greet', {}, { key: 'k' })).text).toBe('hello \n');
    // Restarted one after the other, some before the new key is used and some after.
    const rotated = await wield(front, ['fleet', 'key', '--yes', '--rotate', '--hours', '1']);
    expect(rotated.stdout).toContain('restart each before');
    expect((await wield(front, ['fleet', 'key', '--yes', '--rotate'])).stderr).toContain('a rotation is under way');
    await serving.stop();
    serving = await startHere(front, frontArgs(redis.url));
    expect((await callFront(serving.name, 'greet')).text).toBe('hello \n');
    const text = readFileSync(join(home, 'fleet.key'), 'utf8').replace(/ from \S+/, ' from 2020-01-01T00:00:00Z');
    writeFileSync(join(home, 'fleet.key'), text);
    share();
    await working.stop();
    working = await startHere(machine, workerArgs(redis.url));
    // The front still uses the old key, and the worker the new one.
    expect((await callFront(serving.name, 'greet')).text).toBe('hello \n');
    await serving.stop();
    serving = await startHere(front, frontArgs(redis.url));
    expect(await callFront(serving.name, 'greet', {}, { key: 'k' })).toMatchObject({ text: 'hello \n' });
    await wield(front, ['approvals', 'approve', asked.error.data.id, '--fleet', redis.url]);
    expect((await callFront(serving.name, 'erase')).text).toBe('gone\n');
    const renewed = loadFleetKey({}, home);
    expect(renewed.fleet).toBe(old.fleet);
    const sealed = renewed.seal('p', 'new');
    expect(() => old.open('p', sealed)).toThrow('not sealed');
    // Without the line of the old key, nothing that it seals is accepted.
    const [first, , names] = text.split('\n');
    const only = loadFleetKey({ WIELD_FLEET_KEY: `${first},${names}` }, home);
    expect(only.open('p', sealed)).toBe('new');
    expect(() => only.open('p', old.seal('p', 'forged'))).toThrow('not sealed');
    expect(only.secrets('q')).toEqual([renewed.secrets('q')[0]]);
    for (const member of [serving, working]) await member.stop();
  });
});

spec('FLT-86', 'a rotated key file has an order, times and an end', async () => {
  const { WIELD_HOME: home } = createWorkspace().env as { WIELD_HOME: string };
  createKeyFile(home);
  const before = loadFleetKey({}, home);
  const past = Date.now() - 10 * 24 * HOUR;
  await rotateKeyFile(home, past, 1);
  // The time of the first key is over.
  const after = loadFleetKey({}, home);
  expect(after.fleet).toBe(before.fleet);
  expect(() => after.open('p', before.seal('p', 1))).toThrow('not sealed');
  await rotateKeyFile(home, Date.now(), 2);
  const next = loadFleetKey({}, home);
  expect(next.open('p', after.seal('p', 1))).toBe(1);
  expect(after.open('p', next.seal('p', 2))).toBe(2);
  const key = 'ab'.repeat(32);
  for (const text of [`${key} from tomorrow`, `${key}\n${key}`, `${key} ${key}`, `names ${key}`, ' '])
    expect(() => loadFleetKey({ WIELD_FLEET_KEY: text }, home)).toThrow('64 hexadecimal digits');
  expect(loadFleetKey({ WIELD_FLEET_KEY: `${key}\n` }, home).fleet).toBe(createFleetKey(key).fleet);
});

spec('FLT-1', 'the command for missing packages installs them where wield looks for them', async () => {
  for (const [root, command] of [
    ['/usr/local/lib/node_modules/wield', 'npm install --global --prefix /usr/local bullmq@6 ioredis@6'],
    ['/home/ada/site/node_modules/wield', 'npm install --prefix /home/ada/site bullmq@6 ioredis@6'],
    ['/home/ada/wield', 'npm install --no-save --prefix /home/ada/wield bullmq@6 ioredis@6'],
    ['/home/ada/my site/node_modules/wield', "npm install --prefix '/home/ada/my site' bullmq@6 ioredis@6"],
    ['/home/ada/.npm/_npx/1b2c/node_modules/wield', 'npx --package wield --package bullmq@6 --package ioredis@6 wield'],
  ] as const)
    expect(toInstallCommand(root)).toBe(command);
});
