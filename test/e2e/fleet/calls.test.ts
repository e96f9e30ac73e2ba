// Calls of a fleet: queued by a front, run by a worker in another directory, answered once.

import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import { parseFleetAddress } from '../../../src/fleet/connection.js';
import { openFront } from '../../../src/fleet/front.js';
import { type Job, sealMessage, toJobId } from '../../../src/fleet/job.js';
import type { FleetKey } from '../../../src/fleet/key.js';
import { createFleetKey } from '../../../src/fleet/key.js';
import { toNames } from '../../../src/fleet/names.js';
import { json, wield } from '../../support/cli.js';
import {
  callFront,
  createJob,
  createMember,
  FLEET_KEY,
  frontArgs,
  startHere,
  startProcess,
  until,
  workerArgs,
} from '../../support/fleet.js';
import { sleep } from '../../support/processes.js';
import { hasRedis, NO_REDIS, startRedis } from '../../support/redis.js';
import { onEnd, share } from '../../support/share.js';
import { specIf } from '../../support/spec.js';

const sealJob = (key: FleetKey, job: Job): string => sealMessage(key, 'job', toJobId(job), job);

const TOOLS = {
  where:
    '#!/bin/sh\n# @description Prints a text and the directory.\n# @param text string A text.\necho "$WIELD_PARAM_TEXT in $PWD"\n',
  count:
    '#!/bin/sh\n# @description Counts its runs.\n# @param text string A text.\necho "$WIELD_PARAM_TEXT" >> runs\nwc -l < runs\n',
  wait: '#!/bin/sh\n# @description Waits until the file go exists.\n# @param *name string A name.\necho run >> "started-$WIELD_PARAM_NAME"\nwhile [ ! -e "go-$WIELD_PARAM_NAME" ]; do sleep 0.02; done\necho went\n',
  steps:
    "#!/bin/sh\n# @description Reports progress.\necho '::progress 1/2 half' >&2\necho '::progress 2/2 all' >&2\necho done\n",
  late: "#!/bin/sh\n# @description Reports progress once the file go-late exists.\ntouch started-late\nwhile [ ! -e go-late ]; do sleep 0.02; done\necho '::progress 1/1 all' >&2\necho done\n",
  talk: '#!/bin/sh\n# @description Talks.\necho first\necho aside >&2\nwhile [ ! -e heard ]; do sleep 0.02; done\nseq 3000\n',
  render: '#!/bin/sh\n# @description Needs a graphics card.\n# @run-on gpu\necho "rendered in $PWD"\n',
  slow: "#!/bin/sh\n# @description Takes too long.\n# @timeout 1s\ntrap 'sleep 0.7; touch tidied; exit 1' TERM\nwhile :; do sleep 0.1; done\n",
  erase: '#!/bin/sh\n# @description Erases things.\n# @destructive\necho erased >> erased\necho gone\n',
};
const KEY = createFleetKey(FLEET_KEY);
const NAMES = toNames(KEY.fleet);
const test = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(hasRedis, NO_REDIS, ids, title, body);
const linesOf = (file: string): number =>
  existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).length : 0;

describe('a fleet', () => {
  const fleet = share(async () => {
    const redis = await startRedis({ appendOnly: true });
    const front = createMember(TOOLS);
    const machine = createMember(TOOLS);
    const { name: url } = await startHere(front, frontArgs(redis.url));
    const worker = await startHere(machine, workerArgs(redis.url));
    const client = new Redis(redis.port);
    onEnd(() => client.disconnect());
    return { redis, front, machine, url, worker, client };
  });

  test('FLT-2 FLT-3 FLT-4', 'a script runs on the worker, and Redis never sees input, output or key', async () => {
    const { url, machine, redis } = fleet();
    const answer = await callFront(url, 'where', { text: 'private-input-7' });
    expect(answer.text).toBe(`private-input-7 in ${machine.dir}\n`);
    // Everything that was ever written to Redis.
    const files = readdirSync(join(redis.directory, 'appendonlydir'));
    const written = files.map((name) => readFileSync(join(redis.directory, 'appendonlydir', name), 'latin1')).join('');
    expect(written).toContain(NAMES.prefix);
    for (const secret of ['private-input-7', machine.dir, FLEET_KEY, '"where"']) expect(written).not.toContain(secret);
  });

  test('FLT-4', 'progress, failures and the audit log are those of a local call', async () => {
    const { url, machine } = fleet();
    const response = await callFront(url, 'steps', {}, { meta: { progressToken: 'p' } });
    expect(response.text).toContain('done');
    expect(response.before).toMatchObject([
      { method: 'notifications/progress', params: { progressToken: 'p', progress: 1, total: 2, message: 'half' } },
      { method: 'notifications/progress', params: { progress: 2, total: 2 } },
    ]);
    expect((await callFront(url, 'wait', {})).code).toBe('invalid_input');
    const audit = await wield(machine, ['audit', '--json']);
    expect(audit.stdout).toContain('steps');
  });

  test('FLT-4', 'output is streamed while the tool runs, in order and whole', async () => {
    const { front, machine, redis } = fleet();
    const dispatcher = await openFront({
      address: parseFleetAddress(redis.url, {}),
      key: KEY,
      host: 'here',
      version: '0.0.0',
      variablesOf: () => undefined,
      monotonic: () => performance.now(),
      debug: () => {},
    });
    onEnd(() => dispatcher.close());
    let [seen, errors] = ['', ''];
    let isEnded = false;
    const toolbox = front.toolbox({ dispatcher, trust: true });
    const onOutput = (chunk: Uint8Array, from: 'stdout' | 'stderr'): void => {
      if (from === 'stdout') seen += Buffer.from(chunk).toString();
      else errors += Buffer.from(chunk).toString();
    };
    const running = toolbox.call('talk', {}, { onOutput }).finally(() => {
      isEnded = true;
    });
    // The tool goes on when its first output has arrived here.
    await until(() => seen.startsWith('first\n') && errors === 'aside\n');
    expect(isEnded).toBe(false);
    writeFileSync(join(machine.dir, 'heard'), '');
    expect((await running).ok).toBe(true);
    expect(seen).toBe(`first\n${Array.from({ length: 3000 }, (_, at) => `${at + 1}\n`).join('')}`);
  });

  test('FLT-6', 'a forged, an altered and a late job, and one that no front waits for, do not run', async () => {
    const { client, machine, front, redis } = fleet();
    const { origin } = await front.toolbox().find('count');
    const now = Number((await client.time())[0]) * 1000;
    const job = (id: string, more: Partial<Job> = {}): Job =>
      createJob(id, { digest: origin.digest!, queued: now }, more);
    const queue = new Queue(NAMES.queue(''), { connection: { port: redis.port }, prefix: NAMES.prefix });
    onEnd(() => queue.close());
    const add = async (jobId: string, data: unknown): Promise<void> => {
      await queue.add('call', data, { jobId, removeOnComplete: true, removeOnFail: true });
      await until(async () => (await client.exists(NAMES.job('', jobId))) === 0);
    };
    const runs = (): string =>
      existsSync(join(machine.dir, 'runs')) ? readFileSync(join(machine.dir, 'runs'), 'utf8') : '';
    const right = sealJob(KEY, job('right'));
    await add('plain-1', job('plain'));
    await add('forged-1', sealJob(createFleetKey('00'.repeat(32)), job('forged')));
    await add('other-1', right);
    await add('late-1', sealJob(KEY, job('late', { queued: now - 61_000 })));
    // Sealed by a member, but no front waits for it.
    await add('right-1', right);
    expect(runs()).toBe('');
  });

  test(
    'FLT-12',
    'a repeated call returns the first result, also by another front; another input is a conflict',
    async () => {
      const { url, redis, front, machine } = fleet();
      const before = linesOf(join(machine.dir, 'runs'));
      const first = await callFront(url, 'count', { text: 'a' }, { key: 'k1' });
      expect(await callFront(url, 'count', { text: 'a' }, { key: 'k1' })).toEqual(first);
      const other = await startHere(front, frontArgs(redis.url));
      expect(await callFront(other.name, 'count', { text: 'a' }, { key: 'k1' })).toEqual(first);
      expect((await callFront(url, 'count', { text: 'b' }, { key: 'k1' })).code).toBe('conflict');
      expect(linesOf(join(machine.dir, 'runs'))).toBe(before + 1);
      // Two at the same time, at two fronts.
      const running = [url, other.name].map((to) => callFront(to, 'wait', { name: 'both' }, { key: 'k2' }));
      await until(() => existsSync(join(machine.dir, 'started-both')));
      writeFileSync(join(machine.dir, 'go-both'), '');
      for (const { text } of await Promise.all(running)) expect(text).toBe('went\n');
      expect(linesOf(join(machine.dir, 'started-both'))).toBe(1);
      expect(await other.stop()).toBe(0);
    },
  );

  test('FLT-13', 'a cancelled call ends on its worker, and one that waits never runs', async () => {
    const { url, machine, client, worker } = fleet();
    const controller = new AbortController();
    const running = callFront(url, 'wait', { name: 'cancelled' }, { signal: controller.signal });
    await until(() => existsSync(join(machine.dir, 'started-cancelled')));
    controller.abort();
    await expect(running).rejects.toThrow();
    await until(async () => JSON.parse((await client.get(NAMES.peer(worker.name)))!).running.length === 0);
    const waiting = new AbortController();
    const never = callFront(url, 'render', {}, { signal: waiting.signal });
    await until(async () => (await client.llen(NAMES.waiting('gpu'))) === 1);
    waiting.abort();
    await expect(never).rejects.toThrow();
    await until(async () => (await client.llen(NAMES.waiting('gpu'))) === 0);
  });

  test('FLT-14 EXE-5', 'a call over its time limit is a timeout, and its process may tidy up', async () => {
    const { url, machine } = fleet();
    const { code, error } = await callFront(url, 'slow');
    expect(code).toBe('timeout');
    // What was left for the worker.
    expect(error.message).toMatch(/^slow did not end within \d+ ms and was stopped$/);
    expect(existsSync(join(machine.dir, 'tidied'))).toBe(true);
  });

  test('FLT-14', 'a call that no worker takes is a timeout at its limit', async () => {
    const { url, front } = fleet();
    front.config('[tools.slow]\nrunOn = "nowhere"\n');
    expect(await callFront(url, 'slow')).toMatchObject({
      code: 'timeout',
      error: { message: 'slow did not answer within 1 s' },
    });
    front.config('');
  });

  test('FLT-7', 'a tool with a tag runs on a worker that has it, and that worker runs others too', async () => {
    const { url, redis, client, worker, machine, front } = fleet();
    const answering = callFront(url, 'render');
    await until(async () => (await client.llen(NAMES.waiting('gpu'))) === 1);
    const graphics = createMember(TOOLS);
    const second = await startHere(graphics, workerArgs(redis.url, '--tags', 'gpu,eu'));
    expect((await answering).text).toBe(`rendered in ${graphics.dir}\n`);
    const status = json(await wield(machine, ['fleet', 'status', '--json'], { env: { WIELD_FLEET: redis.url } }));
    expect(status.workers.map(({ id, tags }: { id: string; tags: string[] }) => [id, tags]).sort()).toEqual(
      [
        [worker.name, []],
        [second.name, ['gpu', 'eu']],
      ].sort(),
    );
    expect(await second.stop()).toBe(0);
    const bad = await wield(machine, ['worker', '--fleet', redis.url, '--tags', 'GPU!']);
    expect(bad.stderr).toContain('is not a tag');
    // A tag that no worker can have, and one of the configuration instead of it.
    for (const tag of ['Big GPU', '']) {
      front.script('odd', TOOLS.render.replace('@run-on gpu', `@run-on ${tag}`));
      expect((await callFront(url, 'odd')).code).toBe('invalid_definition');
    }
    front.config('[tools.where]\nrunOn = "gpu"\n');
    const moved = new AbortController();
    const never = callFront(url, 'where', {}, { signal: moved.signal }).catch(() => {});
    await until(async () => (await client.llen(NAMES.waiting('gpu'))) === 1);
    moved.abort();
    await never;
    front.config('');
  });

  test('FLT-17', 'a call that needs approval is queued after it was given, and the worker asks nobody', async () => {
    const { url, front, machine, redis } = fleet();
    const asked = await callFront(url, 'erase');
    expect(asked.code).toBe('needs_approval');
    expect(existsSync(join(machine.dir, 'erased'))).toBe(false);
    const [pending] = json(await wield(front, ['approvals', 'list', '--json', '--fleet', redis.url])).approvals;
    // Days later, also if the clocks of people and fronts differ.
    expect(Date.parse(pending.until) - Date.parse(pending.since)).toBe(7 * 24 * 3_600_000);
    const ahead = { now: () => Date.now() + 3_600_000 };
    await wield(front, ['approvals', 'approve', pending.id, '--fleet', redis.url], ahead);
    expect((await callFront(url, 'erase')).text).toBe('gone\n');
    expect(linesOf(join(machine.dir, 'erased'))).toBe(1);
  });

  test('FLT-89', 'status names the versions of members that differ', async () => {
    const { redis, machine, client } = fleet();
    const status = async (...args: string[]) => wield(machine, ['fleet', 'status', '--fleet', redis.url, ...args]);
    expect((await status()).stdout).not.toContain('versions');
    const id = 'worker-0123abcd';
    const [peer] = json(await status('--json')).workers;
    await client.set(
      NAMES.peer(id),
      JSON.stringify({ ...peer, id, since: 1, running: [], version: '99.0.0' }),
      'PX',
      60_000,
    );
    await client.zadd(NAMES.peers('worker'), Date.now(), id);
    expect((await status()).stdout).toContain(`  versions   ${peer.version}, 99.0.0: `);
    await client.del(NAMES.peer(id));
  });

  test(
    'FLT-30 FLT-31 FLT-50',
    'status and metrics show who is there, what waits and the last hour; key never prints the key',
    async () => {
      const { url, redis, machine, client } = fleet();
      const never = new AbortController();
      const waiting = callFront(url, 'render', {}, { signal: never.signal }).catch(() => {});
      await until(async () => (await client.llen(NAMES.waiting('gpu'))) === 1);
      const env = { WIELD_FLEET: redis.url };
      const calls = async (): Promise<number> =>
        json(await wield(machine, ['fleet', 'status', '--json'], { env })).lastHour.calls;
      await until(async () => (await calls()) > 5);
      const text = (await wield(machine, ['fleet', 'status'], { env })).stdout;
      expect(text).toMatch(/^ {2}fronts 1 {3}workers 1 {3}running \d {3}waiting 1 {3}oldest \d+(\.\d)? m?s$/m);
      expect(text).toMatch(/^ {2}last hour {2}\d+ calls .*p50 [\d.]+ m?s {3}p99 [\d.]+ m?s$/m);
      // Read again: a front looks at its workers from time to time.
      await until(async () => /^wield_fleet_workers 1$/m.test(await readMetrics(url)));
      const metrics = await readMetrics(url);
      expect(metrics).toMatch(/^wield_calls_queued 1$/m);
      expect(metrics).toMatch(/^# TYPE wield_fleet_lost_total counter\nwield_fleet_lost_total \d+$/m);
      never.abort();
      await waiting;
      const bare = createMember({});
      delete bare.env.WIELD_FLEET_KEY;
      const missing = await wield(bare, ['fleet', 'status'], { env });
      expect(missing.stderr).toContain('wield fleet key');
      const made = await wield(bare, ['fleet', 'key', '--yes']);
      const key = readFileSync(join(bare.env.WIELD_HOME!, 'fleet.key'), 'utf8').trim();
      expect(made.stdout).toContain('created');
      expect(made.stdout + made.stderr).not.toContain(key);
      expect((await wield(bare, ['fleet', 'key'])).stdout).toContain('exists');
      const other = json(await wield(bare, ['fleet', 'status', '--json'], { env }));
      expect([other.fronts, other.workers]).toEqual([[], []]);
      writeFileSync(join(bare.env.WIELD_HOME!, 'fleet.key'), '');
      for (const args of [['--dry-run'], ['--yes']]) {
        const broken = await wield(bare, ['fleet', 'key', ...args]);
        expect([broken.status, broken.stdout]).toEqual([8, '']);
        expect(broken.stderr).toContain('remove the file and run: wield fleet key');
      }
    },
  );

  test('FLT-5', 'a worker with another version of a tool does not run it; one with the same version does', async () => {
    const { url, machine, redis, front } = fleet();
    const changed = TOOLS.where.replace('in $PWD', 'from $PWD');
    front.script('where', changed);
    const refused = await callFront(url, 'where', { text: 'x' });
    expect(refused).toMatchObject({ code: 'integrity', error: { data: { fleet: { started: false, ran: 'no' } } } });
    front.script('fresh', TOOLS.where.replace('Prints', 'Shows'));
    const missing = await callFront(url, 'fresh', { text: 'x' });
    expect(missing).toMatchObject({ code: 'not_found' });
    const newer = createMember({ ...TOOLS, where: changed });
    const second = await startHere(newer, workerArgs(redis.url));
    for (const text of ['a', 'b', 'c'])
      expect((await callFront(url, 'where', { text })).text).toBe(`${text} from ${newer.dir}\n`);
    expect(await second.stop()).toBe(0);
    front.script('where', TOOLS.where);
    // One that does not trust its workspace leaves the calls to others.
    const untrusted = await startHere(createMember(TOOLS), ['worker', '--fleet', redis.url, '--tags', 'gpu']);
    await until(() => untrusted.stderr().includes('this workspace is not trusted'));
    for (const text of ['x', 'y', 'z'])
      expect((await callFront(url, 'where', { text })).text).toBe(`${text} in ${machine.dir}\n`);
    expect(await callFront(url, 'render')).toMatchObject({
      code: 'needs_trust',
      error: { message: expect.stringContaining(untrusted.name), data: { fleet: { ran: 'no' } } },
    });
    expect(await untrusted.stop()).toBe(0);
  });

  test('FLT-4', 'a front that stood still gets the messages of that time', async () => {
    const { redis, machine, client } = fleet();
    const fronts = () => client.zrange(NAMES.peers('front'), '0', '-1');
    const before = await fronts();
    const front = await startProcess(createMember(TOOLS), frontArgs(redis.url));
    const [id = ''] = (await fronts()).filter((one) => !before.includes(one));
    const answer = callFront(front.name, 'late', {}, { meta: { progressToken: 'p' } });
    await until(() => existsSync(join(machine.dir, 'started-late')));
    front.signal('SIGSTOP');
    await until(async () => (await client.exists(NAMES.peer(id))) === 0);
    // Redis counts whole seconds.
    await sleep(1000);
    const results = async () => (await client.keys(NAMES.result('*'))).length;
    const known = await results();
    writeFileSync(join(machine.dir, 'go-late'), '');
    await until(async () => (await results()) > known);
    front.signal('SIGCONT');
    const { before: messages, text } = await answer;
    expect([messages.map(({ params }) => params.message), text]).toEqual([['all'], 'done\n']);
    await front.stop();
  });

  test('FLT-16', 'a worker and a front that are stopped answer what they run, and take nothing else', async () => {
    const { url, machine, worker, client, redis } = fleet();
    const running = callFront(url, 'wait', { name: 'drained' });
    await until(() => existsSync(join(machine.dir, 'started-drained')));
    const stopped = worker.stop();
    const later = callFront(url, 'where', { text: 'later' });
    await until(async () => (await client.llen(NAMES.waiting(''))) === 1);
    writeFileSync(join(machine.dir, 'go-drained'), '');
    expect((await running).text).toBe('went\n');
    expect(await stopped).toBe(0);
    const next = createMember(TOOLS);
    const second = await startHere(next, workerArgs(redis.url));
    expect((await later).text).toBe(`later in ${next.dir}\n`);
    const front = await startHere(next, frontArgs(redis.url));
    // The connection of a client that is about to send another request.
    const { host, port } = new URL(front.name);
    const socket = connect(Number(port), '127.0.0.1').setEncoding('utf8');
    socket.write('GET /metrics HTTP/1.1\r\n');
    const last = callFront(front.name, 'wait', { name: 'front' });
    await until(async () => /^wield_calls_running 1$/m.test(await readMetrics(front.name)));
    const closing = front.stop();
    await expect(untilRefused(front.name)).resolves.toBeUndefined();
    socket.write(`Host: ${host}\r\n\r\n`);
    const [answered] = await once(socket, 'data');
    expect(answered).toMatch(/^HTTP\/1.1 200 OK[\s\S]*Connection: close\r\n/);
    writeFileSync(join(next.dir, 'go-front'), '');
    expect((await last).text).toBe('went\n');
    expect(await closing).toBe(0);
    expect(await second.stop()).toBe(0);
  });
});

async function readMetrics(url: string): Promise<string> {
  return (await fetch(new URL('/metrics', url))).text();
}

async function untilRefused(url: string): Promise<void> {
  await until(() =>
    fetch(url, { method: 'GET' }).then(
      () => false,
      () => true,
    ),
  );
}

specIf(hasRedis, NO_REDIS, 'FLT-15', 'more waiting calls than the limit, and a full Redis, are busy', async () => {
  const redis = await startRedis();
  const front = createMember(TOOLS, '[limits]\nqueue = 2\n');
  const { name: url } = await startHere(front, frontArgs(redis.url));
  const controller = new AbortController();
  const client = new Redis(redis.port);
  onEnd(() => client.disconnect());
  const waiting = [1, 2].map((at) =>
    callFront(url, 'count', { text: `${at}` }, { signal: controller.signal }).catch(() => {}),
  );
  await until(async () => (await client.llen(NAMES.waiting(''))) === 2);
  const busy = await callFront(url, 'count', { text: 'c' });
  expect(busy.code).toBe('busy');
  expect(busy.error.data.retryAfterMs).toBeGreaterThanOrEqual(500);
  controller.abort();
  await Promise.all(waiting);
  await client.config('SET', 'maxmemory', '1');
  const full = await callFront(url, 'count', { text: 'd' });
  expect(full.code).toBe('busy');
  expect(full.error.data.retryAfterMs).toBeGreaterThan(0);
  await client.config('SET', 'maxmemory', '0');
  const worker = await startHere(front, workerArgs(redis.url));
  // The cancelled calls are still in the queue, because a full Redis could not remove them; they are not run.
  let next = busy;
  await until(async () => {
    next = await callFront(url, 'count', { text: 'e' });
    return next.code !== 'busy';
  });
  expect(next.text.trim()).toBe('1');
  await worker.stop();
});
