// Reads and collects the output of a process, with one cap over both streams, in memory or spilled to a result store.

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { nextTurn } from '../core/async.js';
import type { Spill } from '../core/executor.js';
import type { World } from '../core/snapshot.js';
import type { ResultWriter } from '../core/store.js';
import type { ProcessOutcome, ProcessRequest, Receive } from './request.js';

// How long to wait for output after the process has ended: a process that left its group may hold the pipes.
const DRAIN_MS = 100;
// The same in total, if that process keeps writing (EXE-5).
const DRAIN_LIMIT_MS = { exit: 1000, timeout: 1000, cancelled: 50, capped: 50 } as const;

/** The progress of reading both streams. */
interface ReadState {
  /** Streams whose receiver has not processed a chunk yet. */
  held: number;
  lastOutput: number;
}

/** Reads both streams. A stream is not read while the promise of its receiver is pending. */
export function readOutput(child: ChildProcess, receive: Receive, world: World) {
  const state: ReadState = { held: 0, lastOutput: world.monotonic() };
  const read = async (from: 'stdout' | 'stderr'): Promise<void> => {
    const stream = child[from]!;
    for await (const chunk of stream) {
      state.lastOutput = world.monotonic();
      const wait = receive(chunk as Buffer, from);
      if (wait === undefined) continue;
      state.held++;
      await wait.catch(() => {});
      state.held--;
      state.lastOutput = world.monotonic();
    }
    if (!stream.closed) await once(stream, 'close');
  };
  // A stream that is destroyed before its end throws.
  const closed = Promise.allSettled([read('stdout'), read('stderr')]);
  return {
    /**
     * Resolves when both streams are closed, nothing came for a while, the limit is reached, or on `stopped`. The
     * output of a process that ended by itself is read to its end, however slow the receiver is.
     */
    drained: (ending: ProcessOutcome['ending'], stopped: Promise<void>): Promise<void> =>
      drain(ending, Promise.race([closed, stopped]), state, world),
  };
}

async function drain(
  ending: ProcessOutcome['ending'],
  closed: Promise<unknown>,
  state: ReadState,
  world: World,
): Promise<void> {
  let done = false;
  let waited = 0;
  const end = closed.then(() => {
    done = true;
  });
  const pause = Math.min(DRAIN_MS, DRAIN_LIMIT_MS[ending]);
  while (!done) {
    const began = world.monotonic();
    let timer: NodeJS.Timeout | undefined;
    const quiet = new Promise((resolve) => {
      timer = setTimeout(resolve, pause);
    });
    await Promise.race([end, quiet]);
    clearTimeout(timer);
    // A late timer fires before the reads of its turn, and there may be something to read.
    if (!done) await nextTurn();
    if (state.held > 0 && ending === 'exit') continue;
    waited += world.monotonic() - began;
    if (world.monotonic() - state.lastOutput >= DRAIN_MS || waited >= DRAIN_LIMIT_MS[ending]) return;
  }
}

/**
 * Returns a receiver of output. With a listener the cap only limits what is kept; without one, exceeding it calls
 * `onExceeded`.
 */
export function createOutput(request: ProcessRequest, onExceeded: () => void) {
  const { onOutput, filterStderr } = request;
  const budget: Budget = { left: request.outputBytes, exceeded: false };
  const stdout = createCollector(budget, request.spill);
  const stderr = createCollector(budget);
  const notify = { stdout: createQueue(), stderr: createQueue() };
  let isBegun = false;
  let isOver = false;
  const receive: Receive = (raw, from) => {
    const chunk = from === 'stderr' && filterStderr ? filterStderr(raw) : raw;
    if (chunk.length === 0) return undefined;
    if (!isBegun) request.onFirstOutput?.();
    isBegun = true;
    (from === 'stdout' ? stdout : stderr).add(chunk);
    if (onOutput !== undefined) return notify[from](() => (isOver ? undefined : onOutput(chunk, from)));
    if (budget.exceeded) onExceeded();
    return undefined;
  };
  return {
    receive,
    /** Returns what was kept, and stops calling the listener. */
    finish() {
      isOver = true;
      return {
        spilled: stdout.spilled(),
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
        keptBytes: stdout.length() + stderr.length(),
        exceeded: budget.exceeded,
        fault: budget.fault,
      };
    },
  };
}

/**
 * Returns a function that calls others one after the other, immediately if none is pending: a helper passes on more output
 * before it learns that it has to wait.
 */
function createQueue(): (act: () => void | Promise<void>) => void | Promise<void> {
  let last: Promise<void> | undefined;
  return (act) => {
    const wait = last === undefined ? act() : last.then(act);
    if (wait === undefined) return undefined;
    const mine = wait
      .catch(() => {})
      .then(() => {
        if (last === mine) last = undefined;
      });
    last = mine;
    return mine;
  };
}

/** The number of bytes that may still be kept, shared by both streams. */
interface Budget {
  left: number;
  /** Whether output was dropped. */
  exceeded: boolean;
  /** Why output could not be stored, and was dropped. */
  fault?: unknown;
}

function createCollector(budget: Budget, spill?: Spill) {
  const chunks: Buffer[] = [];
  let bytesInMemory = 0;
  let bytesKept = 0;
  let writer: ResultWriter | undefined;
  const store = (bytes: Buffer): void => {
    try {
      if (writer === undefined) {
        writer = spill!.open();
        for (const chunk of chunks) writer.write(chunk);
      }
      writer.write(bytes);
    } catch (error) {
      // The tool runs to its end; what is in memory is reported with the error (STA-3).
      writer?.discard();
      writer = undefined;
      budget.fault = error;
    }
  };
  return {
    bytes: () => Buffer.concat(chunks),
    length: () => (writer === undefined ? bytesInMemory : bytesKept),
    /** The writer that holds everything, if there was too much for memory. */
    spilled: () => writer,
    add(chunk: Buffer): void {
      const kept = chunk.length > budget.left ? chunk.subarray(0, budget.left) : chunk;
      if (kept.length < chunk.length) budget.exceeded = true;
      budget.left -= kept.length;
      bytesKept += kept.length;
      // The beginning stays in memory as well, for previews.
      const head = spill === undefined ? kept : kept.subarray(0, Math.max(0, spill.afterBytes - bytesInMemory));
      if (head.length < kept.length && budget.fault === undefined) store(kept);
      if (head.length === 0) return;
      bytesInMemory += head.length;
      chunks.push(head);
    },
  };
}
