// Ends process groups, and finds the processes that left theirs by the mark in their environment.

import { readdirSync, readFileSync } from 'node:fs';
import type { World } from '../core/world.js';

/** The variable that marks every process of a call. */
export const MARK = 'WIELD_CALL';

let own: string | undefined;

/** What every mark of this process begins with: its id and a time, as no other process has them. */
export function ownMark(): string {
  own ??= `${process.pid}-${Math.round(process.hrtime()[0] * 1000 + process.uptime())}`;
  return own;
}

/** The value of that variable: a call inside a tool of another wield carries the outer marks too. */
export function markValue(mark: string, world: World): string {
  const outer = world.env[MARK];
  return outer === undefined ? mark : `${outer},${mark}`;
}

/** Sends a signal to a whole group; a group that is gone is fine. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch {
    // ESRCH: nobody is left. EPERM: what is left changed its user and is out of reach.
  }
}

/** Whether anybody is left in a group. */
export function isGroupAlive(leader: number): boolean {
  try {
    process.kill(-leader, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * Kills every process whose environment has the mark, whatever group it is in (EXE-6). Repeats while it finds
 * new ones, since a process can fork between the look and the kill, and once more a moment later, since one in
 * the midst of an exec shows no environment. Only Linux shows other environments.
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
        // It ended by itself.
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
      // Gone, or another user's.
    }
  }
  return found;
}
