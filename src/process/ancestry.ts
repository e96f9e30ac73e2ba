// Finds out whether a process was started by a tool, even if the tool removed the mark from its environment (A44).

import { createTurns, shareNext } from '../core/async.js';
import { HOST_FILE, MARK } from './group.js';
import { hasOpen, listProcesses, openLinks, readProc, readProcLink, showsProcesses } from './proc.js';
import { findMarker, hasToolMark } from './tool-mark.js';

const MAX_ANCESTORS = 64;

/**
 * Whether this process was started by a tool: it inherited the limit that marks one, or it or an ancestor has the
 * variable. On Linux, a process without /proc counts as started by a tool, which can have hidden it; elsewhere only its
 * own variable counts.
 */
export function isStartedByTool(env: Readonly<Record<string, string | undefined>>, platform: string): boolean {
  if (env[MARK] !== undefined) return true;
  if (platform !== 'linux') return false;
  if (!showsProcesses()) return true;
  return isTool('self', findMarker({ platform, env }) !== undefined);
}

/** Likewise for another process. Linux only. */
export function isToolProcess(pid: number): boolean {
  return hasVariable(pid) || isTool(pid, true);
}

// Where processes cannot be marked, also finds one that was started in a new session by a process that runs tools.
function isTool(pid: number | 'self', canMark: boolean): boolean {
  const mark = hasToolMark(pid);
  return mark === true || hasToolAmongAncestors(pid, canMark && mark !== undefined);
}

function hasToolAmongAncestors(pid: number | 'self', canMark: boolean): boolean {
  let at = readInfo(pid);
  for (let count = 0; at !== undefined && at.parent > 1 && count < MAX_ANCESTORS; count++) {
    const parent = readInfo(at.parent);
    if (parent === undefined) break;
    if (
      hasVariable(parent.pid) ||
      (!canMark && at.session === at.pid && hasOpen(parent.pid, `/proc/${parent.pid}/${HOST_FILE}`))
    )
      return true;
    at = parent;
  }
  return false;
}

function hasVariable(pid: number): boolean {
  return `\0${readProc(`/proc/${pid}/environ`) ?? ''}`.includes(`\0${MARK}=`);
}

interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
}

function readInfo(name: number | 'self'): ProcessInfo | undefined {
  const stat = readProc(`/proc/${name}/stat`);
  if (stat === undefined) return undefined;
  // The name in parentheses can contain anything.
  const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { pid: Number.parseInt(stat, 10), parent: Number(parent), session: Number(session) };
}

/**
 * Whether a socket of this machine is, or may be, held by a process that a tool started. If no process shows it, it is
 * held by one of its user that hides what it holds, such as sshd, by one that /proc does not show, or by none, while a
 * process sends it to another.
 */
export async function isHeldByTool(inode: string, uid: number): Promise<boolean> {
  const { holders, hiding } = await readHolders();
  const shown = holders.get(`socket:[${inode}]`);
  if (shown !== undefined) return shown.some(isToolProcess);
  return !hiding.some((pid) => isOf(pid, uid)) || runsTool(uid);
}

async function runsTool(uid: number): Promise<boolean> {
  const turns = createTurns();
  for (const pid of listProcesses()) {
    await turns();
    if (isOf(pid, uid) && isToolProcess(pid)) return true;
  }
  return false;
}

// Returns the processes that hold each socket, by its name, and those that hide what they hold. A machine can have many.
const readHolders = shareNext(async () => {
  const holders = new Map<string, number[]>();
  const hiding: number[] = [];
  const turns = createTurns();
  for (const pid of listProcesses()) {
    const links = openLinks(pid);
    if (links === undefined) hiding.push(pid);
    for (const link of links ?? []) {
      await turns();
      const name = readProcLink(link);
      if (!name?.startsWith('socket:')) continue;
      const pids = holders.get(name);
      if (pids === undefined) holders.set(name, [pid]);
      else pids.push(pid);
    }
  }
  return { holders, hiding };
});

/** Whether a process belongs to a user. Linux only. */
export function isOf(pid: number, uid: number): boolean {
  const status = readProc(`/proc/${pid}/status`) ?? '';
  return new RegExp(`^Uid:(?:\\t\\d+)*\\t${uid}(?:\\t|$)`, 'm').test(status);
}
