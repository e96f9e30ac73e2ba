// The commands, references and variables of mind, and repairs.

import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { ALIASES } from '../../../src/cli/aliases.js';
import { createInstallWorkspace, type InstallWorkspace, WORKED } from '../../support/install.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { finding, findingIf } from '../../support/spec.js';

const skill = (name: string): string => `---\nname: ${name}\ndescription: About ${name}.\n---\nText.\n`;
const STARTER = { 'skills/greet/SKILL.md': skill('greet'), 'agents/scribe.md': 'Agent.', 'rules/tone.md': 'Rule.' };

const installed = async (workspace: InstallWorkspace): Promise<string[]> =>
  (await workspace.json('list', '--installed')).items.map(
    ({ kind, effective }: { kind: string; effective: string }) => `${kind}:${effective}`,
  );

describe('words', () => {
  finding('000-20 000-39', 'the words and flags of mind are those of wield, and are not in its help', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('starter', STARTER);
    await workspace.json('meld', source, '-N', 'jk', '-y');
    expect(await installed(workspace)).toEqual(['skill:jk:greet', 'agent:jk:scribe', 'rule:jk:tone']);
    await workspace.json('meld', source, '--as', 'ada', '--link-only');
    expect((await workspace.json('evolve', '--no-sync', '--yes')).items).toHaveLength(3);
    for (const words of [['status'], ['recall'], ['introspect'], ['update'], ['probe', 'greet']])
      expect([words, (await workspace.run(...words)).status]).toEqual([words, 0]);
    expect((await workspace.json('probe', 'greet')).installed).toMatchObject([
      { effective: 'ada:greet', kind: 'skill' },
    ]);
    expect((await workspace.json('unlearn', '--yes', 'ada:greet')).removed).toHaveLength(1);
    await workspace.json('rm', 'starter', '--yes');
    expect(await installed(workspace)).toEqual([]);
    const help = (await workspace.run('--help')).stdout;
    for (const { word, command } of ALIASES)
      if (word !== command) expect(help).not.toMatch(new RegExp(`^  ${word} `, 'm'));
  });

  finding('000-20', 'a tool comes before an ordinary word of another system', async () => {
    const workspace = createInstallWorkspace();
    expect((await workspace.run('status')).stdout).toContain('Nothing installed');
    workspace.script('status', '#!/bin/sh\n# @description Show the status.\necho of the site\n');
    expect((await workspace.run('status')).stdout).toBe('of the site\n');
  });

  finding('000-17', 'recall shows one item in full', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('tooling', WORKED), '--yes');
    const { stdout } = await workspace.run('recall', 'scan');
    for (const part of [
      'skill scan',
      'Scan a project.',
      'clean',
      'tooling',
      '/store/skill/scan',
      '/.claude/skills/scan',
    ])
      expect(stdout).toContain(part);
    expect(stdout).toMatch(/^ {2}needs {4}tool:detect$/m);
    expect((await workspace.json('recall', 'tool:detect')).items).toMatchObject([
      { effective: 'detect', bin: 'detect.sh' },
    ]);
    expect((await workspace.fail('recall', 'nope')).code).toBe('not_found');
  });

  finding('000-38', 'probe without words lists everything', async () => {
    const workspace = createInstallWorkspace();
    workspace.script('own', '#!/bin/sh\n# @description Own.\n');
    await workspace.json('add', workspace.source('tooling', WORKED), '--yes');
    await workspace.json('add', workspace.source('starter', STARTER));
    const { results, installed: found, offers } = await workspace.json('probe');
    expect(results.map(({ name }: { name: string }) => name)).toEqual(expect.arrayContaining(['own', 'detect']));
    expect(found.map(({ effective }: { effective: string }) => effective)).toEqual(['scan']);
    expect(offers.map(({ effective }: { effective: string }) => effective)).toEqual(['greet', 'scribe', 'tone']);
    const { stdout } = await workspace.run('probe');
    for (const part of ['own', 'INSTALLED', 'scan', 'TO INSTALL', 'tone']) expect(stdout).toContain(part);
  });
});

describe('references', () => {
  finding('000-14', 'globs, kinds and sources select items', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('starter', STARTER));
    await workspace.json('add', workspace.source('other', { 'skills/greet/SKILL.md': skill('greet') }), '-N', 'o');
    expect((await workspace.json('learn', '--yes', 'starter#greet')).items).toHaveLength(1);
    expect((await workspace.json('learn', '--yes', 'skill:*')).items).toMatchObject([{ effective: 'o:greet' }]);
    expect((await workspace.json('learn', '--yes', '*')).items).toHaveLength(2);
    expect(await installed(workspace)).toHaveLength(4);
    expect((await workspace.fail('learn', '--yes', 'tool:*')).code).toBe('not_found');
    expect((await workspace.fail('learn', '--yes', 'nothing#*')).code).toBe('not_found');
    expect((await workspace.run('forget', '--yes', 'rule:tone')).status).toBe(0);
    expect((await workspace.fail('forget', '*')).code).toBe('needs_approval');
    expect((await workspace.json('forget', 'starter#*', '--yes')).removed).toHaveLength(2);
    expect(await installed(workspace)).toEqual(['skill:o:greet']);
  });

  finding('000-14', 'forget asks, and names what is lost', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('tooling', WORKED), '--yes');
    expect((await workspace.fail('forget', 'detect')).message).toContain('needed by skill scan');
    writeFileSync(join(workspace.wieldHome, 'store/skill/scan/SKILL.md'), 'mine');
    expect((await workspace.fail('forget', 'scan')).message).toContain('needs confirmation');
    expect(await installed(workspace)).toHaveLength(2);
  });

  finding('N19', 'a name that is not installed points to what is installed', async () => {
    const workspace = createInstallWorkspace();
    expect((await workspace.fail('uninstall', '--yes', 'nope')).hint).toBe(
      'wield list --installed shows what is installed',
    );
    await workspace.json('add', workspace.source('starter', STARTER));
    expect((await workspace.fail('install', '--yes', 'zzzz')).hint).toContain('wield list --available');
  });

  finding.thorough('000-20', 'meld takes this directory, HEAD and the beginning of a commit', async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', STARTER);
    const first = workspace.git('repo', 'rev-parse', 'HEAD').trim();
    workspace.source('repo', { 'rules/new.md': 'New.' });
    workspace.git('repo', 'add', '--all');
    workspace.git('repo', 'commit', '-qm', 'new');
    const head = workspace.git('repo', 'rev-parse', 'HEAD').trim();
    const pinned = await workspace.json('meld', url, '--pin', 'HEAD');
    expect(pinned.source).toMatchObject({ commit: head, pin: { to: 'commit', name: head } });
    const short = await workspace.json('meld', url, '--pin', first.slice(0, 8));
    expect(short.source).toMatchObject({ commit: first, pin: { to: 'commit', name: first } });
    workspace.source('repo', { 'rules/newer.md': 'Newer.' });
    workspace.git('repo', 'add', '--all');
    workspace.git('repo', 'commit', '-qm', 'newer');
    await workspace.json('sync');
    expect((await workspace.json('list', '--available')).items).toHaveLength(3);
    expect((await workspace.fail('meld', url, '--pin', 'abcdef12')).message).toContain('commit not found');
    const here = await workspace.runWith({ cwd: workspace.source('here', STARTER) }, 'meld', '.', '--json');
    expect(JSON.parse(here.stdout).source).toMatchObject({ id: 'here', kind: 'local' });
  });
});

describe('variables', () => {
  finding('000-85 000-83', 'MIND_HOME is the home unless mind itself keeps its state there', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('tooling', WORKED);
    const mind = join(workspace.home, '.mind');
    const env = { WIELD_HOME: undefined, MIND_HOME: mind };
    const run = await workspace.runWith({ env }, 'meld', source, '--yes');
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(readFileSync(join(mind, 'store/skill/scan/SKILL.md'), 'utf8')).toContain(
      '`~/.mind/store/tool/detect/detect.sh .`',
    );
    expect(existsSync(join(workspace.home, '.wield/store'))).toBe(false);
    const other = createInstallWorkspace();
    const own = join(other.home, '.mind');
    mkdirSync(own);
    writeFileSync(join(own, 'manifest.json'), '{"version":1,"items":{}}');
    await other.runWith({ env: { WIELD_HOME: undefined, MIND_HOME: own } }, 'meld', source, '--yes');
    expect(existsSync(join(own, 'store'))).toBe(false);
    expect(existsSync(join(other.home, '.wield/store'))).toBe(true);
    const relative = await workspace.runWith({ env: { WIELD_HOME: undefined, MIND_HOME: 'mind' } }, 'list');
    expect(relative.stderr).toContain('MIND_HOME is "mind", which is not an absolute path');
  });

  finding('000-20', 'CLAUDE_HOME, MIND_DEFAULT_LOBE and MIND_AGENT_HOMES name the agent homes', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('starter', STARTER);
    const at = (name: string): string => join(workspace.home, name);
    const link = (home: string): boolean => existsSync(join(at(home), 'skills/greet/SKILL.md'));
    await workspace.runWith({ env: { CLAUDE_HOME: at('one') } }, 'meld', source, '--yes');
    expect([link('one'), link('.claude')]).toEqual([true, false]);
    await workspace.runWith({ env: { MIND_AGENT_HOMES: `${at('two')}:~/three` } }, 'upgrade', '--yes');
    expect([link('one'), link('two'), link('three')]).toEqual([false, true, true]);
  });
});

describe('doctor --fix', () => {
  finding.thorough('000-17 INS-40', 'restores deleted and replaced links, store paths and files', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('all', { ...WORKED, ...STARTER }), '--yes');
    const before = workspace.snapshot();
    const at = (path: string): string => join(workspace.home, path);
    rmSync(at('.claude/skills/scan'));
    rmSync(at('.claude/rules/tone.md'));
    writeFileSync(at('.claude/rules/tone.md'), 'mine');
    rmSync(at('.claude/agents'), { recursive: true });
    rmSync(at('.wield/store/tool/detect'));
    symlinkSync('/nowhere', at('.wield/store/tool/detect'));
    const object = readlinkSync(at('.wield/store/skill/greet'));
    rmSync(object, { recursive: true });
    expect((await workspace.run('doctor')).status).toBe(1);
    const { fixed, problems } = await workspace.json('introspect', '--fix', '--yes');
    expect(problems).toEqual([]);
    expect(
      fixed.map(({ effective, done }: { effective: string; done: string }) => `${effective} ${done}`).sort(),
    ).toEqual(['detect linked', 'greet installed', 'scan linked', 'scribe linked', 'tone linked']);
    const { to } = fixed.find(({ effective }: { effective: string }) => effective === 'tone').aside[0];
    expect([dirname(to), readFileSync(to, 'utf8')]).toEqual([at('.claude/rules'), 'mine']);
    rmSync(to);
    const after = workspace.snapshot();
    delete before['.wield/installed.json'];
    delete after['.wield/installed.json'];
    expect(after).toEqual(before);
    expect((await workspace.json('doctor', '--fix', '--yes')).fixed).toEqual([]);
    expect((await workspace.run('doctor', '--fix', '--yes')).stdout).toContain(
      'ok       nothing to fix: no link or file',
    );
    expect((await workspace.run('verify')).status).toBe(0);
  });

  finding('000-17 INS-40', 'keeps local changes, and works without the source', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('starter', STARTER);
    await workspace.json('add', source, '--yes');
    const file = join(workspace.wieldHome, 'store/skill/greet/SKILL.md');
    writeFileSync(file, 'mine');
    rmSync(join(workspace.home, '.claude/skills/greet'));
    rmSync(source, { recursive: true });
    expect((await workspace.run('doctor', '--fix', '--yes')).stdout).toContain('fixed    skill greet  linked again');
    expect(readFileSync(join(workspace.home, '.claude/skills/greet/SKILL.md'), 'utf8')).toBe('mine');
  });

  finding('000-17 INS-40', 'install --force links again, and installs an unchanged item again', async () => {
    const workspace = createInstallWorkspace();
    await workspace.json('add', workspace.source('starter', STARTER), '--yes');
    const link = join(workspace.home, '.claude/skills/greet');
    rmSync(link);
    expect((await workspace.json('install', '--yes', 'greet', '--force')).items).toHaveLength(1);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    writeFileSync(join(link, 'SKILL.md'), 'mine');
    await workspace.json('install', '--yes', 'greet', '--force');
    expect(readFileSync(join(link, 'SKILL.md'), 'utf8')).toBe(skill('greet'));
  });
});

findingIf(hasPty, NO_PTY, 'N2', 'a progress line is cleared before other output', async () => {
  const workspace = createInstallWorkspace();
  const url = workspace.repository('repo', STARTER);
  const { screen } = await wieldAtTerminal(workspace, ['add', url, '--register-only']);
  const shown = screen.split('\n').map((line) => line.split('\u001b[K').at(-1)!.split('\r').at(-1)!);
  expect(shown.join('\n')).not.toMatch(/cloning|fetching/);
  expect(shown.find((line) => line.includes('added'))).toMatch(/^ {2}added {4}\S+ {2}file:/);
});
