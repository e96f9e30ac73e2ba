// Tests of `wield mcp login` and `logout` with a real login server.

import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { startLoginServer } from '../../support/login-server.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { until } from '../../support/server.js';
import { finding, spec, specIf } from '../../support/spec.js';
import { configureServers, countedServer } from '../../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const addressIn = (text: string): string | undefined => /^ {2}(http\S+)$/m.exec(text)?.[1];

/** Returns the redirect URL of the login server. */
async function agree(address: string): Promise<string> {
  const sent = await fetch(address, { redirect: 'manual' });
  expect(sent.status).toBe(302);
  return sent.headers.get('location')!;
}

async function logIn(
  { dir: cwd, env }: Workspace,
  more: readonly string[] = [],
): Promise<{ status: number | null; out: string }> {
  const child = spawn(process.execPath, [binary(), 'mcp', 'login', 'notes', '--no-browser', ...more], { cwd, env });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  await until(() => addressIn(err) !== undefined, 'the address is printed');
  await fetch(await agree(addressIn(err)!));
  return { status: await ended, out };
}

describe('login', () => {
  finding.thorough('C10 UPS-22', 'logs in, uses the server and logs out', async () => {
    const upstream = await startLoginServer();
    const workspace = createWorkspace();
    configureServers(workspace, { notes: { url: upstream.url } });
    const refused = await wield(workspace, ['mcp', 'refresh', 'notes']);
    expect([refused.status, refused.stderr]).toEqual([8, expect.stringContaining('wield mcp login notes')]);
    const { status, out } = await logIn(workspace);
    expect([status, out]).toEqual([0, `Logged in to notes (${upstream.url}), renewed automatically.\n`]);
    // The failure before the login is forgotten (C10).
    expect((await wield(workspace, ['mcp'])).stdout).not.toContain('login required');
    const ready = await wield(workspace, ['mcp', 'refresh', 'notes']);
    expect([ready.status, ready.stdout]).toEqual([0, expect.stringContaining('ready    notes')]);
    const shown = await wield(workspace, ['mcp', '--json']);
    for (const secret of upstream.secrets) expect(out + ready.stdout + shown.stdout).not.toContain(secret);
    const gone = await wield(workspace, ['mcp', 'logout', 'notes', '--json']);
    expect(json(gone)).toMatchObject({ ok: true, server: 'notes', loggedOut: true });
    expect(upstream.revoked.length).toBeGreaterThan(0);
    expect((await wield(workspace, ['mcp', 'logout', 'notes'])).stdout).toBe('Not logged in to notes.\n');
  });

  spec.thorough(
    'UPS-80',
    'a missing scope at connection is reported with the granted scopes, and a login with both works',
    async () => {
      const upstream = await startLoginServer({ requiredScope: 'admin' });
      const workspace = createWorkspace();
      configureServers(workspace, { notes: { url: upstream.url } });
      await logIn(workspace);
      const refused = await wield(workspace, ['mcp', 'refresh', 'notes']);
      expect(refused.status).toBe(8);
      expect(refused.stderr).toContain('notes: the login lacks a required scope');
      expect(refused.stderr).toContain("wield mcp login notes --scope 'tools admin'");
      await logIn(workspace, ['--scope', 'tools admin']);
      expect((await wield(workspace, ['mcp', 'refresh', 'notes'])).status).toBe(0);
    },
  );

  spec('UPS-22', 'times out, and is for people and http servers only', async () => {
    const upstream = await startLoginServer();
    const workspace = createWorkspace();
    configureServers(workspace, {
      notes: { url: upstream.url },
      own: countedServer(workspace, 'own').entry,
    });
    const late = await wield(workspace, ['mcp', 'login', 'notes', '--no-browser', '--timeout', '1s']);
    expect([late.status, late.stdout]).toEqual([6, '']);
    for (const action of ['login', 'logout']) {
      const inside = await wield(workspace, ['mcp', action, 'notes'], { env: { WIELD_CALL: '1-2-3' } });
      expect([action, inside.status]).toEqual([action, 5]);
      const process = await wield(workspace, ['mcp', action, 'own']);
      expect([process.status, process.stderr]).toEqual([
        2,
        expect.stringContaining('is a local process and has no login'),
      ]);
      expect((await wield(workspace, ['mcp', action])).status).toBe(2);
      expect((await wield(workspace, ['mcp', action, 'nots'])).stderr).toContain('did you mean notes?');
    }
    const kept = join(workspace.env.WIELD_HOME!, 'oauth');
    expect(existsSync(kept) ? readdirSync(kept).filter((name) => name.endsWith('.json')) : []).toEqual([]);
  });

  specIf(hasPty, NO_PTY, 'UPS-22', 'the redirect URL can be pasted at a terminal', async () => {
    const upstream = await startLoginServer();
    const workspace = createWorkspace();
    configureServers(workspace, { notes: { url: upstream.url } });
    const { status, screen } = await wieldAtTerminal(workspace, ['mcp', 'login', 'notes', '--no-browser'], {
      answers: [
        ['paste its URL here:', 'http://127.0.0.1:1/callback?code=x&state=y\n'],
        ['That URL does not belong', async (shown) => `${await agree(addressIn(shown)!)}\n`],
      ],
    });
    expect([status, screen]).toEqual([0, expect.stringContaining('Logged in to notes')]);
  });
});
