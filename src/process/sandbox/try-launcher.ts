// Tries programs out: whether a launcher works, and which version one has.

import type { World } from '../../core/world.js';
import { searchPath } from '../environment.js';
import { runProcess } from '../spawn.js';

const PROBE_MS = 5000;

/** Returns why a program cannot be started with these arguments; null if it can. */
export async function tryLauncher(launcher: readonly string[], world: World): Promise<string | null> {
  const outcome = await run([...launcher, '/bin/sh', '-c', ':'], world);
  if (outcome === undefined) return 'it could not be started';
  if (outcome.ending === 'exit' && outcome.exitCode === 0) return null;
  const [line = ''] = outcome.stderr.toString('utf8').trim().split('\n');
  return line.replace(/^(?:bwrap|setpriv|unshare): /, '').slice(0, 200) || `status ${outcome.exitCode}`;
}

export async function readVersion(program: string, world: World): Promise<string | null> {
  const outcome = await run([program, '--version'], world);
  return /\d+(?:\.\d+)+/.exec(outcome?.stdout.toString('utf8') ?? '')?.[0] ?? null;
}

async function run(argv: readonly string[], world: World) {
  const environment = { PATH: searchPath(world).join(':') };
  const limits = { stdin: '', timeoutMs: PROBE_MS, outputBytes: 4096 };
  try {
    return await runProcess({ argv, cwd: '/', environment, ...limits }, world);
  } catch {
    return undefined;
  }
}
