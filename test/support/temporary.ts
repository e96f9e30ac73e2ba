// Where tests create files: in memory if there is enough of it. Creating, syncing and removing files on a disk takes up
// to a hundred times longer.

import { chmodSync, mkdirSync, readdirSync, rmSync, statfsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll } from 'vitest';

const MEMORY = '/dev/shm';
const TMPFS = 0x01021994;
const ENOUGH_BYTES = 4 * 1024 ** 3;
const PREFIX = 'wield-';
const ABANDONED_MS = 3_600_000;

/** Names the temporary directory on disk; if it is set before, tests use the disk. */
const DISK_VARIABLE = 'WIELD_TEST_DISK';

/** Vitest's global setup: lets tests create files in memory, and returns the teardown. */
export function setup(): () => void | Promise<void> {
  if (process.env[DISK_VARIABLE] !== undefined) return () => {};
  // `scripts/test.mjs` removes both if a run is interrupted.
  const disk = create(tmpdir());
  const directory = isUsable() ? create(MEMORY) : disk;
  process.env[DISK_VARIABLE] = disk;
  process.env.TMPDIR = directory;
  return async () => {
    for (const one of [directory, disk]) await removeAll(one);
  };
}

/**
 * Removes a directory in which a process that was just killed may still create files. `maxRetries` does not help: it tries
 * again to remove the directory, but not what is in it.
 */
export async function removeAll(directory: string): Promise<void> {
  for (let left = 50; ; left--) {
    try {
      return await rm(directory, { recursive: true, force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY' || left === 0) throw error;
      await sleep(100);
    }
  }
}

function create(parent: string): string {
  removeAbandoned(parent);
  const directory = join(parent, `${PREFIX}${process.pid}`);
  mkdirSync(directory);
  // Like /tmp.
  chmodSync(directory, 0o1777);
  return directory;
}

/** Returns the temporary directory on disk. */
export function diskDirectory(): string {
  const disk = process.env[DISK_VARIABLE];
  return disk?.startsWith('/') ? disk : tmpdir();
}

/** Lets the tests of a file create their files on disk: for sandboxes, which have a /dev of their own. */
export function useDisk(): void {
  const before = process.env.TMPDIR;
  beforeAll(() => {
    process.env.TMPDIR = diskDirectory();
  });
  afterAll(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
}

function isUsable(): boolean {
  try {
    const { type, bavail, bsize } = statfsSync(MEMORY);
    return type === TMPFS && bavail * bsize >= ENOUGH_BYTES;
  } catch {
    return false;
  }
}

/** Removes the directories of test runs that were killed, once no test run in another container can use them. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length)) : Number.NaN;
    if (!Number.isInteger(pid) || isAlive(pid)) continue;
    const directory = join(parent, name);
    const { mtimeMs = 0 } = statSync(directory, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs <= ABANDONED_MS) continue;
    try {
      rmSync(directory, { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
