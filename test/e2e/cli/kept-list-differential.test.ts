// Property test: after random changes, a kept listing shows what a listing without any state shows.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { expect } from 'vitest';
import { wield, wieldProcess } from '../../support/cli.js';
import { ALL_TESTS, rounds } from '../../support/effort.js';
import { act, CONFIGS, ROOTS, type Step, step } from '../../support/histories.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const LATER = `--require "${fileURLToPath(new URL('../../support/later.cjs', import.meta.url))}"`;
const RULES = ['', '[trust]\nrules = ["a($deny)"]\n', '[trust]\nrules = ["#x($deny) b($deny)"]\n'];

type Change = Step | { do: 'rules'; rules: string } | { do: 'trust'; flags: readonly string[] };
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 5, arbitrary: step.filter((one) => 'place' in one || one.do === 'workdir' || one.do === 'config') },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rules' as const), rules: fc.constantFrom(...RULES) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('trust' as const), flags: fc.constantFrom([], ['--revoke']) }),
  },
);

/** Applies changes, and compares what runs of the binary show after each of them. Returns how often one was kept. */
async function live(workspace: Workspace, root: string, changes: readonly Change[]): Promise<number> {
  const home = join(root, 'home');
  const kept = { ...workspace.env, HOME: home, WIELD_HOME: join(root, 'kept') };
  const cold = { ...workspace.env, HOME: home, WIELD_HOME: join(root, 'cold') };
  let dir = join(root, ROOTS[0]!);
  let config = '';
  let rules = '';
  let shownAgain = 0;
  mkdirSync(kept.WIELD_HOME);
  for (const one of changes) {
    if (one.do === 'workdir') dir = join(root, one.root);
    else if (one.do === 'config') config = CONFIGS[one.config]!;
    else if (one.do === 'rules') rules = one.rules;
    else if (one.do === 'trust') await wield({ dir, env: kept }, ['trust', ...one.flags]);
    else act(root, dir, one);
    const text = config + rules;
    if (one.do === 'config' || one.do === 'rules') writeFileSync(join(kept.WIELD_HOME, 'config.toml'), text);
    rmSync(cold.WIELD_HOME, { recursive: true, force: true });
    mkdirSync(cold.WIELD_HOME);
    writeFileSync(join(cold.WIELD_HOME, 'config.toml'), text);
    // The same record: a new one would also be about directories that appeared since.
    const record = join(kept.WIELD_HOME, 'trust.json');
    if (existsSync(record)) copyFileSync(record, join(cold.WIELD_HOME, 'trust.json'));
    const expected = await wield({ dir, env: cold }, ['list', '--all', '--json']);
    const show = () => wieldProcess({ dir, env: kept }, ['list', '--all', '--json'], { env: { NODE_OPTIONS: LATER } });
    const first = await show();
    const before = versionOf(kept.WIELD_HOME);
    const second = await show();
    if (before !== '' && before === versionOf(kept.WIELD_HOME)) shownAgain++;
    for (const { status, stdout, stderr } of [first, second])
      expect({ change: one, status, stdout: stdout.replaceAll(kept.WIELD_HOME, cold.WIELD_HOME), stderr }).toEqual({
        change: one,
        ...expected,
      });
  }
  return shownAgain;
}

function versionOf(wieldHome: string): string {
  const lists = join(wieldHome, 'cache', 'lists');
  try {
    return readdirSync(lists)
      .map((name) => `${name} ${statSync(join(lists, name)).ino}`)
      .join('\n');
  } catch {
    return '';
  }
}

spec.thorough(
  'RES-60',
  'shows what a listing without state shows, after random changes of files, configuration, rules and trust',
  async () => {
    const workspace = createWorkspace();
    let shownAgain = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 8, maxLength: 16, size: 'max' }), async (changes) => {
        // Too few files for indexes, which would be written again in every run.
        const root = mkdtempSync(join(workspace.dir, 'run-'));
        for (const name of [...ROOTS, 'home']) mkdirSync(join(root, name, '.agents'), { recursive: true });
        shownAgain += await live(workspace, root, changes);
        rmSync(root, { recursive: true });
      }),
      { numRuns: rounds(ALL_TESTS ? 3 : 1, 60), endOnFailure: true },
    );

    expect(shownAgain).toBeGreaterThan(0);
  },
  600_000,
);
