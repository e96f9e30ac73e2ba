// A process that stays: started as any other, spoken to over a channel of its own, ended with its group.

import type { Duplex } from 'node:stream';
import type { World } from '../core/world.js';
import { killMarked, signalGroup } from './group.js';
import { nextMark, type StartRequest, start } from './spawn.js';

export interface Companion {
  readonly pid: number;
  /** Descriptor 3 of the process, both ways. */
  readonly channel: Duplex;
  /** Resolves when the process is gone, with how it went. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Ends it and all that it started, at once. */
  kill(): void;
}

/**
 * Starts a process that stays. What it prints goes to our standard error, since our standard output is a
 * protocol's. Neither it nor its channel keeps this process alive. Throws `exec_failed`.
 */
export async function startCompanion(request: StartRequest, world: World): Promise<Companion> {
  const mark = nextMark();
  const child = await start(request, mark, world, ['ignore', 2, 2, 'pipe']);
  const pid = child.pid!;
  const channel = child.stdio[3] as Duplex;
  world.debug(`started ${request.argv[0]} as companion ${pid} in ${request.cwd}`);
  child.unref();
  (channel as unknown as { unref?: () => void }).unref?.();
  let gone = false;
  const kill = (): void => {
    if (gone) return;
    signalGroup(pid, 'SIGKILL');
    killMarked(mark, world.platform);
  };
  remember(pid);
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      // What it started and left behind in its group goes with it.
      signalGroup(pid, 'SIGKILL');
      gone = true;
      living?.delete(pid);
      channel.destroy();
      resolve({ code, signal });
    });
  });
  return { pid, channel, ended, kill };
}

let living: Set<number> | undefined;

// A program that forgets to close its toolbox leaves nothing behind either.
function remember(pid: number): void {
  if (living === undefined) {
    const all = new Set<number>();
    process.once('exit', () => {
      for (const leader of all) signalGroup(leader, 'SIGKILL');
    });
    living = all;
  }
  living.add(pid);
}
