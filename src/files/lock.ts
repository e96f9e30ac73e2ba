// Lock between processes: a directory with a file per contender, named after its process (INS-31).

import { mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import type { World } from '../core/world.js';
import { loadCrypto } from './digest.js';
import { isAlive, startTime } from './process-identity.js';

const WAIT_MS = 120_000;
const POLL_MS = 20;
const NAME = /^(try|held)-(\d+)-(\d+)-[0-9a-f]+$/;

export interface LockContext {
  readonly world: Pick<World, 'monotonic'>;
  readonly signal: AbortSignal;
  /** What the holder does, for the timeout message: `installing`. */
  readonly doing: string;
  /** Called once if the wait is long. */
  report?(step: { readonly kind: 'note'; readonly text: string }): void;
}

/**
 * Runs work while no other process holds the lock. File names contain the id and start time of a process, so the file of
 * a dead process can be removed at any time: no other process ever has its name.
 */
export async function withLock<T>(directory: string, context: LockContext, work: () => Promise<T>): Promise<T> {
  const mine = await acquire(directory, context);
  try {
    return await work();
  } finally {
    rmSync(mine, { force: true });
    try {
      rmdirSync(directory);
    } catch {
      // Another process is waiting.
    }
  }
}

/** Whether another process holds the lock. */
export function isLocked(directory: string): boolean {
  return contenders(directory).some(({ held }) => held);
}

async function acquire(directory: string, { world, signal, doing, report }: LockContext): Promise<string> {
  const own = `${process.pid}-${startTime(process.pid) ?? 0}-${loadCrypto().randomBytes(6).toString('hex')}`;
  const began = world.monotonic();
  let reported = false;
  for (;;) {
    const other = contenders(directory)[0];
    // Contend only if there is no other contender. Of two that start together, the first by name wins.
    if (other === undefined && contend(directory, own)) {
      const won = await tryHold(directory, own);
      if (won !== undefined) return won;
    }
    if (signal.aborted)
      throw new ToolError('cancelled', 'cancelled while waiting for the lock', {
        hint: 'run the command again',
      });
    if (world.monotonic() - began > WAIT_MS) {
      throw new ToolError('busy', `another wield is ${doing} (process ${other?.pid ?? 'unknown'})`, {
        hint: 'wait until it ends, then run the command again',
      });
    }
    if (!reported && other !== undefined && world.monotonic() - began > 500) {
      reported = true;
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
    // The previous holder removed the directory.
    if (code === 'ENOENT') return false;
    throw new ToolError('io', `cannot write to ${directory}: ${message}`, {
      hint: 'make the directory writable, or set WIELD_HOME to another one',
      cause: error,
    });
  }
}

// Takes the lock if there is no other contender: of two, each created its file before it checked.
async function tryHold(directory: string, own: string): Promise<string | undefined> {
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

// Returns the contenders that are alive and removes the files of others.
function contenders(directory: string): { readonly name: string; readonly pid: number; readonly held: boolean }[] {
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

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
