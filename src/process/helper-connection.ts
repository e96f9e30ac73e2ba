// The connection to the helper process: sends what to run, and passes on what comes back.

import { basename } from 'node:path';
import type { Duplex } from 'node:stream';
import { deferred } from '../core/async.js';
import { reviveError, ToolError } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import { killMarked, MARK, ownMark, signalGroup } from './group.js';
import type { HelperMessage, HelperRequest, RunMessage } from './helper-protocol.js';
import { readLines } from './lines.js';
import type { ProcessEnd, Run, RunRequest, SuperviseOptions } from './request.js';
import { type Supervise, useHelper } from './spawn.js';
import { onceEnded, start } from './start.js';
import { markLauncher } from './tool-mark.js';

export interface Connection {
  readonly run: Supervise;
  close(): void;
}

// It only passes bytes on, so it needs little memory.
const FLAGS = ['--max-old-space-size=64', '--max-semi-space-size=1'];
// How long a run may exceed its time limit before the helper counts as stuck, and how often that is checked.
const STUCK_MS = 10_000;
const CHECK_MS = 1000;
const END_MS = 5000;

/** Starts a helper. One that is not marked marks each process that it starts, which takes longer. Throws `exec_failed`. */
export async function connect(
  entry: string,
  world: World,
  { onReady, onEnd }: Record<'onReady' | 'onEnd', () => void>,
  isMarking = true,
): Promise<Connection> {
  // What it starts inherits the mark.
  const marker = isMarking ? (markLauncher(world)?.argv ?? []) : [];
  const argv = [...marker, process.execPath, ...FLAGS, entry, ownMark(), world.env[MARK] ?? ''];
  const request = { argv, cwd: '/', environment: { PATH: '/usr/bin:/bin' } };
  const child = await start(request, null, world, ['ignore', 'ignore', 'ignore', 'pipe']);
  const channel = child.stdio[3] as Duplex & { ref(): void; unref(): void };
  const runs = new Map<number, HelperRun>();
  let isOver = false;
  let isClosing = false;
  let ids = 0;

  const send = (message: HelperRequest): void => {
    if (!isOver) channel.write(`${JSON.stringify(message)}\n`);
  };
  let checking: NodeJS.Timeout | undefined;
  const check = (): void => {
    const now = world.monotonic();
    const stuck = [...runs.values()].find((run) => run.isStuck(now));
    if (stuck !== undefined) end(`it did not end a process within ${stuck.timeoutMs} ms`);
  };
  const add = (id: number, run: HelperRun): void => {
    runs.set(id, run);
    if (runs.size > 1) return;
    channel.ref();
    checking = setInterval(check, CHECK_MS).unref();
  };
  const remove = (id: number): void => {
    runs.delete(id);
    if (runs.size > 0) return;
    channel.unref();
    clearInterval(checking);
  };
  const end = (why: string): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(checking);
    onEnd();
    useHelper(world, undefined);
    world.debug(`the process helper ended: ${why}`);
    child.kill('SIGKILL');
    channel.destroy();
    for (const run of runs.values()) run.lose(why);
  };
  const accept = (line: string): void => {
    const message = JSON.parse(line) as HelperMessage;
    if (message.type === 'ready') {
      onReady();
      if (!isClosing) useHelper(world, run);
    } else if (message.type === 'debug') world.debug(message.text);
    else if (runs.get(message.run)?.accept(message) === 'over') remove(message.run);
  };
  // EXE-77
  readLines(channel, Number.POSITIVE_INFINITY, accept, end);
  // It ends by itself, after it killed what it ran.
  channel.once('close', () => setTimeout(() => child.kill('SIGKILL'), END_MS).unref());
  onceEnded(child, (code, signal) => end(signal === null ? `it exited with status ${code}` : `killed by ${signal}`));
  child.unref();
  channel.unref();

  const run: Supervise = (request, options) => {
    const id = ++ids;
    const started = createRun(id, request, options, send);
    add(id, started);
    const { descriptor } = options;
    const source = descriptor === undefined ? undefined : `/proc/${process.pid}/fd/${descriptor}`;
    send({ type: 'start', run: id, request, source, debugging: world.debugging });
    return started;
  };
  return {
    run,
    close() {
      isClosing = true;
      useHelper(world, undefined);
      send({ type: 'close' });
      channel.end();
    },
  };
}

/** A process that the helper runs. */
interface HelperRun extends Run {
  readonly timeoutMs: number;
  /** Whether it should have ended long ago. */
  isStuck(now: number): boolean;
  /** Handles a message about it. */
  accept(message: RunMessage): 'over' | undefined;
  /** The helper has ended. */
  lose(why: string): void;
}

function createRun(
  id: number,
  request: RunRequest,
  { receive, onStarted, world }: SuperviseOptions,
  send: (message: HelperRequest) => void,
): HelperRun {
  const { timeoutMs } = request;
  const pending = new Set<Promise<void>>();
  const ended = deferred<ProcessEnd>();
  const cancelled = deferred<void>();
  let isCancelled = false;
  let pid: number | undefined;
  let deadline = world.monotonic() + timeoutMs + STUCK_MS;

  const hold = (wait: Promise<void>): void => {
    if (pending.size === 0) send({ type: 'hold', run: id });
    pending.add(wait);
    const release = (): void => {
      pending.delete(wait);
      if (pending.size === 0) send({ type: 'release', run: id });
    };
    wait.then(release, release);
  };
  // Output of a process that ended by itself is passed on to its end, unless the call is cancelled.
  const finish = async (end: ProcessEnd): Promise<void> => {
    if (end.ending === 'exit' && pending.size > 0) await Promise.race([Promise.all(pending), cancelled.promise]);
    ended.resolve(end.ending === 'exit' && isCancelled ? { ...end, ending: 'cancelled' } : end);
  };

  return {
    ended: ended.promise,
    timeoutMs,
    isStuck(now) {
      // While the listener is slow, the helper waits for us.
      if (pending.size > 0) deadline = now + timeoutMs + STUCK_MS;
      return now > deadline;
    },
    stop(why) {
      if (why === 'cancelled') isCancelled = true;
      cancelled.resolve();
      send({ type: 'stop', run: id, why });
    },
    accept(message) {
      switch (message.type) {
        case 'output': {
          const wait = receive(Buffer.from(message.base64, 'base64'), message.from);
          if (wait !== undefined) hold(wait);
          return undefined;
        }
        case 'started':
          pid = message.pid;
          onStarted?.(pid);
          return undefined;
        case 'ended':
          void finish(message.end);
          return 'over';
        case 'failed':
          ended.reject(reviveError(message.error));
          return 'over';
      }
    },
    lose(why) {
      if (pid !== undefined) signalGroup(pid, 'SIGKILL');
      killMarked(request.mark, world.platform);
      ended.reject(helperEnded(request, why));
    },
  };
}

// EXE-11
function helperEnded({ argv, argv0 }: RunRequest, why: string): ToolError {
  const program = basename(argv0 ?? argv[0]!);
  return new ToolError('exec_failed', `the process helper ended while it ran ${program}: ${why}`, {
    hint: 'check what the tool did, and call it again: a new helper is started',
    data: { retry: true },
  });
}
