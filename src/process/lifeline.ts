// Finds processes that outlive their call by a socket that every process of the call inherits.

import { readdirSync, readlinkSync } from 'node:fs';
import type { Readable } from 'node:stream';

export interface Lifeline {
  /** Whether a process still has the other end open. */
  isHeld(): boolean;
  /** Kills the processes that hold the other end, whatever their group and environment (EXE-6). Linux only. */
  killHolders(): Promise<void>;
}

const MAX_ROUNDS = 20;
const PAUSE_MS = 5;

/** Watches the socket that a process has as this descriptor. */
export function watchLifeline(socket: Readable, pid: number, descriptor: number, platform: string): Lifeline {
  let held = true;
  // The name of the other end, such as `socket:[123]`.
  const name = platform === 'linux' ? readLink(`/proc/${pid}/fd/${descriptor}`) : undefined;
  socket.once('close', () => {
    held = false;
  });
  // What is written to it is dropped.
  socket.resume();
  return {
    isHeld: () => held,
    async killHolders() {
      // Repeated: a process can fork before it is killed.
      for (let round = 0; held && name !== undefined && round < MAX_ROUNDS; round++) {
        for (const holder of findHolders(name)) kill(holder);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    },
  };
}

function findHolders(name: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid && holds(pid, name));
}

function holds(pid: number, name: string): boolean {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory).some((descriptor) => readLink(`${directory}/${descriptor}`) === name);
  } catch {
    // Exited, or owned by another user.
    return false;
  }
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Already exited.
  }
}
