// wield/install: installing from a program.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createInstaller, type Hook } from '../../../src/install.js';
import { createInstallWorkspace, WORKED } from '../../support/install.js';
import { spec } from '../../support/spec.js';

describe('wield/install', () => {
  spec('SDK-8 INS-22', 'adds, installs, reports, uninstalls and removes like the command line', async () => {
    const workspace = createInstallWorkspace();
    const toolbox = workspace.toolbox();
    const installer = createInstaller(toolbox);
    const source = workspace.source('tooling', WORKED);
    const offered = await installer.add(source, { namespace: 'team' });
    expect(offered.map(({ kind, effective, installed }) => [kind, effective, installed])).toEqual([
      ['tool', 'team:detect', false],
      ['skill', 'team:scan', false],
    ]);
    const applied = await installer.install(['skill:team:scan']);
    expect(applied.map(({ effective, change }) => [effective, change])).toEqual([
      ['team:detect', 'new'],
      ['team:scan', 'new'],
    ]);
    expect(toolbox.state.pins.check(await toolbox.find('team:detect'))).toBe('same');
    expect((await toolbox.call('team:detect', { path: '.' })).ok).toBe(true);
    const { items } = await workspace.json('list', '--installed');
    expect(items.map(({ effective }: { effective: string }) => effective).sort()).toEqual(['team:detect', 'team:scan']);
    expect((await installer.status()).map(({ states }) => states)).toEqual([['clean'], ['clean']]);
    expect((await installer.offers()).every(({ installed }) => installed)).toBe(true);
    await expect(installer.uninstall(['tool:team:detect'])).rejects.toMatchObject({
      code: 'conflict',
      data: { dependents: ['skill team:scan'] },
    });
    expect((await installer.uninstall(['skill:team:scan'])).map(({ effective }) => effective)).toEqual(['team:scan']);
    expect((await installer.removeSource(source)).map(({ effective }) => effective)).toEqual(['team:detect']);
    expect(await installer.offers()).toEqual([]);
    await expect(installer.install('all')).rejects.toMatchObject({ code: 'not_found' });
    expect(existsSync(join(workspace.wieldHome, 'store', 'tool'))).toBe(false);
  });

  spec.thorough('SDK-8', 'upgrades items after a sync, and reports progress', async () => {
    const workspace = createInstallWorkspace();
    const url = workspace.repository('words', { 'tools/say/say!': '#!/bin/sh\necho one\n' });
    const toolbox = workspace.toolbox();
    const reports: string[] = [];
    const installer = createInstaller(toolbox, { report: ({ text }) => reports.push(text) });
    await installer.add(url);
    await installer.install('all');
    expect((await toolbox.call('say', {})).content).toEqual([{ type: 'text', text: 'one\n' }]);
    workspace.source('words', { 'tools/say/say!': '#!/bin/sh\necho two\n' });
    workspace.git('words', 'commit', '-qam', 'two');
    expect(await installer.upgrade()).toEqual([]);
    await installer.sync();
    expect((await installer.status()).map(({ states }) => states)).toEqual([['upstream changed']]);
    expect((await installer.upgrade()).map(({ change }) => change)).toEqual(['update']);
    expect((await toolbox.call('say', {})).content).toEqual([{ type: 'text', text: 'two\n' }]);
    expect(reports.length).toBeGreaterThan(0);
  });

  spec('SDK-8 HOOK-2', 'calls approveHooks, and skips hooks without approval', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('built', {
      'tools/made/TOOL.md': '---\ndescription: Made.\nbin: made\nbuild: ./build\n---\n',
      'tools/made/build!': '#!/bin/sh\nprintf "#!/bin/sh\\necho made\\n" > made\nchmod +x made\n',
    });
    const requested: string[] = [];
    const approveHooks = async (hooks: readonly Hook[]) => {
      requested.push(...hooks.map(({ run }) => run));
      return true;
    };
    const toolbox = workspace.toolbox();
    await createInstaller(toolbox).add(source);
    const [skipped] = await createInstaller(toolbox).install(['made']);
    expect(skipped?.build).toBe('skipped');
    const [built] = await createInstaller(toolbox, { approveHooks }).install(['made']);
    expect([built?.build, requested]).toEqual(['built', ['./build']]);
    expect((await toolbox.call('made', {})).content).toEqual([{ type: 'text', text: 'made\n' }]);
  });

  spec('SDK-8', 'A44: throws in a process that a tool started', () => {
    const workspace = createInstallWorkspace();
    const toolbox = workspace.toolbox({ env: { ...workspace.env, WIELD_CALL: '1-1' } });
    expect(() => createInstaller(toolbox)).toThrow(/from inside a tool call/);
  });
});
