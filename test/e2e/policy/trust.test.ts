// Trust in workspaces: what a model and a person may call, and how trust is granted and revoked.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { connectHttp, connectStdio } from '../../support/clients.js';
import { some } from '../../support/effort.js';
import { serveHere } from '../../support/serve.js';
import { serveHttp } from '../../support/server.js';
import { spec, specIf } from '../../support/spec.js';
import { hasStrace, NO_STRACE } from '../../support/strace.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

interface Guarded extends Workspace {
  ran(): boolean;
}

function createGuarded(): Guarded {
  const workspace = createWorkspace();
  const sentinel = join(workspace.dir, 'ran');
  workspace.script('touch-it', `#!/bin/sh\n# @description Leave a file.\ntouch ${sentinel}\necho ran\n`);
  return { ...workspace, ran: () => existsSync(sentinel) };
}

async function callAsModel(workspace: Workspace, args: readonly string[] = []) {
  const server = serveHere(workspace, { args });
  await server.initialize();
  const { result } = await server.request('call', 'tools/call', { name: 'touch-it', arguments: {} });
  await server.close();
  return result;
}

const isRefused = { isError: true, _meta: { 'wield/error': { code: 'needs_trust' } } };

describe('an untrusted workspace', () => {
  spec('POL-35', 'is named by the error, and doctor says what changed since it was trusted', async () => {
    const workspace = createWorkspace();
    await wield(workspace, ['trust', '--yes']);
    workspace.script('touch-it', '#!/bin/sh\n# @description Nothing.\n');
    expect(JSON.stringify(await callAsModel(workspace))).toContain(`run: wield trust ${workspace.dir}`);
    expect((await wield(workspace, ['doctor'])).stdout).toContain('no longer trusted, because .agents changed');
    await wield(workspace, ['trust', '--yes']);
    expect((await wield(workspace, ['doctor'])).stdout).toContain('this workspace is trusted');
  });

  spec('POL-20 SCR-20', 'is listed with a mark, and none of its code runs for a model at any door', async () => {
    const workspace = createGuarded();
    for (const connect of [connectStdio, connectHttp]) {
      for (const protocol of ['older', 'newer'] as const) {
        const client = await connect(workspace, protocol, []);
        const [tool] = (await client.listTools()).tools;
        expect(tool).toMatchObject({ name: 'touch-it', _meta: { 'wield/untrusted': true } });
        expect(tool!.description).toContain('wield trust');
        expect(tool!.description).toContain('Leave a file.');
        const result = await client.callTool({ name: 'touch-it', arguments: {} });
        expect(result).toMatchObject(isRefused);
        expect(JSON.stringify(result.content)).toContain('wield trust');
      }
    }
    expect(workspace.ran()).toBe(false);
  });

  spec('SCR-20 POL-20', "runs for a person's own call", async () => {
    const workspace = createGuarded();
    const run = await wield(workspace, ['call', 'touch-it']);
    expect(run).toMatchObject({ status: 0, stdout: 'ran\n' });
    expect(workspace.ran()).toBe(true);
    expect(json(await wield(workspace, ['trust', '--list', '--json'])).workspaces).toEqual([]);
  });

  spec('POL-20', "tools in the user's home need no trust", async () => {
    const workspace = createGuarded();
    const own = createWorkspace();
    own.script('mine', '#!/bin/sh\n# @description Mine.\necho mine\n');
    symlinkSync(join(own.dir, '.agents'), join(workspace.home, '.agents'));
    const server = serveHere(workspace, { args: [] });
    await server.initialize();
    const { result } = await server.request(1, 'tools/call', { name: 'mine', arguments: {} });
    expect(result.content).toEqual([{ type: 'text', text: 'mine\n' }]);
    const refused = await server.request(2, 'tools/call', { name: 'touch-it', arguments: {} });
    expect(refused.result).toMatchObject(isRefused);
  });

  specIf(hasStrace, NO_STRACE, 'POL-20', 'starts nothing for list, show and doctor', async () => {
    const workspace = createGuarded();
    const trace = join(workspace.home, 'trace');
    for (const args of [['list'], ['show', 'touch-it'], ['doctor'], ['trust', '--yes']]) {
      spawnSync('strace', ['-f', '-qq', '-e', 'trace=execve', '-o', trace, process.execPath, binary(), ...args], {
        cwd: workspace.dir,
        env: workspace.env,
      });
      const started = readFileSync(trace, 'utf8').match(/execve\("[^"]+"/g) ?? [];
      expect(started.length, args.join(' ')).toBeGreaterThan(0);
      expect(
        started.filter((line) => line.includes(workspace.dir)),
        args.join(' '),
      ).toEqual([]);
    }
    expect(workspace.ran()).toBe(false);
  });

  spec('POL-20', 'runs nothing for list, show and doctor', async () => {
    const workspace = createGuarded();
    for (const args of [
      ['list'],
      ['list', '--json'],
      ['show', 'touch-it'],
      ['doctor'],
      ['call', 'touch-it', '--dry-run'],
    ]) {
      expect((await wield(workspace, args)).status, args.join(' ')).toBe(0);
    }
    expect(workspace.ran()).toBe(false);
  });
});

describe('wield trust', () => {
  spec(
    'POL-20',
    "lets models call tools, is stored with the user's state, listed and revoked, without a terminal",
    async () => {
      const workspace = createGuarded();
      const granted = await wield(workspace, ['trust', '--yes']);
      expect(granted.status).toBe(0);
      expect(granted.stdout).toContain(workspace.dir);
      expect(existsSync(join(workspace.env.WIELD_HOME!, 'trust.json'))).toBe(true);
      expect(existsSync(join(workspace.dir, '.wield'))).toBe(false);
      expect((await wield(workspace, ['trust', '--list'])).stdout).toContain(workspace.dir);
      expect((await callAsModel(workspace)).content).toEqual([{ type: 'text', text: 'ran\n' }]);
      const revoked = json(await wield(workspace, ['trust', '--revoke', '--json']));
      expect(revoked).toMatchObject({ ok: true, directory: workspace.dir, trusted: false, revoked: true });
      expect(await callAsModel(workspace)).toMatchObject(isRefused);
      expect((await wield(workspace, ['trust', '--revoke'])).stdout).toContain('was not trusted');
      expect((await wield(workspace, ['trust', '--list'])).stdout).toContain('No workspace');
    },
  );

  spec('POL-20', 'uses real paths: a link is trusted like its target, a subdirectory is not', async () => {
    const workspace = createGuarded();
    const link = join(workspace.home, 'link');
    symlinkSync(workspace.dir, link);
    expect(json(await wield(workspace, ['trust', '--yes', link, '--json'], { cwd: workspace.home })).ok).toBe(true);
    expect(json(await wield(workspace, ['trust', '--list', '--json'])).workspaces).toMatchObject([
      { directory: workspace.dir },
    ]);
    expect((await callAsModel(workspace)).isError ?? false).toBe(false);
    expect((await callAsModel(workspace, ['--cwd', link])).isError ?? false).toBe(false);
    workspace.write('below/.agents/tools/touch-it', '#!/bin/sh\n# @description Below.\necho below\n', 0o755);
    expect(await callAsModel(workspace, ['--cwd', join(workspace.dir, 'below')])).toMatchObject(isRefused);
    expect((await wield(workspace, ['trust', '--yes', '/no/such/directory'])).status).not.toBe(0);
  });

  for (const file of some(['.agents/config.toml', '.mcp.json', '.agents/mcp.json'], 2)) {
    spec('POL-20', `a changed ${file} asks again, with a diff`, async () => {
      const workspace = createGuarded();
      const [before, after] = file.endsWith('toml')
        ? ['repair = true\n', 'repair = false\n']
        : ['{"mcpServers":{}}\n', '{"mcpServers":{"x":{"command":"evil"}}}\n'];
      await wield(workspace, ['trust', '--yes']);
      expect((await callAsModel(workspace)).isError ?? false).toBe(false);
      workspace.write(file, before);
      expect(await callAsModel(workspace)).toMatchObject(isRefused);
      await wield(workspace, ['trust', '--yes']);
      expect((await callAsModel(workspace)).isError ?? false).toBe(false);
      workspace.write(file, after);
      expect(await callAsModel(workspace)).toMatchObject(isRefused);
      expect((await wield(workspace, ['trust', '--list'])).stdout).toContain(`${file} changed`);
      const again = await wield(workspace, ['trust', '--yes']);
      expect(again.stdout).toContain(file);
      expect(again.stdout).toContain(`- ${before.trim()}`);
      expect(again.stdout).toContain(`+ ${after.trim()}`);
      expect((await callAsModel(workspace)).isError ?? false).toBe(false);
      // Undoing the change after trust was lost is a change too.
      workspace.write(file, before);
      expect(await callAsModel(workspace)).toMatchObject(isRefused);
    });
  }

  spec('POL-20 SRV-4', 'applies to a running server, its client and its next call', async () => {
    const workspace = createGuarded();
    workspace.config('');
    const server = serveHere(workspace, { args: [] });
    await server.initialize();
    await server.request(1, 'tools/list');
    const refused = await server.request(2, 'tools/call', { name: 'touch-it', arguments: {} });
    expect(refused.result).toMatchObject(isRefused);
    await wield(workspace, ['trust', '--yes']);
    await server.receive(({ method }) => method === 'notifications/tools/list_changed');
    const { result } = await server.request(3, 'tools/list');
    expect(result.tools[0]).toMatchObject({ name: 'touch-it', description: 'Leave a file.' });
    expect(result.tools[0]._meta).toEqual({ 'wield/server': 'local' });
    const called = await server.request(4, 'tools/call', { name: 'touch-it', arguments: {} });
    expect(called.result.content).toEqual([{ type: 'text', text: 'ran\n' }]);
    workspace.write('.mcp.json', '{}');
    const again = await server.request(5, 'tools/call', { name: 'touch-it', arguments: {} });
    expect(again.result).toMatchObject(isRefused);
  });
});

describe('--trust', () => {
  spec.thorough('POL-22', 'on serve applies while that server runs', async () => {
    const workspace = createGuarded();
    expect((await callAsModel(workspace, ['--trust'])).content).toEqual([{ type: 'text', text: 'ran\n' }]);
    expect(existsSync(join(workspace.env.WIELD_HOME!, 'trust.json'))).toBe(false);
    expect(await callAsModel(workspace)).toMatchObject(isRefused);
    const server = await serveHttp(workspace, { args: [] });
    await expect.poll(() => server.stderr()).toContain('not trusted');
  });

  spec('POL-22', 'on a call applies to that call only', async () => {
    const workspace = createGuarded();
    expect((await wield(workspace, ['call', 'touch-it', '--trust'])).status).toBe(0);
    expect(await callAsModel(workspace)).toMatchObject(isRefused);
    const toolbox = workspace.toolbox();
    const caller = { kind: 'model', door: 'test' } as const;
    expect((await toolbox.call('touch-it', {}, { caller })).error?.code).toBe('needs_trust');
    expect((await toolbox.call('touch-it', {}, { caller, trust: true })).ok).toBe(true);
    expect((await toolbox.call('touch-it', {}, { caller })).error?.code).toBe('needs_trust');
  });
});

spec('POL-20 UPS-5', 'the diff of a servers file has no secrets', async () => {
  const workspace = createWorkspace();
  const entry = (token: string) =>
    JSON.stringify({ mcpServers: { one: { command: 'x', env: { API_TOKEN: token } } } }, null, 2);
  workspace.write('.mcp.json', entry('first-secret-value'));
  await wield(workspace, ['trust', '--yes']);
  workspace.write('.mcp.json', entry('second-secret-value').replace('"x"', '"y"'));
  for (const args of [
    ['trust', '--yes', '--json'],
    ['trust', '--yes'],
  ]) {
    const { status, stdout } = await wield(workspace, args);
    expect(status).toBe(0);
    expect(stdout).not.toMatch(/(?:first|second)-secret-value/);
    workspace.write('.mcp.json', entry('third-secret-value'));
  }
  workspace.write('.mcp.json', entry('fourth-secret-value').replace('"x"', '"z"'));
  expect((await wield(workspace, ['trust', '--yes'])).stdout).toMatch(/\+.*"command": "z"/);
});
