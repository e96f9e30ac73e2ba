// Pinned servers: exact versions and integrity in the entry and the lock, installations that are verified, advisories.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../support/cli.js';
import { hasProgram } from '../support/machine.js';
import {
  type PackageRegistry,
  readServersFile,
  startPackageRegistry,
  useRegistry,
} from '../support/package-registry.js';
import { spec, specIf } from '../support/spec.js';
import { configureServers } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

interface Setting {
  readonly workspace: Workspace;
  readonly registry: PackageRegistry;
  run(...args: readonly string[]): ReturnType<typeof wield>;
  // biome-ignore lint/suspicious/noExplicitAny: tests assert the shape of documents
  json(...args: readonly string[]): Promise<any>;
}

async function createSetting(): Promise<Setting> {
  const [workspace, registry] = [createWorkspace(), await startPackageRegistry()];
  useRegistry(workspace, registry);
  const run = (...args: readonly string[]) => wield(workspace, args);
  return { workspace, registry, run, json: async (...args) => json(await run(...args)) };
}

const ADD = ['mcp', 'add', 'files', '--yes', '--json'];
const NPX = ['--', 'npx', '-y'];

const lockOf = ({ env }: Workspace) => JSON.parse(readFileSync(join(env.WIELD_HOME!, 'wield.lock'), 'utf8'));

const placeOf = ({ env }: Workspace): string => {
  const packages = join(env.WIELD_HOME!, 'packages');
  return join(packages, readdirSync(packages).find((name) => !name.endsWith('.lock'))!);
};

describe.concurrent('pinned servers', () => {
  spec('UPS-123', 'have an exact version and integrity, and run from an installation of their own', async () => {
    const { workspace, registry, run, json: ask } = await createSetting();
    registry.publish('files-mcp', '1.0.0', { read: 'Old.' });
    const integrity = registry.publish('files-mcp', '1.2.3', { read: 'Read a file.' });
    const added = await run('mcp', 'add', 'files', '--yes', ...NPX, 'files-mcp', '/tmp');
    expect(added.stderr).toContain('npm:files-mcp has no version: pinned to 1.2.3');
    expect(added.stdout).toContain(`pinned  npm:files-mcp@1.2.3  ${integrity.slice(0, 20)}`);
    expect(readServersFile(workspace).files).toEqual({
      command: 'npx',
      args: ['-y', 'files-mcp@1.2.3', '/tmp'],
      integrity,
    });
    const pin = { package: 'npm:files-mcp', version: '1.2.3', integrity };
    expect(lockOf(workspace).servers).toEqual([{ name: 'files', wanted: null, ...pin }]);
    expect((await run('mcp', 'refresh', 'files')).stdout).toContain('1 tool');
    // A later start needs neither npx nor the registry.
    const asked = registry.requests.length;
    expect((await run('mcp', 'refresh', 'files')).status).toBe(0);
    expect(registry.requests).toHaveLength(asked);
    // A range is resolved as npm does, and a tag warns.
    const range = await ask(...ADD, '--force', '--', 'npx', '--package=files-mcp@^1.0.0', 'files-mcp');
    expect(range.pin).toEqual(pin);
    expect(lockOf(workspace).servers[0].wanted).toBe('^1.0.0');
    const latest = await run('mcp', 'add', 'files', '--dry-run', '--force', ...NPX, 'files-mcp@latest');
    expect(latest.stderr).toContain('npm:files-mcp@latest is not an exact version: pinned to 1.2.3');
    await run('mcp', 'remove', 'files', '--yes');
    expect(existsSync(join(workspace.env.WIELD_HOME!, 'wield.lock'))).toBe(false);
  });

  spec('UPS-123', '--unpinned writes the command as it is, and what cannot be pinned is not added', async () => {
    const { workspace, run, json: ask } = await createSetting();
    const missing = await ask(...ADD, ...NPX, 'no-such-package');
    expect(missing.error).toMatchObject({ code: 'unavailable', hint: expect.stringContaining('--unpinned') });
    expect(existsSync(join(workspace.home, '.agents', 'mcp.json'))).toBe(false);
    const unpinned = await run('mcp', 'add', 'files', '--yes', '--unpinned', ...NPX, 'files-mcp');
    expect(unpinned.stderr).toContain('npm:files-mcp has no version: every start may run another one');
    expect(readServersFile(workspace).files).toEqual({ command: 'npx', args: ['-y', 'files-mcp'] });
    const other = await run('mcp', 'add', 'other', '--yes', '--', 'pipx', 'run', 'files-mcp');
    expect(other.stderr).toContain('not pinned: what pipx runs here can change at every start');
  });

  spec('UPS-123', 'are pinned by mcp import, with a note where that is not possible', async () => {
    const { workspace, registry, json: ask } = await createSetting();
    const integrity = registry.publish('files-mcp', '1.2.3', { read: 'Read.' });
    const mcpServers = { files: { command: 'npx', args: ['files-mcp'] }, gone: { command: 'npx', args: ['gone-mcp'] } };
    workspace.write('.cursor/mcp.json', JSON.stringify({ mcpServers }));
    const { servers } = await ask('mcp', 'import', 'cursor', '--yes', '--json');
    expect(readServersFile(workspace).files).toMatchObject({ args: ['files-mcp@1.2.3'], integrity });
    expect(readServersFile(workspace).gone).not.toHaveProperty('integrity');
    expect(servers.find(({ name }: { name: string }) => name === 'gone').notes.join()).toContain('not pinned: ');
    expect(lockOf(workspace).servers).toHaveLength(1);
  });

  spec('UPS-123', 'a start whose integrity differs is refused', async () => {
    const { workspace, registry, json: ask } = await createSetting();
    registry.publish('files-mcp', '1.2.3', { read: 'Read.' });
    await ask(...ADD, ...NPX, 'files-mcp');
    const refresh = async () => (await ask('mcp', 'refresh', 'files', '--json')).error;
    expect(await refresh()).toBeUndefined();
    // A file of the installation changed.
    const file = join(placeOf(workspace), 'node_modules', 'files-mcp', 'server.js');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, `${text}// changed\n`);
    expect(await refresh()).toMatchObject({ code: 'integrity', hint: expect.stringContaining('rm -r') });
    writeFileSync(file, text);
    expect(await refresh()).toBeUndefined();
    // An entry with another integrity, or another version, is not installed.
    const path = join(workspace.home, '.agents', 'mcp.json');
    const entry = readFileSync(path, 'utf8');
    const other = registry.publish('files-mcp', '1.3.0', { read: 'Other.' });
    writeFileSync(path, entry.replace('1.2.3', '1.3.0'));
    expect((await refresh()).message).toContain(`and the registry has ${other}`);
    writeFileSync(path, entry.replace('files-mcp@1.2.3', 'files-mcp'));
    expect((await refresh()).message).toContain('does not name the exact version');
    // Another machine, and a registry that serves other bytes for the version.
    writeFileSync(path, entry);
    const second = await createSetting();
    second.registry.publish('files-mcp', '1.2.3', { read: 'Replaced.' });
    second.workspace.write('.npmrc', `registry=${registry.origin}/\n`);
    mkdirSync(join(second.workspace.home, '.agents'));
    writeFileSync(join(second.workspace.home, '.agents', 'mcp.json'), entry);
    const refused = (await second.json('mcp', 'refresh', 'files', '--json')).error;
    expect(refused).toMatchObject({ code: 'integrity', message: expect.stringContaining('is pinned to') });
    expect(existsSync(join(second.workspace.env.WIELD_HOME!, 'packages'))).toBe(false);
    useRegistry(second.workspace, registry);
    expect((await second.json('mcp', 'refresh', 'files', '--json')).servers[0].tools).toHaveLength(1);
  });

  spec('UPS-126', 'are compared with the lock by check --installed', async () => {
    const { workspace, registry, run, json: ask } = await createSetting();
    registry.publish('files-mcp', '1.2.3', { read: 'Read.' });
    await ask(...ADD, ...NPX, 'files-mcp');
    expect(await ask('check', '--installed', '--json')).toMatchObject({ ok: true, differences: [] });
    const source = join(workspace.home, '.agents', 'mcp.json');
    const text = readFileSync(source, 'utf8');
    const changes: [string, string][] = [
      [text.replace('1.2.3', '1.2.4'), 'the lock has another pin'],
      [text.replace('files-mcp@', 'other-mcp@'), 'the lock has another pin'],
      [text.replace('sha512-', 'sha512-A'), 'the lock has another pin'],
      [text.replace(/,\s*"integrity": "[^"]*"/, ''), 'the lock has another pin'],
      [text.replace('"files"', '"renamed"'), 'in the lock, but not configured'],
    ];
    for (const [changed, state] of changes) {
      expect(changed).not.toBe(text);
      writeFileSync(source, changed);
      const { error } = await ask('check', '--installed', '--json');
      expect(error.code).toBe('integrity');
      expect(error.data.differences).toEqual([
        { kind: 'server', effective: 'files', source, states: [state], files: [] },
      ]);
    }
    const { status, stderr } = await run('check', '--installed');
    expect([status, stderr]).toEqual([7, expect.stringContaining('server files: in the lock, but not configured')]);
  });

  spec('UPS-123', 'no script of a package runs, and no settings of the workdir are read', async () => {
    const { workspace, registry, json: ask } = await createSetting();
    const marker = join(workspace.dir, 'ran');
    registry.publish(
      'files-mcp',
      '1.0.0',
      { read: 'Read.' },
      { scripts: { install: `touch ${marker}` }, hasInstallScript: true },
    );
    const evil = await startPackageRegistry();
    evil.publish('files-mcp', '9.9.9', { read: 'Evil.' });
    workspace.write('.npmrc', `registry=${evil.origin}/\nscript-shell=/bin/false\n`);
    expect((await ask(...ADD, ...NPX, 'files-mcp')).pin.version).toBe('1.0.0');
    expect((await ask('mcp', 'refresh', 'files', '--json')).ok).toBe(true);
    expect([existsSync(marker), evil.requests]).toEqual([false, []]);
  });

  spec('UPS-125', 'are listed as outdated, and upgraded after a diff of their tools', async () => {
    const { workspace, registry, run, json: ask } = await createSetting();
    registry.publish('files-mcp', '1.0.0', { read: 'Read a file.', stat: 'Size of a file.' });
    await ask(...ADD, ...NPX, 'files-mcp');
    await ask('mcp', 'add', 'fixed', '--yes', '--json', ...NPX, 'files-mcp@1.0.0');
    await run('mcp', 'refresh');
    const integrity = registry.publish('files-mcp', '1.1.0', { read: 'Read any file.', write: 'Write a file.' });
    const newer = { name: 'files', package: 'npm:files-mcp' };
    expect((await ask('outdated', '--json')).servers).toEqual([{ ...newer, version: '1.0.0', latest: '1.1.0' }]);
    expect((await run('outdated')).stdout).toMatch(/files +server +1\.0\.0 +1\.1\.0 +newer/);
    const before = readServersFile(workspace).files;
    const dry = await run('upgrade', '--dry-run');
    expect(dry.stdout).toContain('files  npm:files-mcp  1.0.0 → 1.1.0');
    expect(await ask('upgrade', '--json')).toMatchObject({ ok: false, error: { code: 'needs_approval' } });
    expect(readServersFile(workspace).files).toEqual(before);
    const { stdout } = await run('upgrade', 'files', '--yes');
    expect(stdout).toMatch(
      /read {2}changed[\s\S]*- *"description": "Read a file\."[\s\S]*\+ *"description": "Read any file\."/,
    );
    expect(stdout).toMatch(/stat {2}removed[\s\S]*write {2}added[\s\S]*upgraded {2}files/);
    expect(readServersFile(workspace).files).toMatchObject({ args: ['-y', 'files-mcp@1.1.0'], integrity });
    expect(lockOf(workspace).servers[0]).toMatchObject({ name: 'files', wanted: null, version: '1.1.0', integrity });
    // What was shown and confirmed is approved.
    const [state] = (await ask('mcp', '--json')).servers;
    expect(state).toMatchObject({ name: 'files', changed: [], tools: ['files_read', 'files_write'] });
    expect(readServersFile(workspace).fixed!.args).toEqual(['-y', 'files-mcp@1.0.0']);
  });

  spec.thorough(
    'UPS-125 UPS-124',
    'an upgrade to what an advisory affects, or what was replaced, is refused',
    async () => {
      const { workspace, registry, json: ask } = await createSetting();
      registry.publish('files-mcp', '1.0.0', { read: 'Read.' });
      await ask(...ADD, ...NPX, 'files-mcp');
      const before = readServersFile(workspace).files;
      registry.publish('files-mcp', '1.0.0', { read: 'Replaced.' });
      const replaced = await ask('upgrade', '--yes', '--json');
      expect(replaced).toMatchObject({ ok: false, error: { code: 'integrity' } });
      registry.publish('files-mcp', '1.1.0', { read: 'Read.' });
      const affected = [{ package: { ecosystem: 'npm', name: 'files-mcp' }, versions: ['1.1.0'] }];
      writeFileSync(join(workspace.home, 'osv.json'), JSON.stringify({ id: 'MAL-3', affected }));
      workspace.config('[mcp]\nadvisories = "~/osv.json"\n');
      const { failed } = await ask('upgrade', 'files', '--yes', '--json');
      expect(failed[0]).toMatchObject({ name: 'files', error: { code: 'denied' } });
      expect(readServersFile(workspace).files).toEqual(before);
    },
  );

  spec('UPS-124', 'advisories block versions when they are added and started, without a network', async () => {
    const { workspace, registry, json: ask } = await createSetting();
    for (const version of ['1.2.3', '2.0.0']) registry.publish('files-mcp', version, { read: 'Read.' });
    const directory = join(workspace.home, 'advisories');
    mkdirSync(join(directory, 'npm'), { recursive: true });
    workspace.config('[mcp]\nadvisories = "~/advisories"\n');
    const advise = (affected: object, more = {}): void =>
      writeFileSync(
        join(directory, 'npm', 'MAL-1.json'),
        JSON.stringify({
          id: 'MAL-1',
          affected: [{ package: { ecosystem: 'npm', name: 'files-mcp' }, ...affected }],
          ...more,
        }),
      );
    const add = async (version: string) => (await ask(...ADD, '--force', ...NPX, `files-mcp@${version}`)).error?.code;
    const range = (...events: readonly object[]) => ({ ranges: [{ type: 'SEMVER', events }] });
    advise(range({ introduced: '1.1.0' }, { fixed: '2.0.0' }));
    expect([await add('1.2.3'), await add('2.0.0')]).toEqual(['denied', undefined]);
    // The one that is installed, and started later.
    const refresh = async () => (await ask('mcp', 'refresh', 'files', '--json')).error;
    expect(await refresh()).toBeUndefined();
    advise({ versions: ['2.0.0'] });
    expect(await refresh()).toMatchObject({ code: 'denied', message: expect.stringContaining('MAL-1') });
    advise({ versions: ['2.0.0'] }, { withdrawn: '2026-01-01T00:00:00Z' });
    expect(await refresh()).toBeUndefined();
    advise(range({ introduced: '0' }, { last_affected: '1.9.9' }));
    expect(await refresh()).toBeUndefined();
    advise({});
    expect(await refresh()).toMatchObject({ code: 'denied' });
    // One without an exact version could be any.
    advise({ versions: ['1.0.0'] });
    await ask(...ADD, '--force', '--unpinned', ...NPX, 'files-mcp');
    expect(await refresh()).toMatchObject({ code: 'denied', hint: expect.stringContaining('pin a version') });
    // What cannot be read blocks, and a project cannot replace it.
    writeFileSync(join(directory, 'broken.json'), '{');
    expect(await refresh()).toMatchObject({ code: 'io' });
    workspace.config('[mcp]\nadvisories = "~/nowhere"\n');
    workspace.write('.agents/config.toml', '[mcp]\nadvisories = "/dev/null"\n');
    expect(await refresh()).toMatchObject({ code: 'io' });
  });

  spec('UPS-124', 'advisories block packages in every form of a command line', async () => {
    const { workspace, json: ask } = await createSetting();
    const affected = [
      { package: { ecosystem: 'npm', name: 'p' }, versions: ['1.0.0'] },
      { package: { ecosystem: 'PyPI', name: 'pp' }, versions: ['1.0.0'] },
    ];
    writeFileSync(join(workspace.home, 'osv.json'), JSON.stringify({ id: 'MAL-4', affected }));
    workspace.config('[mcp]\nadvisories = "~/osv.json"\n');
    for (const [line, what] of [
      ['npx -y alias@npm:p@1.0.0', 'MAL-4'],
      ['npx -y -p q@1.0.0 -p p@1.0.0 q', 'MAL-4'],
      ['npx --loglevel error -y p@1.0.0', 'MAL-4'],
      ['npx -y --registry=http://127.0.0.1:9 p@1.0.0', 'MAL-4'],
      ['npm exec --yes=true -- p@1.0.0', 'MAL-4'],
      ['uvx --with pp==1.0.0 qq==1', 'MAL-4'],
      ['uvx --index-url https://x pp@1.0.0', 'MAL-4'],
      ['npx --unknown 1 p@1.0.0', 'cannot be checked'],
      ['env npx -y p@1.0.0', 'cannot be checked'],
    ] as const) {
      const added = (await ask(...ADD, '--force', '--', ...line.split(' '))).error;
      expect([line, added?.code, added?.message]).toEqual([line, 'denied', expect.stringContaining(what)]);
      const [command, ...args] = line.split(' ');
      configureServers(workspace, { files: { command, args } });
      const { error } = await ask('mcp', 'refresh', 'files', '--json');
      expect([line, error?.code, error?.message]).toEqual([line, 'denied', expect.stringContaining(what)]);
    }
  });

  spec('UPS-124', 'advisories about packages that a server needs block it too', async () => {
    const { workspace, registry, json: ask } = await createSetting();
    registry.publish('left-pad', '1.0.0', {});
    registry.publish('files-mcp', '1.0.0', { read: 'Read.' }, { dependencies: { 'left-pad': '^1.0.0' } });
    const file = join(workspace.home, 'osv.json');
    workspace.config('[mcp]\nadvisories = "~/osv.json"\n');
    writeFileSync(file, '[]');
    expect((await ask(...ADD, ...NPX, 'files-mcp')).ok).toBe(true);
    writeFileSync(
      file,
      JSON.stringify([{ id: 'MAL-2', affected: [{ package: { ecosystem: 'npm', name: 'left-pad' } }] }]),
    );
    const { error } = await ask('mcp', 'refresh', 'files', '--json');
    expect(error).toMatchObject({ code: 'denied', message: expect.stringContaining('npm:left-pad@1.0.0') });
  });

  spec('UPS-123', 'images are pinned to the digest that docker names', async () => {
    const { workspace, json: ask } = await createSetting();
    const digest = `sha256:${'a1'.repeat(32)}`;
    // No daemon is needed to ask a registry, and none can be expected here: this client answers like docker.
    const bin = join(workspace.home, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'docker'), `#!/bin/sh\n[ "$6" = ghcr.io/acme/files:1 ] && echo ${digest}\n`, {
      mode: 0o755,
    });
    const env = { PATH: `${bin}:${workspace.env.PATH}` };
    const command = ['--', 'docker', 'run', '-i', '--rm', '-e', 'A', '--network=none', 'ghcr.io/acme/files:1', '--x'];
    const added = json(await wield(workspace, [...ADD, ...command], { env }));
    expect(added.pin).toEqual({ package: 'docker:ghcr.io/acme/files', version: digest, integrity: digest });
    expect(readServersFile(workspace).files!.args.slice(-2)).toEqual([`ghcr.io/acme/files@${digest}`, '--x']);
    const missing = json(await wield(workspace, [...ADD, '--force', '--', 'docker', 'run', 'other'], { env }));
    expect(missing.error.code).toBe('unavailable');
    const path = join(workspace.home, '.agents', 'mcp.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace(`files@${digest}`, `files@sha256:${'b2'.repeat(32)}`));
    expect((await ask('mcp', 'refresh', 'files', '--json')).error.code).toBe('integrity');
  });

  specIf(
    hasProgram('uv'),
    'not installed: uv; to run: pip install uv',
    'UPS-123',
    'uvx: versions and hashes of PyPI, from an index on loopback',
    async () => {
      const { workspace, registry, json: ask } = await createSetting();
      const hash = registry.publishWheel('filesmcp', '1.2.3', { read: 'Read.' });
      const index = ['--env', `UV_DEFAULT_INDEX=${registry.origin}/simple`];
      const added = await ask(...ADD, ...index, '--', 'uvx', 'filesmcp');
      expect(added.pin).toEqual({ package: 'pypi:filesmcp', version: '1.2.3', integrity: hash });
      expect(readServersFile(workspace).files!.args).toEqual(['filesmcp@1.2.3']);
      expect((await ask('mcp', 'refresh', 'files', '--json')).servers[0].tools).toHaveLength(1);
      const from = await ask(...ADD, '--force', ...index, '--', 'uvx', '--from', 'filesmcp<2', 'filesmcp', 'x');
      expect(from.diff.join('\n')).toContain('filesmcp==1.2.3');
    },
  );
});
