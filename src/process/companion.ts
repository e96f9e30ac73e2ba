// A process that stays: started as any other, spoken to over pipes, ended with its group.

import type { StdioOptions } from 'node:child_process';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { World } from '../core/world.js';
import { killMarked, signalGroup } from './group.js';
import { nextMark, type StartRequest, start } from './spawn.js';

export interface Companion {
  readonly pid: number;
  /** Resolves when the process is gone, with how it went. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Ends it and all that it started, at once. */
  kill(): void;
}

/** One that is spoken to over a channel beside its standard streams. */
export interface ChannelCompanion extends Companion {
  /** Descriptor 3 of the process, both ways. */
  readonly channel: Duplex;
}

/** One that is spoken to over its standard streams. */
export interface PipedCompanion extends Companion {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** Starts a process with a channel. What it prints goes to our standard error, since our standard output is a protocol's. */
export async function startCompanion(request: StartRequest, world: World): Promise<ChannelCompanion> {
  const { pipes, ...companion } = await startStaying(request, world, ['ignore', 2, 2, 'pipe']);
  const channel = pipes[3] as Duplex;
  void companion.ended.then(() => channel.destroy());
  return { ...companion, channel };
}

/** Starts a process whose standard streams are ours. */
export async function startPiped(request: StartRequest, world: World): Promise<PipedCompanion> {
  const { pipes, ...companion } = await startStaying(request, world, ['pipe', 'pipe', 'pipe']);
  const [stdin, stdout, stderr] = pipes as [Writable, Readable, Readable];
  return { ...companion, stdin, stdout, stderr };
}

type Pipe = Writable | Readable | null | undefined;

// Neither the process nor its pipes keep this one alive. Throws `exec_failed`.
async function startStaying(
  request: StartRequest,
  world: World,
  stdio: StdioOptions,
): Promise<Companion & { readonly pipes: readonly Pipe[] }> {
  const mark = nextMark();
  const child = await start(request, mark, world, stdio);
  const pid = child.pid!;
  const pipes: readonly Pipe[] = child.stdio;
  world.debug(`started ${request.argv[0]} as companion ${pid} in ${request.cwd}`);
  child.unref();
  for (const pipe of pipes) (pipe as { unref?: () => void } | null)?.unref?.();
  let gone = false;
  let killed = false;
  const kill = (): void => {
    if (gone) return;
    killed = true;
    signalGroup(pid, 'SIGKILL');
    killMarked(mark, world.platform);
  };
  remember(pid);
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('exit', (code, signal) => {
      // What it started and left behind, in its group or out of it, goes with it.
      signalGroup(pid, 'SIGKILL');
      if (!killed) killMarked(mark, world.platform);
      gone = true;
      living?.delete(pid);
      resolve({ code, signal });
    });
  });
  return { pid, pipes, ended, kill };
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
