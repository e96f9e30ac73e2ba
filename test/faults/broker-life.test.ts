// The life of the broker of shared servers: idle end, upgrades, homes that cannot have one, fleets, and pinned servers.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, vi } from 'vitest';
import { findAddress } from '../../src/upstream/broker/address.js';
import { tryConnect } from '../../src/upstream/broker/link.js';
import { readVersion } from '../../src/workspace/machine.js';
import { createBrokerWorkspace } from '../support/broker.js';
import { json, wield, wieldProcess } from '../support/cli.js';
import { callTool, connectStdio } from '../support/clients.js';
import { callFront, FLEET_KEY, frontArgs, startHere, workerArgs } from '../support/fleet.js';
import { hasProgram, NO_MOUNT, notInstalled } from '../support/machine.js';
import { canMount, canMountFuse } from '../support/mounts.js';
import { startPackageRegistry, useRegistry } from '../support/package-registry.js';
import { patience } from '../support/patience.js';
import { hasRedis, NO_REDIS, startRedis } from '../support/redis.js';
import { serveStdio } from '../support/server.js';
import { onEnd } from '../support/share.js';
import { spec, specIf } from '../support/spec.js';
import { isAlive } from '../support/upstream-workspace.js';

const FUSE = fileURLToPath(new URL('../support/fuse-directory.mjs', import.meta.url));
const echo = (text: string): string[] => ['call', 'far_echo', '--text', text];
const text = (result: unknown): string => (result as { content: { text: string }[] }).content[0]!.text;

describe.concurrent('the broker', () => {
  spec.thorough('UPS-117', 'ends when nothing has used it for a while', async () => {
    const workspace = createBrokerWorkspace();
    // Servers that were only listed end after seconds.
    await wield(workspace, ['mcp', 'refresh', 'far']);
    const [broker, [server]] = [workspace.brokerPid()!, workspace.starts('far')];
    await vi.waitFor(() => expect(isAlive(server!)).toBe(false), { timeout: patience(15_000) });
    expect(isAlive(broker)).toBe(true);
    await vi.waitFor(() => expect(isAlive(broker)).toBe(false), { timeout: patience(60_000) });
    expect(readdirSync(workspace.broker).filter((name) => name !== 'starting')).toEqual([]);
    expect((await wield(workspace, echo('again'))).stdout).toBe('again\n');
  });

  spec('UPS-117', 'leaves sessions without processes of their own', async () => {
    const workspace = createBrokerWorkspace();
    await wieldProcess(workspace, echo('a'));
    const session = serveStdio(workspace);
    await session.initialize();
    const { result } = await session.request(1, 'tools/call', { name: 'far_echo', arguments: { text: 'b' } });
    expect(text(result)).toBe('b');
    expect(readFileSync(`/proc/${session.pid}/task/${session.pid}/children`, 'utf8')).toBe('');
  });

  spec('UPS-117 UPS-120', 'ends soon with its servers if its home is removed', async () => {
    const workspace = createBrokerWorkspace();
    await wield(workspace, echo('a'));
    const all = [workspace.brokerPid()!, ...workspace.starts('far')];
    rmSync(workspace.env.WIELD_HOME!, { recursive: true });
    await vi.waitFor(() => expect(all.filter(isAlive)).toEqual([]), { timeout: patience(20_000) });
  });

  spec('UPS-120 UPS-122', 'is stopped with the servers that it left behind when it was killed', async () => {
    const workspace = createBrokerWorkspace({ far: { env: { STAYS: '1' } } });
    await wield(workspace, echo('a'));
    const [server] = workspace.starts('far');
    const broker = workspace.brokerPid()!;
    process.kill(broker, 'SIGKILL');
    await vi.waitFor(() => expect(isAlive(broker)).toBe(false), { timeout: patience(5000) });
    expect(isAlive(server!)).toBe(true);
    expect(await wield(workspace, ['mcp', 'stop'])).toMatchObject({ stderr: '', status: 0 });
    await vi.waitFor(() => expect(isAlive(server!)).toBe(false), { timeout: patience(5000) });
    expect(readdirSync(workspace.broker)).toEqual([]);
  });

  spec.thorough(
    'UPS-122',
    'is stopped with its servers, whose number is not known, if it does not answer',
    async () => {
      const workspace = createBrokerWorkspace();
      await wield(workspace, echo('a'));
      const [server] = workspace.starts('far');
      process.kill(workspace.brokerPid()!, 'SIGSTOP');
      const { stdout } = await wield(workspace, ['mcp', 'stop']);
      expect(stdout).toBe('Ended the shared servers; the next call starts what it needs.\n');
      await vi.waitFor(() => expect(isAlive(server!)).toBe(false), { timeout: patience(5000) });
    },
  );

  spec('UPS-120', 'refuses another build of wield, which starts its own', async () => {
    const workspace = createBrokerWorkspace();
    await wield(workspace, echo('a'));
    const place = findAddress({ wieldHome: workspace.env.WIELD_HOME!, version: readVersion() });
    await expect(tryConnect({ ...place, build: '0123456789ab' })).rejects.toThrow('may not use the broker');
    // The built command, while the broker of the sources runs: as after an upgrade.
    const session = await connectStdio(workspace, 'older');
    await callTool(session, 'far_echo', { text: 'b' });
    for (const said of ['c', 'd']) expect((await wieldProcess(workspace, echo(said))).stdout).toBe(`${said}\n`);
    expect(text(await callTool(session, 'far_echo', { text: 'still' }))).toBe('still');
    expect(workspace.starts('far')).toHaveLength(2);
    const stopped = json(await wield(workspace, ['mcp', 'stop', '--json']));
    expect(stopped.stopped.brokers).toBe(2);
    const soon = { timeout: patience(5000) };
    await vi.waitFor(() => expect(workspace.starts('far').filter(isAlive)).toEqual([]), soon);
  });

  const mayMount = canMount();
  specIf(mayMount, NO_MOUNT, 'UPS-117', 'is not used from a home on a read-only file system', async () => {
    const workspace = createBrokerWorkspace();
    mkdirSync(workspace.broker, { recursive: true, mode: 0o700 });
    spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro,mode=0700', 'none', workspace.broker]);
    onEnd(() => void spawnSync('umount', [workspace.broker]));
    for (const said of ['a', 'b']) expect((await wield(workspace, echo(said))).stdout).toBe(`${said}\n`);
    expect(workspace.starts('far')).toHaveLength(2);
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toMatch(/broker +each session starts its own servers: .* cannot be written: read-only file system/);
  });

  specIf(canMountFuse(), NO_MOUNT, 'UPS-117', 'is not used from a home on a network file system', async () => {
    const workspace = createBrokerWorkspace();
    mkdirSync(workspace.broker, { recursive: true, mode: 0o700 });
    const server = spawn(process.execPath, [FUSE, workspace.broker], { stdio: ['ignore', 'pipe', 'inherit'] });
    onEnd(() => {
      spawnSync('umount', [workspace.broker]);
      server.kill('SIGKILL');
    });
    await once(server.stdout, 'data');
    for (const said of ['a', 'b']) expect((await wield(workspace, echo(said))).stdout).toBe(`${said}\n`);
    expect(workspace.starts('far')).toHaveLength(2);
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toMatch(/broker +each session starts its own servers: .* is on a network file system/);
  });

  specIf(hasRedis, NO_REDIS, 'UPS-117', 'serves the workers of a fleet', async () => {
    const redis = await startRedis();
    const machine = createBrokerWorkspace();
    machine.env.WIELD_FLEET_KEY = FLEET_KEY;
    await wield(machine, ['mcp', 'refresh', 'far']);
    const { name: url } = await startHere(machine, frontArgs(redis.url));
    for (let at = 0; at < 2; at++) await startHere(machine, workerArgs(redis.url));
    for (const said of ['a', 'b', 'c', 'd'])
      expect(await callFront(url, 'far_echo', { text: said })).toMatchObject({ text: said, code: undefined });
    const { shared } = json(await wield(machine, ['mcp', '--json']));
    expect(shared).toMatchObject([{ name: 'far', pid: machine.starts('far').at(-1) }]);
    expect(machine.starts('far').filter(isAlive)).toHaveLength(1);
  });

  specIf(hasProgram('npm'), notInstalled('npm'), 'UPS-117 UPS-123', 'shares a pinned server', async () => {
    const workspace = createBrokerWorkspace({});
    const registry = await startPackageRegistry();
    useRegistry(workspace, registry);
    registry.publish('files-mcp', '1.2.3', { read: 'Read a file.' });
    const added = await wield(workspace, ['mcp', 'add', 'files', '--yes', '--', 'npx', '-y', 'files-mcp']);
    expect(added.stdout).toContain('pinned');
    for (let at = 0; at < 2; at++) expect((await wield(workspace, ['call', 'files_read'])).stdout).toBe('called\n');
    const { shared } = json(await wield(workspace, ['mcp', '--json']));
    expect(shared).toMatchObject([{ name: 'files', pid: expect.any(Number) }]);
    for (let at = 0; at < 2; at++) await wield(workspace, ['call', 'files_read']);
    expect(json(await wield(workspace, ['mcp', '--json'])).shared).toMatchObject([{ pid: shared[0].pid }]);
    // The broker, which starts it again, hashes its files again.
    const packages = join(workspace.env.WIELD_HOME!, 'packages');
    const place = readdirSync(packages).find((name) => !name.endsWith('.lock'))!;
    appendFileSync(join(packages, place, 'node_modules', 'files-mcp', 'server.js'), '// changed\n');
    process.kill(shared[0].pid, 'SIGKILL');
    await vi.waitFor(() => expect(isAlive(shared[0].pid)).toBe(false), { timeout: patience(15_000) });
    const refused = json(await wield(workspace, ['call', 'files_read', '--json']));
    expect(refused.error).toMatchObject({ code: 'integrity', hint: expect.stringContaining('rm -r') });
  });

  spec('UPS-113 UPS-119', 'reports the start of a process to the call that waits for it', async () => {
    const workspace = createBrokerWorkspace({ far: { env: { START_MS: '4000' } } });
    const [first, other] = await Promise.all([connectStdio(workspace, 'older'), connectStdio(workspace, 'older')]);
    // Its process serves no other session while the call runs, since it logs.
    const running = callTool(first, 'far_wait', { text: 'first', ms: 120_000 }).catch(() => {});
    const started = (): void => expect(workspace.received('far').join()).toContain('wait first');
    await vi.waitFor(started, { timeout: patience(15_000) });
    const said: string[] = [];
    const onprogress = ({ message }: { message?: string }) => void said.push(message ?? '');
    const input = { name: 'far_echo', arguments: { text: 'other' } };
    expect(text(await other.callTool(input, { onprogress }))).toBe('other');
    expect(new Set(said)).toEqual(new Set(['the server far is starting']));
    expect(workspace.starts('far')).toHaveLength(2);
    await first.close();
    await running;
  });
});
