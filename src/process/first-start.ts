// Starts a process that installs something first: if wield ends meanwhile, it goes on until it has answered once.

import type { Readable, Writable } from 'node:stream';
import type { World } from '../core/snapshot.js';
import type { PipedCompanion } from './companion.js';
import { findEntry } from './entry.js';
import { onceEnded, type StartRequest, start } from './start.js';

/** What the program of a first start is asked, in the first line of its input. */
export interface FirstStart {
  readonly request: StartRequest;
  /** The directory of the lock that it has until the process has answered: one first start at a time. */
  readonly lock: string;
  /** How long the process may take without wield. */
  readonly limitMs: number;
}

// It only passes bytes on.
const FLAGS = ['--max-old-space-size=64', '--max-semi-space-size=1'];

/**
 * Starts a process behind a program of our own, in a session of its own. Ending its input means that wield is gone: a
 * process that has answered is ended, another one when it has. Throws `exec_failed` if the program cannot be started.
 */
export async function startFirst(first: FirstStart, world: World): Promise<PipedCompanion> {
  const argv = [process.execPath, ...FLAGS, findEntry('first-start/main.cjs')];
  // Not marked, so that it is not ended with wield; it marks what it starts.
  const request = { argv, cwd: '/', environment: { PATH: '/usr/bin:/bin' } };
  const child = await start(request, null, world, ['pipe', 'pipe', 'pipe']);
  const [stdin, stdout, stderr] = child.stdio as unknown as [Writable, Readable, Readable];
  child.unref();
  for (const pipe of [stdin, stdout, stderr]) (pipe as { unref?: () => void }).unref?.();
  const pid = child.pid!;
  world.debug(`started ${first.request.argv[0]} by ${pid} in ${first.request.cwd}; it goes on if wield ends`);
  stdin.write(`${JSON.stringify(first)}\n`);
  return {
    pid,
    stdin,
    stdout,
    stderr,
    // It kills what it started.
    kill: () => void child.kill('SIGTERM'),
    ended: new Promise((resolve) => onceEnded(child, (code, signal) => resolve({ code, signal }))),
  };
}
