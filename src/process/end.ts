// Watches for the end of a process: its exit, the time limit, a cancellation, or the output cap.

import type { ChildProcess } from 'node:child_process';
import type { World } from '../core/world.js';
import { isGroupAlive, signalGroup } from './group.js';
import type { ProcessOutcome, ProcessRequest } from './request.js';

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
export function watchEnd(child: ChildProcess, request: ProcessRequest, world: World) {
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
