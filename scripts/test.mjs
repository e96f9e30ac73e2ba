// What `npm test` does: builds, then runs the tests but those of `npm run attacks` and `npm run browser`. `--without NAME,…` or `--without all` hides
// optional programs, and runs the test files that depend on them unless others are given. Other arguments are passed to the test
// runner.

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPath, findAffected, OPTIONAL } from './bare-path.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const VITEST = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
// All but the folders of `npm run attacks` and `npm run browser`.
const FOLDERS = ['src/', 'test/conformance/', 'test/e2e/', 'test/gates/'];
const PROGRESS_MS = 10_000;
const GRACE_MS = 3000;

const running = new Set();
const started = Date.now();
const bin = mkdtempSync(join(tmpdir(), 'wield-path-'));
let doing = 'starting';
let stopped = false;

const args = process.argv.slice(2);
const env = { ...process.env };
const at = args.indexOf('--without');
if (at !== -1) {
  const [, names = 'all'] = args.splice(at, 2);
  const without = names === 'all' ? OPTIONAL : names.split(',');
  const unknown = without.filter((name) => !OPTIONAL.includes(name));
  if (unknown.length > 0) fail(`not an optional program: ${unknown.join(', ')}; known are ${OPTIONAL.join(', ')}`);
  env.PATH = createPath(bin, without);
}
if (args.every((argument) => argument.startsWith('-'))) args.push(...(at === -1 ? FOLDERS : findAffected()));

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => stop(128 + constants.signals[signal]));
const npm = findNpm();
const watching = setInterval(() => {
  if (npm !== undefined && startOf(npm.pid) !== npm.start) stop(1);
}, 1000);
const showing = setInterval(() => console.log(`${doing}, ${Math.round((Date.now() - started) / 1000)} s`), PROGRESS_MS);

try {
  begin('building dist/');
  // Without a check of the types, which tests do not need.
  await run('npm', ['run', '--silent', 'build', '--', '--checked']);
  begin(at === -1 ? 'running tests' : 'running tests without optional programs');
  clearInterval(showing);
  await run(process.execPath, [VITEST, 'run', ...args], 'vitest run');
  end(0);
} catch (error) {
  if (!stopped) {
    console.error(error.message);
    await stop(1);
  }
}

function begin(what) {
  doing = what;
  console.log(what);
}

/** Runs a command in a process group of its own, without input. */
function run(command, args, what = [command, ...args].join(' ')) {
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'], env, detached: true });
  running.add(child);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (status) => {
      running.delete(child);
      if (status === 0) resolve();
      else reject(new Error(`${what} failed`));
    });
  });
}

/** Ends what runs, with everything that it started, removes its files and exits. */
async function stop(status) {
  if (stopped) return;
  stopped = true;
  const children = [...running];
  // Tools run in groups of their own.
  const all = descendants();
  for (const { pid } of children) signal(-pid, 'SIGTERM');
  const deadline = Date.now() + GRACE_MS;
  while (Date.now() < deadline && children.some(({ pid }) => isAlive(-pid)))
    await new Promise((resolve) => setTimeout(resolve, 50));
  for (const { pid } of children) signal(-pid, 'SIGKILL');
  for (const [pid, start] of [...all, ...descendants()]) if (startOf(pid) === start) signal(pid, 'SIGKILL');
  for (const { pid } of children)
    for (const directory of ['/dev/shm', tmpdir()])
      rmSync(join(directory, `wield-${pid}`), { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  end(status);
}

function end(status) {
  clearInterval(watching);
  clearInterval(showing);
  rmSync(bin, { recursive: true, force: true });
  process.exit(status);
}

function fail(message) {
  console.error(message);
  end(2);
}

/** Returns the processes that this one started, directly or not, by the time of their start; none without /proc. */
function descendants() {
  const found = new Map();
  const parents = new Map();
  try {
    for (const name of readdirSync('/proc').filter((one) => /^\d+$/.test(one))) parents.set(Number(name), statOf(name));
  } catch {}
  let size = -1;
  while (size !== found.size) {
    size = found.size;
    for (const [pid, stat] of parents)
      if (stat !== undefined && (stat.parent === process.pid || found.has(stat.parent))) found.set(pid, stat.start);
  }
  return found;
}

/** Returns the npm that runs this script, with or without a shell between; if it is killed, this process would go on. */
function findNpm() {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const shell = statOf(process.ppid);
  const pid = shell?.name === 'sh' ? shell.parent : process.ppid;
  return shell === undefined ? undefined : { pid, start: startOf(pid) };
}

function startOf(pid) {
  return statOf(pid)?.start;
}

function statOf(pid) {
  try {
    // The name of a program may contain spaces and parentheses.
    const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    const fields = rest.split(' ');
    return { name, parent: Number(fields[1]), start: fields[19] };
  } catch {
    return undefined;
  }
}

function isAlive(pid) {
  return signal(pid, 0);
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}
