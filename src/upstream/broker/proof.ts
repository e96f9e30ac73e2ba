// Finds out which process is at the other end of the socket, which Node does not tell: it holds what this end named.

import { closeSync, openSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadCrypto } from '../../files/digest.js';
import { namesIn } from '../../files/list.js';
import { removeFile } from '../../files/remove.js';
import { isOf, isToolProcess } from '../../process/ancestry.js';
import { hasOpen, readProc } from '../../process/proc.js';

/** A file that the process at the other end has to open. */
export interface Challenge {
  readonly file: string;
  /** Whether the process has the file open, belongs to this user, and was not started by a tool (UPS-121). Once. */
  isMetBy(pid: number): boolean;
  end(): void;
}

const PREFIX = 'proof-';

export function createChallenge(directory: string, build: string): Challenge {
  const file = join(realpathSync(directory), `${PREFIX}${build}-${loadCrypto().randomBytes(16).toString('hex')}`);
  writeFileSync(file, '', { flag: 'wx', mode: 0o600 });
  const end = (): void => removeFile(file);
  return {
    file,
    end,
    isMetBy(pid) {
      const isMet = process.platform !== 'linux' || (hasOpen(pid, file) === true && isPersons(pid));
      end();
      return isMet;
    },
  };
}

/** Removes what brokers that were killed left behind: those of a build, or all. */
export function removeChallenges(directory: string, build = ''): void {
  for (const name of namesIn(directory)) if (name.startsWith(`${PREFIX}${build}`)) removeFile(join(directory, name));
}

/** Opens the file of a challenge while the work goes on. */
export async function meetChallenge<T>(file: string, work: () => Promise<T>): Promise<T> {
  const descriptor = openSync(file, 'r');
  try {
    return await work();
  } finally {
    closeSync(descriptor);
  }
}

const LISTENING = /^[0-9a-f]+: \S+ \S+ 00010000 \S+ \S+ +(\d+) (.+)$/gm;

/** Whether a process, and no other one, listens on a socket, belongs to this user, and was not started by a tool. */
export function isListener(pid: number, socket: string): boolean {
  if (process.platform !== 'linux') return true;
  const rows = [...(readProc('/proc/net/unix') ?? '').matchAll(LISTENING)];
  // A socket whose file was replaced still has its path.
  const own = rows.filter(([, , path]) => path === socket);
  const holds = own.length > 0 && own.every(([, inode]) => hasOpen(pid, `socket:[${inode}]`) === true);
  return holds && isPersons(pid);
}

function isPersons(pid: number): boolean {
  return isOf(pid, process.getuid!()) && !isToolProcess(pid);
}
