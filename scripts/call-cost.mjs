// Measures one warm script call: source files and functions executed, and file system calls of the whole process.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const dist = join(root, 'dist');
const isVerbose = process.argv.includes('--verbose');
const CALLS = 5;

const place = createWorkspace();
try {
  const { files, functions } = await countExecuted(place);
  console.log(`files executed      ${files.length}`);
  console.log(`functions executed  ${functions}`);
  if (isVerbose) for (const [file, names] of files) console.log(`  ${file}  ${names.join(' ')}`);
  const calls = traceCalls(place);
  console.log(`file system calls   ${calls?.length ?? 'unknown: strace is not installed'}`);
  if (isVerbose) for (const call of calls ?? []) console.log(`  ${call}`);
} finally {
  rmSync(place.base, { recursive: true });
}

function createWorkspace() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'wield-cost-')));
  const home = join(base, 'home');
  const workdir = join(base, 'work');
  const tools = join(workdir, '.agents', 'tools');
  mkdirSync(tools, { recursive: true });
  mkdirSync(home);
  const script = join(tools, 'hello');
  const text = '#!/bin/sh\n# @description Say hello.\n# @param *name string Whom\necho "Hello, $WIELD_PARAM_NAME!"\n';
  writeFileSync(script, text, { mode: 0o755 });
  // Old enough for caches to trust the timestamps.
  const old = new Date(Date.now() - 3_600_000);
  utimesSync(script, old, old);
  const env = { PATH: process.env.PATH, HOME: home };
  return { base, home, workdir, env };
}

/** Counts with the precise coverage of V8 during warm calls of a toolbox; the least, because timers may run meanwhile. */
async function countExecuted({ workdir, env }) {
  const { createNodeToolbox } = await import(join(dist, 'node.js'));
  const toolbox = createNodeToolbox({ workdir, env, now: () => Date.now() + 10_000 });
  const call = async () => {
    const { ok, error } = await toolbox.call('hello', { name: 'Ada' });
    if (!ok) throw new Error(error.message);
  };
  await call();
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const counted = [];
  for (let at = 0; at < CALLS; at++) {
    await session.post('Profiler.takePreciseCoverage');
    await call();
    counted.push(executedIn((await session.post('Profiler.takePreciseCoverage')).result));
  }
  session.disconnect();
  await toolbox.close();
  const [files] = counted.sort((a, b) => a.length - b.length);
  return { files, functions: files.reduce((sum, [, names]) => sum + names.length, 0) };
}

function executedIn(coverage) {
  return coverage
    .filter(({ url }) => url.startsWith('file://') && fileURLToPath(url).startsWith(dist))
    .map(({ url, functions }) => [
      relative(dist, fileURLToPath(url)),
      functions.filter(({ ranges }) => ranges[0].count > 0).map(({ functionName }) => functionName || '-'),
    ])
    .filter(([, names]) => names.length > 0);
}

/** Lists the system calls of `wield call` that name a file below the home directory or the workdir. */
function traceCalls({ base, workdir, env }) {
  const program = [process.execPath, join(dist, 'cli', 'wield.cjs'), 'call', 'hello', '--name', 'Ada'];
  const options = { cwd: workdir, env, encoding: 'utf8' };
  // The second run writes the compile cache, the third one is warm.
  for (let run = 0; run < 2; run++) execFileSync(program[0], program.slice(1), options);
  const log = join(base, 'strace.log');
  const traced = spawnSync('strace', ['-f', '-e', 'trace=file', '-o', log, ...program], options);
  if (traced.error !== undefined) return undefined;
  if (traced.status !== 0) throw new Error(traced.stderr);
  return readFileSync(log, 'utf8')
    .split('\n')
    .map((line) => line.replace(/^\d+\s+/, ''))
    .filter((line) => line.includes(`"${base}/`) && !line.startsWith('execve(') && !line.startsWith('<...'));
}
