// Limits that the system enforces on a process, set by starting it through `prlimit`.

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

/** The program that sets limits, where this system has one. */
export function findLimiter(platform: string, path: readonly string[]): string | undefined {
  return platform === 'linux' ? findProgram('prlimit', path) : undefined;
}

/** What a command is started through to be under limits; empty where none is set or none can be (EXE-9). */
export function limitLauncher(limits: ProcessLimits, limiter: () => string | undefined): readonly string[] {
  const flags = SYSTEM_LIMITS.flatMap((name) =>
    limits[name] === undefined ? [] : [`${FLAGS[name]}=${limits[name]}`],
  );
  const program = flags.length === 0 ? undefined : limiter();
  return program === undefined ? [] : [program, ...flags, '--'];
}
