// Tries programs out: whether a launcher works, and which version one has.

import type { World } from '../../core/world.js';
import { searchPath } from '../environment.js';
import { runProcess } from '../spawn.js';

const PROBE_MS = 5000;

export interface Trial {
  /** Why the program cannot be started with these arguments; null if it can. */
  readonly fault: string | null;
  /** The machine may have been too busy: another attempt can have another result. */
  readonly isUncertain: boolean;
}

/** Starts something with a launcher. */
export async function tryLauncher(launcher: readonly string[], world: World, filter?: string): Promise<Trial> {
  const outcome = await run([...launcher, '/bin/sh', '-c', ':'], world, filter);
  if (outcome === undefined) return { fault: 'it could not be started', isUncertain: true };
  if (outcome.ending !== 'exit') return { fault: `no answer within ${PROBE_MS / 1000} s`, isUncertain: true };
  if (outcome.exitCode === null) return { fault: 'it was killed', isUncertain: true };
  if (outcome.exitCode === 0) return { fault: null, isUncertain: false };
  const [line = ''] = outcome.stderr.toString('utf8').trim().split('\n');
  const reason = line.replace(/^(?:bwrap|setpriv|unshare): /, '').slice(0, 200);
  return { fault: reason || `status ${outcome.exitCode}`, isUncertain: false };
}

export async function readVersion(program: string, world: World): Promise<string | null> {
  const outcome = await run([program, '--version'], world);
  return /\d+(?:\.\d+)+/.exec(outcome?.stdout.toString('utf8') ?? '')?.[0] ?? null;
}

async function run(argv: readonly string[], world: World, filter?: string) {
  const environment = { PATH: searchPath(world).join(':') };
  const limits = { stdin: '', timeoutMs: PROBE_MS, outputBytes: 4096 };
  try {
    return await runProcess({ argv, filter, cwd: '/', environment, ...limits }, world);
  } catch {
    return undefined;
  }
}
