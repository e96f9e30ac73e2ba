// Checks `npm test` itself: progress from the start, an end that leaves nothing behind, and the lines at its end.

import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { some } from '../support/effort.js';
import { NO_PROC } from '../support/machine.js';
import { until } from '../support/server.js';
import { type CountedTest, countTests, findUnexplained, summariseSkips } from '../support/summary.js';
import { createWorkspace } from '../support/workspace.js';

const ROOT = join(import.meta.dirname, '../..');

// Instead of vitest: creates what test runs create, and does not end by itself.
const RUNNER = `
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
process.on('SIGTERM', () => {});
const started = ['inherit', 'ignore'].map((stdio) => spawn('sleep', ['600'], { detached: stdio === 'ignore', stdio }));
const directory = process.env.TMPDIR + '/wield-' + process.pid;
mkdirSync(directory);
writeFileSync('state.json', JSON.stringify({ directory, pids: [process.pid, ...started.map(({ pid }) => pid)] }));
setInterval(() => {}, 1000);
`;

const PROGRAMS = 'test/support/optional-programs.json';

/** Creates a project with the script of `npm test`, starts it, and waits until its tests run. */
async function startRun() {
  const { home } = createWorkspace();
  for (const name of ['test.mjs', 'bare-path.mjs', 'usage.mjs'].map((script) => `scripts/${script}`))
    cpSync(join(ROOT, name), join(home, name));
  cpSync(join(ROOT, PROGRAMS), join(home, PROGRAMS));
  mkdirSync(join(home, 'node_modules/vitest'), { recursive: true });
  writeFileSync(join(home, 'node_modules/vitest/vitest.mjs'), RUNNER);
  const scripts = { build: 'true', test: 'node scripts/test.mjs' };
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, scripts }));
  const env = { ...process.env, TMPDIR: home, npm_config_update_notifier: 'false' };
  const child = spawn('npm', ['test'], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  onTestFinished(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const file = join(home, 'state.json');
  await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('}'), 'tests run');
  const state = JSON.parse(readFileSync(file, 'utf8')) as { directory: string; pids: number[] };
  return { child, ended, output: () => output, ...state };
}

for (const signal of some(['SIGINT', 'SIGTERM', 'SIGKILL'] as const, 1))
  test(`${signal} ends npm test with everything that it started`, async (context) => {
    if (!existsSync('/proc')) context.skip(NO_PROC);
    const { child, ended, output, directory, pids } = await startRun();
    expect(output()).toMatch(/building dist\/\n[\s\S]*running tests/);
    // A terminal sends SIGINT to the whole group; npm passes SIGTERM on.
    process.kill(signal === 'SIGINT' ? -child.pid! : child.pid!, signal);
    await ended;
    await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`)), 'processes are gone');
    await until(() => !existsSync(directory), 'files are gone');
  });

const skipped = (skipReason?: string): CountedTest => ({ title: 'a', state: 'skipped', skipReason });

test('skipped tests are counted by reason', () => {
  const further: CountedTest = { title: 'b', state: 'skipped', thorough: true };
  const tests = [skipped('no x; to run: install x'), skipped('no x; to run: install x'), further, skipped()];
  expect(summariseSkips(tests, new Map([['AAA-1', 'no x; to run: install x']]))).toEqual([
    '     2  no x; to run: install x (1 statement unproven)',
    '     1  further tests, which take long; to run: npm run thorough',
  ]);
  expect(findUnexplained(tests)).toEqual(['a']);
  expect(countTests([...tests, { title: 'c', state: 'passed' }], 2)).toBe('1 passed, 2 failed, 4 skipped');
});
