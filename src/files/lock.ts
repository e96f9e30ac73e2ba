// One writer at a time: a directory with a file for each contender, whose name says which process it is (INS-31).

import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { World } from '../core/world.js';
import { loadCrypto } from './crypto.js';

const WAIT_MS = 120_000;
const POLL_MS = 20;
const NAME = /^(try|held)-(\d+)-(\d+)-[0-9a-f]+$/;

export interface LockContext {
  readonly world: Pick<World, 'monotonic'>;
  readonly signal: AbortSignal;
  /** What whoever holds it does, for those who waited in vain: `installing`. */
  readonly doing: string;
  /** Told once, where the wait is long. */
  report?(step: { readonly kind: 'note'; readonly text: string }): void;
}

/**
 * Runs work while no other process does. A file names a process by its id and start time, so one of a process that
 * is gone can be removed by anybody at any time: no other process ever has that name.
 */
export async function withLock<T>(
  directory: string,
  context: LockContext,
  work: () => Promise<T>,
): Promise<T> {
  const mine = await acquire(directory, context);
  try {
    return await work();
  } finally {
    rmSync(mine, { force: true });
    try {
      rmdirSync(directory);
    } catch {
      // Another waits in it.
    }
  }
}

/** Whether another process is at work now. */
export function isLocked(directory: string): boolean {
  return contenders(directory).some(({ held }) => held);
}

async function acquire(directory: string, { world, signal, doing, report }: LockContext): Promise<string> {
  const own = `${process.pid}-${startTime(process.pid) ?? 0}-${loadCrypto().randomBytes(6).toString('hex')}`;
  const began = world.monotonic();
  let told = false;
  for (;;) {
    const other = contenders(directory)[0];
    // A file is made only where nobody is there; who then sees another steps back, unless they come first.
    if (other === undefined && contend(directory, own)) {
      const won = await prevail(directory, own);
      if (won !== undefined) return won;
    }
    if (signal.aborted)
      throw new ToolError('cancelled', 'stopped while waiting', { hint: 'run the command again' });
    if (world.monotonic() - began > WAIT_MS) {
      throw new ToolError('busy', `another wield is ${doing} (process ${other?.pid ?? 'unknown'})`, {
        hint: 'wait for it to end, and run the command again',
      });
    }
    if (!told && other !== undefined && world.monotonic() - began > 500) {
      told = true;
      report?.({ kind: 'note', text: `waiting for another wield (process ${other.pid})` });
    }
    await pause(POLL_MS + Math.random() * POLL_MS);
  }
}

function contend(directory: string, own: string): boolean {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(join(directory, `try-${own}`), '', { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // The last to leave takes the directory along.
    if (code === 'ENOENT') return false;
    throw new ToolError('io', `cannot write to ${directory}: ${message}`, {
      hint: 'give back the right to write there, or set WIELD_HOME to a directory of yours',
      cause: error,
    });
  }
}

// Holds the lock only after a look that saw nobody else: of two, each made its file before it looked.
async function prevail(directory: string, own: string): Promise<string | undefined> {
  const mine = join(directory, `try-${own}`);
  for (;;) {
    const others = contenders(directory).filter(({ name }) => !name.endsWith(own));
    if (others.length === 0) {
      const held = join(directory, `held-${own}`);
      renameSync(mine, held);
      return held;
    }
    if (others.some(({ held, name }) => held || name < `try-${own}`)) {
      rmSync(mine, { force: true });
      return undefined;
    }
    await pause(1);
  }
}

// Those who are alive; the files of those who are not are removed.
function contenders(
  directory: string,
): { readonly name: string; readonly pid: number; readonly held: boolean }[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch {
    return [];
  }
  return names.flatMap((name) => {
    const match = NAME.exec(name);
    const pid = Number(match?.[2]);
    if (match === null || !isAlive(pid, Number(match[3]))) {
      rmSync(join(directory, name), { force: true });
      return [];
    }
    return [{ name, pid, held: match[1] === 'held' }];
  });
}

function isAlive(pid: number, started: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  // An id is given again; the time it began at is not.
  const now = startTime(pid);
  return now === undefined || started === 0 || now === started;
}

// In ticks since the system started; undefined where the system does not tell.
function startTime(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  } catch {
    return undefined;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
