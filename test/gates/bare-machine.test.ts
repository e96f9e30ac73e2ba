// Checks that test files can be loaded where all optional programs are missing, and that no suite is empty there.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createPath, findAffected } from '../../scripts/bare-path.mjs';
import { ALL_TESTS } from '../support/effort.js';
import { hasProgram } from '../support/machine.js';
import optional from '../support/optional-programs.json' with { type: 'json' };
import { patience } from '../support/patience.js';
import { TAKES_LONG } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const ROOT = join(import.meta.dirname, '../..');
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs');

test(
  'without optional programs, every suite still has tests',
  async (context) => {
    // `.ci/run` runs these files without the programs.
    if (!ALL_TESTS) context.skip(TAKES_LONG);
    const PATH = createPath(join(createWorkspace().home, 'bin'), Object.keys(optional));
    // No test has this name, so that files are only loaded.
    const args = [VITEST, 'run', '--testNamePattern', '^no such test$', '--maxWorkers', '2', ...findAffected()];
    const env = { ...process.env, PATH };
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env, maxBuffer: 1 << 26 });
    expect(stdout).toMatch(/^0 passed, 0 failed, \d+ skipped$/m);
  },
  patience(600_000),
);

test('a program is found on PATH only', () => {
  const before = process.env.PATH;
  expect(hasProgram('sh')).toBe(true);
  try {
    process.env.PATH = createPath(join(createWorkspace().home, 'bin'), ['sh']);
    expect([hasProgram('sh'), hasProgram('node')]).toEqual([false, true]);
  } finally {
    process.env.PATH = before;
  }
});
