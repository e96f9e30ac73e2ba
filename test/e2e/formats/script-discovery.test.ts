// Every change of a tools directory is seen by the next listing and call.

import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { wield } from '../../support/cli.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, LATER } from '../../support/workspace.js';

const saying = (word: string): string => `#!/bin/sh\n# @description Say ${word}.\necho ${word}\n`;
const names = async (toolbox: NodeToolbox) => (await toolbox.list()).map((tool) => tool.name);
const say = async (toolbox: NodeToolbox, name: string) => {
  const result = await toolbox.call(name, {});
  return result.ok ? textOf(result).trim() : result.error!.code;
};
const describeOne = async (toolbox: NodeToolbox, name: string) =>
  (await toolbox.list()).find((tool) => tool.name === name)?.description;

// A state that is old enough to be believed: files are looked at again, and not read again.
const settle = (...paths: string[]): void => {
  const past = new Date(Date.now() - 60_000);
  for (const path of paths) utimesSync(path, past, past);
};

spec('SCR-30', 'the debug log names files of no format, once, and no others', async () => {
  const workspace = createWorkspace();
  workspace.script('say', saying('hi'));
  workspace.write('.agents/tools/.notes', 'x');
  workspace.write('skills/flat.md', '---\nname: flat\ndescription: Flat.\n---\nText.\n');
  const { stderr } = await wield(workspace, ['list', '--verbose']);
  const ignored = stderr.split('\n').filter((line) => line.includes(': ignored'));
  expect(ignored).toEqual([expect.stringContaining('.agents/tools/.notes: ignored, no format has this name')]);
});

describe('one toolbox', () => {
  spec('SCR-15', 'sees a new, edited, removed, chmod-ed and renamed file at once, in list and call', async () => {
    const workspace = createWorkspace();
    const toolbox = workspace.toolbox();
    expect(await names(toolbox)).toEqual([]);
    expect(await say(toolbox, 'one')).toBe('not_found');

    const one = workspace.script('one', saying('red'));
    expect(await names(toolbox)).toEqual(['one']);
    expect(await say(toolbox, 'one')).toBe('red');

    writeFileSync(one, saying('violet'));
    expect(await describeOne(toolbox, 'one')).toBe('Say violet.');
    expect(await say(toolbox, 'one')).toBe('violet');

    chmodSync(one, 0o644);
    expect(await names(toolbox)).toEqual([]);
    expect((await toolbox.catalog.problems())[0]?.message).toBe('not executable');
    expect(await say(toolbox, 'one')).toBe('not_found');
    chmodSync(one, 0o755);
    expect(await names(toolbox)).toEqual(['one']);
    expect(await toolbox.catalog.problems()).toEqual([]);

    renameSync(one, join(one, '../two'));
    expect(await names(toolbox)).toEqual(['two']);
    expect(await say(toolbox, 'one')).toBe('not_found');
    expect(await say(toolbox, 'two')).toBe('violet');

    unlinkSync(join(one, '../two'));
    expect(await names(toolbox)).toEqual([]);
    expect(await say(toolbox, 'two')).toBe('not_found');
  });

  spec.thorough('SCR-15', 'sees an edit of the same size within the same millisecond, in list and call', async () => {
    const workspace = createWorkspace();
    const toolbox = workspace.toolbox();
    for (let round = 0; round < 40; round++) {
      const word = `w${String(round).padStart(3, '0')}`;
      const path = workspace.script('same', saying(word));
      const { atime, mtime } = statSync(path);
      expect(await describeOne(toolbox, 'same')).toBe(`Say ${word}.`);
      const other = word.replace('w', 'v');
      writeFileSync(path, saying(other));
      utimesSync(path, atime, mtime);
      expect(await describeOne(toolbox, 'same')).toBe(`Say ${other}.`);
    }
    expect(await say(toolbox, 'same')).toBe('v039');
  });

  spec('SCR-15', 'sees an edit that restores size and modification time', async () => {
    const workspace = createWorkspace();
    const path = workspace.script('same', saying('aaa'));
    settle(path, join(path, '..'));
    // By this clock, the directory and the change time are old enough that the listing may trust what it read.
    const toolbox = workspace.toolbox({ now: LATER });
    const { atime, mtime } = statSync(path);
    expect(await describeOne(toolbox, 'same')).toBe('Say aaa.');
    writeFileSync(path, saying('bbb'));
    utimesSync(path, atime, mtime);
    expect(await describeOne(toolbox, 'same')).toBe('Say bbb.');
    expect(await say(toolbox, 'same')).toBe('bbb');
  });

  spec('SCR-15', 'sees a link that points to another file', async () => {
    const workspace = createWorkspace();
    const first = workspace.write('lib/first', saying('first'), 0o755);
    const second = workspace.write('lib/second', saying('other'), 0o755);
    mkdirSync(join(workspace.dir, '.agents/tools'), { recursive: true });
    const link = join(workspace.dir, '.agents/tools/link');
    symlinkSync(first, link);
    const toolbox = workspace.toolbox();
    expect(await say(toolbox, 'link')).toBe('first');
    unlinkSync(link);
    symlinkSync(second, link);
    expect(await describeOne(toolbox, 'link')).toBe('Say other.');
    expect(await say(toolbox, 'link')).toBe('other');
    rmSync(second);
    expect(await names(toolbox)).toEqual([]);
    expect((await toolbox.catalog.problems())[0]?.message).toBe('broken symbolic link');
    expect(await say(toolbox, 'link')).toBe('not_found');
    workspace.write('lib/second', saying('again'), 0o755);
    expect(await say(toolbox, 'link')).toBe('again');
  });

  spec('SCR-15', 'sees that the directory is removed, restored and replaced', async () => {
    const workspace = createWorkspace();
    workspace.script('one', saying('one'));
    const toolbox = workspace.toolbox();
    const tools = join(workspace.dir, '.agents/tools');
    expect(await names(toolbox)).toEqual(['one']);
    rmSync(tools, { recursive: true });
    expect(await names(toolbox)).toEqual([]);
    expect(await say(toolbox, 'one')).toBe('not_found');
    workspace.write('other/two', saying('two'), 0o755);
    symlinkSync(join(workspace.dir, 'other'), tools);
    expect(await names(toolbox)).toEqual(['two']);
    expect(await say(toolbox, 'two')).toBe('two');
    rmSync(tools);
    writeFileSync(tools, 'a file where a directory was');
    expect(await names(toolbox)).toEqual([]);
  });

  spec('SCR-16 SCR-22', 'reflects a change of workdir in the next listing and call', async () => {
    const workspace = createWorkspace();
    workspace.script('here', '#!/bin/sh\n# @description D\npwd\n');
    workspace.script('both', saying('here'));
    const other = join(workspace.dir, 'other');
    workspace.write('other/.agents/tools/there', '#!/bin/sh\n# @description D\npwd\n', 0o755);
    workspace.write('other/.agents/tools/both', saying('there'), 0o755);
    const toolbox = workspace.toolbox();
    expect(await names(toolbox)).toEqual(['both', 'here']);
    expect(await say(toolbox, 'here')).toBe(workspace.dir);
    toolbox.workspace.setWorkdir(other);
    expect(toolbox.workspace.workdir).toBe(other);
    expect(await names(toolbox)).toEqual(['both', 'there']);
    expect(await say(toolbox, 'there')).toBe(other);
    expect(await say(toolbox, 'both')).toBe('there');
    expect(await say(toolbox, 'here')).toBe('not_found');
    toolbox.workspace.setWorkdir(workspace.dir);
    expect(await names(toolbox)).toEqual(['both', 'here']);
    expect(await say(toolbox, 'both')).toBe('here');
    expect(() => toolbox.workspace.setWorkdir('relative')).toThrow(/absolute/);
  });
});
