// Servers and sources that a company allows: what is shown of the others, and that no door uses them.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { listen } from '../../support/http.js';
import { DETECT, writeFiles } from '../../support/install.js';
import { type ManagedWorkspace, withManaged } from '../../support/managed.js';
import { serveHere } from '../../support/serve.js';
import { spec } from '../../support/spec.js';
import { configureServers, countedServer } from '../../support/upstream-servers.js';

const allow = (...rules: readonly string[]): string => `[mcp]\nallow = [${rules.join(', ')}]\n`;
const states = async (workspace: ManagedWorkspace): Promise<Record<string, string>> =>
  Object.fromEntries(
    json(await wield(workspace, ['mcp', '--json'])).servers.map((one: { name: string; state: string }) => [
      one.name,
      one.state,
    ]),
  );

describe.concurrent('servers', () => {
  spec('POL-41', 'a server that no list has is shown as blocked, with the rule, and never started', () =>
    withManaged('# Of the company.\n[mcp]\nallow = []\n', async (workspace) => {
      const server = countedServer(workspace, 'notes');
      configureServers(workspace, { notes: server.entry });
      const file = join(workspace.managed, 'config.toml');
      const [shown] = json(await wield(workspace, ['mcp', '--json'])).servers;
      expect(shown).toMatchObject({
        name: 'notes',
        state: 'blocked',
        blocked: { file, line: 3, reason: 'mcp.allow has no such server' },
        tools: [],
      });
      const { stdout } = await wield(workspace, ['mcp']);
      expect(stdout).toMatch(/notes +blocked/);
      expect(stdout).toContain(`${file}:3`);
      for (const args of [['list', '--json'], ['mcp', 'refresh'], ['search', 'echo', '--json'], ['tokens']])
        expect((await wield(workspace, args)).status).toBe(0);
      const refused = json(await wield(workspace, ['mcp', 'refresh', 'notes', '--json'])).error;
      expect(refused).toMatchObject({ code: 'denied', hint: `${file}:3 has the list of allowed servers` });
      const called = json(await wield(workspace, ['call', 'notes__echo', '{}', '--json'])).error;
      expect(called).toMatchObject({ code: 'denied', message: expect.stringContaining('is blocked') });
      const client = serveHere(workspace);
      await client.initialize();
      const { result } = await client.request(1, 'tools/list', {});
      expect(JSON.stringify(result)).not.toContain('notes__');
      expect(server.starts()).toEqual([]);
    }),
  );

  spec('POL-41', 'a command line is allowed as a whole, and a reference in it as written', () =>
    withManaged('', async (workspace) => {
      const server = countedServer(workspace, 'notes');
      const { command, args } = server.entry as { command: string; args: string[] };
      const rule = `{ command = ${JSON.stringify([command, ...args])} }`;
      const withReference = `{ command = ["x", "--where", "\${WHERE}"] }`;
      workspace.manage('config.toml', allow(rule, withReference));
      configureServers(workspace, {
        notes: { ...server.entry, env: { NOTES: '1' } },
        more: { command, args: [...args, '--more'] },
        keyed: { command: 'x', args: ['--where', '${WHERE}'] },
        other: { command: 'x', args: ['--where', '${OTHER}'] },
      });
      expect(await states(workspace)).toEqual({
        notes: 'unknown',
        keyed: 'unknown',
        more: 'blocked',
        other: 'blocked',
      });
      const called = json(await wield(workspace, ['call', 'notes__echo', '{"text":"hi"}', '--json']));
      expect(called.error?.code).not.toBe('denied');
      expect(server.starts()).toHaveLength(1);
    }),
  );

  spec('POL-41', 'each list must allow a server, that of a project included', () =>
    withManaged(
      {
        'config.d/10-a.toml': allow('{ url = "https://*.corp.example/*" }'),
        'config.d/20-b.toml': allow('{ url = "https://a.corp.example/*" }', '{ url = "https://b.example/*" }'),
      },
      async (workspace) => {
        configureServers(workspace, {
          a: { url: 'https://a.corp.example/mcp' },
          b: { url: 'https://b.corp.example/mcp' },
          c: { url: 'https://b.example/mcp' },
        });
        expect(await states(workspace)).toEqual({ a: 'unknown', b: 'blocked', c: 'blocked' });
        workspace.write('.agents/config.toml', allow('{ url = "https://*/*" }'));
        expect(await states(workspace)).toEqual({ a: 'unknown', b: 'blocked', c: 'blocked' });
        workspace.write('.agents/config.toml', allow());
        expect(await states(workspace)).toEqual({ a: 'blocked', b: 'blocked', c: 'blocked' });
      },
    ),
  );

  spec('POL-41', 'a name in a registry is that of the entry that the registry gave', () =>
    withManaged('', async (workspace) => {
      const packages = [{ registryType: 'npm', identifier: '@acme/notes', version: '1.2.3' }];
      const registry = await listen((request, response) => {
        const [, name = ''] = /servers\/([^/]+)\//.exec(request.url!) ?? [];
        const found = { name: decodeURIComponent(name), version: '1.2.3', packages };
        response.end(JSON.stringify({ server: found }));
      });
      const base = registry.origin;
      workspace.manage('config.toml', allow(`{ registry = "${base}/com.corp/*" }`));
      const add = (name: string) =>
        wield(workspace, ['mcp', 'add', `registry:${name}`, '--registry', base, '--yes', '--unpinned', '--json']);
      expect(json(await add('com.other/notes')).error).toMatchObject({ code: 'denied' });
      expect(json(await add('com.corp/notes'))).toMatchObject({ ok: true, written: true });
      expect(await states(workspace)).toEqual({ notes: 'unknown' });
      // Another version is not what the registry gave.
      configureServers(workspace, { notes: { command: 'npx', args: ['-y', '@acme/notes@1.2.4'] } });
      expect(await states(workspace)).toEqual({ notes: 'blocked' });
      // The name alone is that of the official registry.
      configureServers(workspace, { notes: { command: 'npx', args: ['-y', '@acme/notes@1.2.3'] } });
      workspace.manage('config.toml', allow('{ registry = "com.corp/*" }'));
      expect(await states(workspace)).toEqual({ notes: 'blocked' });
    }),
  );

  spec('POL-41', 'a blocked server is neither added, imported nor logged in to', () =>
    withManaged(allow('{ url = "https://ok.example/mcp" }'), async (workspace) => {
      const file = join(workspace.home, '.agents/mcp.json');
      const attempts = [
        ['mcp', 'add', 'a', '--url', 'https://other.example/mcp', '--yes'],
        ['mcp', 'add', 'a', '--yes', '--', 'npx', '-y', 'x'],
      ];
      for (const args of attempts)
        expect(json(await wield(workspace, [...args.slice(0, 3), '--json', ...args.slice(3)])).error).toMatchObject({
          code: 'denied',
        });
      const client = workspace.write(
        'client.json',
        JSON.stringify({ mcpServers: { b: { command: 'npx', args: ['x'] } } }),
      );
      expect(json(await wield(workspace, ['mcp', 'import', client, '--yes', '--unpinned', '--json'])).error.code).toBe(
        'denied',
      );
      expect(existsSync(file)).toBe(false);
      const added = await wield(workspace, ['mcp', 'add', 'ok', '--url', 'https://ok.example/mcp', '--yes', '--json']);
      expect(json(added)).toMatchObject({ written: true });
      configureServers(workspace, { a: { url: 'https://other.example/mcp' } });
      expect(json(await wield(workspace, ['mcp', 'login', 'a', '--yes', '--json'])).error.code).toBe('denied');
    }),
  );

  const INVALID = [
    '{ }',
    '{ url = "https://x.example" }',
    '{ url = "x.example/*" }',
    '{ command = [] }',
    '{ name = "x" }',
    '"x"',
    '{ url = "https://a@x.example/*" }',
    '{ registry = "corp" }',
    '{ url = "https://x.example/*", command = ["x"] }',
  ];
  spec('POL-41', 'an invalid list denies everything, with its line', async () => {
    for (const one of INVALID)
      await withManaged(`\n${allow(one)}`, async (workspace) => {
        workspace.script('x', '#!/bin/sh\n# @description X.\necho ran\n');
        const { error } = json(await wield(workspace, ['call', 'x', '--json']));
        expect({ one, error }).toMatchObject({
          error: { code: 'denied', message: expect.stringContaining('config.toml:3') },
        });
      });
  });
});

describe.concurrent('sources', () => {
  const skills = (workspace: ManagedWorkspace, name: string): string => {
    const directory = join(workspace.home, name);
    mkdirSync(directory);
    writeFiles(directory, DETECT);
    return directory;
  };

  spec('POL-42', 'only sources of the list are added, whatever is installed before', () =>
    withManaged('', async (workspace) => {
      const [ours, theirs] = [skills(workspace, 'ours'), skills(workspace, 'theirs')];
      const run = async (...args: readonly string[]) => json(await wield(workspace, [...args, '--yes', '--json']));
      expect(await run('add', theirs, '--register-only')).toMatchObject({ ok: true });
      const file = workspace.manage('config.toml', `[sources]\nallow = ["${workspace.home}/ours"]\n`);
      expect(await run('install', '--all')).toMatchObject({
        error: { code: 'denied', hint: `${file}:2 has the list of allowed sources` },
      });
      expect(await run('add', ours)).toMatchObject({ ok: true });
      const [record] = JSON.parse(readFileSync(join(workspace.env.WIELD_HOME!, 'installed.json'), 'utf8')).items;
      expect(record.source).toContain('ours');
    }),
  );

  spec('POL-42', 'a lock installs from no other source', () =>
    withManaged('', async (workspace) => {
      const theirs = skills(workspace, 'theirs');
      writeFileSync(join(workspace.dir, 'wield.toml'), '');
      const run = async (...args: readonly string[]) => json(await wield(workspace, [...args, '--yes', '--json']));
      expect(await run('add', theirs)).toMatchObject({ ok: true });
      workspace.manage('config.toml', '[sources]\nallow = ["github.com/acme/*"]\n');
      expect(await run('install', '--frozen')).toMatchObject({ error: { code: 'denied' } });
    }),
  );
});
