// Starts processes: in a new group, without a shell, with limited time and output.

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve as resolvePath } from 'node:path';
import type { Readable } from 'node:stream';
import { ToolError } from '../core/error.js';
import type { World } from '../core/world.js';
import { collectOutput } from './collect.js';
import { isGroupAlive, killMarked, MARK, markHost, markValue, ownMark, signalGroup, watchLifeline } from './group.js';
import type { ProcessOutcome, ProcessRequest } from './request.js';

const BUSY_RETRIES = 5;

/** Runs a process to its end. Throws `exec_failed` only if it could not be started. */
export async function runProcess(request: ProcessRequest, world: World): Promise<ProcessOutcome> {
  const mark = nextMark();
  const { descriptor } = request;
  const passed = descriptor === undefined ? [] : [descriptor];
  const stdio: StdioOptions = ['pipe', 'pipe', 'pipe', ...passed, 'pipe'];
  const child = await start(request, mark, world, stdio);
  const pid = child.pid!;
  world.debug(`spawned ${JSON.stringify(request.argv)} as process ${pid} in ${request.cwd}`);
  const lifelineAt = 3 + passed.length;
  const lifeline = watchLifeline(child.stdio[lifelineAt] as Readable, pid, lifelineAt, world.platform);
  const end = watchEnd(child, request, world);
  const output = collectOutput(child, request, world, () => end.stop('capped'));
  child.stdin!.end(request.stdin);

  const { code, signal } = await end.reached;
  signalGroup(pid, 'SIGKILL');
  if (end.reason() !== 'exit') killMarked(mark, world.platform);
  await output.drained(end.reason(), end.stoppedLate);
  const late = end.forget();
  // The end of the socket may be read only in the next turn.
  if (lifeline.isHeld()) await new Promise((resolve) => setImmediate(resolve));
  if (late || lifeline.isHeld()) {
    killMarked(mark, world.platform);
    await lifeline.killHolders();
  }
  for (const stream of child.stdio) stream?.destroy();
  return { ending: end.reason(), exitCode: code, signal, ...output.finish() };
}

export type StartRequest = Pick<ProcessRequest, 'argv' | 'argv0' | 'cwd' | 'environment'>;

/**
 * Starts a process in its own group. Without a mark it is not ended with wield, for example a browser.
 * Throws `exec_failed`.
 */
export async function start(
  request: StartRequest,
  mark: string | null,
  world: World,
  stdio: StdioOptions,
): Promise<ChildProcess> {
  markHost(world.platform);
  for (let attempt = 0; ; attempt++) {
    try {
      return await startOnce(request, mark === null ? {} : { [MARK]: markValue(mark, world) }, stdio);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Temporary: a file that is being written, or full process and file tables.
      const temporary = code === 'ETXTBSY' || code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE';
      if (!temporary || attempt >= BUSY_RETRIES) throw spawnError(request, error as NodeJS.ErrnoException);
      world.debug(`spawning ${request.argv[0]}: ${code}, retrying`);
      await new Promise((resolve) => setTimeout(resolve, 20 * (attempt + 1)));
    }
  }
}

function startOnce(
  request: StartRequest,
  mark: Readonly<Record<string, string>>,
  stdio: StdioOptions,
): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const [binary, ...args] = request.argv;
    const child = spawn(binary!, args, {
      argv0: request.argv0,
      cwd: request.cwd,
      env: { ...request.environment, ...mark },
      stdio,
      detached: true,
      windowsHide: true,
    });
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

type Failed = (reason: string, hint: string) => ToolError;

// The system reports a missing program, interpreter or directory by the same code.
function notFound(binary: string, cwd: string, failed: Failed): ToolError {
  if (!existsSync(cwd)) return failed(`directory not found: ${cwd}`, 'create it, or choose another one');
  if (!binary.includes('/')) return failed('not on PATH', 'install it, or write its full path');
  if (!existsSync(resolvePath(cwd, binary))) return failed('file not found', 'check the path');
  return failed('interpreter not found', 'check its first line');
}

function spawnError(request: StartRequest, error: NodeJS.ErrnoException): ToolError {
  const binary = request.argv[0]!;
  const failed: Failed = (reason, hint) =>
    new ToolError('exec_failed', `cannot start ${binary}: ${reason}`, {
      hint,
      data: { errno: error.code ?? null, binary },
      cause: error,
    });
  switch (error.code) {
    case 'ENOENT':
      return notFound(binary, request.cwd, failed);
    case 'EACCES':
      return failed('permission denied', `run: chmod +x ${binary}  (its file system must also allow running programs)`);
    case 'E2BIG':
      return failed('arguments and environment are too long', 'pass large values on stdin or in a file');
    case 'ENOEXEC':
      return failed('not an executable format', 'check its first line');
    case 'ELOOP':
      return failed('its interpreter is a script that leads back to itself', 'use a program in its first line');
    case 'ETXTBSY':
      return failed('another process is writing to it', 'call again when the write is done');
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return failed(
        `the system is out of processes, files or memory (${error.code})`,
        'call again when less is running',
      );
    default:
      return failed(error.message, 'run it by hand to see what is wrong');
  }
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
function watchEnd(child: ChildProcess, request: ProcessRequest, world: World) {
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
  const onAbort = (): void => stop('cancelled');
  child.once('exit', (code, signal) => {
    if (reason === 'exit') settle({ code, signal });
    else settleWithGroup({ code, signal });
  });
  after(request.timeoutMs, () => stop('timeout'));
  request.signal?.addEventListener('abort', onAbort, { once: true });
  if (request.signal?.aborted === true) onAbort();
  return {
    reached: reached.promise,
    stoppedLate: stoppedLate.promise,
    stop,
    reason: () => reason,
    /** Stops listening. Returns whether there was a stop after the process had ended. */
    forget(): boolean {
      request.signal?.removeEventListener('abort', onAbort);
      return late;
    },
  };
}

function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
