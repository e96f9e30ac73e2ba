// Servers that all sessions of a user share: one process each, nothing that crosses, and ends.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, vi } from 'vitest';
import { createBrokerWorkspace } from '../../support/broker.js';
import { binary } from '../../support/built.js';
import { wield } from '../../support/cli.js';
import { callTool, connectPerson, connectStdio } from '../../support/clients.js';
import { patience } from '../../support/patience.js';
import { onEnd } from '../../support/share.js';
import { spec } from '../../support/spec.js';
import { isAlive } from '../../support/upstream-workspace.js';

const soon = { timeout: patience(5000) };
const text = (result: unknown): string => (result as { content: { text: string }[] }).content[0]!.text;

describe.concurrent('a shared server', () => {
  spec('UPS-117 UPS-122', 'is started by the first command, and used by all', async () => {
    const workspace = createBrokerWorkspace();
    for (const said of ['one', 'two', 'three']) {
      const { stdout, stderr, status } = await wield(workspace, ['call', 'far_echo', '--text', said]);
      expect({ stdout, stderr, status }).toEqual({ stdout: `${said}\n`, stderr: '', status: 0 });
    }
    const [pid, ...more] = workspace.starts('far');
    expect(more).toEqual([]);
    const { stdout } = await wield(workspace, ['mcp', '--json']);
    expect(JSON.parse(stdout).shared).toEqual([
      {
        name: 'far',
        pid,
        sessions: 0,
        directory: workspace.dir,
        memoryBytes: expect.any(Number),
        startedAt: expect.any(String),
      },
    ]);
    const shown = await wield(workspace, ['mcp']);
    expect(shown.stdout).toMatch(new RegExp(`Shared by all sessions:.*far +${pid} +0 `, 's'));
    const restarted = await wield(workspace, ['mcp', 'restart', 'far']);
    expect(restarted).toMatchObject({ status: 0, stdout: 'far was restarted for all sessions\n' });
    expect(workspace.starts('far')).toHaveLength(2);
    const broker = workspace.brokerPid()!;
    const stopped = await wield(workspace, ['mcp', 'stop', '--json']);
    expect(JSON.parse(stopped.stdout)).toMatchObject({ ok: true, stopped: { brokers: 1, processes: 1 } });
    await vi.waitFor(() => expect([...workspace.starts('far'), broker].filter(isAlive)).toEqual([]), soon);
    expect(readdirSync(workspace.broker)).toEqual([]);
  });

  spec('UPS-117', 'is shared in a home whose path has other letters', async () => {
    const workspace = createBrokerWorkspace();
    const env = { HOME: workspace.home, WIELD_HOME: join(workspace.home, 'hüb Ⅻ') };
    onEnd(async () => void (await wield(workspace, ['mcp', 'stop'], { env })));
    mkdirSync(env.WIELD_HOME);
    writeFileSync(join(env.WIELD_HOME, 'config.toml'), '[mcp]\nbroker = true\n');
    for (let at = 0; at < 2; at++) await wield(workspace, ['call', 'far_echo', '--text', 'a'], { env });
    expect(workspace.starts('far')).toHaveLength(1);
    const { stdout } = await wield(workspace, ['doctor'], { env });
    expect(stdout).toMatch(/ok +broker +all sessions share local servers/);
  });

  spec('UPS-117', 'has a process per command where it is off', async () => {
    const workspace = createBrokerWorkspace({ far: { shared: false }, near: {}, 'my-browser': {} });
    const call = (name: string, env = {}) => wield(workspace, ['call', `${name}_echo`, '--text', 'a'], { env });
    for (let at = 0; at < 2; at++) await call('far');
    expect(workspace.starts('far')).toHaveLength(2);
    for (let at = 0; at < 2; at++) await call('near', { WIELD_NO_BROKER: '1' });
    workspace.config('');
    for (let at = 0; at < 2; at++) await call('near', { CI: 'true' });
    workspace.config('[mcp]\nbroker = false\n');
    for (let at = 0; at < 2; at++) await call('near');
    expect(workspace.starts('near')).toHaveLength(6);
    expect(workspace.brokerPid()).toBeUndefined();
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toMatch(/broker +each session starts its own servers: mcp\.broker is false/);
    const restarted = await wield(workspace, ['mcp', 'restart', 'near']);
    expect(restarted.stderr).toContain('no process of the server near is shared: mcp.broker is false');
  });

  spec('UPS-122', 'is restarted in all directories', async () => {
    const workspace = createBrokerWorkspace();
    const session = await connectStdio(workspace, 'older');
    await callTool(session, 'far_echo', { text: 'a' });
    await wield(workspace, ['--cwd', workspace.home, 'call', 'far_echo', '--text', 'a']);
    const before = workspace.starts('far');
    expect(before).toHaveLength(2);
    expect((await wield(workspace, ['--cwd', workspace.home, 'mcp', 'restart', 'far'])).status).toBe(0);
    await vi.waitFor(() => expect(before.filter(isAlive)).toEqual([]), soon);
    expect(workspace.starts('far')).toHaveLength(3);
    expect(text(await callTool(session, 'far_echo', { text: 'b' }))).toBe('b');
    expect(workspace.starts('far')).toHaveLength(4);
  });

  spec('UPS-118', 'is another one with another secret, directory or program', async () => {
    const program = 'process.argv.splice(1, 1); await import(process.argv[1]);';
    const workspace = createBrokerWorkspace({ far: { env: { SECRET: '${TOKEN}' } } });
    const secret = (token: string, cwd = workspace.dir) =>
      wield(workspace, ['--cwd', cwd, 'call', 'far_environment', '--text', 'SECRET'], { env: { TOKEN: token } });
    for (const token of ['first-secret', 'other-secret', 'first-secret']) await secret(token);
    expect(workspace.starts('far')).toHaveLength(2);
    await secret('first-secret', workspace.home);
    expect(workspace.starts('far')).toHaveLength(3);
    const file = workspace.write('server.mjs', program);
    const [server, log] = workspace.arguments('near');
    workspace.servers({ near: { args: [file, server, log] } });
    for (const changed of ['', '\n', '']) {
      writeFileSync(file, program + changed);
      expect(await wield(workspace, ['call', 'near_echo', '--text', 'a'])).toMatchObject({ stdout: 'a\n', stderr: '' });
    }
    expect(workspace.starts('near')).toHaveLength(3);
    expect(JSON.stringify(readdirSync(workspace.broker))).not.toContain('secret');
  });

  spec('UPS-118', 'has the umask of its sessions, and is another one with another umask', async () => {
    const workspace = createBrokerWorkspace();
    const [server, log] = workspace.arguments('far');
    const masks = join(workspace.home, 'masks');
    const args = ['-c', 'umask >> "$0"; exec "$@"', masks, process.execPath, server, log];
    workspace.servers({ far: { command: 'sh', args } });
    const { dir: cwd, env } = workspace;
    for (const umask of ['022', '007', '022'])
      await promisify(execFile)(
        'sh',
        ['-c', `umask ${umask}; exec "$@"`, 'sh', process.execPath, binary(), 'call', 'far_echo', '--text', 'a'],
        { cwd, env },
      );
    expect(readFileSync(masks, 'utf8')).toBe('0022\n0007\n');
  });

  spec('UPS-119', 'answers each session, with its own progress, log and ids', async () => {
    const workspace = createBrokerWorkspace();
    const names = ['a', 'b', 'c', 'd'];
    const sessions = await Promise.all(names.map(() => connectStdio(workspace, 'older')));
    const call = (at: number, said: unknown[], ms: number) => {
      const onprogress = ({ message }: { message?: string }) => void said.push(message);
      const input = { name: 'far_wait', arguments: { text: names[at], ms } };
      return sessions[at]!.callTool(input, { onprogress });
    };
    // Processes are started now.
    await Promise.all(names.map((_, at) => call(at, [], 400)));
    const logs = names.map((_, at) => {
      const said: unknown[] = [];
      sessions[at]!.setNotificationHandler('notifications/message', ({ params }) => void said.push(params.data));
      return said;
    });
    const progress = names.map((): unknown[] => []);
    // A client that gets progress and answer at the same time, on a busy machine, drops the progress.
    for (let again = 0; again < 5 && progress.flat().length === 0; again++) {
      const answers = await Promise.all(names.map((_, at) => call(at, progress[at]!, 1500)));
      expect(answers.map(text)).toEqual(names);
    }
    expect(logs.map((said) => [...new Set(said)])).toEqual(names.map((name) => [name]));
    // Those of a call whose process is started first may be left out.
    for (const [at, said] of progress.entries()) expect(said.filter((one) => one !== names[at])).toEqual([]);
    expect(progress.flat()).not.toEqual([]);
    expect(workspace.starts('far').length).toBeLessThanOrEqual(names.length);
  });

  spec('UPS-119', 'asks the session whose call runs, with a process for each that it could ask', async () => {
    const workspace = createBrokerWorkspace();
    const asked: string[][] = [[], []];
    const people = await Promise.all(
      asked.map((messages, at) =>
        connectPerson(workspace, 'older', 'stdio', ({ message }) => {
          messages.push(message);
          return { action: 'accept', content: { a: `person ${at}` } };
        }),
      ),
    );
    const silent = await connectStdio(workspace, 'older');
    const answers = await Promise.all([
      ...people.map((person, at) => callTool(person, 'far_ask', { text: `for ${at}`, ms: 300 })),
      callTool(silent, 'far_ask', { text: 'for nobody', ms: 300 }),
    ]);
    expect(asked).toEqual([[expect.stringContaining('for 0')], [expect.stringContaining('for 1')]]);
    expect(answers.slice(0, 2).map(text)).toEqual([0, 1].map((at) => expect.stringContaining(`person ${at}`)));
    expect(text(answers[2])).toContain('cancel');
  });

  spec('UPS-119', 'tells changed tools to all sessions, and updates to those that follow the resource', async () => {
    const workspace = createBrokerWorkspace();
    const changes: number[] = [];
    const [one, other] = await Promise.all(
      [0, 1].map((at) => connectStdio(workspace, 'older', ['--trust'], () => void changes.push(at))),
    );
    const updated: string[] = [];
    for (const [name, session] of Object.entries({ one: one!, other: other! })) {
      await session.listTools();
      session.setNotificationHandler('notifications/resources/updated', ({ params }) => {
        updated.push(`${name} ${params.uri}`);
      });
    }
    await one!.subscribeResource({ uri: 'mcp://far/test://a' });
    await other!.subscribeResource({ uri: 'mcp://far/test://b' });
    const followed = ['a', 'b'].map((name) => ` subscribe test://${name}`);
    await vi.waitFor(() => {
      for (const line of followed) expect(workspace.received('far').join('\n')).toContain(line);
    }, soon);
    await callTool(other!, 'far_update', { text: 'test://a' });
    await vi.waitFor(() => expect(updated).toEqual(['one mcp://far/test://a']), soon);
    await callTool(one!, 'far_grow', { text: 'added' });
    await vi.waitFor(() => expect(new Set(changes)).toEqual(new Set([0, 1])), soon);
    await one!.close();
    await vi.waitFor(() => expect(workspace.received('far').join()).toContain('unsubscribe test://a'), soon);
  });

  spec('UPS-120', 'goes on without a session that leaves, whose calls are cancelled', async () => {
    const workspace = createBrokerWorkspace();
    const [one, other] = await Promise.all([connectStdio(workspace, 'older'), connectStdio(workspace, 'older')]);
    await callTool(one, 'far_echo', { text: 'a' });
    const left = callTool(one, 'far_wait', { text: 'left', ms: 60_000 }).catch(() => {});
    await vi.waitFor(() => expect(workspace.received('far').join()).toContain('wait left'), soon);
    await one.close();
    await left;
    await vi.waitFor(() => expect(workspace.received('far').join()).toContain('cancelled'), soon);
    expect(text(await callTool(other, 'far_echo', { text: 'still' }))).toBe('still');
  });

  spec(
    'UPS-120',
    'is started again after the broker was killed, and running calls say that they may have run',
    async () => {
      const workspace = createBrokerWorkspace();
      const session = await connectStdio(workspace, 'older');
      await callTool(session, 'far_echo', { text: 'a' });
      const running = callTool(session, 'far_wait', { text: 'long', ms: 60_000 });
      await vi.waitFor(() => expect(workspace.received('far').join()).toContain('wait long'), soon);
      const broker = workspace.brokerPid()!;
      process.kill(broker, 'SIGKILL');
      expect(text(await running)).toMatch(/unavailable.*it may have run/s);
      expect(text(await callTool(session, 'far_echo', { text: 'again' }))).toBe('again');
      expect(workspace.brokerPid()).not.toBe(broker);
      expect(workspace.starts('far')).toHaveLength(2);
      await vi.waitFor(() => expect(isAlive(workspace.starts('far')[0]!)).toBe(false), soon);
    },
  );

  spec('UPS-120', 'replaces a socket that was left behind, and is started once by several', async () => {
    const workspace = createBrokerWorkspace();
    await wield(workspace, ['call', 'far_echo', '--text', 'a']);
    process.kill(workspace.brokerPid()!, 'SIGKILL');
    const calls = Array.from({ length: 5 }, () => wield(workspace, ['call', 'far_echo', '--text', 'b']));
    for (const { stdout } of await Promise.all(calls)) expect(stdout).toBe('b\n');
    expect(workspace.starts('far')).toHaveLength(2);
    expect(readdirSync(workspace.broker).filter((name) => name.endsWith('.json'))).toHaveLength(1);
  });

  spec('UPS-120', 'is shared by another broker if the one that listened ends during the greeting', async () => {
    const workspace = createBrokerWorkspace();
    await wield(workspace, ['call', 'far_echo', '--text', 'a']);
    process.kill(workspace.brokerPid()!, 'SIGKILL');
    const socket = join(workspace.broker, readdirSync(workspace.broker).find((name) => name.endsWith('.sock'))!);
    rmSync(socket);
    const ending = createServer((connection) => connection.destroy()).listen(socket);
    await once(ending, 'listening');
    const before = workspace.brokerPid();
    expect((await wield(workspace, ['call', 'far_echo', '--text', 'b'])).stdout).toBe('b\n');
    expect(workspace.brokerPid()).not.toBe(before);
    ending.close();
  });

  spec('UPS-117', 'is not shared from a home whose path is too long, or that cannot be written', async () => {
    const workspace = createBrokerWorkspace();
    const long = { WIELD_HOME: join(workspace.home, 'x'.repeat(90)) };
    const { stdout } = await wield(workspace, ['doctor'], { env: { ...long, CI: '' } });
    expect(stdout).toMatch(/broker +each session starts its own servers: .*(?:too long|containers)/);
    writeFileSync(workspace.broker, '');
    expect((await wield(workspace, ['call', 'far_echo', '--text', 'a'])).stdout).toBe('a\n');
    expect((await wield(workspace, ['doctor'])).stdout).toMatch(
      /broker +each session .*is not a directory of this user/,
    );
    rmSync(workspace.broker);
  });
});

// Alone: all sessions are in this process.
describe('many sessions', () => {
  spec.thorough('UPS-117', 'of ten servers have ten processes', async () => {
    const names = Array.from({ length: 10 }, (_, at) => `far${at}`);
    const workspace = createBrokerWorkspace(Object.fromEntries(names.map((name) => [name, { env: { QUIET: '1' } }])));
    const sessions = await Promise.all(Array.from({ length: 20 }, () => connectStdio(workspace, 'older')));
    const call = (name: string, at: number) => callTool(sessions[at]!, `${name}_echo`, { text: `${name} ${at}` });
    const all = names.flatMap((name) => sessions.map((_, at) => ({ name, at })));
    const answers = await Promise.all(all.map(({ name, at }) => call(name, at)));
    expect(answers.map(text)).toEqual(all.map(({ name, at }) => `${name} ${at}`));
    for (const name of names) expect(workspace.starts(name)).toHaveLength(1);
  });
});
