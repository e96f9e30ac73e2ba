// Finds out whether a process was started by a tool, even if the tool removed the mark from its environment (A44).

import { readdirSync, readlinkSync } from 'node:fs';
import { HOST_FILE, MARK } from './group.js';
import { findMarker, hasToolMark, isProcFile, readProcText } from './tool-mark.js';

const MAX_ANCESTORS = 64;

/**
 * Whether this process was started by a tool: it inherited the limit that marks one, or it or an ancestor has the
 * variable. On Linux, a process without /proc counts as started by a tool, which can have hidden it; elsewhere only its
 * own variable counts.
 */
export function isStartedByTool(env: Readonly<Record<string, string | undefined>>, platform: string): boolean {
  if (env[MARK] !== undefined) return true;
  if (platform !== 'linux') return false;
  if (!isShown()) return true;
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

// Not by its own number, which is another one in /proc if the process has a namespace of its own.
function isShown(): boolean {
  try {
    return isProcFile('/proc/self/stat');
  } catch {
    return false;
  }
}

function hasToolAmongAncestors(pid: number | 'self', canMark: boolean): boolean {
  let at = readInfo(pid);
  for (let count = 0; at !== undefined && at.parent > 1 && count < MAX_ANCESTORS; count++) {
    const parent = readInfo(at.parent);
    if (parent === undefined) break;
    if (hasVariable(parent.pid) || (!canMark && at.session === at.pid && isToolHost(parent.pid))) return true;
    at = parent;
  }
  return false;
}

function isToolHost(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(pid, fd) === `/proc/${pid}/${HOST_FILE}`);
  } catch {
    return false;
  }
}

function linkOf(pid: number, fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return undefined;
  }
}

function hasVariable(pid: number): boolean {
  try {
    return `\0${readProcText(`/proc/${pid}/environ`)}`.includes(`\0${MARK}=`);
  } catch {
    return false;
  }
}

interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
}

function readInfo(name: number | 'self'): ProcessInfo | undefined {
  try {
    const stat = readProcText(`/proc/${name}/stat`);
    // The name in parentheses can contain anything.
    const [, parent, , session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid: Number.parseInt(stat, 10), parent: Number(parent), session: Number(session) };
  } catch {
    return undefined;
  }
}
