// Reads /proc: what the system shows of processes. Linux only.

import { readdirSync, readFileSync, readlinkSync, statfsSync } from 'node:fs';
import { orNothing } from '../core/error.js';

const PROC_TYPE = 0x9fa0;

/** Whether a file is one of the system in /proc: a tool can mount another one there. Throws if there is none. */
export function isProcFile(file: string): boolean {
  return statfsSync(file).type === PROC_TYPE;
}

/** Returns the text of a file of /proc; undefined if the process has ended, or belongs to another user. */
export function readProc(file: string): string | undefined {
  return orNothing(() => readFileSync(file, 'utf8'));
}

/** Returns the target of a link of /proc, such as `socket:[123]`. */
export function readProcLink(file: string): string | undefined {
  return orNothing(() => readlinkSync(file));
}

/** Whether this system shows its processes. A tool can hide /proc, or mount something else there. */
export function showsProcesses(): boolean {
  // Not by its own number, which is another one in /proc if the process has a namespace of its own.
  return orNothing(() => isProcFile('/proc/self/stat')) === true;
}

/** Returns the ids of all processes; none without /proc. */
export function listProcesses(): number[] {
  return (orNothing(() => readdirSync('/proc')) ?? []).map(Number).filter(Number.isInteger);
}

/** Returns links to what a process has open; undefined if this process may not see it. */
export function openLinks(pid: number): string[] | undefined {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).map((descriptor) => `${directory}/${descriptor}`);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EACCES' || code === 'EPERM' ? undefined : [];
  }
}

/** Whether a process has a file of this name open; undefined if this process may not see it. */
export function hasOpen(pid: number, name: string): boolean | undefined {
  return openLinks(pid)?.some((link) => readProcLink(link) === name);
}
