// Identifies processes by id and start time, for names of files that outlive a killed process.

import { readFileSync } from 'node:fs';
import { orNothing } from '../core/error.js';

/** Whether the process with this id and start time runs; 0 is an unknown start time. */
export function isAlive(pid: number, started: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  // Process ids are reused, start times are not.
  const now = startTime(pid);
  return now === undefined || started === 0 || now === started;
}

/** Returns the start time of a process in ticks since boot; undefined if unknown. */
export function startTime(pid: number): number | undefined {
  return orNothing(() => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  });
}
