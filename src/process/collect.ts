// Collects the output of a process up to one cap over both streams.

import type { ChildProcess } from 'node:child_process';
import type { Spill } from '../core/executor.js';
import type { ResultWriter } from '../core/store.js';
import type { World } from '../core/world.js';
import type { ProcessOutcome, ProcessRequest } from './request.js';

// How long output may still come after the process ended: its pipes may be held by a process that left the group.
const DRAIN_MS = 100;
// And in all, where what holds them goes on writing (EXE-5).
const DRAIN_LIMIT_MS = { exit: 1000, timeout: 1000, cancelled: 50, capped: 50 } as const;

// Output of one stream, kept within a budget that both share.
interface Collector {
  readonly bytes: () => Buffer;
  readonly length: () => number;
  /** Holds everything, where there was too much to keep here. */
  readonly spilled: () => ResultWriter | undefined;
  add(chunk: Buffer): void;
}

// A number of bytes that may still be kept.
interface Budget {
  left: number;
  /** Whether something did not fit. */
  exceeded: boolean;
}

function createCollector(budget: Budget, spill?: Spill): Collector {
  const chunks: Buffer[] = [];
  // Bytes in memory, and bytes that are only in the writer.
  let held = 0;
  let spilt = 0;
  let writer: ResultWriter | undefined;
  // A disk that is full ends the output like the cap does: what was kept is announced as a part.
  const spillOver = (bytes: Buffer): void => {
    try {
      if (writer === undefined) {
        writer = spill!.open();
        for (const chunk of chunks) writer.write(chunk);
      }
      writer.write(bytes);
      // The beginning stays here too, for whoever wants to see how it begins.
      const head = bytes.subarray(0, spill!.afterBytes - held);
      if (head.length > 0) chunks.push(head);
      held += head.length;
      spilt += bytes.length - head.length;
    } catch {
      spilt = 0;
      writer?.discard();
      writer = undefined;
      budget.exceeded = true;
      budget.left = 0;
    }
  };
  return {
    bytes: () => Buffer.concat(chunks),
    length: () => held + spilt,
    spilled: () => writer,
    add(chunk) {
      const kept = chunk.length > budget.left ? chunk.subarray(0, budget.left) : chunk;
      if (kept.length < chunk.length) budget.exceeded = true;
      budget.left -= kept.length;
      if (kept.length === 0) return;
      if (spill !== undefined && (writer !== undefined || held + kept.length > spill.afterBytes)) {
        spillOver(kept);
        return;
      }
      held += kept.length;
      chunks.push(kept);
    },
  };
}

/** Reads both streams. With a listener they only pass through the cap, without one it calls `onExceeded`. */
export function collectOutput(
  child: ChildProcess,
  request: ProcessRequest,
  world: World,
  onExceeded: () => void,
) {
  const budget: Budget = { left: request.outputBytes, exceeded: false };
  const collectors = { stdout: createCollector(budget, request.spill), stderr: createCollector(budget) };
  let held = 0;
  let lastOutput = world.monotonic();
  let over = false;
  const read = (from: 'stdout' | 'stderr'): Promise<void> =>
    new Promise((resolve) => {
      const stream = child[from]!;
      const filter = (from === 'stderr' && request.filterStderr) || ((chunk: Buffer): Buffer => chunk);
      // Node resumes a paused stream when its process exits, so chunks wait for each other here too.
      let last: Promise<void> | undefined;
      const hold = (wait: Promise<void>): void => {
        held++;
        stream.pause();
        const mine = wait
          .catch(() => {})
          .then(() => {
            held--;
            lastOutput = world.monotonic();
            if (last !== mine) return;
            last = undefined;
            stream.resume();
          });
        last = mine;
      };
      stream.on('data', (raw: Buffer) => {
        lastOutput = world.monotonic();
        const chunk = filter(raw);
        if (chunk.length === 0) return;
        collectors[from].add(chunk);
        const { onOutput } = request;
        if (onOutput === undefined) {
          if (budget.exceeded) onExceeded();
          return;
        }
        const wait =
          last === undefined
            ? onOutput(chunk, from)
            : last.then(() => (over ? undefined : onOutput(chunk, from)));
        if (wait !== undefined) hold(wait);
      });
      stream.once('close', () => {
        if (last === undefined) resolve();
        else last.then(resolve);
      });
    });
  const closed = Promise.all([read('stdout'), read('stderr')]);
  return {
    /**
     * Both streams closed, or nothing came for a while, or enough time went by, or `stopped`. A process that ended
     * by itself is read to its end however slow the listener is; one that was stopped is not.
     */
    async drained(ending: ProcessOutcome['ending'], stopped: Promise<void>): Promise<void> {
      let done = false;
      let waited = 0;
      const end = Promise.race([closed, stopped]).then(() => {
        done = true;
      });
      const isHeld = (): boolean => held > 0 && ending === 'exit';
      const pause = Math.min(DRAIN_MS, DRAIN_LIMIT_MS[ending]);
      while (!done) {
        const began = world.monotonic();
        let timer: NodeJS.Timeout | undefined;
        const quiet = new Promise((resolve) => {
          timer = setTimeout(resolve, pause);
        });
        await Promise.race([end, quiet]);
        clearTimeout(timer);
        // A timer that comes late comes before the reads of its turn, and there may be something to read.
        if (!done) await new Promise((resolve) => setImmediate(resolve));
        if (isHeld()) continue;
        waited += world.monotonic() - began;
        if (world.monotonic() - lastOutput >= DRAIN_MS || waited >= DRAIN_LIMIT_MS[ending]) return;
      }
    },
    /** What was kept; nothing is told to the listener any more. */
    finish() {
      over = true;
      const spilled = collectors.stdout.spilled();
      return {
        ...(spilled === undefined ? {} : { spilled }),
        stdout: collectors.stdout.bytes(),
        stderr: collectors.stderr.bytes(),
        keptBytes: collectors.stdout.length() + collectors.stderr.length(),
        exceeded: budget.exceeded,
      };
    },
  };
}
