// Attacks on the broker of shared servers: processes that must not use it, a listener in its place, and foreign sessions.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, vi } from 'vitest';
import { findAddress } from '../../src/upstream/broker/address.js';
import { tryConnect } from '../../src/upstream/broker/link.js';
import { readVersion } from '../../src/workspace/machine.js';
import { type BrokerWorkspace, createBrokerWorkspace } from '../support/broker.js';
import { wield } from '../support/cli.js';
import { callTool, connectStdio } from '../support/clients.js';
import { hasProgram, isRoot, NOT_ROOT, notInstalled } from '../support/machine.js';
import { patience } from '../support/patience.js';
import { onEnd } from '../support/share.js';
import { spec, specIf } from '../support/spec.js';
import { isAlive } from '../support/upstream-workspace.js';

const INTRUDER = fileURLToPath(new URL('../support/broker-intruder.mjs', import.meta.url));
const soon = { timeout: patience(5000) };

async function createRunning(): Promise<BrokerWorkspace> {
  const workspace = createBrokerWorkspace();
  await wield(workspace, ['call', 'far_echo', '--text', 'a']);
  return workspace;
}

// A tool that tries as itself, its parent, this process, the broker, and without a name.
const script = (workspace: BrokerWorkspace, header = ''): string => {
  const pids = `[process.pid, process.ppid, ${process.pid}, ${workspace.brokerPid()}, 0]`;
  const code = `import("${INTRUDER}").then(async ({ intrude }) => {
    for (const pid of ${pids}) console.log(await intrude("${workspace.broker}", pid));
  })`;
  return `#!/bin/bash\n# @description Try.\n${header}exec '${process.execPath}' -e '${code}'\n`;
};

describe.concurrent('the broker', () => {
  spec('UPS-121', 'A44: answers no child process of a tool, nor its claim to be another process', async () => {
    const workspace = await createRunning();
    workspace.script('intrude', script(workspace));
    const { stdout } = await wield(workspace, ['call', 'intrude']);
    expect(stdout.trim().split('\n')).toEqual(Array(5).fill('refused'));
  });

  specIf(hasProgram('bwrap'), notInstalled('bwrap'), 'UPS-121', 'A59: is not shown to a sandboxed tool', async () => {
    const workspace = await createRunning();
    workspace.script('intrude', script(workspace, '# @sandbox workdir\n'));
    const { stdout, stderr } = await wield(workspace, ['call', 'intrude']);
    expect(stdout + stderr).not.toContain('connected');
    expect(stdout + stderr).toMatch(/EACCES|ENOENT|EPERM|no socket|Cannot find module/);
  });

  spec('UPS-121', 'A44: answers no server, whose process it started', async () => {
    const workspace = await createRunning();
    const { stdout } = await wield(workspace, ['call', 'far_intrude', '--text', workspace.broker]);
    expect(stdout).toBe('refused refused\n');
  });

  specIf(isRoot, NOT_ROOT, 'UPS-121', 'A47: lets no other user in', async () => {
    const workspace = await createRunning();
    expect(statSync(workspace.broker).mode & 0o077).toBe(0);
    const [name] = readdirSync(workspace.broker).filter((one) => one.endsWith('.sock'));
    expect(statSync(join(workspace.broker, name!)).mode & 0o077).toBe(0);
    const code = `require('node:net').connect(process.argv[1]).on('connect', () => console.log('connected'))
      .on('error', ({ code }) => console.log(code))`;
    const said = execFileSync(process.execPath, ['-e', code, join(workspace.broker, name!)], { uid: 65_534, cwd: '/' });
    expect(String(said).trim()).toBe('EACCES');
  });

  spec('UPS-121 UPS-117', 'A44: a listener in its place gets no secret, and calls go on without it', async () => {
    const workspace = createBrokerWorkspace({ far: { env: { SECRET: '${TOKEN}' } } });
    const env = { TOKEN: 'very-secret-token' };
    const call = () => wield(workspace, ['call', 'far_environment', '--text', 'SECRET'], { env });
    await call();
    const broker = workspace.brokerPid()!;
    const socket = join(workspace.broker, readdirSync(workspace.broker).find((name) => name.endsWith('.sock'))!);
    for (const claimed of [[], [String(broker)]]) {
      const file = join(workspace.home, `heard${claimed.length}`);
      // As a process of a tool has it.
      const marked = { ...workspace.env, WIELD_CALL: '1-1-1' };
      const child = spawn(process.execPath, [INTRUDER, 'listen', socket, file, ...claimed], {
        env: marked,
        stdio: 'inherit',
      });
      onEnd(() => void child.kill('SIGKILL'));
      await vi.waitFor(() => expect(existsSync(file)).toBe(true), soon);
      const { stdout, status } = await call();
      expect({ stdout, status }).toEqual({ stdout: '[redacted]\n', status: 0 });
      const doctor = await wield(workspace, ['doctor']);
      expect(doctor.stdout).toMatch(
        /warning +broker +each session starts its own servers: .*is not the broker of this user/,
      );
      expect(readFileSync(file, 'utf8')).toContain('hello');
      expect(readFileSync(file, 'utf8')).not.toMatch(/very-secret|prove/);
    }
    // It ends by itself when its socket is gone.
    await vi.waitFor(() => expect(isAlive(broker)).toBe(false), { timeout: patience(20_000) });
  });

  spec('UPS-121 UPS-119', 'A48: a session cannot use, end or cancel what belongs to another', async () => {
    const workspace = createBrokerWorkspace();
    const session = await connectStdio(workspace, 'older');
    await callTool(session, 'far_echo', { text: 'a' });
    const running = callTool(session, 'far_wait', { text: 'mine', ms: 1500 });
    await vi.waitFor(() => expect(workspace.received('far').join()).toContain('wait mine'), soon);
    const link = await tryConnect(findAddress({ wieldHome: workspace.env.WIELD_HOME!, version: readVersion() }));
    onEnd(() => link!.peer.close());
    for (const channel of [0, 1, 2, 3, '__proto__', null]) {
      const wants = { progress: true, log: true, elicit: true };
      const message = { channel, call: 1, name: 'x', person: 'y', wants, request: { method: 'ping', params: {} } };
      await expect(link!.peer.request('call', message)).rejects.toThrow('the connection was closed');
      await expect(link!.peer.request('subscribe', { channel, uri: 'test://a' })).rejects.toThrow();
      await expect(link!.peer.request('alive', { channel })).rejects.toThrow();
      link!.peer.notify('close', { channel });
    }
    const aborted = new AbortController();
    for (let id = 0; id < 20; id++) link!.peer.request('alive', { channel: id }, aborted.signal).catch(() => {});
    aborted.abort();
    expect((await running).content[0]).toMatchObject({ text: 'mine' });
    expect(workspace.received('far').join()).not.toContain('cancelled');
  });
});
