// Servers of an untrusted checkout, and of one that changed since it was trusted.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../support/cli.js';
import { serveHere } from '../support/serve.js';
import type { Message } from '../support/server.js';
import { spec } from '../support/spec.js';
import { createUpstreamWorkspace, type UpstreamWorkspace } from '../support/upstream-workspace.js';

const LOOKS: readonly (readonly string[])[] = [
  ['list'],
  ['list', '--json', '--all'],
  ['search', 'echo'],
  ['show', 'far_echo'],
  ['show', 'mcp://far/echo'],
  ['explain', 'far_echo'],
  ['doctor'],
  ['config'],
  ['capabilities'],
  ['__complete', 'fish', '--', 'call', 'far_'],
  ['call', 'far_echo', '--help'],
];

const codeOf = ({ result, error }: Message): string | undefined =>
  (result?._meta ?? error?.data)?.['wield/error']?.code;

/** A checkout with servers that leave a trace when started or when a reference is expanded. */
function hostile(): UpstreamWorkspace {
  const workspace = createUpstreamWorkspace();
  workspace.workspaceServers({
    far: { env: { STOLEN: '${SECRET_OF_THE_USER}', FILE: 'file:~/secret' } },
  });
  writeFileSync(join(workspace.home, 'secret'), 'the secret in a file');
  return workspace;
}

const env = { SECRET_OF_THE_USER: 'the secret in a variable' };

/** Whether a file below a directory contains the text. */
function holds(directory: string, text: string): boolean {
  if (!existsSync(directory)) return false;
  return readdirSync(directory, { recursive: true, withFileTypes: true }).some(
    (entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name), 'latin1').includes(text),
  );
}

describe('an untrusted workspace', () => {
  spec('POL-20', 'starts no server and expands nothing for any caller', async () => {
    const workspace = hostile();
    for (const look of LOOKS) {
      const { stdout, stderr } = await wield(workspace, look, { env: { ...env, WIELD_LOG: 'debug' } });
      expect([look, (stdout + stderr).includes('the secret in')]).toEqual([look, false]);
    }
    const server = serveHere(workspace, { args: [], env });
    await server.initialize();
    const { tools } = (await server.request('list', 'tools/list')).result;
    expect(tools.map(({ name }: Message) => name)).not.toContain('far_echo');
    const answer = await server.request('call', 'tools/call', { name: 'far_echo', arguments: { text: 'x' } });
    expect(codeOf(answer)).toBe('needs_trust');
    expect(workspace.starts('far')).toEqual([]);
    expect(holds(workspace.env.WIELD_HOME!, 'the secret in')).toBe(false);
  });

  spec('POL-20', 'explains why its servers are not started and how to allow them', async () => {
    const workspace = hostile();
    const doctor = await wield(workspace, ['doctor']);
    expect(doctor.stdout).toMatch(/the server far is not started: the workspace is not trusted/);
    expect(doctor.stdout).toMatch(/wield trust/);
    for (const ref of ['far_echo', 'mcp://far/echo'])
      expect(json(await wield(workspace, ['call', ref, '--json'], { env })).error).toMatchObject({
        code: 'needs_trust',
        message: 'the server far is not started: the workspace is not trusted',
      });
    expect((await wield(workspace, ['call', 'farther'], { env })).stderr).toContain('tool not found');
    expect((await wield(workspace, ['trust', '--yes'], { env })).status).toBe(0);
    expect((await wield(workspace, ['list'], { env })).stdout).toContain('far_echo');
    expect(workspace.starts('far')).toHaveLength(1);
  });
});

describe('a trusted workspace', () => {
  async function known(): Promise<UpstreamWorkspace> {
    const workspace = hostile();
    await wield(workspace, ['trust', '--yes'], { env });
    await wield(workspace, ['list'], { env });
    expect(workspace.starts('far')).toHaveLength(1);
    return workspace;
  }

  spec('POL-20', 'that changed its servers needs trust again before they start', async () => {
    const workspace = await known();
    workspace.workspaceServers({ far: { env: { STOLEN: '${SECRET_OF_THE_USER}', MORE: '1' } }, more: {} });
    for (const look of LOOKS) await wield(workspace, look, { env });
    expect(workspace.starts('far')).toHaveLength(1);
    expect(workspace.starts('more')).toEqual([]);
    const { problems } = json(await wield(workspace, ['list', '--json'], { env }));
    expect(JSON.stringify(problems)).not.toContain('the secret in');
    const trust = await wield(workspace, ['trust', '--yes'], { env });
    expect(trust.stdout + trust.stderr).toMatch(/\+.*"more"/);
    expect((await wield(workspace, ['list'], { env })).stdout).toMatch(/far_echo[\s\S]*more_echo/);
  });

  spec('POL-20', 'that lost its trust: its tools are marked and a model cannot call them', async () => {
    const workspace = await known();
    await wield(workspace, ['trust', '--revoke']);
    const { tools } = json(await wield(workspace, ['list', '--json'], { env }));
    const echo = tools.find(({ name }: Message) => name === 'far_echo');
    expect(echo).toMatchObject({ untrusted: true });
    const server = serveHere(workspace, { args: [], env });
    await server.initialize();
    const answer = await server.request('right', 'tools/call', {
      name: 'far_echo',
      arguments: { text: 'x' },
    });
    expect(codeOf(answer)).toBe('needs_trust');
    expect(workspace.starts('far')).toHaveLength(1);
    // A person who types the call may run it.
    expect((await wield(workspace, ['call', 'far_echo', '--text', 'mine'], { env })).stdout).toBe('mine\n');
  });
});
