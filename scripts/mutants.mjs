// Applies one mutation of security-relevant code at a time to a copy of the project, and reports which no test notices.
// Usage: npm run mutants [-- --only TEXT] [--rest] [--changed COMMIT] [--from N] [--seconds N] [--lanes 1|2]
// [--no-baseline]. It updates test/mutation-results.json and docs/reference/mutants.md.

import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readMutations, readResults, saveResults } from './mutants-page.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TIMEOUT_MS = 240_000;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    rest: { type: 'boolean', default: false },
    changed: { type: 'string' },
    from: { type: 'string', default: '1' },
    seconds: { type: 'string', default: 'Infinity' },
    'no-baseline': { type: 'boolean', default: false },
    lanes: { type: 'string', default: '2' },
  },
});
// `--rest`: those that were not killed. `--changed`: those whose code or tests changed since a commit. `--from`: goes on
// with the Nth of them.
const before = readResults();
const changed = options.changed === undefined ? undefined : filesChangedSince(options.changed);
const chosen = readMutations().filter(
  (mutation) =>
    (options.only === undefined || describe(mutation).includes(options.only)) &&
    !(options.rest && before[mutation.what] === 'killed') &&
    (changed === undefined || [mutation.file, ...mutation.tests].some((file) => changed.has(file))),
);
// No other mutation is started after that.
const deadline = performance.now() + Number(options.seconds) * 1000;
const scratch = mkdtempSync(join(tmpdir(), 'wield-mutants-'));

try {
  for (const mutation of chosen) mutate(mutation, ROOT);
  const lanes = Array.from({ length: Number(options.lanes) }, (_, at) => createCopy(join(scratch, String(at))));
  if (!options['no-baseline']) await runBaseline(lanes[0]);
  const results = new Map();
  const left = chosen.slice(Number(options.from) - 1);
  await Promise.all(
    lanes.map(async (copy) => {
      for (let next = left.shift(); next !== undefined && performance.now() < deadline; next = left.shift()) {
        const began = performance.now();
        const result = await tryMutation(copy, next);
        results.set(next, result);
        console.log(
          `${chosen.indexOf(next) + 1}/${chosen.length} ${result.state.padEnd(8)} ${next.area}: ${next.what}`,
        );
        console.log(`    ${Math.round((performance.now() - began) / 1000)} s: ${result.detail}`);
        saveResults({ [next.what]: result.state });
      }
    }),
  );
  const killed = chosen.filter((mutation) => results.get(mutation)?.state === 'killed').length;
  console.log(`\n${killed} of ${chosen.length} mutations killed`);
  process.exitCode = killed === chosen.length ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Returns the mutated text of a file. Throws unless the text to replace occurs exactly once. */
function mutate({ file, find, replace }, root) {
  const text = readFileSync(join(root, file), 'utf8');
  const parts = text.split(find);
  if (parts.length !== 2) throw new Error(`${file}: occurs ${parts.length - 1} times: ${find}`);
  return parts.join(replace);
}

/** Copies the tracked files and the build; packages are linked. */
function createCopy(directory) {
  const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  for (const name of [...tracked.split('\0').filter(Boolean), 'dist']) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    cpSync(join(ROOT, name), join(directory, name), { recursive: true, verbatimSymlinks: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  return directory;
}

// A test that fails anyway would count as noticing every mutation. One that failed is tried twice, since the machine may
// be busy.
async function runBaseline(copy) {
  const named = chosen.filter((mutation) => patternOf(mutation) !== undefined);
  const whole = chosen.filter((mutation) => patternOf(mutation) === undefined);
  const patterns = [...new Set(named.map(patternOf))].map((pattern) => `(?:${pattern})`);
  const runs = [
    { tests: filesOf(whole) },
    { tests: filesOf(named).filter((file) => !filesOf(whole).includes(file)), title: patterns.join('|') },
  ];
  for (const run of runs.filter(({ tests }) => tests.length > 0)) {
    const { failed } = await runTests(copy, run);
    if (failed !== undefined && (await runTests(copy, run)).failed !== undefined)
      throw new Error(`fails without a mutation: ${failed}`);
  }
}

function filesOf(mutations) {
  return [...new Set(mutations.flatMap(({ tests }) => tests))];
}

/** Returns which tests must notice a mutation, by title; those of its finding by default. */
function patternOf({ title, finding }) {
  return title ?? (finding === undefined ? undefined : `\\b${finding}\\b`);
}

async function tryMutation(copy, mutation) {
  const path = join(copy, mutation.file);
  const original = readFileSync(path, 'utf8');
  writeFileSync(path, mutate(mutation, copy));
  try {
    if (mutation.build && !(await build(copy))) return { state: 'invalid', detail: 'does not build' };
    const { ran, failed } = await runTests(copy, mutation);
    if (failed !== undefined) return { state: 'killed', detail: failed };
    if (ran === 0) return { state: 'invalid', detail: `no test matches ${patternOf(mutation)}` };
    return { state: 'survived', detail: mutation.tests.join(' ') };
  } finally {
    writeFileSync(path, original);
  }
}

// The bundles only; types are not checked.
async function build(copy) {
  return (await run(copy, ['scripts/build.mjs', '--bundles'])).code === 0;
}

async function runTests(copy, { tests, ...names }) {
  const report = join(copy, 'mutants-report.json');
  rmSync(report, { force: true });
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...tests, '--bail=1', '--maxWorkers=1'];
  const title = patternOf(names);
  const pattern = title === undefined ? [] : ['-t', title];
  const { code, late, output } = await run(copy, [...vitest, ...pattern, '--reporter=json', `--outputFile=${report}`]);
  if (late) return { ran: 1, failed: 'the tests did not end' };
  if (!existsSync(report)) throw new Error(`the tests could not be run:\n${output.slice(-2000)}`);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  const ran = results.filter(({ status }) => status === 'passed' || status === 'failed');
  const failed = ran.filter(({ status }) => status === 'failed').map(toDetail)[0];
  const broken = testResults.find(({ status, message }) => status === 'failed' && message);
  return {
    ran: ran.length,
    failed: failed ?? (code !== 0 && broken ? broken.message.split('\n')[0] : undefined),
  };
}

// With the reason: a test that ran out of time on a busy machine has not noticed the mutation.
function toDetail({ title, failureMessages = [] }) {
  return `${title}\n        ${failureMessages[0]?.split('\n')[0].slice(0, 160)}`;
}

function run(cwd, args) {
  return new Promise((resolve) => {
    // The sources of the library are mutated, not its build. Tests for `npm run thorough` may be those that notice.
    const env = { ...process.env, WIELD_TEST_SOURCE: '1', WIELD_TEST_CODE: '', WIELD_ALL_TESTS: '1' };
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let late = false;
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output = (output + chunk).slice(-4000);
      });
    const timer = setTimeout(() => {
      late = true;
      process.kill(-child.pid, 'SIGKILL');
    }, TIMEOUT_MS);
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, late, output });
    });
  });
}

function describe({ area, what, finding = '', file, tests }) {
  return `| ${[area, what, finding, file, ...tests].join(' | ')} |`;
}

function filesChangedSince(commit) {
  const names = execFileSync('git', ['diff', '--name-only', commit], { cwd: ROOT, encoding: 'utf8' });
  return new Set(names.trim().split('\n'));
}
