// Hooks: shown before they run, skipped without consent, bounded, and undone as a whole where one fails.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { createInstallWorkspace, DETECT, type Files } from '../../support/install.js';
import { hasPty, wieldAtTerminal } from '../../support/pty.js';
import { spec, specIf } from '../../support/spec.js';

const TOOL = (build: string): Files => ({
  'tools/made/TOOL.md': `---\ndescription: Made by a build.\nbin: out.sh\nbuild: ${build}\n---\n`,
  'tools/made/in.sh': '#!/bin/sh\necho made at {{self}}\n',
});
const BUILD = 'cp in.sh out.sh && chmod +x out.sh';

const ITEMS = (install: string, uninstall: string): string =>
  `[[items]]\nkind = "tool"\nname = "detect"\npath = "tools/detect"\ninstall = '${install}'\nuninstall = '${uninstall}'\n`;

spec(
  'HOOK-1 HOOK-5',
  'a build runs in staging after expansion, by one shell with nothing put in',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('built', {
      'wield.toml': `[[items]]\nkind = "tool"\nname = "made"\npath = "tools/made"\nbuild = '''
cp in.sh out.sh && chmod +x out.sh && printf '%s\\n' "$0" "$#" "$PWD" '{{self}}' "$WIELD_ITEM" > how'''\n`,
      ...TOOL('unused'),
    });
    await workspace.json('add', source, '--yes', '--run-hooks');
    expect((await workspace.run('call', 'made')).stdout).toBe(
      `made at ${workspace.wieldHome}/store/tool/made\n`,
    );
    const [shell, count, where, text, item] = workspace.stored('tool/made/how').split('\n');
    expect([shell, count, text, item]).toEqual(['/bin/sh', '0', '{{self}}', 'made']);
    expect(where).toContain('/objects/.staging-');
  },
);

spec(
  'HOOK-1',
  'source hooks run in the clone at add and remove-source, item hooks in the store',
  async () => {
    const workspace = createInstallWorkspace();
    const log = join(workspace.dir, 'log');
    const say = (what: string): string => `echo ${what} "$PWD" >> ${log}`;
    const url = workspace.repository('repo', {
      ...DETECT,
      'wield.toml': `${ITEMS(say('item-install'), say('item-uninstall'))}[[hooks]]\nrun = '''${say('source-install')}; echo left > tools/detect/left'''\n[[hooks]]\nevent = "uninstall"\nrun = '''${say('source-uninstall')}'''\n`,
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
  'without a terminal a build is skipped with a note, and calling the tool says so',
  async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('built', TOOL(BUILD));
    const run = await workspace.run('add', source, '--yes');
    expect([run.status, run.stderr]).toEqual([
      0,
      expect.stringContaining(`skipped the build hook of made: ${BUILD}`),
    ]);
    expect(run.stdout).toContain('not built');
    const called = await workspace.run('call', 'made');
    expect([called.status, called.stderr]).toEqual([
      3,
      expect.stringContaining('is not built: its build was skipped'),
    ]);
    expect(called.stderr).toContain('wield install tool:made --run-hooks');
    await workspace.json('install', 'made', '--run-hooks');
    expect((await workspace.run('call', 'made')).status).toBe(0);
  },
);

specIf(
  hasPty,
  'no terminal to be had',
  'HOOK-2',
  'a hook is shown with source, command and place, nothing hidden, and remembered by its bytes',
  async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('repo', { ...TOOL(`${BUILD} && true \u202esafe`) });
    const commit = workspace.git('repo', 'rev-parse', 'HEAD').trim();
    await workspace.json('add', url);
    const refused = await wieldAtTerminal(workspace, ['install', 'made'], {
      answers: [['Run it?', 'n\n']],
      env: { NO_COLOR: '1' },
    });
    expect(refused.screen).toContain('build hook of made of');
    expect(refused.screen).toContain(commit.slice(0, 12));
    expect(refused.screen).toContain('a staging directory');
    expect(refused.screen).toContain(`${BUILD} && true <U+202E>safe`);
    expect(refused.screen).toContain('not built');
    const agreed = await wieldAtTerminal(workspace, ['install', 'made'], { answers: [['Run it?', 'y\n']] });
    expect(agreed.screen).not.toContain('not built');
    // The same bytes are not asked about again, with or without a terminal.
    await workspace.json('uninstall', 'made', '--yes');
    expect((await workspace.json('install', 'made')).items[0].build).toBe('built');
    // Other bytes are.
    workspace.source('repo', { 'tools/made/in.sh': '#!/bin/sh\necho other\n' });
    workspace.git('repo', 'commit', '--quiet', '--all', '-m', 'Other');
    const { items } = await workspace.json('upgrade', '--yes');
    expect(items[0].build).toBe('skipped');
  },
  60_000,
);

spec(
  'HOOK-3',
  'a hook that fails stops and restores; a failed build leaves the old version working',
  async () => {
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
    expect((await workspace.run('call', 'made')).stdout).toBe(
      `made at ${workspace.wieldHome}/store/tool/made\n`,
    );
  },
);

spec(
  'HOOK-3',
  'a failing uninstall hook keeps the item; a failing source hook registers nothing',
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
  'a hook has a built environment and bounded output',
  async () => {
    const workspace = createInstallWorkspace();
    workspace.config('[limits]\noutput = "64K"\n');
    const source = workspace.source('noisy', TOOL('env > env.txt; cp in.sh out.sh; chmod +x out.sh'));
    await workspace.json('add', source);
    await workspace.runWith({ env: { SECRET: 'x', LD_PRELOAD: '' } }, 'install', 'made', '--run-hooks');
    expect(workspace.stored('tool/made/env.txt')).not.toContain('SECRET');
    const flood = workspace.source('flood', { 'tools/flood/TOOL.md': '---\nbuild: yes\n---\n' });
    await workspace.json('add', flood);
    expect((await workspace.fail('install', 'flood', '--run-hooks')).message).toContain(
      'wrote more than it may',
    );
  },
  30_000,
);

spec('HOOK-1', 'a tool and a skill of one name have each their own hook', async () => {
  const workspace = createInstallWorkspace();
  const item = (kind: string, path: string): string =>
    `[[items]]\nkind = "${kind}"\nname = "same"\npath = "${path}"\ninstall = "echo ${kind} > which"\n`;
  const source = workspace.source('same', {
    'wield.toml': item('tool', 't') + item('skill', 's'),
    't/x': '',
    's/SKILL.md': '---\nname: same\ndescription: Same.\n---\n',
  });
  await workspace.json('add', source, '--yes', '--run-hooks');
  expect([workspace.stored('tool/same/which'), workspace.stored('skill/same/which')]).toEqual([
    'tool\n',
    'skill\n',
  ]);
  expect((await workspace.run('verify')).status).toBe(0);
});
