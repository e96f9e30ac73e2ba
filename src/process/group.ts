// Signals process groups, and finds processes that left their group by a mark in their environment.

import { readdirSync, readFileSync } from 'node:fs';
import type { World } from '../core/world.js';

/** The variable that marks every process of a call. */
export const MARK = 'WIELD_CALL';

let own: string | undefined;

/** Returns the prefix of all marks of this process: its id and start time. */
export function ownMark(): string {
  own ??= `${process.pid}-${Math.round(process.hrtime()[0] * 1000 + process.uptime())}`;
  return own;
}

/** Returns the value of the variable. A nested wield process carries the outer marks too. */
export function markValue(mark: string, world: World): string {
  const outer = world.env[MARK];
  return outer === undefined ? mark : `${outer},${mark}`;
}

/** Sends a signal to a process group, if it still exists. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: the group is empty. EPERM: its processes changed their user and cannot be signalled.
  }
}

/** Whether a group still has processes. */
export function isGroupAlive(leader: number): boolean {
  try {
    process.kill(-leader, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * Kills every process whose environment has the mark, whatever its group (EXE-6). Repeats while it finds new ones,
 * since a process can fork before it is killed, and once more after a pause, since a process shows no environment
 * during exec. Linux only, where other environments are readable.
 */
export function killMarked(mark: string, platform: string): void {
  if (platform !== 'linux') return;
  const marked = new RegExp(`(?:^|\0)${MARK}=(?:[^\0]*,)?${mark}[,\0]`);
  const done = new Set<number>();
  let quiet = 0;
  for (let round = 0; round < 20 && quiet < 2; round++) {
    const found = findMarked(marked).filter((pid) => !done.has(pid));
    quiet = found.length === 0 ? quiet + 1 : 0;
    if (quiet === 1) pause(EXEC_MS);
    for (const pid of found) {
      done.add(pid);
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Already exited.
      }
    }
  }
}

const EXEC_MS = 5;

function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

function findMarked(marked: RegExp): number[] {
  const found: number[] = [];
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid) continue;
    try {
      if (marked.test(readFileSync(`/proc/${pid}/environ`, 'latin1'))) found.push(pid);
    } catch {
      // Exited, or owned by another user.
    }
  }
  return found;
}
