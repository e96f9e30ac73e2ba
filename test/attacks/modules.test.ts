// Attacks through modules of an untrusted checkout: listing and inspecting them runs nothing.

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../support/cli.js';
import { callTool, connectStdio } from '../support/clients.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from '../support/modules.js';
import { patience } from '../support/patience.js';
import { spec } from '../support/spec.js';

function createHostile(): { workspace: ModuleWorkspace; ran: () => boolean } {
  const workspace = createModuleWorkspace({ trusted: false });
  const sentinel = join(workspace.dir, 'ran');
  const touch = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(sentinel)}, '');`;
  workspace.module('evil.tool.mjs', moduleText('hidden_name', '() => 1', touch));
  workspace.module('typed.tool.ts', moduleText('typed_name', '(): number => 1', touch));
  workspace.module('beside.mjs', touch);
  workspace.module('indirect.tool.mjs', moduleText('indirect_name', '() => 1', `import './beside.mjs';`));
  return { workspace, ran: () => existsSync(sentinel) };
}

describe('an untrusted workspace', () => {
  const LOOKS = [
    ['list'],
    ['list', '--all', '--json'],
    ['show', 'evil'],
    ['show', 'hidden_name'],
    ['search', 'evil'],
    ['doctor'],
    ['check'],
    ['check', '.agents/tools'],
    ['config'],
    ['call', 'evil', '--help'],
    ['call', 'evil', '--dry-run'],
    ['call', 'evil'],
    ['call', 'hidden_name'],
    ['call', 'hidden_name', '--json', '--input', '{}'],
  ];
  for (const args of LOOKS) {
    spec('POL-20', `is not loaded by wield ${args.join(' ')}`, async () => {
      const { workspace, ran } = createHostile();
      const run = await wield(workspace, args);
      expect(run.status).not.toBe(70);
      expect(ran()).toBe(false);
      const cache = join(workspace.env.WIELD_HOME!, 'cache', 'modules');
      expect(existsSync(cache) ? readdirSync(cache) : []).toEqual([]);
    });
  }

  spec('POL-20', 'lists its modules by file name, marked, and a call needs trust', async () => {
    const { workspace, ran } = createHostile();
    const { tools } = json(await wield(workspace, ['list', '--json']));
    expect(tools).toMatchObject(
      ['evil', 'indirect', 'typed'].map((name) => ({ name, format: 'module', untrusted: true })),
    );
    const called = await wield(workspace, ['call', 'evil', '--json']);
    expect(json(called).error).toMatchObject({
      code: 'needs_trust',
      hint: expect.stringContaining('wield trust'),
    });
    const missed = await wield(workspace, ['call', 'hidden_name', '--json']);
    expect(json(missed).error).toMatchObject({
      code: 'not_found',
      hint: expect.stringContaining('wield trust'),
    });
    const client = await connectStdio(workspace, 'newer', []);
    expect((await client.listTools()).tools.map((tool) => tool.name)).toEqual([
      'evil',
      'indirect',
      'typed',
      'query_result',
      'read_result',
    ]);
    for (const name of ['evil', 'hidden_name']) expect((await callTool(client, name)).isError).toBe(true);
    expect(ran()).toBe(false);
    await wield(workspace, ['trust', '--yes']);
    // A client may believe a list for a while; one that comes later sees the new one.
    const later = await connectStdio(workspace, 'newer', []);
    expect((await later.listTools()).tools.map((tool) => tool.name)).toEqual([
      'hidden_name',
      'indirect_name',
      'typed_name',
      'query_result',
      'read_result',
    ]);
    expect(ran()).toBe(true);
  });

  spec('POL-20 POL-22', 'runs one call with --trust, and no other', async () => {
    const { workspace } = createHostile();
    const once = await wield(workspace, ['call', '--trust', 'hidden_name']);
    expect([once.status, once.stdout]).toEqual([0, '1\n']);
    const after = createHostile();
    expect((await wield(after.workspace, ['list', '--json'])).stdout).toContain('"evil"');
    expect(after.ran()).toBe(false);
  });

  spec('POL-20', 'lists known modules after trust was revoked, without loading them', async () => {
    const { workspace } = createHostile();
    workspace.trust();
    await workspace.toolbox().list();
    await wield(workspace, ['trust', '--revoke']);
    workspace.module('fresh.tool.mjs', moduleText('fresh_name', '() => 1', `throw new Error('loaded');`));
    const names = (await workspace.toolbox().list()).map((tool) => tool.name);
    expect(names).toEqual(['fresh', 'hidden_name', 'indirect_name', 'typed_name']);
    const client = await connectStdio(workspace, 'newer', []);
    expect((await client.callTool({ name: 'hidden_name', arguments: {} })).content).toMatchObject([
      { text: expect.stringContaining('needs_trust') },
    ]);
  });

  spec('POL-20', "a person's own modules need no trust of a workspace", async () => {
    const workspace = createModuleWorkspace({ trusted: false });
    workspace.write('../home/.agents/tools/mine.tool.mjs', moduleText('mine', `() => 'mine'`));
    expect((await wield(workspace, ['call', 'mine'])).stdout).toBe('mine\n');
  });
});

spec.thorough('POL-20 MOD-8', 'scans imports of adversarial text quickly', async () => {
  const workspace = createModuleWorkspace({ trusted: false });
  const size = 1_000_000;
  for (const [name, piece] of [
    ['spaces', `from${' '.repeat(50_000)}`],
    ['comments', 'import/*'],
    ['both', `import${'/**/ '.repeat(20)}(`],
    ['quotes', `from './`],
    ['stars', `import/*${'*'.repeat(1000)}`],
  ] as const)
    workspace.module(`${name}.tool.mjs`, piece.repeat(size / piece.length));
  const began = performance.now();
  expect(await workspace.toolbox().list()).toHaveLength(5);
  expect(performance.now() - began).toBeLessThan(patience(90_000));
});

spec('MOD-8', 'reports a module that imports too many files', async () => {
  const workspace = createModuleWorkspace();
  workspace.module('many.tool.mjs', Array.from({ length: 1100 }, (_, at) => `import './m${at}.mjs';`).join('\n'));
  for (let at = 0; at < 1100; at++) workspace.module(`m${at}.mjs`, '');
  const { tools, problems } = await workspace.toolbox().catalog.survey();
  expect(tools).toEqual([]);
  expect(problems).toMatchObject([{ message: expect.stringContaining('more than 1000 files') }]);
});
