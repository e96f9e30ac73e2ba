// Requirements of tools and skills: programs, variables and versions, checked before the first call.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { defineTool } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { createInstallWorkspace } from '../../support/install.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const person = { caller: { kind: 'person', door: 'cli' } } as const;

function script(requires: string): string {
  return `#!/bin/sh\n# @description Says hello.\n# @requires ${requires}\necho hello\n`;
}

/** Puts programs first on the PATH. */
function install(workspace: Workspace, programs: Readonly<Record<string, string>>): void {
  const directory = join(workspace.home, 'bin');
  mkdirSync(directory, { recursive: true });
  for (const [name, output] of Object.entries(programs))
    writeFileSync(join(directory, name), `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
  workspace.env.PATH = `${directory}:${process.env.PATH}`;
}

describe.concurrent('requirements', () => {
  spec('TOOL-27 SCR-31', 'a call names everything that is missing, and nothing runs', async () => {
    const workspace = createWorkspace();
    install(workspace, { 'apt-get': '', python3: 'Python 3.9.2' });
    workspace.script(
      'hello',
      `#!/bin/sh\n# @description Says hello.\n# @requires bin:no-such-a no-such-b|no-such-c, env:NO_SUCH_TOKEN\n# @requires python >= 3.10 node>=999\ntouch ran\n`,
    );
    const result = await workspace.toolbox().call('hello', {}, person);
    expect(result.error).toMatchObject({ code: 'unavailable' });
    const { message, hint = '' } = result.error!;
    expect(message).toContain(
      'the program no-such-a; the program no-such-b or no-such-c; the variable NO_SUCH_TOKEN; Python >=3.10',
    );
    expect(message).toContain('is 3.9.2');
    expect(message).toContain('Node >=999');
    expect(hint).toContain('apt-get install no-such-a');
    expect(hint).toContain('pass = ["NO_SUCH_TOKEN"]');
    const { status, stdout } = await wield(workspace, ['call', 'hello']);
    expect([status, stdout]).toEqual([8, '']);
    expect(() => writeFileSync(join(workspace.dir, 'ran'), '', { flag: 'wx' })).not.toThrow();
  });

  spec('TOOL-27 SCR-31', 'a call runs if everything is there', async () => {
    const workspace = createWorkspace();
    install(workspace, { 'such-b': '', python3: 'Python 3.11.4' });
    workspace.env.SUCH_TOKEN = 'x';
    workspace.config('[env]\npass = ["SUCH_TOKEN"]\n');
    workspace.script('hello', script('no-such|such-b env:SUCH_TOKEN python>=3.10,<4 node>=20'));
    expect(await workspace.toolbox().call('hello', {}, person)).toMatchObject({ ok: true });
  });

  spec('TOOL-27', 'what was there is looked for again after a call that failed', async () => {
    const workspace = createWorkspace();
    install(workspace, { 'such-a': '' });
    workspace.script('hello', `${script('such-a')}[ ! -e fails ]\n`);
    const toolbox = workspace.toolbox();
    const call = async () => (await toolbox.call('hello', {}, person)).error?.code;
    expect(await call()).toBeUndefined();
    rmSync(join(workspace.home, 'bin', 'such-a'));
    expect(await call()).toBeUndefined();
    workspace.write('fails', '');
    expect(await call()).toBe('tool_failed');
    expect(await call()).toBe('unavailable');
  });

  spec('TOOL-27', 'a definition and a tools.json are checked, and nobody is asked first', async () => {
    const workspace = createWorkspace();
    workspace.write(
      '.agents/skills/say/tools.json',
      JSON.stringify({
        tools: [{ name: 'say', description: 'Says.', parameters: { type: 'object' }, requires: { bins: ['no-such'] } }],
        allowlist: { echo: ['hi'] },
        execution: [{ tool: 'say', binary: 'echo', subcommand: 'hi', args: [] }],
      }),
    );
    const defined = defineTool({
      name: 'defined',
      description: 'Defined in code.',
      destructive: true,
      requires: { anyBins: ['no-such', 'no-such-either'], node: '>=18' },
      execute: () => 'ran',
    });
    const toolbox = workspace.toolbox({ tools: [defined] });
    for (const name of ['say', 'defined']) {
      const { error } = await toolbox.call(name, {}, { caller: { kind: 'person', door: 'mcp' } });
      expect([name, error?.code, error?.message]).toEqual([name, 'unavailable', expect.stringContaining('no-such')]);
    }
    expect(() => workspace.toolbox({ tools: [{ ...defined, requires: { bins: ['a b'] } } as typeof defined] })).toThrow(
      /requires/,
    );
  });

  spec(
    'SKL-16 TOOL-27',
    'scripts of a skill need what it requires, in any form; its text says what is missing',
    async () => {
      const forms = {
        top: 'requires:\n  bins: [no-such]\n  mcp: [rube]',
        own: 'metadata:\n  requires:\n    bins: no-such',
        openclaw: 'metadata:\n  openclaw:\n    requires: { anyBins: ["no-such"] }',
        clawdbot: 'metadata: {"clawdbot":{"emoji":"x","requires":{"bins":["no-such"],"config":["a.b"]}}}',
        quoted: `metadata: '{"openclaw":{"requires":{"bins":["no-such"]}}}'`,
      };
      const workspace = createWorkspace();
      for (const [name, form] of Object.entries(forms)) {
        workspace.write(
          `.agents/skills/${name}/SKILL.md`,
          `---\nname: ${name}\ndescription: A skill.\n${form}\n---\nText.\n`,
        );
        workspace.write(`.agents/skills/${name}/scripts/run.sh`, '#!/bin/sh\necho ran\n', 0o755);
      }
      const toolbox = workspace.toolbox();
      for (const name of Object.keys(forms)) {
        const ran = await toolbox.call('run_skill_script', { skill_name: name, script: 'run.sh' }, person);
        expect([name, ran.error?.code, ran.error?.message]).toEqual([
          name,
          'unavailable',
          expect.stringContaining('the program no-such'),
        ]);
        const read = await toolbox.call('read_skill', { skill_name: name }, person);
        expect(read.ok, name).toBe(true);
        expect(JSON.stringify(read.content), name).toContain('Missing here: the program no-such');
      }
    },
  );

  spec('SKL-16', 'a list, a sentence and a compatibility require nothing; a wrong map is a warning', async () => {
    const workspace = createWorkspace();
    const write = (name: string, form: string) => {
      workspace.write(
        `.agents/skills/${name}/SKILL.md`,
        `---\nname: ${name}\ndescription: A skill.\n${form}\n---\nText.\n`,
      );
      workspace.write(`.agents/skills/${name}/scripts/run.sh`, '#!/bin/sh\necho ran\n', 0o755);
    };
    write('items', 'requires: [skill:other]');
    write('sentence', 'metadata:\n  requires: docker\ncompatibility: Requires no-such and Python 99+');
    write('wrong', 'requires: { python: 3.10, bins: 5 }');
    const toolbox = workspace.toolbox();
    for (const name of ['items', 'sentence', 'wrong'])
      expect(await toolbox.call('run_skill_script', { skill_name: name, script: 'run.sh' }, person)).toMatchObject({
        ok: true,
      });
    const { stdout } = await wield(workspace, ['check']);
    expect(stdout).toContain('requires.python must be a version in quotes, such as ">=3.10"');
    expect(stdout).toContain('requires.bins must be');
    expect(stdout.match(/requires/g)).toHaveLength(2);
  });

  spec('TOOL-27', 'an installed tool needs what its TOOL.md and its header require', async () => {
    const workspace = createInstallWorkspace();
    const source = workspace.source('some', {
      'tools/say/TOOL.md': '---\ndescription: Say.\nbin: say\nrequires:\n  bins: [no-such-a]\n---\n',
      'tools/say/say!': script('no-such-b'),
    });
    await workspace.json('add', source, '--yes');
    const { status, stderr } = await workspace.run('call', 'say');
    expect(status).toBe(8);
    expect(stderr).toMatch(/no-such-b.*no-such-a/s);
  });

  spec('SCR-31', 'a word that is no requirement is a warning with its line', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', script('jq foo:bar python>=x'));
    const { stdout } = await wield(workspace, ['check']);
    expect(stdout).toContain('3:13');
    expect(stdout).toContain('@requires "foo:bar" is not a requirement');
    expect(stdout).toContain('@requires "python>=x" is not a requirement');
  });

  spec('TOOL-27', 'a front does not check what a worker runs', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', script('no-such'));
    const run = async () => ({ content: [{ type: 'text' as const, text: 'ran elsewhere' }] });
    const call = async (takes: boolean) =>
      workspace.toolbox({ dispatcher: { takes: () => takes, run } }).call('hello', {}, person);
    expect(await call(true)).toMatchObject({ ok: true });
    expect((await call(false)).error).toMatchObject({ code: 'unavailable' });
  });

  spec('TOOL-27', 'show and doctor list them, a listing looks for nothing', async () => {
    const workspace = createWorkspace();
    install(workspace, { 'such-a': '', 'apt-get': '' });
    workspace.script('has', script('such-a'));
    workspace.script('lacks', script('no-such env:NO_SUCH_TOKEN'));
    workspace.script('granted', '#!/bin/sh\n# @description Needs a variable.\n# @env NO_SUCH_KEY For it.\necho\n');
    const shown = await wield(workspace, ['show', 'lacks']);
    expect(shown.stdout).toContain('requires no-such, $NO_SUCH_TOKEN. Missing here: the program no-such');
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toMatch(/ok +requires +all there: has \(such-a\)/);
    expect(stdout).toContain('lacks needs the program no-such; the variable NO_SUCH_TOKEN');
    expect(stdout).toContain('granted needs the variable NO_SUCH_KEY');
    const listed = await wield(workspace, ['list']);
    expect(listed.stdout + listed.stderr).not.toContain('no-such');
  });
});
