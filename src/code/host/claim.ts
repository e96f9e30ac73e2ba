// Claims of programs: a file that names the process that runs a program, or that has its answer to deliver.

import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { orNothing } from '../../core/error.js';
import { loadCrypto } from '../../files/digest.js';
import { makeDirectory } from '../../files/make-directory.js';
import { isAlive, startTime } from '../../files/process-identity.js';
import { readStateFile } from '../../files/read.js';
import { removeFile } from '../../files/remove.js';
import { toFileError } from '../../files/state.js';

type Holder = 'none' | 'alive' | 'dead';

/** Says whether the process that holds a claim runs; one that exits in order gives up its claims. */
export function holderOf(path: string): Holder {
  const text = orNothing(() => readStateFile(path, 1024));
  if (text === undefined) return 'none';
  const [pid = 0, started = 0] = text.split(' ').map(Number);
  return pid > 0 && isAlive(pid, started) ? 'alive' : 'dead';
}

/** Claims a program for this process; false if a process that runs has it. Only the holder of the lock replaces claims. Throws `io`. */
export function claim(path: string): boolean {
  const own = `${process.pid} ${startTime(process.pid) ?? 0} ${loadCrypto().randomBytes(8).toString('hex')}`;
  if (holderOf(path) === 'alive') return false;
  try {
    makeDirectory(dirname(path));
    removeFile(path);
    writeFileSync(path, own, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw toFileError(error, 'write', path);
  }
  return true;
}

/** Gives up a claim so that others see an answer that was not delivered. */
export function giveUp(path: string): void {
  removeFile(path);
  writeFileSync(path, '0 0 cancelled', { flag: 'wx', mode: 0o600 });
}

let held: Set<string> | undefined;

/** Gives up a claim when this process exits. If it is killed, the claim remains, and others know. */
export function releaseOnExit(path: string): void {
  if (held === undefined) {
    const all = new Set<string>();
    process.once('exit', () => {
      for (const one of all) removeFile(one);
    });
    held = all;
  }
  held.add(path);
}
