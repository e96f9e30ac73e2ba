// Runs the binary under strace, which kills it or lets a system call fail where a test says.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BINARY } from './cli.js';
import { THOROUGH } from './effort.js';

const STRACE = '/usr/bin/strace';

export const hasStrace = existsSync(STRACE);

interface Surroundings {
  readonly dir: string;
  readonly env: NodeJS.ProcessEnv;
}

/** The `when`-th system call of a name: strace counts each name by itself, and each thread. */
export interface Step {
  readonly call: string;
  readonly when: number;
}

/** `wield ...args` with an injection such as `rename:error=ENOSPC`; the status is null where it was killed. */
export function underStrace(
  surroundings: Surroundings,
  injection: string,
  args: readonly string[],
): Promise<number | null> {
  const calls = injection.split(':')[0];
  return run(surroundings, ['-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${injection}`], args);
}

/** The steps of a run that is let to its end: calls of these names, in order, but for those that start a thread. */
export async function traceSteps(
  surroundings: Surroundings,
  calls: string,
  args: readonly string[],
): Promise<{ readonly status: number | null; readonly steps: readonly Step[] }> {
  const directory = mkdtempSync(join(tmpdir(), 'wield-strace-'));
  const file = join(directory, 'trace');
  try {
    const status = await run(surroundings, ['-o', file, '-e', `trace=${calls}`], args);
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
 * The steps that a test dies at: all of them in `npm run thorough`, else the first and the last of each name and a few
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

function run({ dir, env }: Surroundings, options: readonly string[], args: readonly string[]) {
  const child = spawn(STRACE, ['-f', ...options, process.execPath, BINARY, ...args], {
    cwd: dir,
    env,
    stdio: 'ignore',
  });
  return new Promise<number | null>((resolve) => child.once('close', resolve));
}
