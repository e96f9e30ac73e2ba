// Manifests of mind in full, the names it gives, and sources with irregular files.

import { existsSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createInstallWorkspace, type Files, type InstallWorkspace, WORKED } from '../../support/install.js';
import { finding } from '../../support/spec.js';

const skill = (name: string, text = 'Text.'): string =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n${text}\n`;

const names = (items: readonly { kind: string; effective: string }[]): string[] =>
  items.map(({ kind, effective }) => `${kind}:${effective}`).sort();
const installed = async (workspace: InstallWorkspace): Promise<string[]> =>
  names((await workspace.json('list', '--installed')).items);

const NAMESPACING: Files = {
  'mind.toml': '[source]\ndescription = "References."\n',
  'agents/dev.md': '---\nname: dev\ndescription: Implements.\n---\nText.\n',
  'agents/lead.md': '---\nname: lead\n---\nthe {{ns:dev}} agent, the {{ns:review}} skill, the {{ns:style}} rule\n',
  'rules/style.md': '---\nname: style\n---\nASCII only.\n',
  'skills/review/SKILL.md': skill('review', 'Follow {{ns:style}}.'),
};
const STARTER: Files = { 'skills/greet/SKILL.md': skill('greet'), 'rules/tone.md': 'Tone.' };
const EXPLICIT: Files = {
  'mind.toml': `[[items]]
kind = "rule"
name = "style"
path = "guidelines/style.md"
link = "rules/house-style.md"
[[items]]
kind = "skill"
name = "scan2"
path = "components/scan"
install = "echo one >> log"
[[items.hooks]]
run = "echo two >> log"
name = "second"
optional = true
[[items.hooks]]
run = "echo gone"
event = "uninstall"
`,
  'guidelines/style.md': 'House style.',
  'guidelines/internal.md': 'Internal.',
  'components/scan/SKILL.md': skill('scan2'),
  'skills/unlisted/SKILL.md': skill('unlisted'),
};
const SUPER = `[source]
description = "A curated source."
prefix = "team"
flat-skills = false
[[discover.sources]]
source = "../explicit"
[[discover.sources]]
source = "../namespacing"
namespace = "rev"
install = true
[[discover.sources]]
source = "../tooling"
install-items = ["skill:scan"]
[[discover.sources]]
source = "../starter"
follow-branch = "main"
roots = ["packages/agents"]
[[discover.sources.hooks]]
run = "make build"
name = "build adopted tooling"
event = "install"
`;

function createSuperSource(workspace: InstallWorkspace): string {
  workspace.source('explicit', EXPLICIT);
  workspace.source('namespacing', NAMESPACING);
  workspace.source('tooling', WORKED);
  workspace.source('starter', STARTER);
  return workspace.source('super', { 'mind.toml': SUPER, 'skills/onboard/SKILL.md': skill('onboard') });
}

describe('a super-source of mind', () => {
  finding('000-23 INS-3 INS-43', 'is added, installed as it says, upgraded and removed', async () => {
    const workspace = createInstallWorkspace();
    const source = createSuperSource(workspace);
    const added = await workspace.json('meld', source, '--yes');
    expect(added.nested.map(({ id }: { id: string }) => id)).toEqual(['explicit', 'namespacing', 'tooling', 'starter']);
    expect(await installed(workspace)).toEqual([
      'agent:rev:dev',
      'agent:rev:lead',
      'rule:rev:style',
      'skill:rev:review',
      'skill:scan',
      'skill:team:onboard',
      'tool:detect',
    ]);
    expect(workspace.stored('agent/rev:lead/lead.md')).toContain(
      'the dev agent, the rev:review skill, the rev:style rule',
    );
    expect(workspace.stored('skill/scan/SKILL.md')).toContain('`~/.wield/store/tool/detect/detect.sh .`');
    expect(added.nested.at(-1)).toMatchObject({
      hooks: 'skipped',
      items: [],
      warnings: [expect.objectContaining({ kind: 'missing-root' })],
      skipped: [{ what: 'skill', reason: 'outside of the roots', paths: ['skills/greet'] }],
    });
    workspace.source('tooling', { 'skills/scan/resources/notes.md': '# Changed\n' });
    expect(names((await workspace.json('upgrade', '--yes')).items)).toEqual(['skill:scan']);
    // Everything that is nested, with --recursive.
    await workspace.json('meld', source, '--yes', '-r');
    expect(await installed(workspace)).toEqual(expect.arrayContaining(['rule:style', 'skill:scan2']));
    await workspace.json('unmeld', 'super', '--yes');
    expect(await installed(workspace)).toEqual([]);
    expect((await workspace.json('list', '--available')).items).toEqual([]);
  });

  finding('INS-43 000-23', 'a hook of a nested source that fails leaves no source behind', async () => {
    const workspace = createInstallWorkspace();
    workspace.source('fine', { 'rules/b.md': 'B.' });
    workspace.source('starter', STARTER);
    const outer = workspace.source('outer', {
      'rules/a.md': 'A.',
      'mind.toml':
        '[[discover.sources]]\nsource = "../fine"\n[[discover.sources]]\nsource = "../starter"\n[[discover.sources.hooks]]\nrun = "exit 3"\n',
    });
    await workspace.json('add', outer);
    const { sources } = await workspace.json('list', '--sources');
    expect(sources).toMatchObject([
      { id: 'outer', parent: null, offers: 1, hooks: 'none' },
      { id: 'fine', parent: 'outer' },
      { id: 'starter', parent: 'outer', offers: 2, hooks: 'skipped' },
    ]);
    expect((await workspace.run('recall', '--sources')).stdout).toMatch(/^ {2}starter .*hooks not run, from outer$/m);
    await workspace.json('unmeld', 'outer', '--yes');
    const error = await workspace.fail('add', outer, '--run-hooks');
    expect([error.code, error.hint]).toEqual(['tool_failed', expect.stringContaining('nothing was changed')]);
    expect((await workspace.json('recall', '--sources')).sources).toEqual([]);
  });

  finding('INS-43 000-23', 'skips nested sources that cannot be fetched, unless nothing is left', async () => {
    const workspace = createInstallWorkspace();
    const gone = '[[discover.sources]]\nsource = "https://127.0.0.1:1/x/y"\nflat-skills = true\n';
    const run = await workspace.run('add', workspace.source('curator', { 'mind.toml': gone, ...STARTER }), '--json');
    expect(run.status).toBe(0);
    expect(JSON.parse(run.stdout).skipped).toMatchObject([
      { source: 'https://127.0.0.1:1/x/y', reason: 'fetch_failure' },
    ]);
    expect(run.stderr).toContain('skipped the nested source x/y');
    const missing = '[[discover.sources]]\nsource = "../nowhere"\n';
    const local = await workspace.run('add', workspace.source('local', { 'mind.toml': missing, 'rules/a.md': 'A.' }));
    expect([local.status, local.stderr]).toEqual([
      0,
      expect.stringContaining('skipped a nested source: "../nowhere" is not a directory'),
    ]);
    await workspace.json('unmeld', 'local', '--yes');
    const error = await workspace.fail('add', workspace.source('empty', { 'mind.toml': gone }));
    expect(error.message).toContain('nothing was added');
    expect((await workspace.json('list', '--available')).items).toHaveLength(2);
    for (const [text, message] of [
      ['install = true\ninstall-items = ["skill:a"]', 'install = true already installs everything'],
      ['on-auth-failure = { action = "maybe" }', 'action must be "skip" or "error"'],
      ['roots = ["../x"]', 'is outside the source'],
      ['pin-tag = "a"\nfollow-branch = "b"', 'more than one pin'],
      ['flat-skills = "yes"', 'flat-skills must be true or false'],
      ['instal = true', 'unknown key "instal"'],
    ] as const) {
      const bad = workspace.source('bad', { 'mind.toml': `[[discover.sources]]\nsource = "a/b"\n${text}\n` });
      expect([text, (await workspace.fail('add', bad)).message]).toEqual([text, expect.stringContaining(message)]);
    }
  });

  finding('INS-43 000-23', 'sync registers sources that were listed since', async () => {
    const workspace = createInstallWorkspace();
    workspace.source('starter', STARTER);
    const source = workspace.source('curator', { 'mind.toml': '[source]\n', 'rules/own.md': 'Own.' });
    await workspace.json('add', source, '--yes');
    workspace.source('curator', { 'mind.toml': '[[discover.sources]]\nsource = "../starter"\ninstall = true\n' });
    expect((await workspace.json('sync')).added).toEqual(['starter']);
    expect(await installed(workspace)).toEqual(['rule:own']);
  });

  finding('000-57 INS-3', 'several hooks of an item run in order, as one command', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('explicit', EXPLICIT), '--yes', '--run-hooks');
    expect(workspace.stored('skill/scan2/log')).toBe('one\ntwo\n');
    expect(existsSync(join(workspace.home, '.claude/rules/house-style.md'))).toBe(true);
    expect((await workspace.json('forget', 'scan2', '--run-hooks', '--yes')).hooks).toMatchObject([
      { run: 'echo gone', event: 'uninstall' },
    ]);
  });
});

describe('names', () => {
  finding('000-24 INS-34', 'an agent is linked by its own name', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('agents', {
      'agents/dev.md': '---\nname: realname-a\n---\nText.',
      'agents/odd.md': '---\nname: ../odd\n---\nText.',
      'skills/use/SKILL.md': skill('use', 'Ask {{ns:dev}}.'),
    });
    await workspace.json('add', source, '-N', 'jk', '--yes');
    const link = join(workspace.home, '.claude/agents/realname-a.md');
    expect(readlinkSync(link)).toBe(join(workspace.wieldHome, 'store/agent/jk:dev/dev.md'));
    expect(existsSync(join(workspace.home, '.claude/agents/odd.md'))).toBe(true);
    expect(workspace.stored('skill/jk:use/SKILL.md')).toContain('Ask realname-a.');
    const reserved = workspace.source('reserved', { 'agents/x.md': '---\nname: CLAUDE\n---\n' });
    await workspace.json('add', reserved);
    expect((await workspace.fail('install', '--yes', 'x')).message).toContain('the name is reserved');
  });

  finding('000-50 INS-36', 'a glob that ends in a fixed name names each match by its parent', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('globs', {
      'wield.toml':
        '[discover]\ntools = { include = ["packages/*/tool", "other/single"], exclude = ["packages/old/*"] }\nskills = ["packages/*/skill/SKILL.md", "flat/*/SKILL.md"]\nagents = ["packages/*/agent.md"]\n',
      'packages/a/tool/x': '',
      'packages/b/tool/x': '',
      'packages/old/tool/x': '',
      'packages/a/skill/SKILL.md': skill('skill'),
      'packages/a/agent.md': 'Agent.',
      'flat/one/SKILL.md': skill('one'),
      'other/single/x': '',
      'skills/unlisted/SKILL.md': skill('unlisted'),
    });
    const { source: added } = await workspace.json('add', source);
    expect(names(added.items)).toEqual(['agent:agent', 'skill:a', 'skill:one', 'tool:a', 'tool:b', 'tool:single']);
    expect(added.skipped).toEqual([{ what: 'skill', reason: 'not listed in wield.toml', paths: ['skills/unlisted'] }]);
  });
});

describe('irregular sources', () => {
  finding('D1 INS-41', 'finds any SKILL.md, and counts what it does not offer', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('wild', {
      'one/SKILL.md': skill('one'),
      'deep/er/two/SKILL.md': skill('two'),
      '.claude/skills/three/SKILL.md': skill('three'),
      'skills/four/SKILL.md': skill('four'),
      'skills/four/examples/five/SKILL.md': skill('five'),
      'copy/of/four/SKILL.md': skill('four'),
      'node_modules/x/SKILL.md': skill('x'),
    });
    const { source: added } = await workspace.json('add', source, '--yes');
    expect(names(added.items)).toEqual(['skill:four', 'skill:one', 'skill:three', 'skill:two']);
    expect(added.items.find(({ name }: { name: string }) => name === 'four').path).toBe('skills/four');
    expect(added.skipped).toEqual([
      { what: 'skill', reason: 'part of another item', paths: ['skills/four/examples/five'] },
      { what: 'skill', reason: 'another skill has the same name', paths: ['copy/of/four'] },
    ]);
    const { stdout } = await workspace.run('add', source, '--register-only');
    expect(stdout).toContain('skipped  1 skill: part of another item  (skills/four/examples/five)');
    expect(await installed(workspace)).toHaveLength(4);
    const report = await workspace.json('check', source);
    expect([report.checked, report.skipped.length]).toEqual([4, 2]);
    // The repository is a skill itself.
    const url = workspace.repository('whole', { 'SKILL.md': skill('whole-skill'), 'scripts/x.sh!': '#!/bin/sh\n' });
    expect(names((await workspace.json('add', url, '--yes')).source.items)).toEqual(['skill:whole-skill']);
    expect(workspace.stored('skill/whole-skill/scripts/x.sh')).toBe('#!/bin/sh\n');
    expect((await workspace.json('upgrade', '--yes')).items).toEqual([]);
  });

  finding(
    'D5 INS-24 INS-42',
    'copies a link inside an item as its file, and installs the others without a bad one',
    async () => {
      const workspace = createInstallWorkspace();
      const source = workspace.source('links', {
        'skills/good/SKILL.md': skill('good'),
        'skills/inner/SKILL.md': skill('inner'),
        'skills/inner/docs/a.md': 'A {{self}}\n',
        'skills/inner/run.sh!': '#!/bin/sh\n',
        'skills/outer/SKILL.md': skill('outer'),
        'skills/loop/SKILL.md': skill('loop'),
      });
      symlinkSync('docs/a.md', join(source, 'skills/inner/b.md'));
      symlinkSync('run.sh', join(source, 'skills/inner/go'));
      symlinkSync('docs', join(source, 'skills/inner/more'));
      writeFileSync(join(source, '../shared.md'), 'Shared.');
      symlinkSync('../../../shared.md', join(source, 'skills/outer/shared.md'));
      symlinkSync('..', join(source, 'skills/loop/up'));
      mkdirSync(join(source, 'skills/dangling'));
      symlinkSync('/nowhere', join(source, 'skills/dangling/SKILL.md'));
      const report = await workspace.run('check', source, '--json');
      const findings: { level: string; path: string; message: string }[] = JSON.parse(report.stdout).findings;
      expect(report.status).toBe(1);
      expect(findings.filter(({ level }) => level === 'error').map(({ path }) => path)).toEqual([
        'skills/loop',
        'skills/outer',
      ]);
      expect(findings.filter(({ path }) => path.includes('dangling')).map(({ message }) => message)).toEqual([
        'is a link that leads to nothing',
        'skipped: its SKILL.md is a link that leads to nothing',
      ]);
      await workspace.json('add', source);
      const run = await workspace.run('install', '--yes', '--all', '--json');
      const { ok, error, items, refused } = JSON.parse(run.stdout);
      expect([ok, error]).toEqual([false, refused[0].error]);
      expect([run.status, names(items), names(refused)]).toEqual([
        2,
        ['skill:good', 'skill:inner'],
        ['skill:loop', 'skill:outer'],
      ]);
      expect((await workspace.run('add', source, '--yes')).status).toBe(2);
      const at = (path: string): string => join(workspace.wieldHome, 'store/skill/inner', path);
      expect(readFileSync(at('b.md'), 'utf8')).toBe('A ~/.wield/store/skill/inner\n');
      expect(readFileSync(at('more/a.md'), 'utf8')).toBe('A ~/.wield/store/skill/inner\n');
      expect(readFileSync(at('go'), 'utf8')).toBe('#!/bin/sh\n');
      expect((await workspace.run('install', '--yes', 'outer')).status).not.toBe(0);
      expect((await workspace.run('verify')).status).toBe(0);
      expect(
        (await workspace.json('list', '--installed')).items.map(({ states }: { states: string[] }) => states),
      ).toEqual([['clean'], ['clean']]);
    },
  );

  finding('D10', 'a dangling SKILL.md is said to be one', async () => {
    const workspace = createInstallWorkspace();
    mkdirSync(join(workspace.dir, '.agents/skills/gone'), { recursive: true });
    symlinkSync('/nowhere', join(workspace.dir, '.agents/skills/gone/SKILL.md'));
    expect(await workspace.toolbox().catalog.problems()).toMatchObject([
      { message: 'is a link that leads to nothing' },
    ]);
  });
});

describe('check', () => {
  finding(
    '000-31 000-33 000-34 INS-33',
    'reviews any directory with skills, and finds copies of any size in any kind',
    async () => {
      const workspace = createInstallWorkspace();
      const source = workspace.source('copies', {
        'skills/a/SKILL.md': skill('a'),
        'skills/a/h.sh': 'x\n',
        'skills/a/again.sh': 'x\n',
        'skills/a/empty': '',
        'skills/b/SKILL.md': skill('b'),
        'skills/b/h.sh': 'x\n',
        'skills/b/empty': '',
      });
      const duplicates = async (): Promise<string[]> =>
        (await workspace.json('review', source)).findings.map(({ message }: { message: string }) => message);
      expect(await duplicates()).toEqual(['duplicate-tooling: identical to skills/b/h.sh']);
      const tools = workspace.source('tools', { 'tools/p/h.sh': 'y\n', 'tools/q/h.sh': 'y\n' });
      expect((await workspace.run('review', tools)).stdout).toContain('duplicate-tooling: identical to tools/q/h.sh');
    },
  );

  finding('000-91 D5 INS-33', 'is not stricter than install', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('loose', {
      'mind.toml': '[source]\ndescription = "X"\nmin-mind-version = "0.7"\n',
      'skills/scan/SKILL.md': '---\ndescription: Scan.\n---\nText.',
      'skills/bare/SKILL.md': 'No frontmatter.',
    });
    const run = await workspace.run('review', source);
    expect([run.status, run.stdout]).toEqual([
      0,
      expect.stringContaining('has no name, so it has that of its directory: scan'),
    ]);
    expect(await workspace.json('add', source, '--yes')).toMatchObject({ refused: [] });
  });
});
