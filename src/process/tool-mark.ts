// The mark of every process that a tool started: a limit that it inherits, and cannot raise again (A44).

import { orNothing } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import { findLimiter, searchPath } from './environment.js';
import { isProcFile, readProc } from './proc.js';

// Linux ignores the number of file locks since 2.4.25, but keeps and inherits its limit. Only a process with
// CAP_SYS_RESOURCE outside of user namespaces can raise a hard limit.
const FLAG = '--locks=0:0';
// The hard limit.
const UNMARKED = /^Max file locks +\S+ +(?:unlimited|[1-9]\d*) /m;

/** Whether a process was started by a tool; undefined if it is gone, or the system does not show its limits. */
export function hasToolMark(pid: number | 'self'): boolean | undefined {
  const file = `/proc/${pid}/limits`;
  return orNothing(() => {
    if (!isProcFile(file)) return true;
    const limits = readProc(file);
    return limits === undefined ? undefined : !UNMARKED.test(limits);
  });
}

/** A command that marks itself, then becomes another one. Undefined if children inherit the mark, or cannot have it. */
export interface MarkLauncher {
  readonly argv: readonly string[];
  /** How it calls itself in /proc and in its error messages: random, so that no tool can imitate these. */
  readonly name: string;
}

let launcher: string | null | undefined;

export function markLauncher(world: Pick<World, 'platform' | 'env'>): MarkLauncher | undefined {
  launcher ??= (hasToolMark('self') === false ? findMarker(world) : undefined) ?? null;
  if (launcher === null) return undefined;
  // Need not be secret: no tool sees the name, or any other of them.
  const name = `wield-${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
  return { argv: [launcher, FLAG, '--'], name };
}

/** Stops marking: the system does not allow it. */
export function giveUpMarking(): void {
  launcher = null;
}

/** Returns the program that sets the mark, if this system has it. */
export function findMarker(world: Pick<World, 'platform' | 'env'>): string | undefined {
  return findLimiter(world.platform, [...searchPath(world), '/usr/bin', '/bin']);
}
