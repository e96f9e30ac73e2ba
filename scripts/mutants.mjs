// Applies one mutation of security-relevant code at a time to a copy of the project, and reports which no test notices.
// Usage: npm run mutants [-- --only TEXT] [--rest] [--changed COMMIT] [--from N] [--seconds N] [--lanes 1|2]
// [--no-baseline]. It updates test/mutation-results.json and docs/reports/mutants.md. With --random N [--seed N]
// [--out FILE] it draws the mutations, and prints the results.

import { execFileSync, spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readMutations, readResults, saveResults } from './mutants-page.mjs';
import { drawMutations } from './random-mutants.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TIMEOUT_MS = 240_000;
// The tests of an area take longer than those of a listed mutation.
const AREA_TIMEOUT_MS = 1_800_000;
// How vitest reports a test that ran out of time.
const LATE = /STACK_TRACE_ERROR|timed out/i;
// Such as a rejection that nothing handles.
const OUTSIDE = 'an error outside of the tests';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    rest: { type: 'boolean', default: false },
    changed: { type: 'string' },
    from: { type: 'string', default: '1' },
    seconds: { type: 'string', default: 'Infinity' },
    'no-baseline': { type: 'boolean', default: false },
    lanes: { type: 'string', default: '2' },
    random: { type: 'string' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string' },
  },
});
const isRandom = options.random !== undefined;
for (const name of ['random', 'seed', 'from', 'lanes'])
  if (!/^[1-9]\d*$/.test(options[name] ?? '1')) throw new Error(`--${name} must be a positive integer`);
// `--rest`: those that were not killed. `--changed`: those whose code or tests changed since a commit. `--from`: goes on
// with the Nth of them.
const before = readResults();
const changed = options.changed === undefined ? undefined : filesChangedSince(options.changed);
const listed = readMutations();
const all = isRandom ? drawMutations(Number(options.random), Number(options.seed), ROOT, listed) : listed;
const chosen = all.filter(
  (mutation) =>
    (options.only === undefined || describe(mutation).includes(options.only)) &&
    !(options.rest && before[mutation.what] === 'killed') &&
    (changed === undefined || [mutation.file, ...filesOf([mutation])].some((file) => changed.has(file))),
);
// No other mutation is started after that.
const deadline = performance.now() + Number(options.seconds) * 1000;
// Test files that were tried without a mutation.
const passing = new Set();
const failing = new Set();
const scratch = mkdtempSync(join(tmpdir(), 'wield-mutants-'));

try {
  for (const mutation of chosen) mutate(mutation, ROOT);
  const lanes = Array.from({ length: Number(options.lanes) }, (_, at) => createCopy(join(scratch, String(at))));
  // The tests that notice a random mutation are tried without it, in a copy that is never changed.
  const original = isRandom ? createCopy(join(scratch, 'original')) : undefined;
  if (!isRandom && !options['no-baseline']) await runBaseline(lanes[0]);
  const results = new Map();
  const left = chosen.slice(Number(options.from) - 1);
  await Promise.all(
    lanes.map(async (copy) => {
      for (let next = left.shift(); next !== undefined && performance.now() < deadline; next = left.shift()) {
        const began = performance.now();
        const result = await tryMutation(copy, next, original);
        results.set(next, result);
        const place = `${chosen.indexOf(next) + 1}/${chosen.length}`;
        const seconds = Math.round((performance.now() - began) / 1000);
        report(`${place} ${result.state.padEnd(8)} ${next.area}: ${next.what}\n    ${seconds} s: ${result.detail}`);
        if (isRandom) report(`    - ${oneLine(next.before)}\n    + ${oneLine(next.replace)}`);
        else saveResults({ [next.what]: result.state });
      }
    }),
  );
  const count = (state) => [...results.values()].filter((result) => result.state === state).length;
  const killed = count('killed');
  report(
    isRandom
      ? `\nseed ${options.seed}: ${killed} killed, ${count('survived')} survived, ${count('invalid')} invalid, of ${chosen.length}`
      : `\n${killed} of ${chosen.length} mutations killed`,
  );
  process.exitCode = killed === chosen.length ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** Returns the mutated text of a file. Throws unless the text to replace occurs exactly once, if it is given as text. */
function mutate({ file, find, start, end, replace }, root) {
  const text = readFileSync(join(root, file), 'utf8');
  if (find === undefined) return text.slice(0, start) + replace + text.slice(end);
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
  for (const name of tracked.split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    cpSync(join(ROOT, name), join(directory, name), { verbatimSymlinks: true });
  }
  copyBuild(directory);
  // Caches of the tests belong to the copy.
  mkdirSync(join(directory, 'node_modules'));
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '.cache') symlinkSync(join(ROOT, 'node_modules', name), join(directory, 'node_modules', name));
  return directory;
}

// From a copy: the project may be built again meanwhile.
function copyBuild(directory) {
  const kept = join(scratch, 'dist');
  const copy = (from, to) => cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  if (!existsSync(kept)) copy(join(ROOT, 'dist'), kept);
  copy(kept, join(directory, 'dist'));
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
  return [...new Set(mutations.flatMap(stagesOf).flatMap(({ tests }) => tests))];
}

/** Returns the tests of a mutation, from fast to slow. */
function stagesOf(mutation) {
  return mutation.stages ?? [mutation];
}

/** Returns which tests must notice a mutation, by title; those of its finding by default. */
function patternOf({ title, finding }) {
  return title ?? (finding === undefined ? undefined : `\\b${finding}\\b`);
}

async function tryMutation(copy, mutation, original) {
  const path = join(copy, mutation.file);
  const text = readFileSync(path, 'utf8');
  let isBuilt = false;
  writeFileSync(path, mutate(mutation, copy));
  touchBuild(copy);
  try {
    for (const stage of stagesOf(mutation)) {
      if (stage.build && !isBuilt) {
        isBuilt = true;
        if (!(await build(copy))) return { state: 'invalid', detail: 'does not build' };
      }
      const { ran, failed } = await runStage(copy, stage, original);
      if (failed !== undefined) return { state: 'killed', detail: failed };
      if (ran === 0 && !isRandom) return { state: 'invalid', detail: `no test matches ${patternOf(mutation)}` };
    }
    return { state: 'survived', detail: filesOf([mutation]).join(' ').slice(0, 300) };
  } finally {
    writeFileSync(path, text);
    // Tests of the next mutation may use the build.
    if (isBuilt) copyBuild(copy);
    touchBuild(copy);
  }
}

// A test file that fails in the original, too, does not count, and is left out from then on.
async function runStage(copy, stage, original) {
  for (;;) {
    const tests = stage.tests.filter((file) => !failing.has(file));
    if (tests.length === 0) return { ran: 0 };
    const result = await runTests(copy, { ...stage, tests });
    const { failed, file } = result;
    if (failed === undefined || original === undefined || file === undefined) return result;
    // On a busy machine.
    if (LATE.test(failed) && (await runTests(copy, { ...stage, tests: [file] })).failed === undefined) {
      const others = tests.filter((other) => other !== file);
      return others.length === 0 ? { ran: 1 } : runStage(copy, { ...stage, tests: others }, original);
    }
    if (passing.has(file)) return result;
    const { failed: before } = await runTests(original, { ...stage, tests: [file] });
    if (before === undefined) {
      passing.add(file);
      return result;
    }
    failing.add(file);
    report(`fails without a mutation: ${file}: ${before}`);
  }
}

// Tests that use the build refuse an older one; the bundles are built for those that must notice the mutation in them.
function touchBuild(copy) {
  const now = new Date();
  utimesSync(join(copy, 'dist/cli/wield.cjs'), now, now);
}

// The bundles only; types are not checked.
async function build(copy) {
  return (await run(copy, ['scripts/build.mjs', '--bundles'])).code === 0;
}

async function runTests(copy, { tests, isArea = false, ...names }) {
  const reportFile = join(copy, 'mutants-report.json');
  rmSync(reportFile, { force: true });
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...tests, '--bail=1', '--maxWorkers=1'];
  const title = patternOf(names);
  const args = [...(title === undefined ? [] : ['-t', title]), '--reporter=json', `--outputFile=${reportFile}`];
  const { code, late, output } = await run(copy, [...vitest, ...args], isArea);
  if (late) return { ran: 1, failed: 'the tests did not end' };
  if (!existsSync(reportFile)) {
    if (isRandom) return { ran: 1, failed: `the tests could not be run: ${oneLine(output.slice(-200))}` };
    throw new Error(`the tests could not be run:\n${output.slice(-2000)}`);
  }
  const { testResults } = JSON.parse(readFileSync(reportFile, 'utf8'));
  const results = testResults.flatMap(({ assertionResults }) => assertionResults);
  const ran = results.filter(({ status }) => status === 'passed' || status === 'failed');
  const failed = ran.filter(({ status }) => status === 'failed').map(toDetail)[0];
  const broken = testResults.find(({ status }) => status === 'failed');
  return {
    ran: ran.length,
    failed:
      failed ?? (code === 0 ? undefined : broken?.message?.split('\n')[0] || (ran.length > 0 ? OUTSIDE : undefined)),
    file: broken && relative(copy, broken.name),
  };
}

// With the reason: a test that ran out of time on a busy machine has not noticed the mutation.
function toDetail({ title, failureMessages = [] }) {
  return `${title}\n        ${failureMessages[0]?.split('\n')[0].slice(0, 160)}`;
}

function run(cwd, args, isArea = false) {
  return new Promise((resolve) => {
    // Tests for `npm run thorough` may be those that notice.
    const env = { ...process.env, WIELD_ALL_TESTS: isArea ? '' : '1' };
    const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let late = false;
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output = (output + chunk).slice(-4000);
      });
    const timer = setTimeout(
      () => {
        late = true;
        process.kill(-child.pid, 'SIGKILL');
      },
      isArea ? AREA_TIMEOUT_MS : TIMEOUT_MS,
    );
    child.once('close', (code) => {
      clearTimeout(timer);
      resolve({ code, late, output });
    });
  });
}

function describe({ area, what, finding = '', file, tests = [] }) {
  return `| ${[area, what, finding, file, ...tests].join(' | ')} |`;
}

function report(text) {
  console.log(text);
  if (options.out !== undefined) appendFileSync(options.out, `${text}\n`);
}

function oneLine(text) {
  return text.replace(/\s+/g, ' ');
}

function filesChangedSince(commit) {
  const names = execFileSync('git', ['diff', '--name-only', commit], { cwd: ROOT, encoding: 'utf8' });
  return new Set(names.trim().split('\n'));
}
