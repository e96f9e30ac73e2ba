// The index on disk: saves reading files and never changes results.

import { chmodSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { forgeCacheFile } from '../../support/cache-file.js';
import { type CliRun, json, wield } from '../../support/cli.js';
import { createSkillWorkspace, writeSkill } from '../../support/search.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, LATER, type Workspace } from '../../support/workspace.js';

const saying = (word: string): string =>
  `#!/bin/sh\n# @description Say ${word}.\n# @param a string A\n# @tag t\necho ${word}\n`;
const COUNT = 20;

function createFull(): Workspace {
  const workspace = createWorkspace();
  for (let index = 0; index < COUNT; index++) workspace.script(`t${10 + index}`, saying(`w${index}`));
  workspace.script('broken', '#!/bin/sh\n');
  return workspace;
}

const indexFiles = (workspace: Workspace): string[] => {
  const directory = join(workspace.env.WIELD_HOME!, 'cache/index');
  return readdirSync(directory).map((name) => join(directory, name));
};
const listing = (run: CliRun): [string, string][] =>
  json(run).tools.map((tool: { name: string; description: string }) => [tool.name, tool.description]);

/** Runs a command by a clock that says that all files are old enough to trust their times. */
const wieldLater = (workspace: Workspace, args: readonly string[]): Promise<CliRun> =>
  wield(workspace, args, { now: LATER });

spec('RES-13 CLI-12', 'lists from the index in a second process, and logs it at debug level', async () => {
  const workspace = createFull();
  const first = await wieldLater(workspace, ['list', '--json']);
  expect(indexFiles(workspace)).toHaveLength(1);
  const second = await wieldLater(workspace, ['list', '--json', '--verbose']);
  expect(second.stderr).toContain('listed from the index on disk');
  expect(second.stdout).toBe(first.stdout);
  expect(json(second).tools).toHaveLength(COUNT);
  expect(json(second).problems).toHaveLength(1);
});

spec('SCR-15 RES-13', 'sees every change in the next process, with or without index', async () => {
  const workspace = createFull();
  await wieldLater(workspace, ['list', '--json']);
  const tools = join(workspace.dir, '.agents/tools');
  workspace.script('t10', saying('new'));
  chmodSync(join(tools, 't11'), 0o644);
  unlinkSync(join(tools, 't12'));
  renameSync(join(tools, 't13'), join(tools, 'moved'));
  workspace.script('t99', saying('added'));
  const after = listing(await wieldLater(workspace, ['list', '--json']));
  expect(after.map(([name]) => name)).toEqual([
    'moved',
    't10',
    ...Array.from({ length: COUNT - 4 }, (_, index) => `t${14 + index}`),
    't99',
  ]);
  expect(after).toContainEqual(['t10', 'Say new.']);
  expect((await wieldLater(workspace, ['call', 't10', '--a', 'x'])).stdout).toBe('new\n');
  expect((await wieldLater(workspace, ['call', 'moved', '--a', 'x'])).stdout).toBe('w3\n');
  for (const name of ['t11', 't12', 't13']) expect((await wieldLater(workspace, ['call', name])).status).toBe(3);
});

spec('SCR-15 RES-13', 'sees an edit of the same size right after the index was written', async () => {
  const workspace = createFull();
  await wield(workspace, ['list', '--json']);
  workspace.script('t10', saying('w9'));
  const found = listing(await wield(workspace, ['list', '--json'])).find(([name]) => name === 't10');
  expect(found?.[1]).toBe('Say w9.');
});

spec('RES-13', 'updates the index when a changed directory has settled, and lists the change before', async () => {
  const workspace = createFull();
  await wieldLater(workspace, ['list', '--json']);
  const [file] = indexFiles(workspace);
  const before = readFileSync(file!);
  workspace.script('t99', saying('added'));
  const early = await wield(workspace, ['list', '--json']);
  expect(listing(early)).toContainEqual(['t99', 'Say added.']);
  expect(readFileSync(file!)).toEqual(before);
  expect(listing(await wieldLater(workspace, ['list', '--json']))).toEqual(listing(early));
  expect(readFileSync(file!, 'utf8')).toContain('Say added.');
});

spec.thorough('RES-13', 'discards and rebuilds a corrupt, truncated, foreign or older index', async () => {
  const workspace = createFull();
  const truth = (await wieldLater(workspace, ['list', '--json'])).stdout;
  const [file] = indexFiles(workspace);
  const good = readFileSync(file!);
  const flipped = (at: number): Buffer => {
    const copy = Buffer.from(good);
    copy[at] = copy[at]! ^ 0x01;
    return copy;
  };
  const text = good.toString('utf8');
  const damages: [string, Buffer | string][] = [
    ['empty', ''],
    ['garbage', Buffer.from([0xff, 0x00, 0xfe, 0x0a])],
    ['half', good.subarray(0, good.length / 2)],
    ['without its first line', text.slice(text.indexOf('\n') + 1)],
    ['another version', text.replace(/^\["wield-index","\d+/, '["wield-index","999')],
    ['another directory', text.replace(workspace.dir, '/elsewhere')],
    ['a word changed', text.replace('Say w5.', 'Say w6.')],
    ['a name changed', text.replace('"name":"t15"', '"name":"t16"')],
    ...Array.from({ length: 12 }, (_, index): [string, Buffer] => [
      `a byte flipped at ${index}/12`,
      flipped(Math.floor((good.length * index) / 12)),
    ]),
  ];
  for (const [what, damage] of damages) {
    writeFileSync(file!, damage);
    const run = await wieldLater(workspace, ['list', '--json']);
    expect(run.stdout, what).toBe(truth);
    expect(readFileSync(file!).equals(good), `${what}: rebuilt`).toBe(true);
  }
});

spec('RES-13', 'does not change calls with a forged index', async () => {
  const workspace = createFull();
  await wieldLater(workspace, ['list', '--json']);
  const [file] = indexFiles(workspace);
  const evil = workspace.write('evil', '#!/bin/sh\n# @description E\necho evil\n', 0o755);
  forgeCacheFile(file!, (text) =>
    text.replaceAll(join(workspace.dir, '.agents/tools/t10'), evil).replace('Say w0.', 'Say evil.'),
  );
  // The forgery is good enough to be listed, which is what makes the rest worth something.
  expect(listing(await wieldLater(workspace, ['list', '--json']))).toContainEqual(['t10', 'Say evil.']);
  expect((await wieldLater(workspace, ['call', 't10', '--a', 'x'])).stdout).toBe('w0\n');
  expect(json(await wieldLater(workspace, ['show', 't10', '--json']))).toMatchObject({
    description: 'Say w0.',
    action: { file: join(workspace.dir, '.agents/tools/t10') },
  });
  const toolbox = workspace.toolbox({ now: LATER });
  await toolbox.list();
  expect((await toolbox.call('t10', { a: 'x' })).content).toEqual([{ type: 'text', text: 'w0\n' }]);
});

spec('RES-13 RES-4 RES-14', 'detects and rebuilds an index with the wrong skill', async () => {
  const workspace = createSkillWorkspace();
  for (let at = 0; at < COUNT; at++) writeSkill(join(workspace.dir, 'skills', `entry${at}`), `w${at}`, [`tool_${at}`]);
  await wieldLater(workspace, ['list', '--json']);
  const forge = (): void => {
    for (const file of indexFiles(workspace)) {
      forgeCacheFile(file, (text) =>
        text
          .replace('"name":"tool_1"', '"name":"tool_x"')
          .replace('"name":"tool_2"', '"name":"tool_1"')
          .replace('Says w3.', 'Forged.'),
      );
    }
  };
  forge();
  const said = async (name: string) => (await wieldLater(workspace, ['call', name])).stdout;
  expect(await said('tool_1')).toBe('["say","w1"]\n');
  expect(await said('tool_2')).toBe('["say","w2"]\n');
  forge();
  const toolbox = workspace.toolbox({ now: LATER });
  const described = async (name: string) => (await toolbox.list()).find((tool) => tool.name === name)?.description;
  // Accepted for listings; wield clean removes it.
  expect(await described('tool_3')).toBe('Forged.');
  toolbox.catalog.clearToolCache('tool_3');
  expect(await described('tool_3')).toBe('Says w3.');
  forge();
  const other = workspace.toolbox({ now: LATER });
  other.catalog.clearAllCaches();
  expect((await other.list()).map((tool) => tool.description)).not.toContain('Forged.');
});

spec('RES-13', 'works without a writable index directory', async () => {
  const workspace = createFull();
  workspace.config('');
  writeFileSync(join(workspace.env.WIELD_HOME!, 'cache'), 'in the way');
  const run = await wieldLater(workspace, ['list', '--json']);
  expect(run.status).toBe(0);
  expect(json(run).tools).toHaveLength(COUNT);
});
