// Unusual files in a tools directory: a listing neither hangs nor throws, and reports them.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { rounds } from '../../support/effort.js';
import { isRoot, NOT_USER } from '../../support/machine.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, LATER } from '../../support/workspace.js';

const GOOD = '#!/bin/sh\n# @description Fine.\necho fine\n';
describe('odd files', () => {
  spec('SCR-19 SCR-1', 'lists valid tools and reports the rest with hints', async () => {
    const workspace = createWorkspace();
    workspace.script('good', GOOD);
    const tools = join(workspace.dir, '.agents/tools');
    execFileSync('mkfifo', [join(tools, 'fifo')]);
    symlinkSync('/dev/zero', join(tools, 'device'));
    symlinkSync('/dev/tty', join(tools, 'tty'));
    mkdirSync(join(tools, 'folder'));
    symlinkSync('/nowhere/at/all', join(tools, 'dangling'));
    symlinkSync(join(tools, 'circle-b'), join(tools, 'circle-a'));
    symlinkSync(join(tools, 'circle-a'), join(tools, 'circle-b'));
    workspace.script('empty', '');
    workspace.write(
      '.agents/tools/elf',
      Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0xff, 0xfe, 0x0a, 0x80]),
      0o755,
    );
    truncateSync(workspace.script('sparse', GOOD), 65 * 1024 * 1024);
    workspace.write('.agents/tools/latin1', Buffer.from('#!/bin/sh\n# @description caf\xe9\n', 'latin1'), 0o755);
    workspace.script('README.md', '# Read me');
    workspace.script('config.json', '{}');
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['good']);
    const problems = await toolbox.catalog.problems();
    const said = Object.fromEntries(problems.map((problem) => [problem.path.slice(tools.length + 1), problem.message]));
    expect(said).toEqual({
      'circle-a': 'broken symbolic link',
      'circle-b': 'broken symbolic link',
      dangling: 'broken symbolic link',
      elf: expect.stringContaining('does not start with a shebang'),
      empty: expect.stringContaining('does not start with a shebang'),
      latin1: 'not UTF-8 in its first 80 lines',
      sparse: 'larger than 64 MiB',
    });
    for (const problem of problems) expect(problem.hint).toMatch(/\S/);
    for (const name of [
      'fifo',
      'device',
      'tty',
      'folder',
      'dangling',
      'circle-a',
      'empty',
      'elf',
      'sparse',
      'latin1',
    ]) {
      expect([name, (await toolbox.call(name, {})).error?.code]).toEqual([name, 'not_found']);
    }
    expect((await toolbox.call('good', {})).ok).toBe(true);
    for (const args of [['list'], ['doctor'], ['show', 'good']]) {
      expect((await wield(workspace, args)).status).toBe(args[0] === 'doctor' ? 1 : 0);
    }
  });

  spec('SCR-19', 'reports an unreadable file', async () => {
    const workspace = createWorkspace();
    workspace.script('good', GOOD);
    // A regular file by its looks that answers every read with an error.
    symlinkSync('/proc/self/mem', join(workspace.dir, '.agents/tools/mem'));
    const toolbox = workspace.toolbox({ trust: true });
    expect(await toolbox.list()).toHaveLength(1);
    expect((await toolbox.catalog.problems())[0]?.message).toContain('cannot be read');
    expect((await toolbox.call('mem', {})).error?.code).toBe('not_found');
  });

  specIf(!isRoot, NOT_USER, 'SCR-19', 'a file without read permission is a problem', async () => {
    const workspace = createWorkspace();
    workspace.script('noread', GOOD, 0o111);
    const toolbox = workspace.toolbox();
    expect(await toolbox.list()).toEqual([]);
    expect((await toolbox.catalog.problems())[0]?.message).toContain('cannot be read');
  });

  spec('SCR-19', 'requires UTF-8 only in the first 80 lines', async () => {
    const workspace = createWorkspace();
    const late = Buffer.concat([Buffer.from(GOOD + '#\n'.repeat(77)), Buffer.from([0xff, 0xfe, 0x0a])]);
    const early = Buffer.concat([Buffer.from(GOOD + '#\n'.repeat(76)), Buffer.from([0xff, 0xfe, 0x0a])]);
    workspace.write('.agents/tools/late', late, 0o755);
    workspace.write('.agents/tools/early', early, 0o755);
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['late']);
    expect((await toolbox.catalog.problems())[0]?.message).toContain('not UTF-8');
  });

  spec('SCR-19', 'accepts a long line that is cut within a character', async () => {
    const workspace = createWorkspace();
    for (const shift of [0, 1, 2])
      workspace.script(`long${shift}`, `${GOOD}#${'x'.repeat(shift)}${'€'.repeat(700_000)}\n`);
    const toolbox = workspace.toolbox();
    expect(await toolbox.catalog.problems()).toEqual([]);
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['long0', 'long1', 'long2']);
  });

  spec('SCR-3 SCR-19', 'reads a header of 80 long lines', async () => {
    const workspace = createWorkspace();
    const lines = [
      '#!/bin/sh',
      ...Array.from({ length: 78 }, () => `# ${'words '.repeat(500)}`),
      '# @description Last.',
    ];
    workspace.script('long', `${lines.join('\n')}\necho x\n`);
    expect((await workspace.toolbox().list())[0]?.description).toBe('Last.');
  });

  specIf(!isRoot, NOT_USER, 'SCR-19 ERR-6', 'a directory that cannot be listed is a problem', async () => {
    const workspace = createWorkspace();
    workspace.script('one', GOOD);
    workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: x\n---\n');
    await wield(workspace, ['list']);
    for (const name of ['tools', 'skills']) chmodSync(join(workspace.dir, '.agents', name), 0o000);
    const problems = await workspace.toolbox().catalog.problems();
    expect(problems.map(({ path, message }) => [basename(path), message]).toSorted()).toEqual([
      ['skills', 'cannot be listed: permission denied'],
      ['tools', 'cannot be listed: permission denied'],
    ]);
    expect((await wield(workspace, ['check'])).stdout).toContain('cannot be listed: permission denied');
    for (const name of ['tools', 'skills']) chmodSync(join(workspace.dir, '.agents', name), 0o755);
    expect(await workspace.toolbox().catalog.problems()).toEqual([]);
  });

  spec('SCR-19 RES-40', 'lists nothing if .agents is a cycle of links', async () => {
    const workspace = createWorkspace();
    symlinkSync('.agents', join(workspace.dir, '.agents'));
    const toolbox = workspace.toolbox();
    expect(await toolbox.list()).toEqual([]);
    expect((await toolbox.call('one', {})).error?.code).toBe('not_found');
    expect((await wield(workspace, ['list'])).status).toBe(0);
    expect((await wield(workspace, ['call', 'one'])).status).toBe(3);
  });

  spec('SCR-1 ERR-5', 'escapes names with control characters at a terminal', async () => {
    const workspace = createWorkspace();
    workspace.script('\u001b[31mred\nforged  ok', GOOD);
    workspace.script(
      'shown',
      '#!/bin/sh\n# @description \u001b[31mred\u202e\n# @group \u001b[5mgroup\n# @param a int \u001b[2J\n',
    );
    for (const args of [
      ['doctor'],
      ['list', '--all'],
      ['show', 'shown'],
      ['call', 'shown', '--help'],
      ['call', '\u001b[31mx'],
    ]) {
      const { stdout, stderr } = await wield(workspace, args);
      expect(stdout + stderr).not.toMatch(/[\u001b\u202e]/);
    }
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout.split('\n').filter((line) => line.startsWith('forged'))).toEqual([]);
  });
});

const MANY = rounds(2000, 10_000);

spec.thorough(
  'SCR-18 SCR-19',
  `lists ${MANY} files in order, and again from the index`,
  async () => {
    const workspace = createWorkspace();
    const tools = join(workspace.dir, '.agents/tools');
    mkdirSync(tools, { recursive: true });
    const names: string[] = [];
    for (let index = 0; index < MANY; index++) {
      const name = `t${(index * 7919) % MANY}`;
      names.push(name);
      writeFileSync(join(tools, name), `#!/bin/sh\n# @description Tool ${name}.\n# @param *a int A\necho ${name}\n`, {
        mode: 0o755,
      });
    }
    names.sort((a, b) => (a < b ? -1 : 1));
    const first = json(await wield(workspace, ['list', '--json'], { now: LATER }));
    expect(first.tools.map((tool: { name: string }) => tool.name)).toEqual(names);
    expect(
      first.tools.every((tool: { name: string; description: string }) => tool.description === `Tool ${tool.name}.`),
    ).toBe(true);
    expect(json(await wield(workspace, ['list', '--json'], { now: LATER }))).toEqual(first);
    expect((await wield(workspace, ['call', 't77', '--a', '1'])).stdout).toBe('t77\n');
  },
  120_000,
);
