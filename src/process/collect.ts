// Collects the output of a process, with one cap over both streams, in memory or spilled to a result store.

import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { Spill } from '../core/executor.js';
import type { ResultWriter } from '../core/store.js';
import type { World } from '../core/world.js';
import type { ProcessOutcome, ProcessRequest } from './request.js';

// How long to wait for output after the process has ended: a process that left its group may hold the pipes.
const DRAIN_MS = 100;
// The same in total, if that process keeps writing (EXE-5).
const DRAIN_LIMIT_MS = { exit: 1000, timeout: 1000, cancelled: 50, capped: 50 } as const;

/** The progress of reading both streams. */
interface ReadState {
  /** Chunks that the listener has not processed yet. */
  held: number;
  lastOutput: number;
  /** Whether there was output. */
  begun: boolean;
  /** The call is over; the listener is not called again. */
  over: boolean;
}

/**
 * Reads both streams. With a listener the cap only limits what is kept; without one, exceeding it calls
 * `onExceeded`.
 */
export function collectOutput(child: ChildProcess, request: ProcessRequest, world: World, onExceeded: () => void) {
  const { onOutput, filterStderr } = request;
  const budget: Budget = { left: request.outputBytes, exceeded: false };
  const stdout = createCollector(budget, request.spill);
  const stderr = createCollector(budget);
  const state: ReadState = { held: 0, lastOutput: world.monotonic(), begun: false, over: false };
  const read = (from: 'stdout' | 'stderr'): Promise<void> => {
    const collector = from === 'stdout' ? stdout : stderr;
    return readStream(child[from]!, state, world, (raw) => {
      const chunk = from === 'stderr' && filterStderr ? filterStderr(raw) : raw;
      if (chunk.length === 0) return undefined;
      if (!state.begun) request.onFirstOutput?.();
      state.begun = true;
      collector.add(chunk);
      if (onOutput !== undefined) return () => onOutput(chunk, from);
      if (budget.exceeded) onExceeded();
      return undefined;
    });
  };
  const closed = Promise.all([read('stdout'), read('stderr')]);
  return {
    /**
     * Resolves when both streams are closed, nothing came for a while, the limit is reached, or on `stopped`. The
     * output of a process that ended by itself is read to its end, however slow the listener is.
     */
    drained: (ending: ProcessOutcome['ending'], stopped: Promise<void>): Promise<void> =>
      drain(ending, Promise.race([closed, stopped]), state, world),
    /** Returns what was kept, and stops calling the listener. */
    finish() {
      state.over = true;
      return {
        spilled: stdout.spilled(),
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
        keptBytes: stdout.length() + stderr.length(),
        exceeded: budget.exceeded,
        ...(budget.fault === undefined ? {} : { fault: budget.fault }),
      };
    },
  };
}

/** Reads a stream to its end, pausing it while the function returned by `onChunk` is pending. */
function readStream(
  stream: Readable,
  state: ReadState,
  world: World,
  onChunk: (chunk: Buffer) => (() => void | Promise<void>) | undefined,
): Promise<void> {
  // Node resumes a paused stream when its process exits, so chunks also wait for each other.
  let last: Promise<void> | undefined;
  const hold = (wait: Promise<void>): void => {
    state.held++;
    stream.pause();
    const mine = wait
      .catch(() => {})
      .then(() => {
        state.held--;
        state.lastOutput = world.monotonic();
        if (last !== mine) return;
        last = undefined;
        stream.resume();
      });
    last = mine;
  };
  return new Promise((resolve) => {
    stream.on('data', (raw: Buffer) => {
      state.lastOutput = world.monotonic();
      const notify = onChunk(raw);
      if (notify === undefined) return;
      const wait = last === undefined ? notify() : last.then(() => (state.over ? undefined : notify()));
      if (wait !== undefined) hold(wait);
    });
    stream.once('close', () => {
      if (last === undefined) resolve();
      else last.then(resolve);
    });
  });
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
    if (!done) await new Promise((resolve) => setImmediate(resolve));
    if (state.held > 0 && ending === 'exit') continue;
    waited += world.monotonic() - began;
    if (world.monotonic() - state.lastOutput >= DRAIN_MS || waited >= DRAIN_LIMIT_MS[ending]) return;
  }
}

/** The number of bytes that may still be kept, shared by both streams. */
interface Budget {
  left: number;
  /** Whether output was dropped. */
  exceeded: boolean;
  /** Why output could not be stored, and was dropped. */
  fault?: unknown;
}

interface Collector {
  readonly bytes: () => Buffer;
  readonly length: () => number;
  /** The writer that holds everything, if there was too much for memory. */
  readonly spilled: () => ResultWriter | undefined;
  add(chunk: Buffer): void;
}

function createCollector(budget: Budget, spill?: Spill): Collector {
  const chunks: Buffer[] = [];
  let bytesInMemory = 0;
  let bytesSpilled = 0;
  let writer: ResultWriter | undefined;
  // Keeps the beginning in memory as well, for previews.
  const keep = (bytes: Buffer): number => {
    const head = bytes.subarray(0, Math.max(0, spill!.afterBytes - bytesInMemory));
    if (head.length > 0) chunks.push(head);
    bytesInMemory += head.length;
    return head.length;
  };
  const spillOver = (bytes: Buffer): void => {
    try {
      if (writer === undefined) {
        writer = spill!.open();
        for (const chunk of chunks) writer.write(chunk);
      }
      writer.write(bytes);
      bytesSpilled += bytes.length - keep(bytes);
    } catch (error) {
      // The tool runs to its end; what is in memory is reported with the error (STA-3).
      bytesSpilled = 0;
      writer?.discard();
      writer = undefined;
      budget.fault = error;
      keep(bytes);
    }
  };
  return {
    bytes: () => Buffer.concat(chunks),
    length: () => bytesInMemory + bytesSpilled,
    spilled: () => writer,
    add(chunk) {
      const kept = chunk.length > budget.left ? chunk.subarray(0, budget.left) : chunk;
      if (kept.length < chunk.length) budget.exceeded = true;
      budget.left -= kept.length;
      if (kept.length === 0) return;
      if (spill !== undefined && budget.fault !== undefined) {
        keep(kept);
        return;
      }
      if (spill !== undefined && (writer !== undefined || bytesInMemory + kept.length > spill.afterBytes)) {
        spillOver(kept);
        return;
      }
      bytesInMemory += kept.length;
      chunks.push(kept);
    },
  };
}
