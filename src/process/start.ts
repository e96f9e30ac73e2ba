// Starts a process: in a new group, without a shell and without inherited descriptors, marked as one of a tool.

import type { ChildProcess, StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:net';
import { resolve as resolvePath } from 'node:path';
import type { Readable } from 'node:stream';
import { nextTurn, pause } from '../core/async.js';
import { ToolError } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import { MARK, markHost, markValue, ownMark } from './group.js';
import { readProc } from './proc.js';
import type { ProcessRequest } from './request.js';
import type { Egress } from './sandbox/egress.js';
import { giveUpMarking, type MarkLauncher, markLauncher } from './tool-mark.js';

const BUSY_RETRIES = 5;

/** The descriptors of a process, from 0. */
export type Descriptors = Exclude<StdioOptions, string>;

export type StartRequest = Pick<
  ProcessRequest,
  'argv' | 'argv0' | 'filter' | 'egress' | 'cwd' | 'environment' | 'umask'
>;

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
      await pause(20 * (attempt + 1));
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
  // Loaded by the first process: most commands start none.
  const { spawn } = process.getBuiltinModule('node:child_process');
  return new Promise((resolve, reject) => {
    const [binary, ...args] = [...(launcher?.argv ?? []), ...request.argv];
    const { egress } = request;
    const child = withoutInherited(stdio, request.filter, (passed) =>
      withUmask(request.umask, () =>
        spawn(binary!, args, {
          argv0: launcher?.name ?? request.argv0,
          cwd: request.cwd,
          env: { ...request.environment, ...mark },
          stdio: egress === undefined ? passed : [...passed, 'ipc'],
          detached: true,
          windowsHide: true,
        }),
      ),
    );
    if (child.pid !== undefined) onSpawned?.(child);
    if (egress !== undefined) connectEgress(child, egress, stdio.length);
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

// EXE-84: the channel is closed before the tool starts, so that nothing but the listener ever comes through it.
function connectEgress(child: ChildProcess, egress: Egress, descriptors: number): void {
  child.once('message', (_, listener) => {
    // Without it, a server would listen outside of the sandbox.
    if (listener === undefined) return void child.kill('SIGKILL');
    egress.serve(listener as Server);
    child.send(descriptors, () => {
      if (child.connected) child.disconnect();
    });
  });
  onceEnded(child, () => egress.close());
  child.channel?.unref();
}

/** Calls the listener when a process has ended, or in the next turn if it already has. */
export function onceEnded(child: ChildProcess, listener: (code: number | null, signal: string | null) => void): void {
  if (hasEnded(child)) setImmediate(() => listener(child.exitCode, child.signalCode));
  else child.once('exit', listener);
}

/** Returns the umask of this process; `process.umask()` sets it to 0 for a moment, for all threads. */
export function ownUmask(): number {
  const [, shown] = /^Umask:\s*([0-7]+)$/m.exec(readProc('/proc/self/status') ?? '') ?? [];
  return shown === undefined ? process.umask() : Number.parseInt(shown, 8);
}

// A process inherits it when it is spawned.
function withUmask<T>(umask: number | undefined, act: () => T): T {
  if (umask === undefined) return act();
  const before = process.umask(umask);
  try {
    return act();
  } finally {
    process.umask(before);
  }
}

let calls = 0;

/** Returns a new mark, unique among our processes. */
export function nextMark(): string {
  return `${ownMark()}-${++calls}`;
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

/** The code of an error if the system does not let the launcher set the mark. */
const CANNOT_MARK = 'CANNOT_MARK';

const POLL_MS = 1;
// Only if another process of the program keeps the pipe open.
const REPORT_MS = 1000;
// A process that is about to end shows nothing for a moment; a program may show nothing at all.
const MOST_EMPTY = 200;
// The messages of glibc and musl. Only those whose cause the user can remove, or that pass.
const CODES: ReadonlyMap<string, string> = new Map([
  ['Permission denied', 'EACCES'],
  ['Argument list too long', 'E2BIG'],
  ['Exec format error', 'ENOEXEC'],
  ['Too many levels of symbolic links', 'ELOOP'],
  ['Symbolic link loop', 'ELOOP'],
  ['Text file busy', 'ETXTBSY'],
  ['Resource temporarily unavailable', 'EAGAIN'],
  ['Cannot allocate memory', 'ENOMEM'],
  ['Out of memory', 'ENOMEM'],
]);

/** Resolves when the launcher of this name is gone. Throws like spawn() if it could not start the program. */
async function launched(child: ChildProcess, name: string): Promise<void> {
  // Node drops the output of a process that has ended, unless someone reads it.
  const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
  for (const stream of outputs) stream.on('readable', ignore);
  try {
    for (let empty = 0; !hasEnded(child) && empty < MOST_EMPTY; ) {
      // Empty if the process has ended, which is reported next.
      const command = readProc(`/proc/${child.pid}/cmdline`) ?? '';
      if (command !== '' && !command.startsWith(name)) break;
      if (command === '') empty++;
      await pause(POLL_MS);
    }
    if (child.exitCode) await assertLaunched(child, name, child.exitCode);
  } finally {
    for (const stream of outputs) stream.off('readable', ignore);
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

// The program may have ended with the same status before it was seen.
async function assertLaunched({ stderr, stdio }: ChildProcess, name: string, status: number): Promise<void> {
  const report = stderr === null ? '' : await peek(stderr);
  if (!report.startsWith(name)) return;
  for (const stream of stdio) stream?.destroy();
  const reason = report.slice(report.lastIndexOf(': ') + 2).trim();
  const code = status === 127 ? 'ENOENT' : status === 126 ? CODES.get(reason) : CANNOT_MARK;
  throw Object.assign(new Error(reason), { code });
}

// What the process wrote is there, or the end of its output, unless it wrote nothing and another one keeps the pipe open.
async function peek(stream: Readable): Promise<string> {
  if (stream.readableLength === 0 && !stream.closed)
    await Promise.race([once(stream, 'readable'), once(stream, 'close'), pause(REPORT_MS)]);
  await nextTurn();
  const chunk = stream.read() as Buffer | null;
  if (chunk === null) return '';
  stream.unshift(chunk);
  return chunk.toString('utf8');
}

function ignore(): void {}

/** Returns `exec_failed` for an error of the system. */
function toStartError({ argv, cwd }: Pick<ProcessRequest, 'argv' | 'cwd'>, error: NodeJS.ErrnoException): ToolError {
  const binary = argv[0]!;
  const { code = null } = error;
  const [reason, hint] = explain(binary, cwd, error);
  return new ToolError('exec_failed', `cannot start ${binary}: ${reason}`, {
    hint,
    data: { errno: code, binary },
    cause: error,
  });
}

function explain(binary: string, cwd: string, { code, message }: NodeJS.ErrnoException): readonly [string, string] {
  switch (code) {
    case 'ENOENT':
      return explainMissing(binary, cwd);
    case 'EACCES':
      return ['permission denied', `run: chmod +x ${binary}  (its file system must also allow running programs)`];
    case 'E2BIG':
      return ['arguments and environment are too long', 'pass large values on stdin or in a file'];
    case 'ENOEXEC':
      return ['not an executable format', 'check its first line'];
    case 'ELOOP':
      return ['its interpreter is a script that leads back to itself', 'use a program in its first line'];
    case 'ETXTBSY':
      return ['another process is writing to it', 'call again when the write is done'];
    case 'EAGAIN':
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOMEM':
      return [`the system is out of processes, files or memory (${code})`, 'call again when less is running'];
    default:
      return [message, 'run it by hand to see what is wrong'];
  }
}

// The system reports a missing program, interpreter or directory by the same code.
function explainMissing(binary: string, cwd: string): readonly [string, string] {
  if (!existsSync(cwd)) return [`directory not found: ${cwd}`, 'create it, or choose another one'];
  if (!binary.includes('/')) return ['not on PATH', 'install it, or write its full path'];
  if (!existsSync(resolvePath(cwd, binary))) return ['file not found', 'check the path'];
  return ['interpreter not found', 'check its first line'];
}
