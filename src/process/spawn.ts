// The one spawn: a new group, no shell, bounded time and output, and nothing left behind.

import { type ChildProcess, spawn } from 'node:child_process';
import { ToolError } from '../core/error.js';
import type { World } from '../core/world.js';
import { type Budget, createCollector } from './collect.js';
import { killMarked, MARK, markValue, signalGroup } from './group.js';

export interface ProcessRequest {
  /** The command line; the first is an absolute path. */
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: string;
  readonly timeoutMs: number;
  /** Bytes of both streams together that are kept. */
  readonly outputBytes: number;
  /** Ends the process early. */
  readonly signal?: AbortSignal;
  /** What of standard error counts as output. */
  readonly filterStderr?: (chunk: Buffer) => Buffer;
  /** Takes output as it comes; a promise holds the process back. With it the cap bounds only what is kept. */
  readonly onOutput?: (chunk: Buffer, from: 'stdout' | 'stderr') => void | Promise<void>;
}

export interface ProcessOutcome {
  readonly ending: 'exit' | 'timeout' | 'cancelled' | 'capped';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** Whether more was written than was kept. */
  readonly exceeded: boolean;
}

// Between the polite signal and the kill (EXE-5, RUN-6).
const GRACE_MS = { timeout: 2000, cancelled: 150, capped: 150 } as const;
// How long output may still come after the process ended: its pipes may be held by a process that left the group.
const DRAIN_MS = 100;
// A killed process that the system does not give back is not waited for.
const REAP_MS = 1000;
const BUSY_RETRIES = 5;

/** Runs a process to its end. Throws `exec_failed` only where it never started. */
export async function runProcess(request: ProcessRequest, world: World): Promise<ProcessOutcome> {
  const mark = nextMark(world);
  const child = await start(request, mark, world);
  const pid = child.pid!;
  world.debug(`spawned ${JSON.stringify(request.argv)} as process ${pid} in ${request.cwd}`);
  const end = watchEnd(child, request, world);
  const output = collect(child, request, world, () => end.stop('capped'));
  child.stdin!.end(request.stdin);

  const { code, signal } = await end.reached;
  signalGroup(pid, 'SIGKILL');
  if (end.reason() !== 'exit') killMarked(mark, world.platform);
  await output.drained();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  return { ending: end.reason(), exitCode: code, signal, ...output.kept() };
}

type Stop = 'timeout' | 'cancelled' | 'capped';

// The end of a process: by itself, or by a polite signal to its group and, after a grace, a kill.
function watchEnd(child: ChildProcess, request: ProcessRequest, world: World) {
  const pid = child.pid!;
  let reason: ProcessOutcome['ending'] = 'exit';
  const timers: NodeJS.Timeout[] = [];
  const after = (milliseconds: number, act: () => void): void => {
    timers.push(setTimeout(act, milliseconds));
  };
  let settle: (end: { code: number | null; signal: string | null }) => void = () => {};
  const reached = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    settle = (end) => {
      for (const timer of timers) clearTimeout(timer);
      request.signal?.removeEventListener('abort', onAbort);
      resolve(end);
    };
  });
  const stop = (why: Stop): void => {
    if (reason !== 'exit') return;
    reason = why;
    world.debug(`process ${pid}: ${why}, ending its group`);
    signalGroup(pid, 'SIGTERM');
    after(GRACE_MS[why], () => signalGroup(pid, 'SIGKILL'));
    after(GRACE_MS[why] + REAP_MS, () => settle({ code: null, signal: null }));
  };
  const onAbort = (): void => stop('cancelled');
  child.once('exit', (code, signal) => settle({ code, signal }));
  after(request.timeoutMs, () => stop('timeout'));
  request.signal?.addEventListener('abort', onAbort, { once: true });
  if (request.signal?.aborted === true) onAbort();
  return { reached, stop, reason: () => reason };
}

// Both streams, kept up to the cap; with a listener they only pass through the cap, without one it ends the process.
function collect(child: ChildProcess, request: ProcessRequest, world: World, onExceeded: () => void) {
  const budget: Budget = { left: request.outputBytes, exceeded: false };
  const collectors = { stdout: createCollector(budget), stderr: createCollector(budget) };
  let held = 0;
  let lastOutput = world.monotonic();
  const drain = (from: 'stdout' | 'stderr'): Promise<void> =>
    new Promise((resolve) => {
      const stream = child[from]!;
      const resume = (): void => {
        held--;
        lastOutput = world.monotonic();
        stream.resume();
      };
      const filter = (from === 'stderr' && request.filterStderr) || ((chunk: Buffer): Buffer => chunk);
      stream.on('data', (raw: Buffer) => {
        lastOutput = world.monotonic();
        const chunk = filter(raw);
        if (chunk.length === 0) return;
        collectors[from].add(chunk);
        if (request.onOutput === undefined) {
          if (budget.exceeded) onExceeded();
          return;
        }
        const wait = request.onOutput(chunk, from);
        if (wait === undefined) return;
        held++;
        stream.pause();
        wait.then(resume, resume);
      });
      stream.once('close', resolve);
    });
  const closed = Promise.all([drain('stdout'), drain('stderr')]);
  return {
    /** Both streams closed, or nothing came for a while: a process that left the group may hold the pipes. */
    async drained(): Promise<void> {
      let done = false;
      const end = closed.then(() => {
        done = true;
      });
      while (!done) {
        let timer: NodeJS.Timeout | undefined;
        const quiet = new Promise<void>((resolve) => {
          timer = setTimeout(resolve, DRAIN_MS);
        });
        await Promise.race([end, quiet]);
        clearTimeout(timer);
        if (held === 0 && world.monotonic() - lastOutput >= DRAIN_MS) return;
      }
    },
    kept: () => ({
      stdout: collectors.stdout.bytes(),
      stderr: collectors.stderr.bytes(),
      exceeded: budget.exceeded,
    }),
  };
}

async function start(request: ProcessRequest, mark: string, world: World): Promise<ChildProcess> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await startOnce(request, markValue(mark, world));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // A file that another process has open for writing cannot be run for a moment; so it is with a full table.
      const passing = code === 'ETXTBSY' || code === 'EAGAIN' || code === 'EMFILE' || code === 'ENFILE';
      if (!passing || attempt >= BUSY_RETRIES) throw spawnError(request, error as NodeJS.ErrnoException);
      world.debug(`spawning ${request.argv[0]}: ${code}, trying again`);
      await new Promise((resolve) => setTimeout(resolve, 20 * (attempt + 1)));
    }
  }
}

function startOnce(request: ProcessRequest, markOfCall: string): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const [binary, ...args] = request.argv;
    const child = spawn(binary!, args, {
      cwd: request.cwd,
      env: { ...request.environment, [MARK]: markOfCall },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    });
    // A child that never reads, or ends before it does, closes the pipe under the write: that is its right.
    child.stdin.on('error', () => {});
    child.stdout.on('error', () => {});
    child.stderr.on('error', () => {});
    child.once('error', reject);
    child.once('spawn', () => {
      child.off('error', reject);
      child.on('error', () => {});
      resolve(child);
    });
  });
}

function spawnError(request: ProcessRequest, error: NodeJS.ErrnoException): ToolError {
  const binary = request.argv[0]!;
  const say = (message: string, hint: string): ToolError =>
    new ToolError('exec_failed', message, {
      hint,
      data: { errno: error.code ?? null, binary },
      cause: error,
    });
  switch (error.code) {
    case 'ENOENT':
      return say(
        `cannot start ${binary}: it, its interpreter or the directory ${request.cwd} is missing`,
        'check that all three exist',
      );
    case 'EACCES':
      return say(
        `cannot start ${binary}: not allowed to run it`,
        `chmod +x ${binary}, and check that its file system allows running programs`,
      );
    case 'E2BIG':
      return say(
        `cannot start ${binary}: its arguments and environment are too long`,
        'pass large values on standard input or in a file',
      );
    case 'ENOEXEC':
      return say(`cannot start ${binary}: the system does not know how to run it`, 'check its first line');
    case 'ETXTBSY':
      return say(
        `cannot start ${binary}: another process is writing to it`,
        'call again when the write is done',
      );
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return say(
        `cannot start ${binary}: the system is out of processes, files or memory (${error.code})`,
        'call again when less is running',
      );
    default:
      return say(`cannot start ${binary}: ${error.message}`, 'run it by hand to see what is wrong');
  }
}

let calls = 0;

// Unique among all processes of this machine's present: the id of this one, the time, a counter.
function nextMark(world: World): string {
  return `${process.pid}-${Math.round(world.now())}-${++calls}`;
}
