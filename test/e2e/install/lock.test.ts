// wield.lock: what it contains, reproducing it elsewhere, every difference, and what is outdated.

import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json } from '../../support/cli.js';
import { createInstallWorkspace, type InstallWorkspace, WORKED, writeFiles } from '../../support/install.js';
import { ALPHA, skill } from '../../support/plugins.js';
import { spec } from '../../support/spec.js';

const HASH = expect.stringMatching(/^[0-9a-f]{64}$/);
const BUILT = {
  'tools/made/TOOL.md':
    '---\ndescription: Made.\nbin: made\nbuild: "printf \'#!/bin/sh\\necho made\\n\' > made && chmod +x made"\n---\n',
};
const project = (workspace: InstallWorkspace): string =>
  workspace.write('wield.toml', '[source]\ndescription = "The project"\n');
const lockOf = (workspace: InstallWorkspace): string => readFileSync(join(workspace.dir, 'wield.lock'), 'utf8');

// Another machine and home with the same project.
function elsewhere(from: InstallWorkspace): InstallWorkspace {
  const other = createInstallWorkspace();
  project(other);
  cpSync(join(from.dir, 'wield.lock'), join(other.dir, 'wield.lock'));
  return other;
}

describe('wield.lock', () => {
  spec.thorough(
    'INS-30',
    'is next to the wield.toml of the project, else in WIELD_HOME, and goes with the last item',
    async () => {
      const workspace = createInstallWorkspace();
      const url = workspace.repository('repo', WORKED);
      await workspace.json('add', url, '--yes');
      const home = join(workspace.wieldHome, 'wield.lock');
      const [source] = JSON.parse(readFileSync(home, 'utf8')).sources;
      expect(source).toMatchObject({ location: url, commit: workspace.git('repo', 'rev-parse', 'HEAD').trim() });
      expect(source.items).toEqual([
        expect.objectContaining({
          kind: 'skill',
          name: 'scan',
          sourceHash: HASH,
          installedHash: HASH,
          builtHash: null,
        }),
        expect.objectContaining({ kind: 'tool', name: 'detect' }),
      ]);
      expect(existsSync(join(workspace.dir, 'wield.lock'))).toBe(false);
      project(workspace);
      await workspace.json('install', '--yes', 'scan', '--force');
      expect(lockOf(workspace)).toBe(readFileSync(home, 'utf8'));
      await workspace.json('remove-source', 'repo', '--yes');
      expect(existsSync(join(workspace.dir, 'wield.lock'))).toBe(false);
    },
  );

  spec.thorough('INS-30', 'is reproduced byte for byte on another machine and home', async () => {
    const workspace = createInstallWorkspace();
    project(workspace);
    await workspace.json('add', workspace.repository('repo', WORKED), '--namespace', 'team', '--yes');
    await workspace.json('add', workspace.repository('plugin', ALPHA), '--yes');
    await workspace.json('add', workspace.repository('built', BUILT), '--yes', '--run-hooks');
    // A later commit is not installed.
    writeFiles(join(workspace.dir, '../sources/repo'), { 'skills/scan/SKILL.md': skill('scan', 'Newer.\n') });
    workspace.git('repo', 'commit', '--quiet', '--all', '--message', 'Newer');
    const other = elsewhere(workspace);
    expect(await other.fail('install', '--yes', '--frozen')).toMatchObject({
      code: 'integrity',
      message: expect.stringContaining('tool made: its hooks did not run'),
    });
    expect((await other.json('list', '--installed')).items).toEqual([]);
    expect((await other.json('list', '--available')).items).toEqual([]);
    const { items } = await other.json('install', '--yes', '--frozen', '--run-hooks');
    expect(items).toHaveLength(8);
    expect(lockOf(other)).toBe(lockOf(workspace));
    for (const path of [
      'skill/team:scan/SKILL.md',
      'skill/alpha:one/SKILL.md',
      'plugin/alpha/server.mjs',
      'tool/made/made',
    ])
      expect(other.stored(path)).toBe(workspace.stored(path));
    const server = (of: InstallWorkspace): string =>
      of.stored('server/alpha:db/server.json').replaceAll(of.wieldHome, '');
    expect(server(other)).toBe(server(workspace));
    expect((await other.run('verify')).status).toBe(0);
    expect((await other.json('install', '--yes', '--frozen')).unchanged).toHaveLength(8);
    // What a locked source has besides is removed.
    await other.json('install', '--yes', 'command:alpha:deploy');
    cpSync(join(workspace.dir, 'wield.lock'), join(other.dir, 'wield.lock'));
    expect(await other.fail('verify')).toMatchObject({
      status: 7,
      message: expect.stringContaining('command alpha:deploy: installed, but not in the lock'),
    });
    expect((await other.json('install', '--yes', '--frozen')).removed).toEqual([
      expect.objectContaining({ effective: 'alpha:deploy' }),
    ]);
  });

  spec.thorough('INS-30', 'keeps items of one source at the commits they were installed from', async () => {
    const workspace = createInstallWorkspace();
    project(workspace);
    const files = { 'skills/a/SKILL.md': skill('a'), 'skills/b/SKILL.md': skill('b') };
    await workspace.json('add', workspace.repository('repo', files), '--yes');
    writeFiles(join(workspace.dir, '../sources/repo'), {
      'skills/a/SKILL.md': skill('a', 'New.\n'),
      'skills/b/SKILL.md': skill('b', 'New.\n'),
    });
    workspace.git('repo', 'commit', '--quiet', '--all', '--message', 'New');
    await workspace.json('upgrade', 'a', '--yes');
    const other = elsewhere(workspace);
    await other.json('install', '--yes', '--frozen');
    expect(other.stored('skill/a/SKILL.md')).toContain('New.');
    expect(other.stored('skill/b/SKILL.md')).not.toContain('New.');
    expect(lockOf(other)).toBe(lockOf(workspace));
  });

  spec.thorough('INS-30', 'takes what an item needs from the commit that the lock names for it', async () => {
    const workspace = createInstallWorkspace();
    project(workspace);
    await workspace.json('add', workspace.repository('repo', WORKED), '--yes');
    workspace.source('repo', { 'tools/detect/lib.sh': 'detect() { echo new; }\n' });
    workspace.git('repo', 'commit', '--quiet', '--all', '--message', 'New');
    const { items } = await workspace.json('upgrade', '--yes');
    expect(items.map(({ effective }: { effective: string }) => effective)).toEqual(['detect']);
    const other = elsewhere(workspace);
    await other.json('install', '--yes', '--frozen');
    expect(other.stored('tool/detect/lib.sh')).toContain('new');
    expect(lockOf(other)).toBe(lockOf(workspace));
  });

  spec.thorough(
    'INS-30',
    'refuses anything else, and then changes nothing',
    async () => {
      const workspace = createInstallWorkspace();
      project(workspace);
      workspace.write('local/skills/near/SKILL.md', skill('near'));
      await workspace.json('add', workspace.repository('repo', WORKED), '--yes');
      await workspace.json('add', './local', '--yes');
      expect(lockOf(workspace)).toContain('"location": "local"');
      const lock = lockOf(workspace);
      const hash = (name: string): string =>
        new RegExp(`"name":"${name}"[^}]*"sourceHash":"([0-9a-f]+)","installedHash":"([0-9a-f]+)"`).exec(lock)![1]!;
      const installed = /"name":"scan"[^}]*"installedHash":"([0-9a-f]+)"/.exec(lock)![1]!;
      const commit = /"commit": "([0-9a-f]{40})"/.exec(lock)![1]!;
      const zeros = '0'.repeat(64);
      const cases: [string, string, RegExp][] = [
        ['source hash', lock.replace(hash('scan'), zeros), /skill scan: the source differs/],
        ['installed hash', lock.replace(installed, zeros), /skill scan: the files differ/],
        ['commit', lock.replaceAll(commit, '0'.repeat(40)), /fetch|not found|reach/],
        ['name', lock.replace('"name":"scan"', '"name":"scam"'), /scan: not in its source/],
        [
          'dependency',
          lock
            .replace(/\{"kind":"tool"[^}]*\}/, '')
            .replace(/,\s*\]/, '\n]')
            .replace(/\[\s*,/, '['),
          /tool detect: not in the lock/,
        ],
        ['zero-width', lock.replace('"effective":"scan"', '"effective":"sc\u200ban"'), /now named scan/],
        ['version', lock.replace('"version": 1', '"version": 2'), /newer version/],
        ['JSON', lock.slice(0, 50), /corrupted/],
      ];
      for (const [name, text, message] of cases) {
        const other = elsewhere(workspace);
        cpSync(join(workspace.dir, 'local'), join(other.dir, 'local'), { recursive: true });
        writeFileSync(join(other.dir, 'wield.lock'), text);
        const before = other.snapshot();
        expect([name, (await other.fail('install', '--yes', '--frozen')).message]).toEqual([
          name,
          expect.stringMatching(message),
        ]);
        expect([name, other.snapshot()]).toEqual([name, before]);
      }
      const moved = elsewhere(workspace);
      moved.write('local/skills/near/SKILL.md', skill('near', 'Other.\n'));
      expect((await moved.fail('install', '--yes', '--frozen')).message).toMatch(/skill near: the source differs/);
      rmSync(join(moved.dir, 'wield.lock'));
      expect(await moved.fail('install', '--yes', '--frozen')).toMatchObject({ code: 'not_found' });
      expect(await moved.fail('install', '--yes', 'scan', '--frozen')).toMatchObject({ code: 'usage' });
    },
    60_000,
  );
});

spec('INS-30', 'a lock that is a dangling link is not replaced by another one', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('add', workspace.repository('repo', WORKED), '--yes');
  symlinkSync('gone', join(workspace.dir, 'wield.lock'));
  for (const args of [['install', '--frozen', '--yes'], ['verify']])
    expect(await workspace.fail(...args)).toMatchObject({
      code: 'not_found',
      message: expect.stringContaining(join(workspace.dir, 'wield.lock')),
    });
});

spec('INS-31 STA-8', 'a change is refused before it begins if a file that it writes cannot be read', async () => {
  const workspace = createInstallWorkspace();
  project(workspace);
  await workspace.json('add', workspace.repository('repo', WORKED), '--yes');
  const home = workspace.wieldHome;
  const [pins = ''] = readdirSync(join(home, 'pins')).filter((name) => name.endsWith('.json'));
  writeFileSync(join(home, 'servers.json'), '{ "version": 1, "servers": {} }');
  const newer = (text: string): string => text.replace(/"version": ?1/, '"version": 99');
  const faults: readonly (readonly [string, (text: string) => string, string])[] = [
    [join(home, 'wield.lock'), newer, 'unavailable'],
    [join(home, 'wield.lock'), (text) => `<<<<<<< HEAD\n${text}`, 'io'],
    [join(workspace.dir, 'wield.lock'), newer, 'unavailable'],
    [join(home, 'servers.json'), newer, 'unavailable'],
    [join(home, 'pins', pins), newer, 'unavailable'],
  ];
  for (const [file, damage, code] of faults) {
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, damage(text));
    const before = workspace.snapshot();
    for (const args of [['uninstall', 'skill:scan'], ['install', 'tool:detect', '--force'], ['upgrade']])
      expect([file, args, await workspace.fail(...args, '--yes')]).toEqual([
        file,
        args,
        expect.objectContaining({ code, message: expect.stringContaining(file) }),
      ]);
    expect([file, workspace.snapshot()]).toEqual([file, before]);
    await workspace.json('list', '--installed');
    writeFileSync(file, text);
  }
  await workspace.json('uninstall', 'skill:scan', '--yes');
});

describe('verify', () => {
  spec('INS-30', 'says what helps: with a lock alone, after an edit, and without a link', async () => {
    const workspace = createInstallWorkspace();
    project(workspace);
    await workspace.json('add', workspace.repository('repo', WORKED), '--yes');
    const other = elsewhere(workspace);
    const hint = async (...args: readonly string[]): Promise<string> => (await other.fail(...args)).hint;
    expect(await hint('verify')).toBe('wield install --frozen --yes installs exactly what the lock has');
    await other.json('install', '--frozen', '--yes');
    expect((await other.run('verify')).status).toBe(0);
    const edit = (): void => writeFileSync(join(other.wieldHome, 'store/skill/scan/resources/notes.md'), 'mine\n');
    edit();
    expect(await hint('verify')).toBe('wield install skill:scan --accept keeps the changes, --force discards them');
    expect(await hint('install', '--frozen', '--yes')).toBe(
      'wield install NAME --force discards local changes, --accept keeps them',
    );
    await other.json('install', 'skill:scan', '--force', '--yes');
    expect((await other.run('verify')).status).toBe(0);
    edit();
    await other.json('install', 'skill:scan', '--accept', '--yes');
    expect((await other.run('verify')).status).toBe(0);
    rmSync(join(other.home, '.claude/skills/scan'));
    expect(await hint('verify')).toBe('wield doctor --fix links it again');
    await other.run('doctor', '--fix', '--yes');
    expect((await other.run('verify')).status).toBe(0);
  });

  spec(
    'INS-30',
    'names every mutation of installed files, links and the lock, and exits with 7',
    async () => {
      const workspace = createInstallWorkspace();
      project(workspace);
      const repository = { ...WORKED, ...ALPHA, '.claude-plugin/plugin.json': '{"name":"x"}' };
      await workspace.run('add', workspace.repository('repo', repository), '--root', '.', '--namespace', '', '--yes');
      expect((await workspace.run('verify')).status).toBe(0);
      const scan = join(workspace.wieldHome, 'store/skill/scan');
      const notes = join(scan, 'resources/notes.md');
      const link = join(workspace.home, '.claude/skills/scan');
      const lock = join(workspace.dir, 'wield.lock');
      const edit = (file: string, from: string, to: string) => () =>
        writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
      const mutations: [string, () => void, string?][] = [
        ['a byte', edit(notes, 'Notes', 'notes'), 'changed resources/notes.md'],
        ['an appended byte', edit(notes, '\n', '\n\n'), 'changed resources/notes.md'],
        ['other line ends', edit(notes, '\n', '\r\n'), 'changed resources/notes.md'],
        ['a byte order mark', edit(notes, '', '\ufeff'), 'changed resources/notes.md'],
        ['a zero-width character', edit(notes, 'Notes', 'No\u200btes')],
        [
          'a zero-width name',
          () => renameSync(notes, join(scan, 'resources/no\u200btes.md')),
          'added resources/no\u200btes.md',
        ],
        ['an empty file', () => writeFileSync(notes, '')],
        ['the executable bit', () => chmodSync(notes, 0o755), 'mode of resources/notes.md'],
        ['other permissions', () => chmodSync(notes, 0o666), 'mode of resources/notes.md'],
        ['permissions of a directory', () => chmodSync(join(scan, 'resources'), 0o777), 'mode of resources/'],
        ['setuid', () => chmodSync(join(workspace.wieldHome, 'store/tool/detect/detect.sh'), 0o4755)],
        ['a name', () => renameSync(notes, join(scan, 'resources/Notes.md'))],
        ['a moved file', () => renameSync(notes, join(scan, 'notes.md'))],
        ['an added file', () => writeFileSync(join(scan, 'added'), '')],
        ['an added hidden file', () => writeFileSync(join(scan, '.hidden'), 'x')],
        ['an added directory', () => mkdirSync(join(scan, 'empty')), 'added empty/'],
        [
          'an added repository',
          () => {
            mkdirSync(join(scan, '.git'));
            writeFileSync(join(scan, '.git/config'), '');
          },
          'added .git/config',
        ],
        [
          'a directory in place of a file',
          () => {
            rmSync(notes);
            mkdirSync(notes);
          },
          'removed resources/notes.md',
        ],
        ['an added link', () => symlinkSync('SKILL.md', join(scan, 'link')), 'link is a link'],
        ['a removed file', () => rmSync(notes), 'removed resources/notes.md'],
        [
          'a file replaced by a link',
          () => {
            rmSync(notes);
            symlinkSync('../SKILL.md', notes);
          },
        ],
        ['a removed item', () => rmSync(scan)],
        ['a removed link', () => rmSync(link)],
        [
          'a link to elsewhere',
          () => {
            rmSync(link);
            symlinkSync('/tmp', link);
          },
        ],
        ['the absolute path of the store', edit(join(scan, 'SKILL.md'), '~/.wield', workspace.wieldHome)],
        ['a source hash of the lock', edit(lock, '"sourceHash":"', '"sourceHash":"0')],
        ['an installed hash of the lock', edit(lock, '"installedHash":"', '"installedHash":"0')],
        [
          'a commit of the lock',
          () => writeFileSync(lock, readFileSync(lock, 'utf8').replace(/"commit":"[0-9a-f]{4}/, '"commit":"0bad')),
        ],
        ['a name of the lock', edit(lock, '"name":"scan"', '"name":"sc\u200ban"')],
        [
          'an item less in the lock',
          () => writeFileSync(lock, readFileSync(lock, 'utf8').replace(/ *\{"kind":"agent"[^\n]*\n/, '')),
        ],
        ['the location in the lock', edit(lock, '"location": "file://', '"location": "file:///x')],
      ];
      const backup = join(workspace.dir, '../backup');
      cpSync(workspace.home, backup, { recursive: true, verbatimSymlinks: true });
      const good = readFileSync(lock);
      for (const [name, mutate, file] of mutations) {
        mutate();
        const { status, data, message } = await workspace.fail('verify');
        expect([name, status, data.differences.length > 0]).toEqual([name, 7, true]);
        if (name === 'a zero-width name') expect(message).toContain('added resources/no<U+200B>tes.md');
        if (file !== undefined) expect(data.differences[0].files).toContain(file);
        rmSync(workspace.home, { recursive: true });
        cpSync(backup, workspace.home, { recursive: true, verbatimSymlinks: true });
        writeFileSync(lock, good);
      }
      expect((await workspace.run('verify')).status).toBe(0);
    },
    60_000,
  );
});

spec('INS-27', 'an upgrade fetches the sources also if nothing is installed', async () => {
  const workspace = createInstallWorkspace();
  await workspace.json('add', workspace.repository('repo', WORKED), '--register-only');
  writeFiles(join(workspace.dir, '../sources/repo'), { 'skills/late/SKILL.md': skill('late') });
  workspace.git('repo', 'add', '--all');
  workspace.git('repo', 'commit', '--quiet', '--message', 'Late');
  await workspace.json('upgrade', '--yes');
  expect((await workspace.run('show-source', 'repo')).stdout).toContain('late');
});

spec('INS-42 INS-66 INS-27', 'a source that cannot be fetched stops no other', async () => {
  const workspace = createInstallWorkspace();
  const at = join(workspace.dir, '../sources');
  await workspace.json('add', workspace.repository('gone', { 'skills/a/SKILL.md': skill('a') }), '--yes');
  await workspace.json('add', workspace.repository('kept', { 'skills/b/SKILL.md': skill('b') }), '--yes');
  await workspace.json('add', workspace.repository('other', { 'skills/c/SKILL.md': skill('c') }), '--yes');
  renameSync(join(at, 'gone'), join(at, 'moved'));
  const change = (name: string, item: string): void => {
    workspace.source(name, { [`skills/${item}/more.md`]: 'More.\n' });
    workspace.git(name, 'add', '--all');
    workspace.git(name, 'commit', '--quiet', '--message', 'More');
  };
  change('kept', 'b');
  change('other', 'c');
  const run = async (...args: readonly string[]) => {
    const done = await workspace.run(...args, '--json');
    return { ...json(done), status: done.status };
  };
  const error = { code: 'unavailable', message: expect.stringContaining('could not reach') };
  const failed = [{ name: expect.stringMatching(/gone$/), error }];
  const names = (items: readonly { readonly effective: string }[]): string[] => items.map((one) => one.effective);
  const outdated = await run('outdated');
  expect(outdated).toMatchObject({ ok: false, error, failed, status: 8 });
  expect(names(outdated.items)).toEqual(['b', 'c']);
  const named = await run('upgrade', 'b', '--yes');
  expect(named).toMatchObject({ ok: true, failed: [], status: 0 });
  expect(names(named.items)).toEqual(['b']);
  const upgraded = await run('upgrade', '--yes');
  expect(upgraded).toMatchObject({ ok: false, error, failed, status: 8 });
  expect(names(upgraded.items)).toEqual(['c']);
  const synced = await run('sync');
  expect(synced).toMatchObject({ ok: false, error, failed, status: 8 });
  expect(synced.sources).toHaveLength(2);
  const shown = await workspace.run('upgrade', '--yes');
  expect(shown.status).toBe(8);
  expect(shown.stderr).toMatch(/failed {3}\S*gone: could not reach/);
  expect(await workspace.fail('upgrade', 'a', '--yes')).toMatchObject({ ...error, status: 8 });
});

describe('outdated', () => {
  spec('INS-66', 'lists what an upgrade would change, and changes nothing', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json(
      'add',
      workspace.repository('repo', { ...WORKED, 'skills/old/SKILL.md': skill('old') }),
      '--yes',
    );
    expect((await workspace.json('outdated')).items).toEqual([]);
    const before = workspace.snapshot();
    writeFiles(join(workspace.dir, '../sources/repo'), { 'skills/scan/resources/notes.md': 'new\n' });
    workspace.git('repo', 'rm', '--quiet', '-r', 'skills/old');
    workspace.git('repo', 'commit', '--quiet', '--all', '--message', 'New');
    const latest = workspace.git('repo', 'rev-parse', 'HEAD').trim();
    const { items } = await workspace.json('outdated');
    expect(
      items.map(({ effective, states, latest: at }: { effective: string; states: string[]; latest: string }) => [
        effective,
        states,
        at,
      ]),
    ).toEqual([
      ['old', ['gone upstream'], latest],
      ['scan', ['upstream changed'], latest],
    ]);
    expect(workspace.snapshot()).toEqual(before);
    expect((await workspace.run('outdated')).stdout).toMatch(
      /scan +skill +[0-9a-f]{12} +[0-9a-f]{12} +upstream changed/,
    );
    await workspace.json('upgrade', '--yes');
    expect((await workspace.json('outdated')).items.map(({ effective }: { effective: string }) => effective)).toEqual([
      'old',
    ]);
  });
});
