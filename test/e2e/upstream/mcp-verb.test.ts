// Tests of `wield mcp`: listing, refreshing and waiting.

import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { patience } from '../../support/patience.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { until } from '../../support/server.js';
import { spec, specIf } from '../../support/spec.js';
import { configureServers, countedServer, createDocs } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

describe('list', () => {
  spec('UPS-8', 'shows the state and entry of every server, and starts none', async () => {
    const workspace = createWorkspace();
    const fine = countedServer(workspace, 'fine');
    const later = countedServer(workspace, 'later');
    const theirs = countedServer(workspace, 'theirs');
    const broken = countedServer(workspace, 'broken', { args: ['exits'] });
    const secret = 'tok_4f9a1c0be2d47788aa';
    configureServers(workspace, {
      fine: { ...fine.entry, env: { API_TOKEN: secret, OTHER: '${HOME}' } },
      broken: broken.entry,
      off: { url: `https://example.com/mcp?token=${secret}`, disabled: true },
    });
    expect((await wield(workspace, ['mcp', 'refresh'])).status).toBe(1);
    const started = [fine, broken].map((server) => server.starts().length);
    const own = join(workspace.home, '.agents', 'mcp.json');
    const { mcpServers } = JSON.parse(readFileSync(own, 'utf8'));
    writeFileSync(own, JSON.stringify({ mcpServers: { ...mcpServers, later: later.entry } }, null, 2));
    workspace.write('.mcp.json', JSON.stringify({ mcpServers: { theirs: theirs.entry } }));

    const run = await wield(workspace, ['mcp', 'list', '--json']);
    expect(run.status).toBe(0);
    const { servers } = json(run);
    const byName = Object.fromEntries(servers.map((server: { name: string }) => [server.name, server]));
    expect(Object.keys(byName)).toEqual(['fine', 'broken', 'later', 'theirs', 'off']);
    expect(byName.fine).toMatchObject({
      state: 'listed',
      kind: 'stdio',
      owner: 'user',
      file: own,
      changed: [],
    });
    expect(byName.fine.tools).toContain('fine_echo');
    expect(byName.fine.line).toBe(3);
    expect(Date.parse(byName.fine.listedAt)).toBeGreaterThan(Date.now() - 600_000);
    expect(byName.broken).toMatchObject({
      state: 'failed',
      tools: [],
      failure: {
        message: expect.stringContaining('no configuration found'),
        hint: expect.stringContaining('wield mcp refresh broken'),
      },
    });
    expect(byName.later).toMatchObject({ state: 'unknown', tools: [] });
    expect(byName.theirs).toMatchObject({ state: 'untrusted', owner: 'workspace', line: 1 });
    expect(byName.off).toMatchObject({ state: 'off', kind: 'http', target: 'https://example.com/mcp' });

    const { stdout } = await wield(workspace, ['mcp']);
    for (const words of [
      /^ {2}fine {5}ready: 9 tools {4}just now {3}~\/\.agents\/mcp\.json:3 /m,
      /^ {2}broken {3}failed /m,
      /^ {2}later {4}not started yet /m,
      /^ {2}theirs {3}untrusted .* \.mcp\.json:1 /m,
      /^ {2}off {6}disabled .*https:\/\/example\.com\/mcp$/m,
      /^ {2}untrusted {3}1 server of this workspace is not started until you trust it: wield trust$/m,
      /^ {2}failed {6}could not start the server broken: .*no configuration found$/m,
    ])
      expect(stdout).toMatch(words);
    expect(run.stdout + stdout).not.toContain(secret);
    expect([fine, broken].map((server) => server.starts().length)).toEqual(started);
    expect([...later.starts(), ...theirs.starts()]).toEqual([]);
  });

  spec('UPS-8', 'suggests how to add a server, and similar actions for unknown ones', async () => {
    const workspace = createWorkspace();
    const { stdout, status } = await wield(workspace, ['mcp']);
    expect([status, stdout]).toEqual([0, expect.stringContaining('wield mcp add NAME -- COMMAND')]);
    const odd = await wield(workspace, ['mcp', 'refesh']);
    expect([odd.status, odd.stderr]).toEqual([2, expect.stringContaining('did you mean wield mcp refresh?')]);
    const flag = await wield(workspace, ['mcp', 'list', '--yes']);
    expect([flag.status, flag.stderr]).toEqual([2, expect.stringContaining('wield mcp list has no flag --yes')]);
    const more = await wield(workspace, ['mcp', 'list', 'all']);
    expect([more.status, more.stderr]).toEqual([2, expect.stringContaining('unexpected argument "all"')]);
  });
});

describe('refresh', () => {
  spec.thorough('UPS-9', 'starts servers ignoring backoff, and shows the output of a failed one', async () => {
    const workspace = createWorkspace();
    const fine = countedServer(workspace, 'fine');
    const broken = countedServer(workspace, 'broken', { args: ['exits'] });
    configureServers(workspace, { fine: fine.entry, broken: broken.entry });
    for (const turn of [1, 2]) {
      const before = broken.starts().length;
      const run = await wield(workspace, ['mcp', 'refresh']);
      expect(run.status).toBe(1);
      expect(run.stdout).toBe('  ready    fine   9 tools\n');
      expect(run.stderr).toContain('  failed   broken\n');
      expect(run.stderr).toContain('exited with status 2\n');
      expect(run.stderr).toContain('| first line\n           | no configuration found\n');
      expect(fine.starts()).toHaveLength(turn);
      expect(broken.starts().length).toBeGreaterThan(before);
    }
    const alone = await wield(workspace, ['mcp', 'refresh', 'broken']);
    expect(alone.status).toBe(8);
    expect(alone.stderr).toMatch(/hint {2}run it by hand to see more: .*exits/);
    const one = await wield(workspace, ['mcp', 'refresh', 'broken', '--json']);
    expect([one.status, json(one).error.data.lastLines]).toEqual([8, ['first line', 'no configuration found']]);
    const both = await wield(workspace, ['mcp', 'refresh', 'fine', 'broken', '--json']);
    expect(both.status).toBe(1);
    expect(json(both)).toMatchObject({
      ok: false,
      servers: [
        { name: 'fine', refreshed: true, state: 'listed' },
        { name: 'broken', refreshed: false, error: { code: 'unavailable' } },
      ],
    });
    const unknown = await wield(workspace, ['mcp', 'refresh', 'brokn']);
    expect([unknown.status, unknown.stderr]).toEqual([3, expect.stringContaining('did you mean broken?')]);
  });

  spec('UPS-9', 'starts neither servers of an untrusted workspace nor disabled ones', async () => {
    const workspace = createWorkspace();
    const theirs = countedServer(workspace, 'theirs');
    const off = countedServer(workspace, 'off');
    configureServers(workspace, { off: { ...off.entry, disabled: true } });
    workspace.write('.mcp.json', JSON.stringify({ mcpServers: { theirs: theirs.entry } }));
    const all = await wield(workspace, ['mcp', 'refresh']);
    expect([all.status, all.stdout]).toEqual([0, expect.stringContaining('No servers to refresh')]);
    expect((await wield(workspace, ['mcp', 'refresh', 'theirs'])).status).toBe(5);
    expect((await wield(workspace, ['mcp', 'refresh', 'off'])).status).toBe(8);
    expect([...theirs.starts(), ...off.starts()]).toEqual([]);
    expect((await wield(workspace, ['trust', '--yes'])).status).toBe(0);
    expect((await wield(workspace, ['mcp', 'refresh', 'theirs'])).status).toBe(0);
  });
});

describe('waiting', () => {
  specIf(hasPty, NO_PTY, 'UPS-15 CLI-4', 'shows which servers a listing waits for, at a terminal only', async () => {
    const { workspace } = createDocs();
    const { screen } = await wieldAtTerminal(workspace, ['list']);
    expect(screen).toContain('waiting for docs\r\r\u001b[K');
    expect(screen).toContain('docs_search');
    expect((await wieldAtTerminal(workspace, ['list'])).screen).not.toContain('waiting');
    const other = createDocs();
    expect((await wield(other.workspace, ['list'])).stderr).toBe('');
  });

  spec('UPS-15', 'an interrupt ends the wait and the server, and is not recorded as a failure', async () => {
    const workspace = createWorkspace();
    const slow = countedServer(workspace, 'slow', { args: ['hang'] });
    configureServers(workspace, { slow: slow.entry });
    const { dir: cwd, env } = workspace;
    const child = spawn(process.execPath, [binary(), 'list'], { cwd, env, stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await until(() => slow.starts().length > 0, 'the server was started');
    const since = performance.now();
    child.kill('SIGINT');
    expect(await ended).toBe(130);
    expect(performance.now() - since).toBeLessThan(patience(20_000));
    for (const id of slow.starts()) expect(() => process.kill(id, 0)).toThrow('ESRCH');
    expect(json(await wield(workspace, ['mcp', '--json'])).servers[0].state).toBe('unknown');
  });

  spec('UPS-12', 'a name that could belong to a server fails with the reason', async () => {
    const workspace = createWorkspace();
    const broken = countedServer(workspace, 'broken', { args: ['exits'] });
    configureServers(workspace, { broken: broken.entry });
    workspace.write('.mcp.json', JSON.stringify({ mcpServers: { theirs: broken.entry } }));
    const failed = await wield(workspace, ['call', 'broken_echo']);
    expect(failed.status).toBe(8);
    expect(failed.stderr).toContain('no configuration found');
    const untrusted = await wield(workspace, ['call', 'theirs_echo']);
    expect(untrusted.status).toBe(5);
    expect(untrusted.stderr).toContain('wield mcp shows what it runs; then run: wield trust');
    expect((await wield(workspace, ['list'])).stderr).toContain('1 server not started: this workspace is not trusted');
    expect((await wield(workspace, ['call', 'brok'])).status).toBe(3);
  });
});
