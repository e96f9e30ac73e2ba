// Finds out whether a tool started the process that holds a socket (A44).

import { readdirSync, readlinkSync } from 'node:fs';
import { isToolProcess } from './ancestry.js';
import { readProcText } from './tool-mark.js';

/**
 * Whether a socket of this machine is, or may be, held by a process that a tool started. If no process shows it, it is
 * one of those of its user that hide what they hold, such as sshd, or one that /proc does not show.
 */
export function isHeldByTool(inode: string, uid: number): boolean {
  const name = `socket:[${inode}]`;
  const holders: number[] = [];
  const hiding: number[] = [];
  for (const pid of readdirSync('/proc').map(Number).filter(Number.isInteger)) {
    const isHolder = holds(pid, name);
    if (isHolder === true) holders.push(pid);
    else if (isHolder === undefined && isOf(pid, uid)) hiding.push(pid);
  }
  const suspects = holders.length > 0 ? holders : hiding;
  return suspects.length === 0 || suspects.some(isToolProcess);
}

// Undefined if this process may not see it.
function holds(pid: number, name: string): boolean | undefined {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).some((descriptor) => linkOf(`${directory}/${descriptor}`) === name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EACCES' || code === 'EPERM' ? undefined : false;
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    // Closed meanwhile.
    return undefined;
  }
}

function isOf(pid: number, uid: number): boolean {
  try {
    return new RegExp(`^Uid:(?:\\t\\d+)*\\t${uid}(?:\\t|$)`, 'm').test(readProcText(`/proc/${pid}/status`));
  } catch {
    return false;
  }
}
