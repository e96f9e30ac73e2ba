// Long-running processes: started like any other, connected by pipes, ended with their group.

import type { Duplex, Readable, Writable } from 'node:stream';
import { inBackground } from '../core/async.js';
import type { World } from '../core/snapshot.js';
import { killMarked, signalGroup } from './group.js';
import { type Descriptors, nextMark, onceEnded, type StartRequest, start } from './start.js';

export interface Companion {
  readonly pid: number;
  /** Resolves when the process has exited. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Kills it and everything it started. */
  kill(): void;
}

/** A process with a channel besides its standard streams. */
export interface ChannelCompanion extends Companion {
  /** Descriptor 3 of the process, duplex. */
  readonly channel: Duplex;
}

/** A process whose standard streams are pipes. */
export interface PipedCompanion extends Companion {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** Starts a process with a channel. Its output goes to our stderr, because our stdout may carry a protocol. */
export async function startCompanion(request: StartRequest, world: World): Promise<ChannelCompanion> {
  const { pipes, ...companion } = await startCompanionProcess(request, world, ['ignore', 2, 2, 'pipe']);
  const channel = pipes[3] as Duplex;
  inBackground(
    companion.ended.then(() => channel.destroy()),
    world.debug,
  );
  return { ...companion, channel };
}

/** Starts a process whose standard streams are pipes. */
export async function startPiped(request: StartRequest, world: World): Promise<PipedCompanion> {
  const { pipes, ...companion } = await startCompanionProcess(request, world, ['pipe', 'pipe', 'pipe']);
  const [stdin, stdout, stderr] = pipes as [Writable, Readable, Readable];
  return { ...companion, stdin, stdout, stderr };
}

type Pipe = Writable | Readable | null | undefined;

// Neither the process nor its pipes keep ours alive. Throws `exec_failed`.
async function startCompanionProcess(
  request: StartRequest,
  world: World,
  stdio: Descriptors,
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
  killOnExit(pid);
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    onceEnded(child, (code, signal) => {
      // Kills what it left behind, in its group or outside.
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

// For programs that exit without closing their toolbox.
function killOnExit(pid: number): void {
  if (living === undefined) {
    const all = new Set<number>();
    process.once('exit', () => {
      for (const leader of all) signalGroup(leader, 'SIGKILL');
    });
    living = all;
  }
  living.add(pid);
}
