// Marks and ends the processes of a call: by group, by a mark in their environment, and by a socket that they inherit.

import { openSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { pause } from '../core/async.js';
import { orNothing } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import { hasOpen, listProcesses, readProc, readProcLink } from './proc.js';

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

/** A descriptor that no other program keeps open. Children cannot remove it, and need no writable directory to see it. */
export const HOST_FILE = 'projid_map';

let isHost = false;

/** Makes this process recognisable as one that runs tools. Linux only. */
export function markHost(platform: string): void {
  if (isHost || platform !== 'linux') return;
  isHost = true;
  // A kernel without user namespaces has none: only marks in environments are found.
  orNothing(() => openSync(`/proc/self/${HOST_FILE}`, 'r'));
}

/** Sends a signal to a process group, if it still exists. */
export function signalGroup(leader: number, signal: NodeJS.Signals): void {
  // ESRCH: the group is empty. EPERM: its processes changed their user and cannot be signalled.
  orNothing(() => process.kill(-leader, signal));
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
  const marked = toPattern(mark);
  const done = new Set<number>();
  let quiet = 0;
  for (let round = 0; round < 20 && quiet < 2; round++) {
    const found = findMarked(marked).filter((pid) => !done.has(pid));
    quiet = found.length === 0 ? quiet + 1 : 0;
    if (quiet === 1) block(EXEC_MS);
    for (const pid of found) {
      done.add(pid);
      kill(pid);
    }
  }
}

/** Kills all processes of a wield process, given the prefix of its marks. */
export function killAllMarked(own: string, platform: string): void {
  killMarked(`${own}-\\d+`, platform);
}

function toPattern(mark: string): RegExp {
  return new RegExp(`(?:^|\0)${MARK}=(?:[^\0]*,)?${mark}[,\0]`);
}

/**
 * Whether a process with the mark was started after this one and is still there, even if it has closed all descriptors.
 * Only ids that were assigned since are looked at, so that most calls read one file. Linux only.
 */
export function isAnyLeftSince(pid: number, mark: string, platform: string): boolean {
  if (platform !== 'linux') return false;
  const marked = toPattern(mark);
  return assignedSince(pid).some((other) => {
    const environment = readProc(`/proc/${other}/environ`);
    // During exec it is empty; also for zombies and kernel threads.
    return environment === '' ? isExecuting(other) : environment !== undefined && marked.test(environment);
  });
}

// The last number of the file is the id that was assigned last, of a process or a thread.
function assignedSince(pid: number): number[] {
  const last = Number(readProc('/proc/loadavg')?.trim().split(' ').at(-1));
  if (last >= pid && last - pid <= MAX_PROBED) return Array.from({ length: last - pid }, (_, at) => pid + 1 + at);
  const isLater = (other: number): boolean =>
    last > pid ? other > pid && other <= last : other > pid || other <= last;
  return listProcesses().filter(isLater);
}

function isExecuting(pid: number): boolean {
  const stat = readProc(`/proc/${pid}/stat`);
  return stat !== undefined && !/\) (?:[ZX] |\S 2 )/.test(stat);
}

// More ids are not probed one by one.
const MAX_PROBED = 50;
const EXEC_MS = 5;

function block(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

function findMarked(marked: RegExp): number[] {
  return listProcesses().filter((pid) => pid !== process.pid && marked.test(readProc(`/proc/${pid}/environ`) ?? ''));
}

const MAX_ROUNDS = 20;
const PAUSE_MS = 5;

/** Watches the socket that a process has as this descriptor. */
export function watchLifeline(socket: Readable, pid: number, descriptor: number, platform: string) {
  let held = true;
  const open = platform === 'linux' ? readProcLink(`/proc/${pid}/fd/${descriptor}`) : undefined;
  // A program such as bubblewrap may have opened something else there already, whose name other processes have, too.
  const shown = open?.startsWith('socket:') ? open : undefined;
  const name = shown ?? (platform === 'linux' ? guessOtherEnd(socket) : undefined);
  socket.once('close', () => {
    held = false;
  });
  // What is written to it is dropped.
  socket.resume();
  return {
    /** Whether a process still has the other end open. */
    isHeld: () => held,
    /** Kills the processes that hold the other end, whatever their group and environment (EXE-6). Linux only. */
    async killHolders(): Promise<void> {
      // Repeated: a process can fork before it is killed.
      for (let round = 0; held && name !== undefined && round < MAX_ROUNDS; round++) {
        // A guessed name could be that of another process's socket; only one that was started later can be meant.
        const suspects = shown === undefined ? assignedSince(pid) : listProcesses();
        for (const holder of findHolders(name, suspects)) kill(holder);
        await pause(PAUSE_MS);
      }
    },
  };
}

// Returns the name of the other end, such as `socket:[123]`. A process that has ended shows no descriptors, although others may
// have inherited them; but the system creates both ends together and numbers them in order.
function guessOtherEnd(socket: Readable): string | undefined {
  const { _handle: handle } = socket as Readable & { readonly _handle?: { readonly fd?: number } | null };
  const own = /^socket:\[(\d+)\]$/.exec(readProcLink(`/proc/self/fd/${handle?.fd}`) ?? '');
  return own === null ? undefined : `socket:[${Number(own[1]) + 1}]`;
}

function findHolders(name: string, suspects: readonly number[]): number[] {
  return suspects.filter((pid) => pid !== process.pid && hasOpen(pid, name) === true);
}

function kill(pid: number): void {
  // It may have exited.
  orNothing(() => process.kill(pid, 'SIGKILL'));
}
