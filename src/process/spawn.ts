// Runs processes to their end, with limited time and output, and ends what they leave behind.

import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { deferred, nextTurn, onAbort } from '../core/async.js';
import type { World } from '../core/snapshot.js';
import { createOutput, readOutput } from './collect.js';
import { isAnyLeftSince, isGroupAlive, killMarked, signalGroup, watchLifeline } from './group.js';
import type { ProcessEnd, ProcessOutcome, ProcessRequest, Run, RunRequest, Stop, SuperviseOptions } from './request.js';
import { type Descriptors, nextMark, onceEnded, start } from './start.js';

/** Starts and watches a process. */
export type Supervise = (request: RunRequest, options: SuperviseOptions) => Run;

const helpers = new WeakMap<World, Supervise>();

/** Lets a helper process run the processes of a world from now on; undefined: they are started here. */
export function useHelper(world: World, supervise: Supervise | undefined): void {
  if (supervise === undefined) helpers.delete(world);
  else helpers.set(world, supervise);
}

/** Runs a process to its end. Throws `exec_failed` only if it could not be started. */
export async function runProcess(request: ProcessRequest, world: World): Promise<ProcessOutcome> {
  const { argv, argv0, filter, egress, cwd, environment, stdin, timeoutMs, descriptor, onBackground } = request;
  const output = createOutput(request, () => run.stop('capped'));
  const started = { argv, argv0, filter, cwd, environment, stdin, timeoutMs, mark: nextMark() };
  // What listens in a sandbox is handed to the process that started it.
  const begin = (egress === undefined ? helpers.get(world) : undefined) ?? supervise;
  const run = begin(started, { descriptor, egress, receive: output.receive, onStarted: onBackground, world });
  const how = onBackground === undefined ? 'cancelled' : 'timeout';
  const release = request.signal && onAbort(request.signal, () => run.stop(how));
  try {
    return { ...(await run.ended), ...output.finish() };
  } finally {
    release?.();
  }
}

/** Starts a process here, limits its time, and ends everything that it leaves behind. */
export function supervise(request: RunRequest, options: SuperviseOptions): Run {
  let stopped: Stop | undefined;
  let end: ReturnType<typeof watchEnd> | undefined;
  const run = async (): Promise<ProcessEnd> => {
    const { descriptor, egress, receive, onStarted, world } = options;
    const { mark } = request;
    const passed = descriptor === undefined ? [] : [descriptor];
    const stdio: Descriptors = ['pipe', 'pipe', 'pipe', ...passed, 'pipe'];
    const lifelineAt = 3 + passed.length;
    let lifeline!: ReturnType<typeof watchLifeline>;
    const child = await start({ ...request, egress }, mark, world, stdio, ({ pid = 0, stdio: pipes }) => {
      lifeline = watchLifeline(pipes[lifelineAt] as Readable, pid, lifelineAt, world.platform);
    });
    const pid = child.pid!;
    onStarted?.(pid);
    world.debug(`spawned ${JSON.stringify(request.argv)} as process ${pid} in ${request.cwd}`);
    end = watchEnd(child, request.timeoutMs, world);
    if (stopped !== undefined) end.stop(stopped);
    const output = readOutput(child, receive, world);
    child.stdin!.end(request.stdin);

    const { code, signal } = await end.reached;
    signalGroup(pid, 'SIGKILL');
    if (end.reason() !== 'exit') killMarked(mark, world.platform);
    await output.drained(end.reason(), end.stoppedLate);
    const late = end.isLate();
    // The end of the socket may be read only in the next turn.
    if (lifeline.isHeld()) await nextTurn();
    if (late || lifeline.isHeld() || isAnyLeftSince(pid, mark, world.platform)) {
      killMarked(mark, world.platform);
      await lifeline.killHolders();
    }
    for (const stream of child.stdio) stream?.destroy();
    return { ending: end.reason(), exitCode: code, signal };
  };
  return {
    stop(why) {
      stopped ??= why;
      end?.stop(why);
    },
    ended: run(),
  };
}

// Between SIGTERM and SIGKILL (EXE-5, RUN-6).
const GRACE_MS = { timeout: 2000, cancelled: 150, capped: 150 } as const;
// How long to wait for the exit of a killed process.
const REAP_MS = 1000;
const GROUP_POLL_MS = 10;

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** Watches a process, and ends its group with SIGTERM and, after a grace period, SIGKILL. */
function watchEnd(child: ChildProcess, timeoutMs: number, world: World) {
  const pid = child.pid!;
  const reached = deferred<Exit>();
  const stoppedLate = deferred<void>();
  let reason: ProcessOutcome['ending'] = 'exit';
  let exit: Exit | undefined;
  let late = false;
  const timers: NodeJS.Timeout[] = [];
  const after = (milliseconds: number, act: () => void): void => {
    timers.push(setTimeout(act, milliseconds));
  };
  const settle = (end: Exit): void => {
    exit = end;
    for (const timer of timers) clearTimeout(timer);
    reached.resolve(end);
  };
  const stop = (why: Stop): void => {
    if (reason !== 'exit') return;
    if (exit !== undefined) {
      stopLate(why);
      return;
    }
    reason = why;
    world.debug(`process ${pid}: ${why}, ending its group`);
    signalGroup(pid, 'SIGTERM');
    after(GRACE_MS[why], () => {
      signalGroup(pid, 'SIGKILL');
      if (exit !== undefined) settle(exit);
    });
    after(GRACE_MS[why] + REAP_MS, () => settle({ code: null, signal: null }));
  };
  // The process has ended and only its output is still read: there is no group to signal.
  const stopLate = (why: Stop): void => {
    late = true;
    if (why === 'cancelled') reason = why;
    stoppedLate.resolve();
  };
  // The other processes of a stopped group have the whole grace period, even if their leader has exited.
  const settleWithGroup = (end: Exit): void => {
    exit = end;
    if (isGroupAlive(pid)) after(GROUP_POLL_MS, () => settleWithGroup(end));
    else settle(end);
  };
  onceEnded(child, (code, signal) => {
    if (reason === 'exit') settle({ code, signal });
    else settleWithGroup({ code, signal });
  });
  after(timeoutMs, () => stop('timeout'));
  return {
    reached: reached.promise,
    stoppedLate: stoppedLate.promise,
    stop,
    reason: () => reason,
    /** Whether there was a stop after the process had ended. */
    isLate: () => late,
  };
}
