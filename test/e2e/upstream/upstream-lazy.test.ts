// Tests that servers are started only when needed, by counting processes.

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { wield } from '../../support/cli.js';
import { connectHttp, connectStdio } from '../../support/clients.js';
import { rounds, some } from '../../support/effort.js';
import { patience } from '../../support/patience.js';
import { processesWith } from '../../support/processes.js';
import { type Message, serveHttp, serveStdio, until } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { type CountedServer, configureServers, countedServer, said } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const COUNT = rounds(8, 20);

interface Farm {
  readonly workspace: Workspace;
  readonly servers: readonly CountedServer[];
  /** Number of starts of each server. */
  starts(): number[];
  /** Running server processes. */
  alive(): number[];
}

function createFarm(count = COUNT, env: Record<string, string> = {}): Farm {
  const workspace = createWorkspace();
  const servers = Array.from({ length: count }, (_, at) => countedServer(workspace, `far${at}`));
  configureServers(workspace, Object.fromEntries(servers.map(({ entry }, at) => [`far${at}`, { ...entry, env }])));
  return {
    workspace,
    servers,
    starts: () => servers.map((server) => server.starts().length),
    alive: () => servers.flatMap((server) => server.starts()).filter(isAlive),
  };
}

function isAlive(pid: number): boolean {
  const file = `/proc/${pid}/stat`;
  return existsSync(file) && !/\) Z /.test(readFileSync(file, 'utf8'));
}

/** A farm whose servers were all listed once and stopped. */
async function createIndexedFarm(count = COUNT): Promise<Farm> {
  const farm = createFarm(count);
  const toolbox = farm.workspace.toolbox();
  expect((await toolbox.list()).length).toBe(count * 9);
  await toolbox.close();
  expect(farm.starts()).toEqual(Array(count).fill(1));
  expect(farm.alive()).toEqual([]);
  return farm;
}

const ONES = Array<number>(COUNT).fill(1);

describe('servers that were never listed', () => {
  spec('UPS-3 SRV-13', 'are not started by starting wield serve, over stdio or HTTP', async () => {
    const { workspace, starts } = createFarm(3);
    const stdio = serveStdio(workspace);
    await stdio.initialize();
    const http = await serveHttp(workspace);
    expect((await fetch(http.url.replace(/\/mcp$/, '/'))).status).toBe(200);
    expect(starts()).toEqual([0, 0, 0]);
    // A listing waits for slow servers for a limited time.
    let id = 7;
    const list = async (): Promise<number> => {
      const { result } = await stdio.request(id++, 'tools/list', {});
      return result.tools.filter(({ name }: Message) => name.startsWith('far')).length;
    };
    await expect.poll(list, { timeout: patience(60_000) }).toBe(3 * 9);
    expect(starts()).toEqual([1, 1, 1]);
  });
});

describe('servers with a stored tool list', () => {
  spec.thorough('UPS-3 SRV-2', 'are not started by listing, searching or showing', async () => {
    const { workspace, starts } = await createIndexedFarm();
    const client = await connectStdio(workspace, 'newer');
    expect((await client.listTools()).tools.filter(({ name }) => name.startsWith('far'))).toHaveLength(COUNT * 9);
    const other = await connectHttp(workspace, 'older');
    expect((await other.listTools()).tools.length).toBeGreaterThanOrEqual(COUNT * 9);
    for (const args of [
      ['list'],
      ['list', '--json'],
      ['search', 'say it again'],
      ['show', 'far3_echo'],
      ['far3', '--help'],
      ['call', 'far3_echo', '--help'],
      ['explain', 'far3_echo', '--input', '{"text":"a"}'],
      ['call', 'far3_echo', '--input', '{"text":"a"}', '--dry-run'],
      ['completions', 'bash'],
    ])
      expect([args, (await wield(workspace, args)).status]).toEqual([args, 0]);
    expect((await wield(workspace, ['__complete', 'zsh', '--', 'far3', 'e'])).stdout).toContain('echo');
    const toolbox = workspace.toolbox();
    await toolbox.find('far7_echo');
    await toolbox.find('mcp://far7/echo');
    await toolbox.plan('far7_echo', { text: 'a' });
    expect((await toolbox.call('far7_echo', { wrong: 1 })).error?.code).toBe('invalid_input');
    expect(starts()).toEqual(ONES);
  });

  spec.thorough('UPS-3', 'start at the first call, once for fifty concurrent calls', async () => {
    const { workspace, starts } = await createIndexedFarm();
    const fifty = Array.from({ length: 50 }, (_, at) => String(at));
    const toolbox = workspace.toolbox();
    const results = await Promise.all(fifty.map((text) => toolbox.call('far3_echo', { text })));
    expect(results.map(said)).toEqual(fifty);
    expect(starts()).toEqual(ONES.map((one, at) => (at === 3 ? 2 : one)));
    const client = await connectStdio(workspace, 'newer');
    const answers = await Promise.all(fifty.map((text) => client.callTool({ name: 'far5_echo', arguments: { text } })));
    expect(answers.map(said)).toEqual(fifty);
    expect(starts()).toEqual(ONES.map((one, at) => (at === 3 || at === 5 ? 2 : one)));
  });

  spec('UPS-3', 'concurrent first calls share one start, listed or not', async () => {
    const { workspace, starts } = createFarm(3);
    const toolbox = workspace.toolbox();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, at) => toolbox.call('far1_echo', { text: String(at) })),
    );
    expect(results.every(({ ok }) => ok)).toBe(true);
    expect(starts()).toEqual([0, 1, 0]);
  });
});

describe('a stored tool list', () => {
  spec.thorough('UPS-3', 'depends on the configuration, but not on selectors and timeouts', async () => {
    const { workspace, servers, starts } = await createIndexedFarm(3);
    const change = (more: object): void => {
      const entries = servers.map(({ entry }, at) => [`far${at}`, at === 1 ? { ...entry, ...more } : entry]);
      configureServers(workspace, Object.fromEntries(entries));
    };
    const listed = async (): Promise<number> => {
      const toolbox = workspace.toolbox();
      const tools = await toolbox.list();
      await toolbox.close();
      return tools.length;
    };
    expect(await listed()).toBe(27);
    change({ env: {}, allow: ['echo'], timeout: '5s' });
    expect(await listed()).toBe(19);
    expect(starts()).toEqual([1, 1, 1]);
    change({ env: { MOOD: 'other' } });
    expect(await listed()).toBe(27);
    expect(await listed()).toBe(27);
    expect(starts()).toEqual([1, 2, 1]);
    change({ env: {} });
    expect(await listed()).toBe(27);
    expect(starts()).toEqual([1, 2, 1]);
  });
});

describe('unused servers', () => {
  spec.thorough('UPS-3', 'that were only listed stop soon, and start again for a call', async () => {
    const { workspace, starts, alive } = createFarm(3);
    const client = await connectStdio(workspace, 'newer');
    await client.listTools();
    expect(starts()).toEqual([1, 1, 1]);
    await until(() => alive().length === 0, 'they end');
    expect(said(await client.callTool({ name: 'far1_echo', arguments: { text: 'again' } }))).toBe('again');
    expect(starts()).toEqual([1, 2, 1]);
    expect(alive()).toHaveLength(1);
  });

  spec('UPS-3', 'that were called stop after ten minutes, and start again', async () => {
    // Fake timers; the processes are real.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    const { workspace, starts, alive } = createFarm(2);
    const toolbox = workspace.toolbox();
    expect(said(await toolbox.call('far1_echo', { text: 'a' }))).toBe('a');
    await vi.advanceTimersByTimeAsync(9 * 60_000);
    expect(said(await toolbox.call('far1_echo', { text: 'b' }))).toBe('b');
    await vi.advanceTimersByTimeAsync(9 * 60_000);
    expect(alive()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(2 * 60_000);
    await until(() => alive().length === 0, 'it ends');
    expect(said(await toolbox.call('far1_echo', { text: 'c' }))).toBe('c');
    expect(starts()).toEqual([0, 2]);
  });

  const ENDS = [
    ['closes its input', ({ child }: { child: { stdin: { end(): void } } }) => child.stdin.end()],
    ['is told to end', ({ child }: Message) => child.kill('SIGTERM')],
    ['is killed', ({ child }: Message) => child.kill('SIGKILL')],
  ] as const;
  for (const [how, end] of some(ENDS, 1))
    spec('UPS-3', `stop with a wield serve that ${how}`, async () => {
      const { workspace, alive } = await createIndexedFarm(3);
      const server = serveStdio(workspace);
      await server.initialize();
      for (const [id, name] of ['far0_echo', 'far2_echo'].entries())
        await server.request(id + 1, 'tools/call', { name, arguments: { text: 'a' } });
      // One is running a call.
      server.send({
        jsonrpc: '2.0',
        id: 9,
        method: 'tools/call',
        params: { name: 'far2_slow', arguments: { ms: 60_000 } },
      });
      expect(alive()).toHaveLength(2);
      end(server);
      await server.exited;
      await until(() => alive().length === 0, 'the servers end');
      await until(() => processesWith(workspace.home).length === 0, 'nothing is left');
    });

  spec.thorough('UPS-3', 'stop when a command ends', async () => {
    const { workspace, alive, starts } = createFarm(2);
    expect((await wield(workspace, ['list'])).status).toBe(0);
    expect((await wield(workspace, ['call', 'far1_echo', '--text', 'a'])).stdout).toBe('a\n');
    expect(starts()).toEqual([1, 2]);
    expect(alive()).toEqual([]);
  });
});
