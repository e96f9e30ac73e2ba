// Attacks by processes in the background, and on them: they end with their session, and belong to it.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, vi } from 'vitest';
import { binary } from '../support/built.js';
import { connectUrl } from '../support/clients.js';
import { callFront, createMember, frontArgs, startHere, workerArgs } from '../support/fleet.js';
import { NO_PROC } from '../support/machine.js';
import { patience } from '../support/patience.js';
import { processesWith, sleep } from '../support/processes.js';
import { hasRedis, NO_REDIS, startRedis } from '../support/redis.js';
import { serveHere, serveUrl } from '../support/serve.js';
import { serveStdio } from '../support/server.js';
import { onEnd } from '../support/share.js';
import { shellScript } from '../support/shell-script.js';
import { specIf } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

// Ignores SIGTERM, and starts a process in another session, and one in the same group without its environment.
const STUBBORN = shellScript(
  `trap '' TERM; setsid sh -c 'sleep 611; :' & env -i sh -c 'sleep 612; :' "$PWD" &
  echo up; while :; do sleep 0.1; done`,
  '@background',
);

const onLinux = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(existsSync('/proc'), NO_PROC, ids, title, body);

function createStubborn(): Workspace {
  const workspace = createWorkspace();
  workspace.script('dev', STUBBORN);
  // If the test fails.
  onEnd(() => {
    for (const pid of leftOf(workspace)) process.kill(pid, 'SIGKILL');
  });
  return workspace;
}

const leftOf = ({ dir }: Workspace): number[] => processesWith(dir);

const untilNoneIsLeft = (workspace: Workspace): Promise<void> =>
  vi.waitFor(() => expect(leftOf(workspace)).toEqual([]), { timeout: patience(5000), interval: 200 });

interface Client {
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}

interface Called {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}

const call = async (client: Client, name: string, input: Record<string, unknown> = {}): Promise<Called> =>
  (await client.callTool({ name, arguments: input })) as Called;

async function start(client: Client): Promise<{ readonly id: string; readonly pid: number }> {
  const { content } = await call(client, 'dev');
  const [, id = '', pid] = /as (b_\w+), process (\d+)/.exec(content[0]!.text) ?? [];
  return { id, pid: Number(pid) };
}

const endSession = ({ transport }: { readonly transport?: unknown }): Promise<void> =>
  (transport as { terminateSession(): Promise<void> }).terminateSession();

describe.concurrent('a process in the background', () => {
  onLinux('BGR-5 BGR-4', 'does not outlive a client over stdio, and takes its descendants with it', async () => {
    const workspace = createStubborn();
    const server = serveHere(workspace);
    await server.initialize();
    const started = await server.request(1, 'tools/call', { name: 'dev', arguments: {} });
    expect(started.result.content[0].text).toContain('runs in the background');
    expect(leftOf(workspace).length).toBeGreaterThan(2);
    await server.close();
    await untilNoneIsLeft(workspace);
  });

  onLinux('BGR-2 BGR-5', 'is neither known to another session over HTTP, nor outlives its own', async () => {
    const workspace = createStubborn();
    const url = await serveUrl(workspace, ['--trust']);
    const [one, other] = [await connectUrl(url, 'older'), await connectUrl(url, 'older')];
    const { id, pid } = await start(one);
    for (const name of ['read_background', 'stop_background']) {
      const refused = await call(other, name, { id });
      expect(refused).toMatchObject({ isError: true });
      const guessed = await call(other, name, { id: 'b_000000000000' });
      expect(refused.content[0]!.text.replace(id, 'b_000000000000')).toBe(guessed.content[0]!.text);
    }
    expect((await call(other, 'read_background')).content[0]!.text).toContain('Nothing of this session');
    expect((await call(one, 'read_background', { id })).content[0]!.text).toContain('is running');
    const { id: mine } = await start(other);
    await endSession(one);
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: patience(5000) });
    // That of the other session goes on.
    expect((await call(other, 'read_background', { id: mine })).content[0]!.text).toContain('is running');
    await endSession(other);
    await untilNoneIsLeft(workspace);
  });

  onLinux('BGR-7', 'is not started where there is no session to end it with', async () => {
    const workspace = createStubborn();
    const client = await connectUrl(await serveUrl(workspace, ['--trust']), 'newer');
    const refused = await call(client, 'dev');
    expect(refused).toMatchObject({ isError: true });
    expect(refused.content[0]!.text).toContain('no session to end it with');
    // Nor by a program of such a caller.
    const coding = await connectUrl(await serveUrl(workspace, ['--trust', '--mode', 'code']), 'newer');
    const program = await call(coding, 'run_code', { code: 'return tools.dev({})' });
    expect(program).toMatchObject({ isError: true });
    expect(program.content[0]!.text).toContain('no session to end it with');
    expect(leftOf(workspace)).toEqual([]);
  });

  specIf(hasRedis, NO_REDIS, 'BGR-7', 'is not started by a worker of a fleet', async () => {
    const { url: redis } = await startRedis();
    const [front, machine] = [createMember({ dev: STUBBORN }), createMember({ dev: STUBBORN })];
    const { name: url } = await startHere(front, frontArgs(redis));
    await startHere(machine, workerArgs(redis));
    const { code, text } = await callFront(url, 'dev');
    expect([code, text]).toEqual(['unavailable', expect.stringContaining('workers of a fleet run nothing')]);
    expect([...leftOf(front), ...leftOf(machine)]).toEqual([]);
  });

  onLinux('BGR-5', 'does not outlive a killed server', async () => {
    const workspace = createStubborn();
    const server = serveStdio(workspace);
    await server.initialize();
    const started = await server.request(1, 'tools/call', { name: 'dev', arguments: {} });
    expect(started.result.content[0].text).toContain('runs in the background');
    expect(leftOf(workspace).length).toBeGreaterThan(2);
    process.kill(server.pid, 'SIGKILL');
    await untilNoneIsLeft(workspace);
  });

  onLinux('BGR-5', 'does not outlive a killed program', async () => {
    const workspace = createStubborn();
    workspace.write(
      'program.ts',
      'const { id } = await tools.dev({}); return tools.read_background({ id, wait: 60 });',
    );
    const child = spawn(process.execPath, [binary(), 'run', 'program.ts', '--yes'], {
      cwd: workspace.dir,
      env: workspace.env,
    });
    onEnd(() => child.kill('SIGKILL'));
    const state = join(workspace.env.WIELD_HOME!, 'background');
    // It has written its first line, and the call returns a second later.
    await vi.waitFor(() => expect(readdirSync(state).length).toBeGreaterThan(1), { timeout: patience(5000) });
    await sleep(1500);
    expect(leftOf(workspace).length).toBeGreaterThan(2);
    child.kill('SIGKILL');
    await untilNoneIsLeft(workspace);
  });
});
