// Taking over a home of mind, and its commands for whole installations.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { json } from '../../support/cli.js';
import {
  createInstallWorkspace,
  type Files,
  type InstallWorkspace,
  WORKED,
  wrapGit,
  writeFiles,
} from '../../support/install.js';
import { finding, spec } from '../../support/spec.js';

const skill = (name: string, text = 'Text.'): string =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${text}\n`;

interface Installed {
  readonly kind: string;
  readonly name: string;
  readonly bare: string;
  readonly source: string;
  readonly link: string | null;
}

const within = (directory: string, files: Files): Files =>
  Object.fromEntries(
    Object.entries(files).flatMap(([path, text]) =>
      path.startsWith(directory) ? [[path.slice(directory.length), text]] : [],
    ),
  );

/** What mind has in its store, with tokens expanded. */
const STORED: Readonly<Record<string, Files>> = {
  'jk:detect': within('tools/detect/', WORKED),
  'jk:scan': {
    ...within('skills/scan/', WORKED),
    'SKILL.md': String(WORKED['skills/scan/SKILL.md'])
      .replace('{{tools:detect}}', '~/.mind/store/tool/jk:detect/detect.sh')
      .replace('{{path:tool:detect}}', '~/.mind/store/tool/jk:detect')
      .replace('{{self}}', '~/.mind/store/skill/jk:scan'),
  },
  dev: { 'dev.md': '---\nname: dev\n---\nDev.' },
};

/** Writes a home as mind leaves it: a clone, a linked directory, copies in its store, links and state files. */
function createMindHome(workspace: InstallWorkspace): string {
  const home = join(workspace.home, '.mind');
  const url = workspace.repository('tooling', WORKED);
  const clone = join(home, 'sources/github.com/acme/tooling');
  mkdirSync(dirname(clone), { recursive: true });
  execFileSync('git', ['clone', '-q', url, clone], { stdio: 'ignore' });
  const commit = workspace.git('tooling', 'rev-parse', 'HEAD').trim();
  // The repository went on; mind did not.
  workspace.source('tooling', { 'skills/scan/SKILL.md': skill('scan', 'Newer.') });
  workspace.git('tooling', 'commit', '-qam', 'newer');
  const local = workspace.source('local', { 'agents/dev.md': '---\nname: dev\n---\nDev.', 'rules/tone.md': 'Tone.' });
  const source = (name: string, more: object) => {
    const [host, owner, repo] = name.split('/');
    return { name, host, owner, repo, commit: null, alias: null, pin: { kind: 'default-branch' }, ...more };
  };
  const sources = [
    source('github.com/acme/tooling', { url: 'https://github.com/acme/tooling', commit, alias: 'jk' }),
    source('local/sources/local', { url: local }),
    source('github.com/acme/gone', { url: 'https://127.0.0.1:1/acme/gone', commit }),
  ];
  const items: Installed[] = [
    { kind: 'tool', name: 'jk:detect', bare: 'detect', source: 'github.com/acme/tooling', link: null },
    { kind: 'skill', name: 'jk:scan', bare: 'scan', source: 'github.com/acme/tooling', link: 'skills/jk:scan' },
    { kind: 'agent', name: 'dev', bare: 'dev', source: 'local/sources/local', link: 'agents/dev.md' },
    { kind: 'rule', name: 'old', bare: 'old', source: 'local/sources/local', link: 'rules/old.md' },
    { kind: 'skill', name: 'lost', bare: 'lost', source: 'github.com/acme/gone', link: 'skills/lost' },
  ];
  const lobes = [join(workspace.home, '.claude'), join(workspace.home, '.gemini/config')];
  const records = items.map(({ kind, name, bare, source: from, link }) => {
    const store = `store/${kind}/${name}`;
    writeFiles(join(home, store), STORED[name] ?? { 'x.md': `copy of ${name}` });
    const links = link === null ? [] : lobes.map((lobe) => join(lobe, link));
    for (const path of links) {
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(join(home, store), path);
    }
    return [`${kind}:${name}`, { kind, name, bare_name: bare, source: from, commit, hash: '0', store, links }];
  });
  writeFileSync(join(home, 'sources.json'), JSON.stringify({ version: 1, sources }));
  writeFileSync(join(home, 'manifest.json'), JSON.stringify({ version: 1, items: Object.fromEntries(records) }));
  writeFileSync(join(home, 'config.toml'), 'lobes = ["~/.claude", { path = "~/.gemini/config", kinds = ["skill"] }]\n');
  return home;
}

const filesIn = (directory: string): string[] => readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort();

describe('import mind', () => {
  finding.thorough('000-83 INS-44', 'takes over sources, items and links, and changes nothing of mind', async () => {
    const workspace = createInstallWorkspace();
    const home = createMindHome(workspace);
    const before = filesIn(home);
    expect((await workspace.json('import', 'mind', '--dry-run')).items).toHaveLength(3);
    expect((await workspace.fail('import', 'mind')).code).toBe('needs_approval');
    const { sources, items, left, homes } = await workspace.json('import', 'mind', '--yes');
    expect(sources).toEqual(['acme/tooling', 'local']);
    expect(
      items.map(({ kind, effective }: { kind: string; effective: string }) => `${kind}:${effective}`).sort(),
    ).toEqual(['agent:dev', 'skill:jk:scan', 'tool:jk:detect']);
    expect(homes).toEqual(['~/.claude', '~/.gemini/config']);
    expect(left.map(({ what }: { what: string }) => what)).toEqual([
      'source github.com/acme/gone',
      'rule old',
      'skill lost',
      ...['rules/old.md', 'skills/lost'].flatMap((link) =>
        ['.claude', '.gemini/config'].map((lobe) => `link ${join(workspace.home, lobe, link)}`),
      ),
    ]);
    // The commit that mind had, not the newer one; references lead to the new store.
    expect(workspace.stored('skill/jk:scan/SKILL.md')).toContain('`~/.wield/store/tool/jk:detect/detect.sh .`');
    for (const lobe of ['.claude', '.gemini/config']) {
      const at = (link: string): string => readlinkSync(join(workspace.home, lobe, link));
      expect(at('skills/jk-scan')).toBe(join(workspace.wieldHome, 'store/skill/jk:scan'));
      expect(at('agents/dev.md')).toBe(join(workspace.wieldHome, 'store/agent/dev/dev.md'));
      expect(at('skills/lost')).toBe(join(home, 'store/skill/lost'));
      expect(readdirSync(join(workspace.home, lobe, 'skills')).sort()).toEqual(['jk-scan', 'lost']);
    }
    expect(filesIn(home)).toEqual(before);
    expect((await workspace.json('import', 'mind', '--yes')).items).toEqual([]);
    const states = (await workspace.json('recall')).items.map((item: { states: string[] }) => item.states);
    expect(states).toEqual([['clean'], ['clean'], ['clean']]);
    const [record] = JSON.parse(readFileSync(join(workspace.wieldHome, 'sources.json'), 'utf8')).sources;
    expect(record).toMatchObject({ location: 'https://github.com/acme/tooling', prefix: 'jk', pin: null });
  });

  spec(
    'POL-42',
    'a clone is not taken for the address that it is recorded with, if only some are allowed',
    async () => {
      const workspace = createInstallWorkspace();
      createMindHome(workspace);
      workspace.config('[sources]\nallow = ["github.com/acme/*"]\n');
      const env = wrapGit(workspace, 'case "$*" in *https:*) echo "fatal: no network" >&2; exit 128;; esac');
      const { sources, left } = json(await workspace.runWith({ env }, 'import', 'mind', '--yes', '--json'));
      expect(sources).toEqual([]);
      expect(left.map(({ what }: { what: string }) => what)).toContain('source github.com/acme/tooling');
    },
  );

  finding('000-83 INS-44', 'a failure restores the links, and a missing or broken home is an error', async () => {
    const workspace = createInstallWorkspace();
    expect((await workspace.fail('import', 'mind', '--yes')).code).toBe('not_found');
    const home = createMindHome(workspace);
    // The path of a link in wield's own store is occupied by a file.
    mkdirSync(join(workspace.wieldHome, 'store'), { recursive: true });
    writeFileSync(join(workspace.wieldHome, 'store/skill'), 'in the way');
    expect((await workspace.fail('import', 'mind', '--yes')).code).toBe('io');
    expect(readlinkSync(join(workspace.home, '.claude/skills/jk:scan'))).toBe(join(home, 'store/skill/jk:scan'));
    writeFileSync(join(home, 'manifest.json'), '[]');
    expect((await workspace.fail('import', 'mind', '--yes')).message).toContain('is not a state file of mind');
  });
});

interface Report {
  readonly items: readonly { readonly kind: string; readonly effective: string; readonly links: readonly string[] }[];
  readonly left: readonly { readonly what: string; readonly why: string }[];
}

/** Writes a home of mind with one local source, whose items are installed as they are. */
function createLocalHome(workspace: InstallWorkspace, files: Files, more: object[] = []): string {
  const home = join(workspace.home, '.mind');
  const local = workspace.source('local', files);
  const source = (name: string, url: string, rest: object) => {
    const [host, owner, repo] = name.split('/');
    return { name, host, owner, repo, url, commit: null, alias: null, pin: { kind: 'default-branch' }, ...rest };
  };
  const items = Object.keys(files).flatMap((path) => {
    const [, kind, name] = /^(skill|rule|agent)s\/(\w+)/.exec(path) ?? [];
    if (kind === undefined) return [];
    const store = join(home, 'store', kind, name!);
    const isFile = kind !== 'skill';
    const own = isFile ? `${kind}s/${name}.md` : `skills/${name}/SKILL.md`;
    writeFiles(store, { [isFile ? `${name}.md` : 'SKILL.md']: files[own]! });
    const link = join(workspace.home, '.claude', `${kind}s`, isFile ? `${name}.md` : name!);
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(isFile ? join(store, `${name}.md`) : store, link);
    return [[`${kind}:${name}`, { kind, name, bare_name: name, source: 'local/sources/local', links: [link] }]];
  });
  const sources = [
    source('local/sources/local', local, {}),
    ...more.map((one) => source('local/sources/again', local, one)),
  ];
  writeFiles(home, {
    'sources.json': JSON.stringify({ version: 1, sources }),
    'manifest.json': JSON.stringify({ version: 1, items: Object.fromEntries(items) }),
    'config.toml': `lobes = ["~/.claude", "${workspace.home}/.claude", "~/.other"]\n`,
  });
  return home;
}

describe('one change', () => {
  spec('INS-84 INS-83', 'leaves files of the user and local changes, and the dry run says so', async () => {
    const workspace = createInstallWorkspace();
    writeFiles(workspace.home, { '.claude/skills/greet/SKILL.md': 'mine' });
    const home = createLocalHome(
      workspace,
      {
        'skills/greet/SKILL.md': skill('greet'),
        'skills/edited/SKILL.md': skill('edited'),
        'skills/uses/SKILL.md': skill('uses', 'See {{path:skill:edited}}.'),
        'skills/plain/SKILL.md': skill('plain'),
        'rules/tone.md': 'Tone.',
      },
      [{ alias: 'second' }],
    );
    writeFiles(home, { 'store/skill/edited/SKILL.md': 'edited' });
    const before = workspace.snapshot();
    const dry: Report = await workspace.json('import', 'mind', '--dry-run');
    expect(workspace.snapshot()).toEqual(before);
    expect(existsSync(join(workspace.wieldHome, 'sources.json'))).toBe(false);
    const { stderr } = await workspace.run('import', 'mind', '--dry-run');
    expect(stderr).toContain('~/.claude/skills/greet is in the way'.replace('~', workspace.home));
    expect(stderr).toContain('link     ~/.other/skills/plain');
    expect(stderr).toContain('add      local\n');
    const done: Report = await workspace.json('import', 'mind', '--yes');
    const names = ({ items }: Report): string[] => items.map(({ kind, effective }) => `${kind}:${effective}`).sort();
    expect(names(done)).toEqual(['rule:tone', 'skill:plain']);
    expect(names(dry)).toEqual(names(done));
    expect([dry.left, dry.items.map(({ links }) => links)]).toEqual([done.left, done.items.map(({ links }) => links)]);
    const reasons = Object.fromEntries(done.left.map(({ what, why }) => [what, why]));
    expect(reasons['source local/sources/again']).toContain('its repository is the source local, without a namespace');
    expect(reasons['skill greet']).toContain('is in the way');
    for (const name of ['edited', 'uses'])
      expect(reasons[`skill ${name}`]).toContain(`${join(home, 'store/skill/edited')} differs from its source`);
    expect(readFileSync(join(workspace.home, '.claude/skills/greet/SKILL.md'), 'utf8')).toBe('mine');
    expect(readFileSync(join(workspace.home, '.claude/skills/edited/SKILL.md'), 'utf8')).toBe('edited');
    expect(readdirSync(join(workspace.home, '.claude/skills')).sort()).toEqual(['edited', 'greet', 'plain', 'uses']);
    expect(readlinkSync(join(workspace.home, '.claude/rules/tone.md'))).toContain(workspace.wieldHome);
    // After the file was moved away, another import takes over the rest.
    rmSync(join(workspace.home, '.claude/skills/greet'), { recursive: true });
    expect(names(await workspace.json('import', 'mind', '--yes'))).toEqual(['skill:greet']);
  });

  spec('INS-84 INS-85 INS-86', 'takes over a plugin, with the link and the tokens of its agents', async () => {
    const workspace = createInstallWorkspace();
    const agent = '---\nname: dev\ndescription: Develops.\n---\n';
    const home = createLocalHome(workspace, {
      '.claude-plugin/plugin.json': '{"name":"p"}',
      'agents/dev.md': `${agent}As {{ns:dev}} in {{self}}, with \${CLAUDE_PLUGIN_ROOT}.`,
    });
    // What mind made of it, without a prefix.
    const stored = `${agent}As dev in ~/.mind/store/agent/dev, with \${CLAUDE_PLUGIN_ROOT}.`;
    writeFiles(home, { 'store/agent/dev/dev.md': stored });
    const { items, left }: Report = await workspace.json('import', 'mind', '--yes');
    expect([items.map(({ effective }) => effective), left]).toEqual([['p', 'p:dev'], []]);
    const links = join(workspace.home, '.claude/agents');
    expect(readdirSync(links)).toEqual(['dev.md']);
    expect(readFileSync(join(links, 'dev.md'), 'utf8')).toContain('As dev in ~/.wield/store/agent/p:dev, with ~');
  });

  spec('INS-84', 'a failure restores configuration, sources and links', async () => {
    const workspace = createInstallWorkspace();
    createLocalHome(workspace, {
      'mind.toml': '[[items]]\nkind = "rule"\nname = "tone"\npath = "rules/tone.md"\ninstall = "exit 3"\n',
      'rules/tone.md': 'Tone.',
    });
    workspace.config('# mine\n');
    const before = workspace.snapshot();
    expect((await workspace.fail('import', 'mind', '--yes', '--run-hooks')).message).toContain('failed with status 3');
    expect(workspace.snapshot()).toEqual(before);
    expect(existsSync(join(workspace.wieldHome, 'sources.json'))).toBe(false);
    workspace.source('local', { 'mind.toml': '' });
    expect((await workspace.json('import', 'mind', '--yes')).homes).toHaveLength(3);
    expect(readFileSync(join(workspace.wieldHome, 'config.toml'), 'utf8')).toMatch(/^# mine\n(?:.*\n)*homes = /);
  });
});

describe('commands for whole installations', () => {
  finding('000-20 INS-45', 'dump reproduces the sources and the installed items', async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('tooling', WORKED);
    await workspace.json('add', url, '-N', 'jk');
    await workspace.json('add', workspace.source('rules', { 'rules/a.md': 'A.', 'rules/b.md': 'B.' }));
    await workspace.json('install', 'jk:scan', 'rule:a', '--yes');
    const commit = workspace.git('tooling', 'rev-parse', 'HEAD').trim();
    const { stdout } = await workspace.run('dump');
    expect(stdout).toContain(`source = "${url}"\nnamespace = "jk"\npin-ref = "${commit}"\ninstall = true\n`);
    expect(stdout).toContain('install-items = ["rule:a"]\n');
    const copy = workspace.source('copy', {});
    await workspace.run('dump', '--output', join(copy, 'wield.toml'), '--whole-sources');
    expect(readFileSync(join(copy, 'wield.toml'), 'utf8')).not.toContain('install-items');
    expect((await workspace.run('check', copy)).status).toBe(0);
  });

  finding('000-20 INS-45', 'absorb moves an item of an agent home into a source', async () => {
    const workspace = createInstallWorkspace();
    const target = workspace.source('mine', {});
    const notes = join(workspace.home, '.claude/skills/notes');
    writeFiles(workspace.home, {
      '.claude/skills/notes/SKILL.md': skill('notes', 'Mine.'),
      '.claude/skills/notes/run.sh!': '#!/bin/sh\n',
      '.claude/rules/tone.md': 'Tone.',
    });
    expect((await workspace.fail('absorb', 'nope', '--to', target, '--yes')).hint).toContain('skill:notes, rule:tone');
    expect((await workspace.fail('absorb', 'notes', '--to', target)).code).toBe('needs_approval');
    await workspace.json('absorb', 'skill:notes', '--to', target, '--yes');
    expect(readFileSync(join(target, 'skills/notes/SKILL.md'), 'utf8')).toContain('Mine.');
    expect(readlinkSync(notes)).toBe(join(workspace.wieldHome, 'store/skill/notes'));
    expect(readdirSync(join(workspace.home, '.claude/skills'))).toEqual(['notes']);
    await workspace.json('absorb', 'tone', '--to', target, '--yes');
    expect(readFileSync(join(workspace.home, '.claude/rules/tone.md'), 'utf8')).toBe('Tone.');
    expect((await workspace.json('recall')).items).toHaveLength(2);
  });

  finding('000-20 INS-45', 'hooks are listed and run again after approval', async () => {
    const workspace = createInstallWorkspace();
    const log = join(workspace.dir, 'log');
    const source = workspace.source('hooked', {
      'mind.toml': `[[hooks]]\nrun = "echo source >> ${log}"\n[[hooks]]\nevent = "uninstall"\nrun = "true"\n[[items]]\nkind = "rule"\nname = "r"\npath = "r.md"\ninstall = "echo item >> ${log}"\n`,
      'r.md': 'R.',
    });
    await workspace.json('add', source, '--register-only');
    const states = async () =>
      (await workspace.json('hooks', 'list')).hooks.map(({ event, state }: Record<string, unknown>) => [event, state]);
    const uninstall = [['uninstall', null]];
    expect(await states()).toEqual([['install', 'skipped'], ...uninstall, ['install', 'not installed']]);
    await workspace.json('install', 'rule:r', '--yes');
    expect(await states()).toEqual([['install', 'skipped'], ...uninstall, ['install', 'skipped']]);
    await workspace.json('uninstall', 'rule:r', '--yes');
    await workspace.json('remove', '--source', 'hooked', '--yes');
    await workspace.json('add', source, '--yes', '--run-hooks');
    expect(await states()).toEqual([['install', 'ran'], ...uninstall, ['install', 'ran']]);
    await workspace.run('hooks', 'run', 'hooked', '--force');
    await workspace.run('hooks', 'run', 'hooked#r', '--dangerously-skip-install-hook-check');
    expect(readFileSync(log, 'utf8')).toBe('source\nitem\nsource\nitem\n');
    writeFileSync(join(source, 'r.md'), 'Changed.');
    expect((await workspace.run('hooks', 'run', 'hooked')).status).toBe(5);
    await workspace.json('hooks', 'run', 'hooked', '--yes');
    expect(readFileSync(log, 'utf8')).toBe('source\nitem\nsource\nitem\nsource\n');
    expect((await workspace.fail('hooks', 'jump')).code).toBe('usage');
  });

  finding(
    '000-20 INS-45',
    'lobes are added and removed with their links, and init-source writes a manifest',
    async () => {
      const workspace = createInstallWorkspace();
      await workspace.json('add', workspace.source('starter', { 'skills/greet/SKILL.md': skill('greet') }), '--yes');
      const link = (home: string): boolean => existsSync(join(workspace.home, home, 'skills/greet/SKILL.md'));
      workspace.config('# mine\n[limits]\ntimeout = "1m"\n');
      await workspace.json('config', 'lobes', 'add', '--preset', 'codex', '--yes');
      expect([link('.claude'), link('.agents')]).toEqual([true, true]);
      await workspace.json('link-project', '--yes');
      expect(existsSync(join(workspace.dir, '.windsurf/skills/greet/SKILL.md'))).toBe(true);
      await workspace.json('config', 'homes', 'remove', '--yes', '~/.agents');
      expect([link('.claude'), link('.agents')]).toEqual([true, false]);
      expect((await workspace.json('config', 'lobes', 'list')).homes).toHaveLength(2);
      expect(readFileSync(join(workspace.wieldHome, 'config.toml'), 'utf8')).toContain('# mine\n[limits]');
      expect((await workspace.fail('config', 'homes', 'remove', '--yes', '/nowhere')).code).toBe('usage');
      const source = workspace.source('new', { 'skills/x/SKILL.md': skill('x') });
      expect((await workspace.json('init-source', source)).items).toBe(1);
      expect((await workspace.json('init-source', source)).created).toEqual([]);
      expect((await workspace.run('check', source)).status).toBe(0);
    },
  );
});
