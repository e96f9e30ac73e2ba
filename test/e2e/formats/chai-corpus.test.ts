// Loads every descriptor in the history of chai, if a clone of it is in the corpora: chai, bare or not.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { expect } from 'vitest';
import { CORPORA, NO_CORPORA } from '../../support/corpora.js';
import { findingIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const REPOSITORY = resolve(CORPORA, 'chai');
const FILES = ['tools.json', 'allowlist.json', 'execution.json'];

const git = (...args: string[]): string =>
  execFileSync('git', ['-C', REPOSITORY, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });

/** Returns the different descriptors of all commits: the objects of their files by name. */
function readHistory(): Map<string, { readonly path: string; readonly objects: ReadonlyMap<string, string> }> {
  const found = new Map<string, { path: string; objects: Map<string, string> }>();
  const commits = git('log', '--all', '--format=%H', '--', ...FILES.map((name) => `*${name}`))
    .trim()
    .split('\n');
  for (const commit of commits) {
    const directories = new Map<string, Map<string, string>>();
    for (const line of git('ls-tree', '-r', commit).split('\n')) {
      const [, object = '', path = ''] = /^\d+ blob (\w+)\t(.*)$/.exec(line) ?? [];
      if (!FILES.includes(basename(path))) continue;
      const objects = directories.get(dirname(path)) ?? new Map<string, string>();
      directories.set(dirname(path), objects.set(basename(path), object));
    }
    for (const [path, objects] of directories)
      if (objects.has('tools.json')) found.set(JSON.stringify([...objects].sort()), { path, objects });
  }
  return found;
}

findingIf(
  existsSync(REPOSITORY),
  NO_CORPORA,
  '002-56',
  'each loads, but for one of its own tests',
  async () => {
    const history = [...readHistory().values()];
    expect(history.length).toBeGreaterThan(200);
    const workspace = createWorkspace();
    for (const [index, { objects }] of history.entries()) {
      const skill = `.agents/skills/s${index}`;
      workspace.write(`${skill}/SKILL.md`, `---\nname: s${index}\ndescription: x\n---\n`);
      for (const [name, object] of objects) workspace.write(`${skill}/${name}`, git('cat-file', 'blob', object));
    }
    const problems = await workspace.toolbox().catalog.problems();
    const refused = problems
      .filter(({ severity }) => severity === 'error')
      .map(({ path, message }) => `${history[Number(/s(\d+)\/[^/]*$/.exec(path)?.[1])]?.path}: ${message}`);
    expect(refused).toEqual([expect.stringMatching(/test.*is not in the allowlist/)]);
  },
  120_000,
);
