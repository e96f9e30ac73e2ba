// The one spawn: a new group, no shell, bounded time and output, and nothing left behind.

import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { ToolError } from '../core/error.js';
import type { World } from '../core/world.js';
import { collectOutput } from './collect.js';
import { watchEnd } from './end.js';
import { killMarked, MARK, markValue, ownMark, signalGroup } from './group.js';
import type { ProcessOutcome, ProcessRequest } from './request.js';

const BUSY_RETRIES = 5;

/** Runs a process to its end. Throws `exec_failed` only where it never started. */
export async function runProcess(request: ProcessRequest, world: World): Promise<ProcessOutcome> {
  const mark = nextMark();
  const child = await start(request, mark, world, ['pipe', 'pipe', 'pipe']);
  const pid = child.pid!;
  world.debug(`spawned ${JSON.stringify(request.argv)} as process ${pid} in ${request.cwd}`);
  const end = watchEnd(child, request, world);
  const output = collectOutput(child, request, world, () => end.stop('capped'));
  child.stdin!.end(request.stdin);

  const { code, signal } = await end.reached;
  signalGroup(pid, 'SIGKILL');
  if (end.reason() !== 'exit') killMarked(mark, world.platform);
  await output.drained(end.reason(), end.stoppedLate);
  if (end.forget()) killMarked(mark, world.platform);
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
  return { ending: end.reason(), exitCode: code, signal, ...output.finish() };
}

/** What a process needs to be started. */
export type StartRequest = Pick<ProcessRequest, 'argv' | 'cwd' | 'environment'>;

/**
 * Starts a process in a group of its own. Without a mark it is no tool's but the person's own, such as their browser,
 * and is left alone when we end. Throws `exec_failed`.
 */
export async function start(
  request: StartRequest,
  mark: string | null,
  world: World,
  stdio: StdioOptions,
): Promise<ChildProcess> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await startOnce(request, mark === null ? {} : { [MARK]: markValue(mark, world) }, stdio);
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

function startOnce(
  request: StartRequest,
  mark: Readonly<Record<string, string>>,
  stdio: StdioOptions,
): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const [binary, ...args] = request.argv;
    const child = spawn(binary!, args, {
      cwd: request.cwd,
      env: { ...request.environment, ...mark },
      stdio,
      detached: true,
      windowsHide: true,
    });
    // A child that never reads, or ends before it does, closes the pipe under the write: that is its right.
    // Where the table of descriptors is full there are no pipes to listen to.
    for (const pipe of child.stdio ?? []) pipe?.on('error', () => {});
    child.once('error', reject);
    child.once('spawn', () => {
      child.off('error', reject);
      child.on('error', () => {});
      resolve(child);
    });
  });
}

function spawnError(request: StartRequest, error: NodeJS.ErrnoException): ToolError {
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
    case 'ELOOP':
      return say(
        `cannot start ${binary}: its interpreter leads back to a script, again and again`,
        'let its first line name a program',
      );
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

/** A mark that no other process of ours has. */
export function nextMark(): string {
  return `${ownMark()}-${++calls}`;
}
