// Scripts of a skill: tools that run in its directory, under the same rules as other scripts.

import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { createInstallWorkspace } from '../../support/install.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'mcp' } } as const;
const SHOW = '#!/bin/sh\n# Show the arguments.\necho "$(pwd)|$0|$*|$(cat)|$(cat references/a.md)|$WIELD_WORKDIR"\n';

function createSkill(): Workspace & { directory: string } {
  const workspace = createWorkspace();
  const directory = join(workspace.dir, '.agents/skills/kit');
  workspace.write('.agents/skills/kit/SKILL.md', '---\nname: kit\ndescription: A kit.\n---\nRun scripts/show.sh.\n');
  workspace.write('.agents/skills/kit/references/a.md', 'A');
  workspace.write('.agents/skills/kit/scripts/show.sh', SHOW, 0o644);
  workspace.write('.agents/skills/kit/scripts/deep/upper.js', 'console.log(process.argv[2].toUpperCase());\n', 0o644);
  workspace.write('.agents/skills/kit/scripts/_helper.sh', SHOW);
  workspace.write('.agents/skills/kit/scripts/notes.md', 'Not a script.');
  symlinkSync('/bin/sh', join(directory, 'scripts/out.sh'));
  return { ...workspace, directory };
}

const run = (toolbox: ReturnType<Workspace['toolbox']>, script: string, input: object = {}) =>
  toolbox.call('run_skill_script', { skill_name: 'kit', script, ...input }, MODEL);

describe('the scripts of a skill', () => {
  spec('SKL-13', 'are tools that run in its directory with arguments and stdin', async () => {
    const { directory, dir, ...workspace } = createSkill();
    const toolbox = workspace.toolbox({ trust: true });
    const names = (await toolbox.list()).map(({ name }) => name);
    expect(names).toEqual(['read_skill', 'kit', 'kit_deep_upper', 'kit_show']);
    // A model has one tool for all of them, and learns of them from the skill.
    const shown = (await toolbox.list(MODEL)).map(({ name }) => name);
    expect(shown.filter((name) => !/result/.test(name))).toEqual(['read_skill', 'run_skill_script']);
    expect(textOf(await toolbox.call('read_skill', { skill_name: 'kit' }, MODEL))).toContain(
      'Scripts, run with run_skill_script: scripts/deep/upper.js, scripts/show.sh',
    );
    const expected = `${directory}|${directory}/scripts/show.sh|--a b c|in|A|${dir}`;
    for (const script of ['scripts/show.sh', 'show.sh', `${directory}/scripts/show.sh`])
      expect(textOf(await run(toolbox, script, { args: ['--a', 'b c'], stdin: 'in' })).trim()).toBe(expected);
    expect(textOf(await run(toolbox, 'scripts/deep/upper.js', { args: ['x'] })).trim()).toBe('X');
    const direct = await toolbox.call('kit_show', { args: ['--a', 'b c'], stdin: 'in' }, MODEL);
    expect(textOf(direct).trim()).toBe(expected);
    expect((await toolbox.find('kit_show')).description).toContain('Show the arguments.');
    for (const script of ['scripts/out.sh', 'scripts/_helper.sh', 'scripts/notes.md', '../x', 'nosuch'])
      expect([script, (await run(toolbox, script)).ok]).toEqual([script, false]);
    const cli = await wield({ ...workspace, dir }, ['call', 'kit_show', '--args', 'one']);
    expect(cli.stdout).toContain('|one|');
    // Beside a tools.json, scripts are its resolvers.
    workspace.write('.agents/skills/wrap/SKILL.md', '---\nname: wrap\ndescription: Wraps.\n---\n');
    workspace.write('.agents/skills/wrap/tools.json', '{"tools":[],"allowlist":{},"execution":[]}');
    workspace.write('.agents/skills/wrap/scripts/resolve.sh', 'echo x\n');
    expect((await toolbox.list()).filter(({ name }) => name.startsWith('wrap_'))).toEqual([]);
    // A new script is seen.
    writeFileSync(join(directory, 'scripts/more.sh'), 'echo more\n');
    expect(textOf(await run(toolbox, 'more.sh')).trim()).toBe('more');
  });

  spec('SKL-13 POL-20 POL-8', 'need trust and obey rules by the name of their tool', async () => {
    const workspace = createSkill();
    expect((await run(workspace.toolbox(), 'show.sh')).error?.code).toBe('needs_trust');
    workspace.config('[trust]\nrules = ["kit_show($deny)"]\n');
    expect((await run(workspace.toolbox({ trust: true }), 'show.sh')).error?.code).toBe('denied');
    workspace.config('[trust]\nrules = ["kit_show($policy=ask)"]\n');
    expect((await run(workspace.toolbox({ trust: true }), 'show.sh')).error?.code).toBe('needs_approval');
    workspace.config('');
    // A tool of the same name is not the script.
    workspace.script('kit_show', '#!/bin/sh\n# @description Other.\necho OTHER\n');
    expect(await run(workspace.toolbox({ trust: true }), 'show.sh')).toMatchObject({ ok: false });
  });

  spec('SKL-13 INS-23', 'of an installed skill run while its files are the installed ones', async () => {
    const workspace = createInstallWorkspace();
    workspace.source('kit', {
      'skills/kit/SKILL.md': '---\nname: kit\ndescription: A kit.\n---\nText.\n',
      'skills/kit/references/a.md': 'A',
      'skills/kit/scripts/show.sh': SHOW,
    });
    await workspace.json('add', '../sources/kit', '--yes');
    const toolbox = workspace.toolbox();
    expect(textOf(await run(toolbox, 'show.sh', { args: ['x'] }))).toContain('|x||A|');
    const script = join(workspace.wieldHome, 'store/skill/kit/scripts/show.sh');
    chmodSync(script, 0o644);
    writeFileSync(script, 'echo CHANGED\n');
    const changed = await run(toolbox, 'show.sh');
    expect([changed.ok, textOf(changed).includes('CHANGED')]).toEqual([false, false]);
    expect(changed.error?.hint).toContain('wield install --accept skill:kit');
  });
});
