// Attacks by plugins: links, paths, names, hooks and large manifests. Refused or counted, and nothing is left behind.

import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json } from '../support/cli.js';
import { createInstallWorkspace, type InstallWorkspace } from '../support/install.js';
import { ALPHA, below, serveGit, skill } from '../support/plugins.js';
import { spec } from '../support/spec.js';

const market = (...plugins: readonly object[]): Record<string, string> => ({
  '.claude-plugin/marketplace.json': JSON.stringify({ name: 'm', plugins }),
});
const GOOD = { name: 'good', source: './good' };
const good = below('good', { 'skills/fine/SKILL.md': skill('fine') });

interface Skipped {
  readonly what: string;
  readonly reason: string;
  readonly paths: readonly string[];
}

// Installs everything; only the good plugin may arrive.
async function attack(workspace: InstallWorkspace, directory: string): Promise<readonly Skipped[]> {
  // The status is that of what was refused.
  const { source, installed, refused } = json(await workspace.run('add', directory, '--yes', '--json'));
  expect(installed.map(({ effective }: { effective: string }) => effective)).toEqual(['good:fine']);
  const refusals = refused.map(({ effective, error }: { effective: string; error: { message: string } }) => ({
    what: 'refused',
    reason: error.message,
    paths: [effective],
  }));
  return [...source.skipped, ...refusals];
}

describe('plugins', () => {
  spec('INS-65', 'does not follow links out of the source', async () => {
    const workspace = createInstallWorkspace();
    const secret = join(workspace.home, 'secret');
    mkdirSync(secret);
    writeFileSync(join(secret, 'SKILL.md'), skill('secret'));
    writeFileSync(join(secret, 'plugin.json'), '{"name":"secret"}');
    writeFileSync(join(secret, '.mcp.json'), '{"x":{"command":"sh"}}');
    const directory = workspace.source('links', {
      ...market(GOOD, { name: 'whole', source: './whole' }, { name: 'part', source: './part' }),
      ...good,
      'part/skills/real/SKILL.md': skill('real'),
    });
    symlinkSync(secret, join(directory, 'whole'));
    symlinkSync(secret, join(directory, 'part/skills/linked'));
    symlinkSync(join(secret, 'SKILL.md'), join(directory, 'part/skills/real/more.md'));
    symlinkSync(join(secret, '.mcp.json'), join(directory, 'part/.mcp.json'));
    mkdirSync(join(directory, 'part/.claude-plugin'));
    const skipped = await attack(workspace, directory);
    expect(skipped.map(({ what, paths }) => [what, paths])).toEqual([
      ['plugin', ['whole']],
      ['skill', ['part:linked']],
      ['server', ['part:.mcp.json']],
      ['refused', ['part:real']],
    ]);
    symlinkSync(join(secret, 'plugin.json'), join(directory, 'part/.claude-plugin/plugin.json'));
    expect((await attack(workspace, directory).catch((error: Error) => error)) instanceof Error).toBe(true);
  });

  spec('INS-65', 'does not follow paths out of the plugin', async () => {
    const workspace = createInstallWorkspace();
    const out = ['../../home', '/etc', '~/x', 'a/../../..', 'a\\..\\..'];
    const directory = workspace.source('paths', {
      ...market(
        GOOD,
        ...out.map((source, at) => ({ name: `p${at}`, source })),
        {
          name: 'fields',
          source: './fields',
          skills: out,
          agents: out,
          commands: '../x',
          mcpServers: '../../x.json',
          hooks: '../x',
        },
        { name: 'sub', source: { source: 'git-subdir', url: 'https://git.test/x', path: '../..' } },
      ),
      ...good,
      'fields/README.md': '',
    });
    const skipped = await attack(workspace, directory);
    const count = (what: string): number =>
      skipped.filter((one) => one.what === what && /outside/.test(one.reason)).flatMap(({ paths }) => paths).length;
    expect(['plugin', 'skill', 'agent', 'command', 'server'].map(count)).toEqual([6, 5, 5, 1, 1]);
  });

  spec('INS-65 INS-5', 'refuses names that hide or imitate, and shows none of their characters', async () => {
    const workspace = createInstallWorkspace();
    const odd = ['a\u001b[31m', 'a\u200bb', '\u202eabc', 'a/b', '..', 'skill', 'a:b', ''];
    const directory = workspace.source('names', {
      ...market(GOOD, ...odd.map((name) => ({ name, source: './odd' })), { name: 'parts', source: './parts' }),
      ...good,
      ...below('odd', ALPHA),
      ...below('parts', {
        'skills/b\u200bad/SKILL.md': skill('x'),
        '.mcp.json': JSON.stringify({ 'se\u0007rver': { command: 'sh' }, '../up': { command: 'sh' } }),
      }),
    });
    const skipped = await attack(workspace, directory);
    expect(skipped.map(({ what, paths }) => [what, paths.length])).toEqual([
      ['plugin', odd.length - 1],
      ['plugin', 1],
      ['skill', 1],
      ['server', 2],
      ['skill', 3],
    ]);
    const shown = await workspace.run('show-source', 'names');
    expect(/[\u0007\u001b\u200b\u202e]/.test(shown.stdout)).toBe(false);
  });

  spec('INS-65 INS-29', 'takes names that differ only in case for the same name', async () => {
    const workspace = createInstallWorkspace();
    const directory = workspace.source('cases', {
      ...market(GOOD, { name: 'Good', source: './other' }),
      ...good,
      ...below('other', { 'skills/fine/SKILL.md': skill('fine') }),
    });
    expect(await attack(workspace, directory)).toContainEqual({
      what: 'plugin',
      reason: 'another plugin has the same name',
      paths: ['Good'],
    });
    const before = workspace.snapshot();
    const second = workspace.source('second', { ...market({ name: 'GOOD', source: './good' }), ...good });
    expect(await workspace.fail('add', second, '--yes')).toMatchObject({ code: 'conflict' });
    expect(workspace.snapshot()).toEqual(before);
  });

  spec('INS-61 INS-65', 'runs no hook and starts no server while it installs, lists and upgrades', async () => {
    const workspace = createInstallWorkspace();
    const mark = join(workspace.home, 'mark');
    const run = `touch ${mark}`;
    const hook = [{ hooks: [{ type: 'command', command: run }] }];
    const directory = workspace.source('hooks', {
      ...ALPHA,
      '.claude-plugin/plugin.json': JSON.stringify({
        name: 'alpha',
        hooks: { SessionStart: hook, Setup: hook },
        install: run,
        scripts: { install: run },
      }),
      '.mcp.json': JSON.stringify({ evil: { command: 'sh', args: ['-c', run] } }),
      'package.json': JSON.stringify({ scripts: { preinstall: run, install: run } }),
    });
    const { source } = await workspace.json('add', directory, '--yes', '--run-hooks');
    expect(source.skipped.find(({ what }: Skipped) => what === 'hook').paths).toHaveLength(3);
    for (const args of [['list'], ['mcp', 'list'], ['upgrade', '--yes'], ['mcp', 'refresh'], ['doctor'], ['tokens']])
      await workspace.run(...args);
    expect(existsSync(mark)).toBe(false);
  });

  spec('INS-65', 'reads no manifest that is too large, too deep or not JSON', async () => {
    const workspace = createInstallWorkspace();
    const cases: [string, string, RegExp][] = [
      ['large', `{"name":"x","description":"${'x'.repeat(5 * 1024 * 1024)}"}`, /larger than 4/],
      ['deep', `${'['.repeat(5000)}${']'.repeat(5000)}`, /nested|deep/],
      ['broken', '{"name":', /JSON/],
      ['double', '{"name":"a","name":"b"}', /twice|duplicate/i],
      ['array', '[]', /must be an object/],
    ];
    for (const [name, text, message] of cases) {
      const alone = workspace.source(name, { ...ALPHA, '.claude-plugin/plugin.json': text });
      expect([name, await workspace.fail('add', alone, '--yes')]).toEqual([
        name,
        expect.objectContaining({ code: 'invalid_definition', message: expect.stringMatching(message) }),
      ]);
      const listed = workspace.source(`${name}-market`, {
        ...market(GOOD, { name: 'x', source: './x' }),
        ...good,
        ...below('x', { '.claude-plugin/plugin.json': text }),
      });
      const [skipped] = await attack(workspace, listed);
      expect(skipped).toMatchObject({ what: 'plugin', paths: ['x'], reason: expect.stringMatching(message) });
      await workspace.json('remove-source', listed, '--yes');
    }
    expect((await workspace.json('list', '--installed')).items).toEqual([]);
    expect((await workspace.json('list', '--available')).items).toEqual([]);
  });

  spec('INS-62', 'lets no model accept a server, and no checkout replace one', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('alpha', ALPHA), '--yes');
    const env = { WIELD_CALL: '1-1' };
    const inside = await workspace.runWith({ env }, 'mcp', 'accept', 'alpha:db', '--yes', '--json');
    expect(JSON.parse(inside.stdout).error.code).toBe('denied');
    workspace.write(
      '.mcp.json',
      JSON.stringify({ mcpServers: { 'alpha:db': { command: 'sh', args: ['-c', 'exit 1'] } } }),
    );
    const { servers, problems } = await workspace.json('mcp', 'list');
    expect(servers.map(({ owner }: { owner: string }) => owner)).toEqual(['package']);
    expect(problems).toEqual([expect.objectContaining({ message: expect.stringContaining('takes precedence') })]);
  });
});

spec('INS-77', 'a repository lets git ask no service of this machine or its network', async () => {
  const workspace = createInstallWorkspace();
  const places = [
    ...[
      'https://169.254.169.254/x.git',
      'https://[fd00:0:0:0:0:0:0:1]/x.git',
      'ssh://10.0.0.7/x.git',
      'git@192.168.1.2:x.git',
    ],
    ...['https://localhost/x.git', 'https://metadata.google.internal/x.git', 'https://0x7f000001/x.git'],
    ...['https://10.1.2.3/x.mcpb', 'https://2130706433/x.git'],
  ];
  const at = (url: string) => ({ name: `p${url.replace(/\W/g, '')}`, source: { source: 'url', url } });
  const files = { ...market(...places.map(at), GOOD), ...good };
  const log = join(workspace.home, 'git.log');
  const served = serveGit(workspace, workspace.repository('outer', files), log);
  const added = json(await workspace.runWith({ env: served }, 'add', 'https://git.test/outer', '--json'));
  expect(added.skipped.map(({ message }: { message: string }) => message)).toEqual(
    places.map((place) => expect.stringContaining(place)),
  );
  for (const { message } of added.skipped)
    expect(message).toMatch(/names a nested source at |is at a cloud metadata address/);
  expect(readFileSync(log, 'utf8')).not.toMatch(/169\.254|fd00|10\.|192\.168|localhost|metadata|7f000001|2130706433/);
  // What a person has here may name what is here, but never a metadata address.
  const [near, far] = [at('https://127.0.0.1:1/x.git'), at('https://169.254.169.254/x.git')];
  const local = await workspace.json('add', workspace.source('local', { ...market(near, far, GOOD), ...good }));
  expect(local.skipped.map(({ message }: { message: string }) => message)).toEqual([
    expect.stringContaining('could not reach https://127.0.0.1:1/x.git'),
    expect.stringContaining('is at a cloud metadata address'),
  ]);
  for (const place of ['https://169.254.169.254/x.git', 'git@169.254.169.254:x', 'https://169.254.169.254/x.mcpb'])
    expect((await workspace.fail('add', place)).message).toContain('is at a cloud metadata address');
});
