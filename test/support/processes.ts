// Processes and descriptors of the system.

import { readdirSync, readFileSync } from 'node:fs';

/** Returns the ids of processes whose command line or environment contains a text. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid > 0 && pid !== process.pid)
    .filter((pid) => {
      try {
        const all = readFileSync(`/proc/${pid}/cmdline`, 'latin1') + readFileSync(`/proc/${pid}/environ`, 'latin1');
        return all.includes(text) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
      } catch {
        return false;
      }
    });
}

/** Returns those that this process started, directly or not: other tests run at the same time. */
export function ownProcessesWith(text: string): number[] {
  return processesWith(text).filter(isOwn);
}

/** Returns the engines of programs that this process started, without the launchers in front of them. */
export function ownEngines(): number[] {
  return ownProcessesWith('code/engine.cjs\0').filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
      return command.startsWith(`${process.execPath}\0`) && command.includes('quickjs.wasm');
    } catch {
      return false;
    }
  });
}

function isOwn(pid: number): boolean {
  try {
    for (let parent = pid; parent > 1; ) {
      parent = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${parent}/stat`, 'latin1'))![1]);
      if (parent === process.pid) return true;
    }
  } catch {
    // It has ended.
  }
  return false;
}

/** Returns the number of open descriptors of this process. */
export function openDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

export function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
