// The memory of a process and its group. Linux only.

import { listProcesses, readProc } from '../../process/proc.js';

const PAGE_BYTES = 4096;

/** Returns the resident memory of a process group; null if the system does not show it. */
export function memoryOf(leader: number): number | null {
  let pages = 0;
  for (const pid of listProcesses()) {
    const stat = readProc(`/proc/${pid}/stat`);
    // The name in parentheses can contain anything. Then come state, parent, group, and 19 fields later the resident pages.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
    if (Number(fields[2]) === leader) pages += Number(fields[21]);
  }
  return pages === 0 ? null : pages * PAGE_BYTES;
}
