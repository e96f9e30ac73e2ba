// Finds out whether this process was started by a tool, even if the tool removed the mark from its environment (A44).

import { closeSync, openSync, readdirSync, readlinkSync, readSync, statfsSync, statSync } from 'node:fs';
import { HOST_FILE, MARK } from './group.js';

interface ProcessInfo {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  readonly hasTerminal: boolean;
  /** Clock ticks since boot. */
  readonly started: number;
}

const MAX_ANCESTORS = 64;
const PROC_TYPE = 0x9fa0;

/**
 * Whether this process was started by a tool: it or an ancestor has the mark, or an ancestor was started in a new session
 * by a process that runs tools. A process that lost its ancestors may have been: it then counts as started by a tool if
 * it has no terminal and an older process of this user runs tools. On Linux, one without /proc counts as started by a
 * tool, which can have hidden it; elsewhere only the mark of this process counts.
 */
export function isStartedByTool(env: Readonly<Record<string, string | undefined>>, platform: string): boolean {
  if (env[MARK] !== undefined) return true;
  if (platform !== 'linux') return false;
  // Not by its own number, which is another one in /proc if the process has a namespace of its own.
  const self = isProc() ? readInfo('self') : undefined;
  if (self === undefined) return true;
  const chain = [self];
  for (let at = self; chain.length < MAX_ANCESTORS; ) {
    const parent = at.parent > 1 ? readInfo(at.parent) : undefined;
    if (parent === undefined) break;
    if (hasMark(parent.pid) || (at.session === at.pid && isToolHost(parent.pid))) return true;
    chain.push(parent);
    at = parent;
  }
  // A tool can start any number of processes between itself and this one.
  if (chain.length === MAX_ANCESTORS) return true;
  const top = chain.at(-1)!;
  return !self.hasTerminal && isLost(top) && hasOlderHost(top, self.pid);
}

function isProc(): boolean {
  try {
    return statfsSync('/proc').type === PROC_TYPE;
  } catch {
    return false;
  }
}

// A process whose parent has exited is a child of init, with a session that init did not start. A parent that cannot be
// read is hidden.
function isLost(top: ProcessInfo): boolean {
  return top.parent > 1 || (top.parent === 1 && top.session !== readInfo(1)?.session);
}

function hasOlderHost({ started }: ProcessInfo, self: number): boolean {
  return readdirSync('/proc').some((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === self) return false;
    return (readInfo(pid)?.started ?? Number.POSITIVE_INFINITY) <= started && isToolHost(pid);
  });
}

function isToolHost(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(pid, fd) === `/proc/${pid}/${HOST_FILE}`);
  } catch (error) {
    return isHidden(pid, error);
  }
}

function linkOf(pid: number, fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return undefined;
  }
}

function hasMark(pid: number): boolean {
  try {
    return `\0${readText(`/proc/${pid}/environ`)}`.includes(`\0${MARK}=`);
  } catch (error) {
    return isHidden(pid, error);
  }
}

// A process of this user can be read, unless this one has a user namespace of its own, as any tool can make one.
function isHidden(pid: number, error: unknown): boolean {
  if ((error as NodeJS.ErrnoException).code !== 'EACCES') return false;
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === process.getuid?.();
}

function readInfo(name: number | 'self'): ProcessInfo | undefined {
  try {
    const stat = readText(`/proc/${name}/stat`);
    // The name in parentheses can contain anything.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [, parent, , session, terminal] = fields;
    return {
      pid: Number.parseInt(stat, 10),
      parent: parent!,
      session: session!,
      hasTerminal: terminal !== 0,
      started: fields[19]!,
    };
  } catch {
    return undefined;
  }
}

const buffer = Buffer.allocUnsafe(16 * 1024);

// Files of /proc have no size, and readFileSync() allocates 64 kB for each of those.
function readText(path: string): string {
  const descriptor = openSync(path, 'r');
  try {
    let text = '';
    for (;;) {
      const length = readSync(descriptor, buffer);
      if (length === 0) return text;
      text += buffer.toString('latin1', 0, length);
    }
  } finally {
    closeSync(descriptor);
  }
}
