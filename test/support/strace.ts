// Runs the binary under strace, which kills it or fails a system call at a given step.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BINARY } from './cli.js';
import { THOROUGH } from './effort.js';

const STRACE = '/usr/bin/strace';

export const hasStrace = existsSync(STRACE);

interface Environment {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The `when`-th system call of a name; strace counts per name and thread. */
export interface Step {
  readonly call: string;
  readonly when: number;
}

/** Runs `wield ...args` with an injection such as `rename:error=ENOSPC`; the status is null if it was killed. */
export function underStrace(
  environment: Environment,
  injection: string,
  args: readonly string[],
): Promise<number | null> {
  const calls = injection.split(':')[0];
  return run(environment, ['-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${injection}`], args);
}

/** Runs to completion and returns the calls of these names in order, except those that start a thread. */
export async function traceSteps(
  environment: Environment,
  calls: string,
  args: readonly string[],
): Promise<{ readonly status: number | null; readonly steps: readonly Step[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'wield-strace-'));
  const file = join(directory, 'trace');
  try {
    const status = await run(environment, ['-o', file, '-e', `trace=${calls}`], args);
    return { status, steps: parseTrace(readFileSync(file, 'utf8')) };
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function parseTrace(text: string): Step[] {
  const counts = new Map<string, number>();
  const steps = new Map<string, Step>();
  for (const line of text.split('\n')) {
    const [, thread, call, rest = ''] = /^(\d+) +(\w+)\((.*)/.exec(line) ?? [];
    if (call === undefined) continue;
    const when = (counts.get(`${thread} ${call}`) ?? 0) + 1;
    counts.set(`${thread} ${call}`, when);
    if (!rest.includes('CLONE_THREAD')) steps.set(`${call} ${when}`, { call, when });
  }
  return [...steps.values()];
}

/**
 * Returns the steps to be killed at: all in `npm run thorough`, else the first and last of each name and a few
 * between, the same in every run.
 */
export function chooseSteps(steps: readonly Step[], count: number): readonly Step[] {
  if (THOROUGH) return steps;
  const names = steps.map(({ call }) => call);
  const chosen = new Set(names.flatMap((name) => [names.indexOf(name), names.lastIndexOf(name)]));
  for (let seed = 20; chosen.size < Math.min(count, steps.length); seed = (seed * 48271) % 2147483647)
    chosen.add(seed % steps.length);
  return steps.filter((_, at) => chosen.has(at));
}

function run({ dir, env }: Environment, options: readonly string[], args: readonly string[]) {
  const child = spawn(STRACE, ['-f', ...options, process.execPath, BINARY, ...args], {
    cwd: dir,
    env,
    stdio: 'ignore',
  });
  return new Promise<number | null>((resolve) => child.once('close', resolve));
}
