// Runs processes: in a new group, without a shell, with limited time and output.

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { World } from '../core/snapshot.js';
import { onAbort } from '../core/time-limit.js';
import { createOutput, readOutput } from './collect.js';
import {
  isAnyLeftSince,
  isGroupAlive,
  killMarked,
  type Lifeline,
  MARK,
  markHost,
  markValue,
  ownMark,
  signalGroup,
  watchLifeline,
} from './group.js';
import { CANNOT_MARK, hasEnded, launched } from './launch.js';
import type { ProcessEnd, ProcessOutcome, ProcessRequest, Run, RunRequest, SuperviseOptions } from './request.js';
import { toStartError } from './start-error.js';
import { giveUpMarking, type MarkLauncher, markLauncher } from './tool-mark.js';

const BUSY_RETRIES = 5;

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
  const { argv, argv0, filter, cwd, environment, stdin, timeoutMs, descriptor } = request;
  const output = createOutput(request, () => run.stop('capped'));
  const started = { argv, argv0, filter, cwd, environment, stdin, timeoutMs, mark: nextMark() };
  const begin = helpers.get(world) ?? supervise;
  const run = begin(started, { descriptor, receive: output.receive, world });
  const release = request.signal && onAbort(request.signal, () => run.stop('cancelled'));
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
    const { descriptor, receive, onStarted, world } = options;
    const { mark } = request;
    const passed = descriptor === undefined ? [] : [descriptor];
    const stdio: Descriptors = ['pipe', 'pipe', 'pipe', ...passed, 'pipe'];
    const lifelineAt = 3 + passed.length;
    let lifeline!: Lifeline;
    const child = await start(request, mark, world, stdio, ({ pid = 0, stdio: pipes }) => {
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
    if (lifeline.isHeld()) await new Promise((resolve) => setImmediate(resolve));
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

/** The descriptors of a process, from 0. */
export type Descriptors = Exclude<StdioOptions, string>;

export type StartRequest = Pick<ProcessRequest, 'argv' | 'argv0' | 'filter' | 'cwd' | 'environment'>;

/**
 * Starts a process in its own group. Without a mark it is not ended with wield, for example a browser. Calls
 * `onSpawned` at once, before the process can have ended on a busy machine. Throws `exec_failed`.
 */
export async function start(
  request: StartRequest,
  mark: string | null,
  world: World,
  stdio: Descriptors,
  onSpawned?: (child: ChildProcess) => void,
): Promise<ChildProcess> {
  markHost(world.platform);
  for (let attempt = 0; ; attempt++) {
    const launcher = mark === null ? undefined : markLauncher(world);
    try {
      const marked: Readonly<Record<string, string>> = mark === null ? {} : { [MARK]: markValue(mark, world) };
      const child = await startOnce(request, marked, stdio, launcher, onSpawned);
      if (launcher !== undefined) await launched(child, launcher.name);
      return child;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === CANNOT_MARK) {
        world.debug(`processes of tools cannot be marked: ${(error as Error).message}`);
        giveUpMarking();
        continue;
      }
      // Temporary: a file that is being written, or full process and file tables.
      const temporary = code === 'ETXTBSY' || code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE';
      if (!temporary || attempt >= BUSY_RETRIES) throw toStartError(request, error as NodeJS.ErrnoException);
      world.debug(`spawning ${request.argv[0]}: ${code}, retrying`);
      await new Promise((resolve) => setTimeout(resolve, 20 * (attempt + 1)));
    }
  }
}

function startOnce(
  request: StartRequest,
  mark: Readonly<Record<string, string>>,
  stdio: Descriptors,
  launcher: MarkLauncher | undefined,
  onSpawned: ((child: ChildProcess) => void) | undefined,
): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const [binary, ...args] = [...(launcher?.argv ?? []), ...request.argv];
    const child = withoutInherited(stdio, request.filter, (passed) =>
      spawn(binary!, args, {
        argv0: launcher?.name ?? request.argv0,
        cwd: request.cwd,
        env: { ...request.environment, ...mark },
        stdio: passed,
        detached: true,
        windowsHide: true,
      }),
    );
    if (child.pid !== undefined) onSpawned?.(child);
    // A child may exit without reading its stdin. If no descriptors are left there are no pipes.
    for (const pipe of child.stdio ?? []) pipe?.on('error', () => {});
    child.once('error', reject);
    child.once('spawn', () => {
      child.off('error', reject);
      child.on('error', () => {});
      resolve(child);
    });
  });
}

/** Calls the listener when a process has ended, or in the next turn if it already has. */
export function onceEnded(child: ChildProcess, listener: (code: number | null, signal: string | null) => void): void {
  if (hasEnded(child)) setImmediate(() => listener(child.exitCode, child.signalCode));
  else child.once('exit', listener);
}

let calls = 0;

/** Returns a new mark, unique among our processes. */
export function nextMark(): string {
  return `${ownMark()}-${++calls}`;
}

// Between SIGTERM and SIGKILL (EXE-5, RUN-6).
const GRACE_MS = { timeout: 2000, cancelled: 150, capped: 150 } as const;
// How long to wait for the exit of a killed process.
const REAP_MS = 1000;
const GROUP_POLL_MS = 10;

type Stop = 'timeout' | 'cancelled' | 'capped';

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

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const DESCRIPTORS = '/proc/self/fdinfo';
const CLOSE_ON_EXEC = 0o2000000;
// Node marks those below when it starts, and further ones only up to the first gap.
const FIRST_UNMARKED = 16;

/** The descriptor of the filter of a sandbox. */
export const FILTER_DESCRIPTOR = 9;

let unmarked: readonly number[] | undefined;

// EXE-73: an empty file takes the place of every descriptor that wield inherited. What wield opens itself is marked, so it
// looks once.
function withoutInherited<T>(stdio: Descriptors, filter: string | undefined, act: (passed: Descriptors) => T): T {
  unmarked ??= existsSync(DESCRIPTORS) ? readdirSync(DESCRIPTORS).map(Number).filter(isUnmarked) : [];
  const passed = [...stdio];
  const opened: number[] = [];
  const open = (at: number, path: string, flags: string): void => {
    passed[at] = openSync(path, flags);
    opened.push(passed[at]);
  };
  try {
    for (const at of unmarked) open(at, '/dev/null', 'r+');
    if (filter !== undefined) open(FILTER_DESCRIPTOR, filter, 'r');
    return act(Array.from(passed, (one) => one ?? 'ignore'));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function isUnmarked(descriptor: number): boolean {
  const file = `${DESCRIPTORS}/${descriptor}`;
  if (descriptor < FIRST_UNMARKED || !existsSync(file)) return false;
  const [, flags] = readFileSync(file, 'latin1').split('flags:');
  return (Number.parseInt(flags!, 8) & CLOSE_ON_EXEC) === 0;
}
