// The program of the helper process: runs what wield asks for over descriptor 3, and kills it when wield is gone.

import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { type Deferred, deferred } from '../core/async.js';
import { ToolError } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import { createFrameReader, FRAME, type Frame, type FrameType, formatFrame } from './frames.js';
import { killAllMarked, MARK, signalGroup } from './group.js';
import type { Receive, Run, RunRequest } from './request.js';
import { supervise } from './spawn.js';

interface StartMessage {
  readonly request: RunRequest;
  /** The file to pass on, as a path to the descriptor that wield holds. */
  readonly source?: string;
  readonly debugging: boolean;
}

interface Running {
  readonly run: Run;
  pid?: number;
  /** Set while wield does not want output. */
  held?: Deferred<void> | undefined;
}

const CHANNEL = 3;
// Most processes end earlier, and each message wakes wield.
const REPORT_MS = 50;
const [, , owner = '', outer = ''] = process.argv;
const channel = new Socket({ fd: CHANNEL, readable: true, writable: true });
const running = new Map<number, Running>();
let isDismissed = false;
let drained: Deferred<void> | undefined;

const send = (type: FrameType, run: number, content?: string | Buffer): void => {
  if (channel.destroyed) return;
  // Wield reads slower than the processes write: all of them wait.
  if (!channel.write(formatFrame(type, run, content))) drained ??= deferred<void>();
};

async function start(id: number, { request, source, debugging }: StartMessage): Promise<void> {
  const receive: Receive = (chunk, from) => {
    send(from === 'stdout' ? FRAME.stdout : FRAME.stderr, id, chunk);
    const held = running.get(id)?.held;
    if (held === undefined) return drained?.promise;
    return drained === undefined ? held.promise : Promise.all([held.promise, drained.promise]).then(() => {});
  };
  const world: World = {
    env: outer === '' ? {} : { [MARK]: outer },
    home: undefined,
    platform: process.platform,
    now: Date.now,
    monotonic: () => performance.now(),
    debug: debugging ? (message) => send(FRAME.debug, id, message) : () => {},
    debugging,
  };
  let descriptor: number | undefined;
  const closeSource = (): void => {
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  let report: NodeJS.Timeout | undefined;
  const onStarted = (pid: number): void => {
    closeSource();
    running.get(id)!.pid = pid;
    report = setTimeout(() => send(FRAME.started, id, String(pid)), REPORT_MS);
  };
  try {
    if (source !== undefined) descriptor = openSync(source, constants.O_RDONLY | constants.O_NONBLOCK);
    const run = supervise(request, { descriptor, receive, onStarted, world });
    running.set(id, { run });
    send(FRAME.ended, id, JSON.stringify(await run.ended));
  } catch (error) {
    fail(id, error);
  } finally {
    clearTimeout(report);
    closeSource();
    running.delete(id);
  }
}

function fail(id: number, error: unknown): void {
  const failure =
    error instanceof ToolError
      ? error
      : new ToolError('exec_failed', `the process helper: ${(error as Error).message}`, { hint: 'call it again' });
  send(FRAME.failed, id, JSON.stringify(failure));
}

function accept({ type, run: id, bytes }: Frame): void {
  const known = running.get(id);
  if (type === FRAME.close) isDismissed = true;
  else if (type === FRAME.start) void start(id, JSON.parse(bytes.toString('utf8')) as StartMessage);
  else if (known === undefined) return;
  else if (type === FRAME.stop) known.run.stop(bytes.toString('utf8') as 'timeout' | 'cancelled' | 'capped');
  else if (type === FRAME.hold) known.held ??= deferred<void>();
  else if (type === FRAME.release) {
    known.held?.resolve();
    known.held = undefined;
  }
}

channel.on('data', createFrameReader(accept));
channel.on('drain', () => {
  drained?.resolve();
  drained = undefined;
});
channel.on('error', () => {});
// Nothing that this process started may stay. If wield ended without a word, neither may what it started itself.
channel.once('close', () => {
  for (const { pid } of running.values()) if (pid !== undefined) signalGroup(pid, 'SIGKILL');
  if (!isDismissed) killAllMarked(owner, process.platform);
  process.exit();
});
send(FRAME.ready, 0);
