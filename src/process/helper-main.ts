// The program of the helper process: runs what wield asks for over descriptor 3, and kills it when wield is gone.

import { closeSync, constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { type Deferred, deferred } from '../core/async.js';
import { ToolError } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import { killAllMarked, MARK, signalGroup } from './group.js';
import type { HelperMessage, HelperRequest } from './helper-protocol.js';
import { CHANNEL, createLineReader } from './lines.js';
import type { Receive, Run } from './request.js';
import { supervise } from './spawn.js';

interface Running {
  readonly run: Run;
  pid?: number;
  /** Set while wield does not want output. */
  held?: Deferred<void> | undefined;
}

// Most processes end earlier, and each message wakes wield.
const REPORT_MS = 50;
const [, , owner = '', outer = ''] = process.argv;
const channel = new Socket({ fd: CHANNEL, readable: true, writable: true });
const running = new Map<number, Running>();
let isDismissed = false;
let drained: Deferred<void> | undefined;

const send = (message: HelperMessage): void => {
  if (channel.destroyed) return;
  // Wield reads slower than the processes write: all of them wait.
  if (!channel.write(`${JSON.stringify(message)}\n`)) drained ??= deferred<void>();
};

async function start({ run: id, request, source, debugging }: HelperRequest & { type: 'start' }): Promise<void> {
  const receive: Receive = (chunk, from) => {
    send({ type: 'output', run: id, from, base64: chunk.toString('base64') });
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
    debug: debugging ? (text) => send({ type: 'debug', text }) : () => {},
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
    report = setTimeout(() => send({ type: 'started', run: id, pid }), REPORT_MS);
  };
  try {
    if (source !== undefined) descriptor = openSync(source, constants.O_RDONLY | constants.O_NONBLOCK);
    const run = supervise(request, { descriptor, receive, onStarted, world });
    running.set(id, { run });
    send({ type: 'ended', run: id, end: await run.ended });
  } catch (error) {
    send({ type: 'failed', run: id, error: toFailure(error).toJSON() });
  } finally {
    clearTimeout(report);
    closeSource();
    running.delete(id);
  }
}

function toFailure(error: unknown): ToolError {
  if (error instanceof ToolError) return error;
  return new ToolError('exec_failed', `the process helper: ${(error as Error).message}`, { hint: 'call it again' });
}

function accept(request: HelperRequest): void {
  if (request.type === 'close') isDismissed = true;
  else if (request.type === 'start') void start(request);
  else {
    const known = running.get(request.run);
    if (request.type === 'stop') known?.run.stop(request.why);
    else if (known !== undefined && request.type === 'hold') known.held ??= deferred<void>();
    else if (known !== undefined) {
      known.held?.resolve();
      known.held = undefined;
    }
  }
}

const read = createLineReader((line) => accept(JSON.parse(line) as HelperRequest), Number.POSITIVE_INFINITY);
channel.on('data', read);
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
send({ type: 'ready' });
