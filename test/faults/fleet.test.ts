// Faults of a fleet: killed, hanging and cut off workers, fronts and Redis servers, wrong clocks, a full Redis.

import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, connect as openSocket, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import { describe, expect } from 'vitest';
import { parseFleetAddress } from '../../src/fleet/connection.js';
import { openFront } from '../../src/fleet/front.js';
import { createFleetKey } from '../../src/fleet/key.js';
import { toNames } from '../../src/fleet/names.js';
import {
  callFront,
  createMember,
  FLEET_KEY,
  frontArgs,
  startHere,
  startProcess,
  until,
  workerArgs,
} from '../support/fleet.js';
import { moduleText } from '../support/modules.js';
import { patience } from '../support/patience.js';
import { sleep } from '../support/processes.js';
import { hasRedis, NO_REDIS, type RedisServer, startRedis } from '../support/redis.js';
import { onEnd, share } from '../support/share.js';
import { specIf } from '../support/spec.js';

const wait = (marks: string): string => `#!/bin/sh
# @description Waits until the file go exists.
# @param *name string A name.
${marks}echo run >> "started-$WIELD_PARAM_NAME"
while [ ! -e "go-$WIELD_PARAM_NAME" ]; do sleep 0.02; done
echo "went in $PWD"
`;
const TOOLS = { change: wait(''), read: wait('# @readonly\n') };
const KEY = createFleetKey(FLEET_KEY);
const NAMES = toNames(KEY.fleet);
// Three seconds are promised; the machine of a test may be slow.
const SOON_MS = 60_000;

const fault = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(hasRedis, NO_REDIS, ids, title, body);
const thoroughFault = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf.thorough(hasRedis, NO_REDIS, ids, title, body);

type Machine = ReturnType<typeof createMember>;
const hasStarted = ({ dir }: Machine, name: string): boolean => existsSync(join(dir, `started-${name}`));
const runsOf = ({ dir }: Machine, name: string): number =>
  hasStarted({ dir } as Machine, name) ? readFileSync(join(dir, `started-${name}`), 'utf8').split('\n').length - 1 : 0;
const letGo = ({ dir }: Machine, name: string): void => writeFileSync(join(dir, `go-${name}`), '');

/** Opens a client that is closed after the test. */
function openClient({ port }: Pick<RedisServer, 'port'>): Redis {
  const client = new Redis(port);
  client.on('error', () => {});
  onEnd(() => client.disconnect());
  return client;
}

/** Counts how often fronts look which workers are alive. */
async function watchLooks({ port }: RedisServer): Promise<() => number> {
  // A connection of its own: ioredis fails if a command is reported together with the answer to MONITOR.
  const monitor = openSocket(port, '127.0.0.1').setEncoding('utf8');
  onEnd(() => void monitor.destroy());
  const look = `"zrange" "${NAMES.peers('worker')}"`;
  let looks = 0;
  createInterface({ input: monitor }).on('line', (line) => {
    if (line.toLowerCase().includes(look)) looks++;
  });
  monitor.write('MONITOR\r\n');
  await once(monitor, 'data');
  return () => looks;
}

specIf.thorough(
  hasRedis,
  NO_REDIS,
  'FLT-16 FLT-18 FLT-2',
  'fronts and workers end although Redis is gone',
  async () => {
    const redis = await startRedis();
    const members = await Promise.all([
      startProcess(createMember(TOOLS), frontArgs(redis.url)),
      startProcess(createMember(TOOLS), workerArgs(redis.url)),
    ]);
    await until(() => members.every((member) => member.stderr().includes(` of the fleet ${KEY.fleet} at redis:`)));
    await redis.kill();
    const refused = await callFront(members[0]!.name, 'change', { name: 'gone' });
    expect(refused.error.data.fleet.ran).toBe('no');
    expect(refused.error.message).toMatch(/^change was not run, because it could not be queued: /);
    expect(await Promise.all(members.map((member) => member.stop()))).toEqual([0, 0]);
  },
);

describe('killed', () => {
  const fleet = share(async () => {
    const redis = await startRedis();
    const front = createMember(TOOLS);
    const { name: url } = await startHere(front, frontArgs(redis.url));
    return { redis, front, url };
  });

  fault(
    'FLT-10 FLT-11',
    'a worker during a run: an error that says so, or another run if it may be repeated',
    async () => {
      const { redis, url } = fleet();
      const machine = createMember(TOOLS);
      const worker = await startProcess(machine, workerArgs(redis.url));
      const calls = ['change', 'read'].map((tool) => callFront(url, tool, { name: tool }));
      await until(() => hasStarted(machine, 'change') && hasStarted(machine, 'read'));
      const second = createMember(TOOLS);
      letGo(second, 'read');
      const looks = await watchLooks(redis);
      worker.signal('SIGKILL');
      const other = await startHere(second, workerArgs(redis.url));
      // Its sign of life ends by itself, and so many looks later the call is answered: 1.2 s and six times 250 ms.
      const client = openClient(redis);
      expect(await client.pttl(NAMES.peer(worker.name))).toBeLessThanOrEqual(1200);
      await until(async () => (await client.exists(NAMES.peer(worker.name))) === 0);
      const before = looks();
      const lost = await calls[0]!;
      expect(looks() - before).toBeLessThanOrEqual(6);
      expect(lost).toMatchObject({
        code: 'unavailable',
        error: { data: { fleet: { worker: worker.name, started: true, ran: 'maybe' } } },
      });
      expect((await calls[1]!).text).toBe(`went in ${second.dir}\n`);
      expect(runsOf(second, 'change')).toBe(0);
      // A killed worker that comes back under the same conditions runs new calls.
      letGo(second, 'after');
      expect((await callFront(url, 'change', { name: 'after' })).text).toContain('went');
      await other.stop();
    },
  );

  fault('FLT-10', 'a worker before and after a run: the call runs once, and its result is kept', async () => {
    const { redis, url } = fleet();
    const client = openClient(redis);
    const machine = createMember(TOOLS);
    const worker = await startProcess(machine, workerArgs(redis.url));
    // After: the result is there, though its worker is not.
    letGo(machine, 'done');
    const first = await callFront(url, 'change', { name: 'done' }, { key: 'after-kill' });
    worker.signal('SIGKILL');
    expect(await callFront(url, 'change', { name: 'done' }, { key: 'after-kill' })).toEqual(first);
    // Before: nobody started it, so the next worker does.
    const waiting = callFront(url, 'change', { name: 'before' });
    await until(async () => (await client.llen(NAMES.waiting(''))) === 1 || (await client.llen(NAMES.active(''))) > 0);
    const next = createMember(TOOLS);
    letGo(next, 'before');
    const other = await startHere(next, workerArgs(redis.url));
    expect((await waiting).text).toBe(`went in ${next.dir}\n`);
    expect(runsOf(machine, 'done')).toBe(1);
    expect(runsOf(next, 'before')).toBe(1);
    await other.stop();
  });

  thoroughFault('FLT-10', 'a worker that took a call and has not started it: another one runs it, once', async () => {
    const { redis, front, url } = fleet();
    // A worker loads a module before it starts a call of it; this one can be made to load forever.
    const before = `import { appendFileSync, existsSync } from 'node:fs';
if (existsSync('never-load')) {
  appendFileSync('loading', 'x');
  await new Promise(() => setInterval(() => {}, 1000));
}`;
    const run = `() => { appendFileSync('started-slow', 'run\\n'); return 'ran'; }`;
    const slow = moduleText('slow', run, before);
    const [machine, next] = [createMember(TOOLS), createMember(TOOLS)];
    for (const member of [front, machine, next]) member.write('.agents/tools/slow.tool.mjs', slow);
    machine.write('never-load', '');
    const worker = await startProcess(machine, workerArgs(redis.url));
    const calling = callFront(url, 'slow');
    await until(() => existsSync(join(machine.dir, 'loading')));
    worker.signal('SIGKILL');
    const other = await startHere(next, workerArgs(redis.url));
    expect((await calling).text).toBe('ran');
    expect([runsOf(machine, 'slow'), runsOf(next, 'slow')]).toEqual([0, 1]);
    await other.stop();
  });

  fault('FLT-12', 'a front that waits: another front answers the repeated call, and it ran once', async () => {
    const { redis, url } = fleet();
    const machine = createMember(TOOLS);
    const worker = await startHere(machine, workerArgs(redis.url));
    const front = await startProcess(createMember(TOOLS), frontArgs(redis.url));
    const broken = callFront(front.name, 'change', { name: 'front' }, { key: 'front-kill' }).catch(() => 'broken');
    await until(() => hasStarted(machine, 'front'));
    front.signal('SIGKILL');
    expect(await broken).toBe('broken');
    const repeated = callFront(url, 'change', { name: 'front' }, { key: 'front-kill' });
    letGo(machine, 'front');
    expect((await repeated).text).toBe(`went in ${machine.dir}\n`);
    expect(runsOf(machine, 'front')).toBe(1);
    await worker.stop();
  });

  fault('FLT-10 FLT-14', 'a hanging worker is lost; one whose clock is an hour off is not', async () => {
    const { redis, url } = fleet();
    const machine = createMember(TOOLS);
    const skew = machine.write('skew.cjs', 'const now = Date.now; Date.now = () => now() + 3600000;\n');
    const worker = await startProcess(machine, workerArgs(redis.url), { NODE_OPTIONS: `--require "${skew}"` });
    letGo(machine, 'skewed');
    expect((await callFront(url, 'change', { name: 'skewed' })).text).toContain('went');
    const behind = machine.write('behind.cjs', 'const now = Date.now; Date.now = () => now() - 3600000;\n');
    const front = await startProcess(createMember(TOOLS), frontArgs(redis.url), {
      NODE_OPTIONS: `--require "${behind}"`,
    });
    letGo(machine, 'both');
    expect((await callFront(front.name, 'change', { name: 'both' })).text).toContain('went');
    const hanging = callFront(url, 'change', { name: 'hangs' });
    await until(() => hasStarted(machine, 'hangs'));
    worker.signal('SIGSTOP');
    const stoppedAt = performance.now();
    expect(await hanging).toMatchObject({ code: 'unavailable', error: { data: { fleet: { worker: worker.name } } } });
    expect(performance.now() - stoppedAt).toBeLessThan(patience(SOON_MS));
    expect(runsOf(machine, 'hangs')).toBe(1);
  });
});

describe.concurrent('without', () => {
  fault(
    'FLT-18',
    'Redis is killed and keeps its data: nothing is lost, and new calls fail at once meanwhile',
    async () => {
      const redis = await startRedis({ appendOnly: true });
      const machine = createMember(TOOLS);
      const { name: url } = await startHere(machine, frontArgs(redis.url));
      const worker = await startHere(machine, workerArgs(redis.url, '--concurrency', '1'));
      const client = openClient(redis);
      const running = callFront(url, 'change', { name: 'runs' });
      await until(() => hasStarted(machine, 'runs'));
      const waiting = callFront(url, 'change', { name: 'waits' });
      await until(async () => (await client.llen(NAMES.waiting(''))) === 1);
      await redis.kill();
      const beganAt = performance.now();
      const refused = await callFront(url, 'change', { name: 'refused' });
      expect(refused.code).toBe('unavailable');
      expect(performance.now() - beganAt).toBeLessThan(patience(SOON_MS));
      letGo(machine, 'runs');
      letGo(machine, 'waits');
      await redis.start();
      for (const { text } of await Promise.all([running, waiting])) expect(text).toContain('went');
      expect([runsOf(machine, 'runs'), runsOf(machine, 'waits')]).toEqual([1, 1]);
      await worker.stop();
    },
  );

  fault('FLT-18', 'Redis is killed and loses its data: what waited is queued again, what ran is answered', async () => {
    const redis = await startRedis();
    const machine = createMember(TOOLS);
    const { name: url } = await startHere(machine, frontArgs(redis.url));
    const worker = await startHere(machine, workerArgs(redis.url, '--concurrency', '1'));
    const client = openClient(redis);
    const running = callFront(url, 'change', { name: 'runs' });
    await until(() => hasStarted(machine, 'runs'));
    const waiting = ['change', 'read'].map((tool) => callFront(url, tool, { name: tool }));
    await until(async () => (await client.llen(NAMES.waiting(''))) === 2);
    for (const name of ['change', 'read']) letGo(machine, name);
    await redis.kill();
    await redis.start();
    letGo(machine, 'runs');
    for (const { text } of await Promise.all([running, ...waiting])) expect(text).toContain('went');
    for (const name of ['runs', 'change', 'read']) expect(runsOf(machine, name)).toBe(1);
    await worker.stop();
  });

  thoroughFault('FLT-10 FLT-18', 'a partition: a worker behind it is lost, and works again after it', async () => {
    const redis = await startRedis();
    const proxy = await startProxy(redis.port);
    const machine = createMember(TOOLS);
    const { name: url } = await startHere(machine, frontArgs(redis.url));
    const worker = await startHere(machine, workerArgs(`redis://127.0.0.1:${proxy.port}`));
    const cut = callFront(url, 'change', { name: 'cut' }, { key: 'cut' });
    await until(() => hasStarted(machine, 'cut'));
    proxy.drop();
    expect(await cut).toMatchObject({ code: 'unavailable', error: { data: { fleet: { ran: 'maybe' } } } });
    letGo(machine, 'cut');
    letGo(machine, 'healed');
    const healed = callFront(url, 'change', { name: 'healed' });
    proxy.heal();
    expect((await healed).text).toContain('went');
    // The result of the call that was cut off arrived, and its key finds it.
    let found = await callFront(url, 'change', { name: 'cut' }, { key: 'cut' });
    while (found.code !== undefined) found = await callFront(url, 'change', { name: 'cut' }, { key: 'cut' });
    expect(found.text).toContain('went');
    expect(runsOf(machine, 'cut')).toBe(1);
    await worker.stop();
  });

  fault('FLT-18', 'Redis refuses the orders of a front: the call runs once when it takes them', async () => {
    const redis = await startRedis();
    const client = openClient(redis);
    await client.call('ACL', 'SETUSER', 'front', 'on', '>secret', '~*', '&*', '+@all');
    const front = await startHere(createMember(TOOLS), frontArgs(redis.url.replace('//', '//front:secret@')));
    const machine = createMember(TOOLS);
    const worker = await startHere(machine, workerArgs(redis.url));
    letGo(machine, 'late');
    // It listens to changes of state only.
    await client.call('ACL', 'SETUSER', 'front', 'resetchannels', '&*:state:*');
    const calling = callFront(front.name, 'change', { name: 'late' });
    await until(async () => ((await client.call('ACL', 'LOG')) as unknown[]).length > 0);
    expect(hasStarted(machine, 'late')).toBe(false);
    await client.call('ACL', 'SETUSER', 'front', '&*');
    expect((await calling).text).toBe(`went in ${machine.dir}\n`);
    expect(runsOf(machine, 'late')).toBe(1);
    await worker.stop();
  });

  fault('FLT-18', 'Redis takes the channels of a front away: it listens again when it may', async () => {
    const redis = await startRedis();
    const client = openClient(redis);
    await client.call('ACL', 'SETUSER', 'front', 'on', '>secret', '~*', '&*', '+@all');
    const front = await startHere(createMember(TOOLS), frontArgs(redis.url.replace('//', '//front:secret@')));
    const machine = createMember(TOOLS);
    const worker = await startHere(machine, workerArgs(redis.url));
    letGo(machine, 'after');
    const listening = async (): Promise<number> => ((await client.pubsub('CHANNELS', '*:state:*')) as string[]).length;
    const before = await listening();
    expect(before).toBeGreaterThan(0);
    // Redis closes the connections that listen to what they may not.
    await client.call('ACL', 'SETUSER', 'front', 'resetchannels');
    await until(async () => ((await client.call('ACL', 'LOG')) as unknown[]).length > 0);
    expect(await listening()).toBe(0);
    await client.call('ACL', 'SETUSER', 'front', '&*');
    await until(async () => (await listening()) === before);
    expect((await callFront(front.name, 'change', { name: 'after' })).error).toBeUndefined();
    await worker.stop();
  });

  fault('FLT-15', 'a full Redis: what runs is answered, new calls are busy', async () => {
    const redis = await startRedis();
    const risk = '#!/bin/sh\n# @description Needs approval.\n# @destructive\necho done\n';
    const machine = createMember({ ...TOOLS, risk }, '[limits]\nconcurrent-per-tool = 2\n');
    machine.write('.agents/skills/note/SKILL.md', '---\nname: note\ndescription: A note.\n---\nRemember.\n');
    const { name: url } = await startHere(machine, frontArgs(redis.url));
    const worker = await startHere(machine, workerArgs(redis.url));
    const client = openClient(redis);
    const running = callFront(url, 'change', { name: 'full' });
    await until(() => hasStarted(machine, 'full'));
    await client.config('SET', 'maxmemory', '1');
    const refused = [
      await callFront(url, 'change', { name: 'new' }),
      await callFront(url, 'change', { name: 'new' }, { key: 'new' }),
      await callFront(url, 'risk'),
    ];
    for (const { code, error } of refused) {
      expect(code).toBe('busy');
      expect(error).toMatchObject({ message: expect.stringMatching(/: Redis is full$/), data: { retryAfterMs: 5000 } });
    }
    // Run by the front itself: its limit counts all the same.
    expect((await callFront(url, 'read_skill', { skill_name: 'note' })).text).toContain('Remember.');
    // Longer than a sign of life lasts.
    await sleep(2500);
    letGo(machine, 'full');
    expect((await running).text).toContain('went');
    expect(runsOf(machine, 'new')).toBe(0);
    await client.config('SET', 'maxmemory', '0');
    await worker.stop();
  });

  fault(
    'FLT-80 FLT-15',
    'a full Redis, and one whose answers are lost: what was not run does not run later',
    async () => {
      const redis = await startRedis();
      const proxy = await startProxy(redis.port);
      const machine = createMember(TOOLS);
      const { name: url } = await startHere(machine, frontArgs(`redis://127.0.0.1:${proxy.port}`));
      const client = openClient(redis);
      const names = Array.from({ length: 12 }, (_, at) => `c${at}`);
      // Full after any of the commands of a call.
      const answers = names.map(async (name, at) => {
        await sleep(at * 20);
        return callFront(url, 'change', { name });
      });
      for (let turn = 0; turn < 12; turn++) {
        await client.config('SET', 'maxmemory', turn % 2 === 0 ? '1' : '0');
        await sleep(20);
      }
      proxy.deafen();
      const lost = callFront(url, 'change', { name: 'lost' });
      expect(await lost).toMatchObject({ code: 'unavailable', error: { data: { fleet: { ran: 'no' } } } });
      await until(async () => (await client.llen(NAMES.waiting(''))) > 0);
      proxy.heal();
      await client.config('SET', 'maxmemory', '0');
      for (const name of [...names, 'lost', 'next']) letGo(machine, name);
      const worker = await startHere(machine, workerArgs(redis.url));
      let next = await callFront(url, 'change', { name: 'next' });
      while (next.code !== undefined) next = await callFront(url, 'change', { name: 'next' });
      for (const [at, { error }] of (await Promise.all(answers)).entries())
        expect([at, runsOf(machine, names[at]!)]).toEqual([at, error?.data.fleet.ran === 'no' ? 0 : 1]);
      await until(async () => (await client.llen(NAMES.waiting(''))) + (await client.llen(NAMES.active(''))) === 0);
      expect(runsOf(machine, 'lost')).toBe(0);
      await worker.stop();
    },
  );

  fault('FLT-10', 'the answer that a call was queued: its worker is watched, and lost when it is cut off', async () => {
    const redis = await startRedis();
    const [near, far] = [await startProxy(redis.port), await startProxy(redis.port)];
    const machine = createMember({ change: wait('# @timeout 30s\n') });
    const { name: url } = await startHere(machine, frontArgs(`redis://127.0.0.1:${near.port}`));
    const worker = await startHere(machine, workerArgs(`redis://127.0.0.1:${far.port}`));
    letGo(machine, 'heard');
    expect((await callFront(url, 'change', { name: 'heard' })).text).toContain('went');
    // What a worker sends still arrives.
    near.deafen('wield-front\r\n');
    const calling = callFront(url, 'change', { name: 'unheard' });
    await until(() => hasStarted(machine, 'unheard'));
    // Longer than a front tries to queue a call.
    await sleep(3500);
    near.heal();
    far.drop();
    const answer = await calling;
    letGo(machine, 'unheard');
    far.heal();
    await worker.stop();
    expect(answer).toMatchObject({ code: 'unavailable', error: { data: { fleet: { worker: worker.name } } } });
  });

  fault('FLT-19', 'workers: a call that none can take for 30 seconds fails, and nothing ran', async () => {
    const redis = await startRedis();
    const machine = createMember(TOOLS);
    let skipped = 0;
    const front = await openFront({
      address: parseFleetAddress(redis.url, {}),
      key: KEY,
      host: 'here',
      version: '0.0.0',
      variablesOf: () => undefined,
      monotonic: () => performance.now() + skipped,
      debug: () => {},
    });
    onEnd(() => front.close());
    const toolbox = machine.toolbox({ dispatcher: front });
    const client = openClient(redis);
    const waiting = toolbox.call('change', { name: 'nobody' });
    let isAnswered = false;
    void waiting.then(() => {
      isAnswered = true;
    });
    await until(async () => (await client.llen(NAMES.waiting(''))) === 1);
    // The front looks several times a second, and must have seen the call before its clock is advanced.
    await until(async () => {
      skipped += 15_500;
      await sleep(600);
      return isAnswered;
    });
    expect(await waiting).toMatchObject({ ok: false, error: { code: 'unavailable', data: { fleet: { ran: 'no' } } } });
    expect(await client.llen(NAMES.waiting(''))).toBe(0);
  });
});

interface Proxy {
  readonly port: number;
  drop(): void;
  /** Drops answers only: those on connections that sent this text, or all. */
  deafen(text?: string): void;
  heal(): void;
}

/** A proxy that can drop everything without closing a connection. */
async function startProxy(to: number): Promise<Proxy> {
  let isDropping = false;
  let deaf: string | undefined;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = openSocket(to, '127.0.0.1');
    let sent = '';
    near.on('data', (data) => {
      sent = (sent + data).slice(0, 1000);
    });
    const isDeaf = (): boolean => deaf !== undefined && sent.includes(deaf);
    for (const [from, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (data) => isDropping || (from === far && isDeaf()) || other.write(data));
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as { port: number }).port,
    drop: () => {
      isDropping = true;
    },
    deafen: (text = '') => {
      deaf = text;
    },
    heal: () => {
      isDropping = false;
      deaf = undefined;
      for (const socket of sockets) socket.destroy();
    },
  };
}
