// Resource limits of processes, set by starting them through `prlimit`.

import type { ProcessLimits } from '../core/plan.js';
import { findProgram } from './interpreter.js';

const FLAGS = {
  memoryBytes: '--as',
  cpuSeconds: '--cpu',
  openFiles: '--nofile',
  processes: '--nproc',
} as const satisfies Partial<Record<keyof ProcessLimits, string>>;

export type SystemLimit = keyof typeof FLAGS;

export const SYSTEM_LIMITS = Object.keys(FLAGS) as readonly SystemLimit[];

/** Returns the path of `prlimit`, if this system has it. */
export function findLimiter(platform: string, path: readonly string[]): string | undefined {
  return platform === 'linux' ? findProgram('prlimit', path) : undefined;
}

/** Returns the arguments to put before a command to limit it; empty if no limit is set or can be set (EXE-9). */
export function limitLauncher(limits: ProcessLimits, limiter: () => string | undefined): readonly string[] {
  const flags = SYSTEM_LIMITS.flatMap((name) => (limits[name] === undefined ? [] : [`${FLAGS[name]}=${limits[name]}`]));
  const program = flags.length === 0 ? undefined : limiter();
  return program === undefined ? [] : [program, ...flags, '--'];
}
