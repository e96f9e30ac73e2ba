// Measures cases in interleaved rounds: CPU time of child processes, medians of per-round ratios.

import { spawnSync } from 'node:child_process';

/** The environment of every measured process: reading extra certificates adds 77 ms to a start of Node 20. */
export const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name !== 'NODE_EXTRA_CA_CERTS' && name !== 'NODE_OPTIONS'),
);

// The `time` of bash has a resolution of 1 ms and includes grandchildren; /usr/bin/time has 10 ms. Output goes to a
// pipe, as it does when a program calls.
const LOOP = 'TIMEFORMAT="%3U %3S"; time for run in {1..RUNS}; do "$@" 2>&1 </dev/null; done';
const hasBash = spawnSync('bash', ['-c', ':']).status === 0;

/** The clock of `timeCommand`. */
export const CLOCK = hasBash ? 'CPU time (user + system)' : 'wall time (bash is not installed)';

/** Set by `--quick`: every case runs once with small sizes, to show that it works. */
export const QUICK = process.argv.includes('--quick');

/** Returns a size for a real measurement, or the smaller one of a quick run. */
export function sized(full, quick) {
  return QUICK ? quick : full;
}

/** Returns the milliseconds that one run of a command takes, as the mean of a few runs in a row. */
export function timeCommand(argv, { cwd, env = ENVIRONMENT, runs = sized(3, 1) } = {}) {
  const began = performance.now();
  if (hasBash) {
    const script = LOOP.replace('RUNS', String(runs));
    const { stderr } = spawnSync('bash', ['-c', script, 'bash', ...argv], { cwd, env, encoding: 'utf8' });
    const [user, system] = stderr.trim().split(' ').map(Number);
    return ((user + system) * 1000) / runs;
  }
  for (let run = 0; run < runs; run++) spawnSync(argv[0], argv.slice(1), { cwd, env, stdio: 'ignore' });
  return (performance.now() - began) / runs;
}

/** Returns the CPU time of a process in microseconds; it must run with `cpu-probe.cjs`. */
export function askCpu(child) {
  return new Promise((resolve) => {
    child.once('message', ({ user, system }) => resolve(user + system));
    child.send('cpu');
  });
}

/**
 * Measures every case once per round, in turn, so that a busy minute of the machine affects all of them equally.
 * `cases` maps names to functions that return a number. The first round warms up and is not counted.
 */
export async function measureRounds(cases, rounds) {
  const samples = Object.fromEntries(Object.keys(cases).map((name) => [name, []]));
  for (let round = sized(-1, 0); round < sized(rounds, 1); round++) {
    for (const [name, measure] of Object.entries(cases)) {
      const value = await measure(round);
      if (round >= 0) samples[name].push(value);
    }
  }
  return samples;
}

/** Median, 10th and 90th percentile. */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (part) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  return { median: at(0.5), p10: at(0.1), p90: at(0.9) };
}

/** The spread of `values[i] / floor[i]`. */
export function ratios(values, floor) {
  return spread(values.map((value, round) => value / floor[round]));
}

/**
 * The target of not being behind any peer: the lowest ratio of a peer to the floor. `allowed` maps peers to how many times
 * their ratio is still accepted. Undefined without peers.
 */
export function peerTarget(peers, floor, allowed = {}) {
  const limits = Object.entries(peers).map(([name, values]) => ratios(values, floor).median * (allowed[name] ?? 1));
  return limits.length === 0 ? undefined : { of: 'ratio', atMost: Number(Math.min(...limits).toFixed(2)) };
}

/** The spread of `values[i] - floor[i]`. */
export function differences(values, floor) {
  return spread(values.map((value, round) => value - floor[round]));
}
