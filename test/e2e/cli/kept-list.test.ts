// The kept listing of the binary: shown again only while everything that it was made from is unchanged.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { binary } from '../../support/built.js';
import { wield, wieldProcess } from '../../support/cli.js';
import { some } from '../../support/effort.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SETTLE_MS = 2100;
// Larger directories have an index file.
const INDEXED = 16;
const script = (description: string): string => `#!/bin/sh\n# @description ${description}\necho done\n`;
const listsOf = ({ env }: Workspace): string => join(env.WIELD_HOME!, 'cache', 'lists');
const keptBy = (workspace: Workspace): string => join(listsOf(workspace), readdirSync(listsOf(workspace))[0]!);
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, SETTLE_MS));

/** Creates a workspace whose listing is kept. */
async function keep(tools = 3): Promise<Workspace> {
  const workspace = createWorkspace();
  for (let at = 0; at < tools; at++) workspace.script(`tool-${at}`, script(`Does ${at}.`));
  // An index that was made of young files is written again.
  for (let run = 0; run < (tools < INDEXED ? 1 : 2); run++) {
    await wieldProcess(workspace, ['list']);
    await settle();
  }
  const { stdout } = await wieldProcess(workspace, ['list']);
  const kept = keptBy(workspace);
  const { ino } = statSync(kept);
  expect(await wieldProcess(workspace, ['list'])).toMatchObject({ status: 0, stdout, stderr: '' });
  expect(statSync(kept).ino).toBe(ino);
  return workspace;
}

/** Replaces a text of the kept listing by one of the same length, which shows whether it is used. */
function mark(workspace: Workspace): void {
  const text = readFileSync(keptBy(workspace), 'utf8');
  writeFileSync(keptBy(workspace), text.replaceAll('Does 0.', 'Kept 0.'));
}

const CHANGES: Record<string, (workspace: Workspace) => unknown> = {
  'a tool was added': (workspace) => workspace.script('added', script('Is new.')),
  'a tool was edited, with the same size and time': ({ dir }) => {
    const file = join(dir, '.agents/tools/tool-1');
    const { atime, mtime } = statSync(file);
    writeFileSync(file, script('Makes 1'));
    utimesSync(file, atime, mtime);
  },
  'a tool was removed': ({ dir }) => rmSync(join(dir, '.agents/tools/tool-1')),
  'a tool is not executable any more': ({ dir }) => chmodSync(join(dir, '.agents/tools/tool-1'), 0o644),
  'a tool was exchanged': ({ dir, write }) => {
    write('other', script('Is another one.'), 0o755);
    renameSync(join(dir, 'other'), join(dir, '.agents/tools/tool-1'));
  },
  'a tool became a link out of the workspace': ({ dir, home }) => {
    writeFileSync(join(home, 'outside'), script('Is outside.'), { mode: 0o755 });
    rmSync(join(dir, '.agents/tools/tool-1'));
    symlinkSync(join(home, 'outside'), join(dir, '.agents/tools/tool-1'));
  },
  'the directory became a link out of the workspace': ({ dir, home }) => {
    renameSync(join(dir, '.agents/tools'), join(home, 'tools'));
    symlinkSync(join(home, 'tools'), join(dir, '.agents/tools'));
  },
  'the parent became a link out of the workspace': ({ dir, home }) => {
    renameSync(join(dir, '.agents'), join(home, 'agents'));
    symlinkSync(join(home, 'agents'), join(dir, '.agents'));
  },
  'a rule denies a tool': (workspace) => workspace.config('[trust]\nrules = ["tool-1($deny)"]\n'),
  'the project has a configuration': (workspace) => workspace.write('.agents/config.toml', 'no = 1\n'),
  'the workspace was trusted': (workspace) => wield(workspace, ['trust']),
  'the user has a tool': ({ home }) => {
    mkdirSync(join(home, '.agents/tools'), { recursive: true });
    writeFileSync(join(home, '.agents/tools/own'), script('Is mine.'), { mode: 0o755 });
  },
  'there is a skill': (workspace) =>
    workspace.write('.agents/skills/tidy/SKILL.md', '---\nname: tidy\ndescription: Tidies.\n---\nText\n'),
  'there is a group': (workspace) =>
    workspace.write('.agents/tools/group/run.ts', 'export default { description: "x" };\n'),
  'there is a server': (workspace) =>
    workspace.write('.mcp.json', '{ "mcpServers": { "other": { "command": "false" } } }'),
  'tools of the directory above are shadowed': ({ dir }) => {
    mkdirSync(join(dirname(dir), '.agents'), { recursive: true });
  },
};

spec.thorough('RES-60', 'lists again after any change of what the listing was made from', async () => {
  const cases = await Promise.all(
    some(Object.entries(CHANGES), 3).map(async ([name, change], at) => {
      // With and without an index.
      const workspace = await keep(at % 2 === 0 ? 3 : 20);
      await change(workspace);
      const shown = await wieldProcess(workspace, ['list', '--json']);
      const expected = await wield(workspace, ['list', '--json']);
      return { name, shown, expected };
    }),
  );
  for (const { name, shown, expected } of cases) expect(shown, name).toEqual(expected);
});

spec.thorough(
  'RES-60',
  'shows a kept listing with the flags of the command, and only for its own environment',
  async () => {
    const workspace = await keep();
    mark(workspace);
    expect((await wieldProcess(workspace, ['list'])).stdout).toContain('Kept 0.');
    for (const flag of ['--json', '--all', '--hidden', '--plain'])
      expect((await wieldProcess(workspace, ['list', flag])).stdout, flag).toContain('Kept 0.');
    for (const args of [
      ['list', '--tag', 'a'],
      ['list', '--cwd', '.'],
      ['list', '--verbose'],
      ['list', '--unknown'],
    ]) {
      const expected = await wield(workspace, args);
      expect({ ...(await wieldProcess(workspace, args)), stderr: '' }).toEqual({ ...expected, stderr: '' });
    }
    const debugging = await wieldProcess(workspace, ['list'], { env: { WIELD_LOG: 'debug' } });
    expect(debugging.stdout).toContain('Does 0.');
    expect(debugging.stderr).toContain('debug');
  },
);

spec('RES-60 STA-2', 'ignores a kept listing that is damaged, or that another user could have written', async () => {
  const damage: Record<string, (file: string) => void> = {
    'writable by others': (file) => chmodSync(file, 0o666),
    'in a directory that others can write': (file) => chmodSync(dirname(file), 0o777),
    'a link': (file) => {
      renameSync(file, `${file}-moved`);
      symlinkSync(`${file}-moved`, file);
    },
    'cut off': (file) => writeFileSync(file, readFileSync(file).subarray(0, 200)),
    'of another build': (file) => writeFileSync(file, readFileSync(file, 'utf8').replace(/"build":"\w/, '"build":"-')),
    'of another directory': (file) => writeFileSync(file, readFileSync(file, 'utf8').replace('"cwd":"', '"cwd":"/x')),
    empty: (file) => writeFileSync(file, ''),
  };
  await Promise.all(
    some(Object.entries(damage), 2).map(async ([name, spoil]) => {
      const workspace = await keep();
      mark(workspace);
      spoil(keptBy(workspace));
      const { status, stdout } = await wieldProcess(workspace, ['list']);
      expect({ name, status, isKept: stdout.includes('Kept 0.'), isListed: stdout.includes('Does 0.') }).toEqual({
        name,
        status: 0,
        isKept: false,
        isListed: true,
      });
    }),
  );
});

spec(
  'RES-60',
  'keeps nothing that depends on a young file or on a server, and no value of another variable',
  async () => {
    const workspace = createWorkspace();
    for (let run = 0; run < 2; run++) {
      workspace.script('hello', script(`Says hello ${run}.`));
      await wieldProcess(workspace, ['list']);
    }
    expect(() => readdirSync(listsOf(workspace))).toThrow('ENOENT');
    const servers = join(workspace.home, '.agents', 'mcp.json');
    mkdirSync(dirname(servers));
    writeFileSync(servers, '{ "mcpServers": { "mine": { "command": "false", "env": { "KEY": "$SECRET" } } } }');
    await settle();
    for (let run = 0; run < 2; run++) await wieldProcess(workspace, ['list'], { env: { SECRET: 'hidden-value' } });
    expect(() => readdirSync(listsOf(workspace))).toThrow('ENOENT');
  },
);

spec('RES-60', 'reports a current directory that was removed', async () => {
  const workspace = createWorkspace();
  const { dir, home } = workspace;
  const script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"';
  const args = ['-c', script, 'sh', process.execPath, binary(), 'list'];
  const run = spawnSync('sh', args, { cwd: home, env: { ...workspace.env, PWD: dir }, encoding: 'utf8' });
  expect(run).toMatchObject({ stdout: '', status: 8 });
  expect(run.stderr).toMatch(/^error {2}the current directory no longer exists\n/);
});
