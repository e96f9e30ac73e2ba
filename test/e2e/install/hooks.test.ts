// Hooks: approval, where they run, limits, and rollback when one fails.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createInstallWorkspace, DETECT, type Files } from '../../support/install.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { finding, spec, specIf } from '../../support/spec.js';

const TOOL = (build: string): Files => ({
  'tools/made/TOOL.md': `---\ndescription: Made by a build.\nbin: out.sh\nbuild: ${build}\n---\n`,
  'tools/made/in.sh': '#!/bin/sh\necho made at {{self}}\n',
});
const BUILD = 'cp in.sh out.sh && chmod +x out.sh';

const ITEMS = (install: string, uninstall: string): string =>
  `[[items]]\nkind = "tool"\nname = "detect"\npath = "tools/detect"\ninstall = '${install}'\nuninstall = '${uninstall}'\n`;

spec('HOOK-1 HOOK-5', 'runs a build in staging after expansion, by one shell without interpolation', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('built', {
    'wield.toml': `[[items]]\nkind = "tool"\nname = "made"\npath = "tools/made"\nbuild = '''
cp in.sh out.sh && chmod +x out.sh && printf '%s\\n' "$0" "$#" "$PWD" '{{self}}' "$WIELD_ITEM" > how'''\n`,
    ...TOOL('unused'),
  });
  await workspace.json('add', source, '--yes', '--run-hooks');
  expect((await workspace.run('call', 'made')).stdout).toBe(`made at ${workspace.wieldHome}/store/tool/made\n`);
  const [shell, count, where, text, item] = workspace.stored('tool/made/how').split('\n');
  expect([shell, count, text, item]).toEqual(['/bin/sh', '0', '{{self}}', 'made']);
  expect(where).toContain('/objects/.staging-');
});

spec.thorough(
  'HOOK-1',
  'runs source hooks in the clone at add and remove-source, and item hooks in the store',
  async () => {
    const workspace = createInstallWorkspace();
    const log = join(workspace.dir, 'log');
    const note = (what: string): string => `echo ${what} "$PWD" >> ${log}`;
    const url = workspace.repository('repo', {
      ...DETECT,
      'wield.toml': `${ITEMS(note('item-install'), note('item-uninstall'))}[[hooks]]\nrun = '''${note('source-install')}; echo left > tools/detect/left'''\n[[hooks]]\nevent = "uninstall"\nrun = '''${note('source-uninstall')}'''\n`,
    });
    await workspace.json('add', url, '--yes', '--run-hooks');
    expect(workspace.stored('tool/detect/left')).toBe('left\n');
    await workspace.json('remove-source', url, '--yes', '--run-hooks');
    const lines = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    expect(lines.map(([what]) => what)).toEqual([
      'source-install',
      'item-install',
      'item-uninstall',
      'source-uninstall',
    ]);
    expect(lines[0]![1]).toContain('/.wield/sources/');
    expect(lines[1]![1]).toMatch(/\/\.wield\/(?:store\/tool\/detect|objects\/)/);
  },
  30_000,
);

spec(
  'HOOK-2 HOOK-4',
  'skips a build with a note without a terminal, and reports it when the tool is called',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('built', TOOL(BUILD));
    const run = await workspace.run('add', source, '--yes');
    expect([run.status, run.stderr]).toEqual([0, expect.stringContaining(`skipped the build hook of made: ${BUILD}`)]);
    expect(run.stdout).toContain('not built');
    const called = await workspace.run('call', 'made');
    expect([called.status, called.stderr]).toEqual([
      3,
      expect.stringContaining('is not built: its build hook was skipped'),
    ]);
    expect(called.stderr).toContain('wield install tool:made --run-hooks');
    // A tool of another name is not the reason.
    const unknown = await workspace.run('show', 'nosuch');
    expect(unknown.stderr).toContain('wield list shows all tools; searched');
    expect(unknown.stderr).not.toContain('not built');
    await workspace.json('install', '--yes', 'made', '--run-hooks');
    expect((await workspace.run('call', 'made')).status).toBe(0);
  },
);

specIf(
  hasPty,
  NO_PTY,
  'HOOK-2',
  'shows source, command and directory of a hook with hidden characters escaped, and remembers approval by digest',
  async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', { ...TOOL(`${BUILD} && true \u202esafe`) });
    const commit = workspace.git('repo', 'rev-parse', 'HEAD').trim();
    await workspace.json('add', url);
    const refused = await wieldAtTerminal(workspace, ['install', '--yes', 'made'], {
      answers: [['Run it?', 'n\n']],
      env: { NO_COLOR: '1' },
    });
    expect(refused.screen).toContain('build hook of made of');
    expect(refused.screen).toContain(commit.slice(0, 12));
    expect(refused.screen).toContain('a staging directory');
    expect(refused.screen).toContain(`${BUILD} && true <U+202E>safe`);
    expect(refused.screen).toContain('not built');
    const agreed = await wieldAtTerminal(workspace, ['install', '--yes', 'made'], { answers: [['Run it?', 'y\n']] });
    expect(agreed.screen).not.toContain('not built');
    // The same bytes need no second approval, with or without a terminal.
    await workspace.json('uninstall', 'made', '--yes');
    expect((await workspace.json('install', '--yes', 'made')).items[0].build).toBe('built');
    // Changed bytes do.
    workspace.source('repo', { 'tools/made/in.sh': '#!/bin/sh\necho other\n' });
    workspace.git('repo', 'commit', '--quiet', '--all', '-m', 'Other');
    expect((await workspace.fail('upgrade', '--yes')).code).toBe('needs_approval');
  },
  60_000,
);

specIf(
  hasPty,
  NO_PTY,
  'HOOK-2',
  'asks one question about items and their hooks, and no changes nothing',
  async () => {
    const workspace = createInstallWorkspace();
    const skill = '---\nname: scan\ndescription: Scan.\n---\nRun {{tools:made}}.\n';
    await workspace.json('add', workspace.source('pair', { ...TOOL(BUILD), 'skills/scan/SKILL.md': skill }));
    const before = workspace.snapshot();
    const question = 'Install both and run the hook?';
    const declined = await wieldAtTerminal(workspace, ['install', 'scan'], { answers: [[question, 'n\n']] });
    expect([declined.status, workspace.snapshot()]).toEqual([0, before]);
    expect(declined.screen).toContain(BUILD);
    const agreed = await wieldAtTerminal(workspace, ['install', 'scan'], { answers: [[question, 'y\n']] });
    expect(agreed.screen).not.toContain('Run it?');
    const { items } = await workspace.json('list', '--installed');
    expect(items.map(({ name, build }: { name: string; build: string }) => [name, build])).toEqual([
      ['made', 'built'],
      ['scan', 'none'],
    ]);
  },
  60_000,
);

spec('HOOK-3', 'restores everything when a build fails, and the old version still works', async () => {
  const workspace = createInstallWorkspace();
  const source = workspace.source('built', TOOL(BUILD));
  await workspace.json('add', source, '--yes', '--run-hooks');
  const before = workspace.snapshot();
  workspace.source('built', {
    'tools/made/in.sh': '#!/bin/sh\necho newer\n',
    'tools/made/TOOL.md': '---\nbin: out.sh\nbuild: echo no compiler >&2; exit 9\n---\n',
  });
  const error = await workspace.fail('upgrade', '--yes', '--run-hooks');
  expect([error.code, error.data.exitCode, error.message]).toEqual([
    'tool_failed',
    9,
    expect.stringContaining('no compiler'),
  ]);
  expect(workspace.snapshot()).toEqual(before);
  expect((await workspace.run('call', 'made')).stdout).toBe(`made at ${workspace.wieldHome}/store/tool/made\n`);
});

spec.thorough(
  'HOOK-3',
  'keeps the item when an uninstall hook fails, and registers nothing when a source hook fails',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('stays', { ...DETECT, 'wield.toml': ITEMS('true', 'exit 4') });
    await workspace.json('add', source, '--yes', '--run-hooks');
    const before = workspace.snapshot();
    expect((await workspace.fail('uninstall', 'detect', '--yes', '--run-hooks')).code).toBe('tool_failed');
    expect(workspace.snapshot()).toEqual(before);
    const failing = workspace.repository('failing', {
      ...DETECT,
      'wield.toml': '[source]\ninstall = "exit 5"\n',
    });
    expect((await workspace.fail('add', failing, '--run-hooks')).code).toBe('tool_failed');
    expect((await workspace.json('list', '--available')).items).toHaveLength(1);
    expect(existsSync(join(workspace.wieldHome, 'sources'))).toBe(false);
  },
);

spec(
  'HOOK-3',
  'runs hooks with a built environment and limited output',
  async () => {
    const workspace = createInstallWorkspace();
    workspace.config('[limits]\noutput = "64K"\n');
    const source = workspace.source('noisy', TOOL('env > env.txt; cp in.sh out.sh; chmod +x out.sh'));
    await workspace.json('add', source);
    await workspace.runWith({ env: { SECRET: 'x', LD_PRELOAD: '' } }, 'install', '--yes', 'made', '--run-hooks');
    expect(workspace.stored('tool/made/env.txt')).not.toContain('SECRET');
    const flood = workspace.source('flood', { 'tools/flood/TOOL.md': '---\nbuild: yes\n---\n' });
    await workspace.json('add', flood);
    expect((await workspace.fail('install', '--yes', 'flood', '--run-hooks')).message).toContain(
      'exceeded the output limit',
    );
  },
  30_000,
);

spec('HOOK-1', 'runs separate hooks for a tool and a skill of the same name', async () => {
  const workspace = createInstallWorkspace();
  const item = (kind: string, path: string): string =>
    `[[items]]\nkind = "${kind}"\nname = "same"\npath = "${path}"\ninstall = "echo ${kind} > which"\n`;
  const source = workspace.source('same', {
    'wield.toml': item('tool', 't') + item('skill', 's'),
    't/x': '',
    's/SKILL.md': '---\nname: same\ndescription: Same.\n---\n',
  });
  await workspace.json('add', source, '--yes', '--run-hooks');
  expect([workspace.stored('tool/same/which'), workspace.stored('skill/same/which')]).toEqual(['tool\n', 'skill\n']);
  expect((await workspace.run('verify')).status).toBe(0);
});

finding(
  'B29',
  'changes nothing on upgrade without a terminal and --yes, and keeps a version that works until the new one is built',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('built', { ...TOOL(BUILD), ...DETECT });
    await workspace.json('add', source, '--yes', '--run-hooks');
    const before = workspace.snapshot();
    const stays = async (error: { readonly code: string; readonly status: number }): Promise<void> => {
      expect([error.code, error.status]).toEqual(['needs_approval', 5]);
      expect(workspace.snapshot()).toEqual(before);
      expect((await workspace.run('call', 'made')).stdout).toContain('made at');
    };
    workspace.source('built', { 'tools/detect/lib.sh': 'detect() { echo changed; }\n' });
    await stays(await workspace.fail('upgrade'));
    await stays(await workspace.fail('upgrade', 'detect'));
    const plain = await workspace.run('upgrade');
    expect([plain.status, plain.stderr]).toEqual([5, expect.stringContaining('wield upgrade --yes')]);
    await workspace.json('upgrade', '--dry-run');
    // A changed build, a changed input of the build, and a build where there was none.
    for (const change of [
      { 'tools/made/in.sh': '#!/bin/sh\necho newer\n' },
      TOOL(`${BUILD} && true`),
      { 'tools/detect/TOOL.md': '---\nbin: detect.sh\nbuild: chmod +x detect.sh\n---\n' },
    ]) {
      workspace.source('built', change);
      await stays(await workspace.fail('upgrade', '--yes'));
      await stays(await workspace.fail('install', '--all', '--yes', '--force'));
    }
    workspace.source('built', { 'tools/made/TOOL.md': '---\nbin: out.sh\nbuild: exit 3\n---\n' });
    expect((await workspace.fail('upgrade', '--yes', '--run-hooks')).code).toBe('tool_failed');
    expect(workspace.snapshot()).toEqual(before);
    workspace.source('built', TOOL(`${BUILD} && :`));
    if (hasPty) {
      const declined = await wieldAtTerminal(workspace, ['upgrade'], {
        answers: [
          ['Upgrade?', 'y\n'],
          ['Run it?', 'n\n'],
        ],
      });
      expect([declined.status, workspace.snapshot()]).toEqual([5, before]);
      await wieldAtTerminal(workspace, ['upgrade'], { answers: [['Upgrade?', 'n\n']] });
      expect(workspace.snapshot()).toEqual(before);
    }
    const { items } = await workspace.json('upgrade', '--yes', '--run-hooks');
    expect(items.map(({ build }: { build: string }) => build)).toContain('built');
  },
  120_000,
);
