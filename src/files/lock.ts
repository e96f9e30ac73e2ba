// Lock between processes: a directory with a file per contender, named after its process (INS-31).

import { renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { pause } from '../core/async.js';
import { orNothing, systemReason, ToolError } from '../core/error.js';
import { loadCrypto } from './digest.js';
import { namesIn } from './list.js';
import { makeDirectory } from './make-directory.js';
import { isAlive, startTime } from './process-identity.js';
import { removeFile } from './remove.js';
import { toFileError } from './state.js';

// How long one process may hold the lock while others wait.
const WAIT_MS = 120_000;
const POLL_MS = 20;
const MAX_POLL_MS = 400;
// In alphabetical order, the holder comes first, then those that try to become it, then the queue by time of arrival.
const NAME = /^(held|try|wait-\d{15})-(\d+)-(\d+)-[0-9a-f]+$/;

export interface LockContext {
  readonly signal?: AbortSignal;
  /** What the holder does, for the timeout message: `installing`. */
  readonly doing: string;
  /** Called once if the wait is long. */
  report?(step: { readonly kind: 'note'; readonly text: string }): void;
}

/**
 * Runs work while no other process holds the lock. File names contain the id and start time of a process, so the file of
 * a dead process can be removed at any time: no other process ever has its name. Those who wait form a queue; it decides
 * who tries next, and has no part in who holds the lock.
 */
export async function withLock<T>(directory: string, context: LockContext, work: () => Promise<T>): Promise<T> {
  const mine = await acquire(directory, context);
  try {
    return await work();
  } finally {
    removeFile(mine);
    firstAlive(directory, contenders(directory));
    // Unless another process is waiting.
    orNothing(() => rmdirSync(directory));
  }
}

/** Whether another process holds the lock. */
export function isLocked(directory: string): boolean {
  const first = firstAlive(directory, contenders(directory));
  return first?.name.startsWith('held-') === true;
}

/** Whether a path is the file of a killed process in the directory of a lock. */
export function isAbandonedContender(path: string): boolean {
  const match = NAME.exec(basename(path));
  return match !== null && !isAlive(Number(match[2]), Number(match[3]));
}

async function acquire(directory: string, context: LockContext): Promise<string> {
  const { signal } = context;
  const own = `${process.pid}-${startTime(process.pid) ?? 0}-${loadCrypto().randomBytes(6).toString('hex')}`;
  // Microseconds since boot, which processes can compare.
  const queued = `wait-${String(process.hrtime.bigint() / 1000n).padStart(15, '0')}-${own}`;
  const checkPatience = createPatience(context);
  try {
    for (;;) {
      const all = contenders(directory);
      const first = firstAlive(directory, all);
      // Contend only if nobody is ahead. Of two that start together, the first by name wins.
      if ((first === undefined || first.name === queued) && create(directory, `try-${own}`)) {
        const won = await tryHold(directory, own);
        if (won !== undefined) return won;
      } else if (!all.some(({ name }) => name === queued)) create(directory, queued);
      if (signal?.aborted)
        throw new ToolError('cancelled', 'cancelled while waiting for the lock', {
          hint: 'run the command again',
        });
      checkPatience(first);
      const ahead = all.filter(({ name }) => name < queued).length;
      await pause(Math.min(POLL_MS * Math.max(1, ahead), MAX_POLL_MS) * (0.5 + Math.random()));
    }
  } finally {
    removeFile(join(directory, queued));
  }
}

interface Contender {
  readonly name: string;
  readonly pid: number;
  readonly started: number;
}

// Reports a long wait once, and throws `busy` if one process holds the lock for too long.
function createPatience({ doing, report }: LockContext): (first: Contender | undefined) => void {
  const began = performance.now();
  let reported = false;
  let known: { readonly name: string | undefined; readonly since: number } = { name: undefined, since: began };
  return (first) => {
    const now = performance.now();
    if (known.name !== first?.name) known = { name: first?.name, since: now };
    if (now - known.since > WAIT_MS) {
      throw new ToolError('busy', `another wield is ${doing} (process ${first?.pid ?? 'unknown'})`, {
        hint: 'wait until it ends, then run the command again',
      });
    }
    if (reported || first === undefined || now - began <= 500) return;
    reported = true;
    report?.({ kind: 'note', text: `waiting for another wield (process ${first.pid})` });
  };
}

// Returns whether the file was created.
function create(directory: string, name: string): boolean {
  try {
    makeDirectory(directory);
    writeFileSync(join(directory, name), '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    // The previous holder removed the directory.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw new ToolError('io', `cannot write to ${directory}: ${systemReason(error)}`, {
      hint: 'make the directory writable, or set WIELD_HOME to another one',
      cause: error,
    });
  }
}

// Takes the lock if there is no other contender: of two, each created its file before it checked.
async function tryHold(directory: string, own: string): Promise<string | undefined> {
  const mine = join(directory, `try-${own}`);
  for (;;) {
    const other = firstAlive(
      directory,
      contenders(directory).filter(({ name }) => !name.startsWith('wait-') && !name.endsWith(own)),
    );
    if (other === undefined) {
      const held = join(directory, `held-${own}`);
      try {
        renameSync(mine, held);
      } catch (error) {
        throw toFileError(error, 'write', held);
      }
      return held;
    }
    if (other.name < `try-${own}`) {
      removeFile(mine);
      return undefined;
    }
    await pause(1);
  }
}

// Returns all contenders in order, and removes other files.
function contenders(directory: string): Contender[] {
  const names = namesIn(directory);
  return names.flatMap((name) => {
    const match = NAME.exec(name);
    if (match !== null) return [{ name, pid: Number(match[2]), started: Number(match[3]) }];
    removeFile(join(directory, name));
    return [];
  });
}

// Returns the first contender that is alive, and removes the files of those before it.
function firstAlive(directory: string, all: readonly Contender[]): Contender | undefined {
  for (const contender of all) {
    if (isAlive(contender.pid, contender.started)) return contender;
    removeFile(join(directory, contender.name));
  }
  return undefined;
}
