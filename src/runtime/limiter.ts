// Limits concurrent calls in total, per tool and per group, with a bounded queue (RUN-8), and calls per minute (FLT-74).

import { onAbort } from '../core/async.js';
import { ToolError } from '../core/error.js';
import type { Settings } from '../core/settings.js';
import { cancelled } from '../core/time-limit.js';
import type { Tool } from '../core/tool.js';

export interface Slot {
  release(): void;
}

export interface Limiter {
  /**
   * Waits for a free slot. Throws `busy` if the queue is full and `cancelled` if the call is cancelled meanwhile. A nested
   * call shares the slot of its outermost call and never waits for its tool or group, because two calls that wait for
   * each other would deadlock.
   */
  acquire(tool: Tool, limits: Limits, call: { readonly signal: AbortSignal }, nested: boolean): Promise<Slot>;
  /** Counts a call of a caller; returns how many milliseconds it has to wait, or 0 (FLT-74). */
  admit(caller: string, perMinute: number): Promise<number>;
  /** Returns how many outermost calls run and wait. */
  load(): Load;
}

export interface Load {
  readonly running: number;
  readonly waiting: number;
}

type Limits = Settings['limits'];

/** How many calls of a kind are running. */
interface Counter {
  running: number;
}

/** A call that wants a slot, and the counters that it takes a place in. */
interface Claim {
  readonly limits: Limits;
  readonly counters: readonly { readonly counter: Counter; readonly most: number }[];
}

interface Waiting {
  readonly claim: Claim;
  readonly start: () => void;
}

// Counters of tools and groups that run nothing are dropped when there are more than this.
const MAX_IDLE = 1000;

export function createLimiter(): Limiter {
  const all: Counter = { running: 0 };
  const tools = new Map<string, Counter>();
  const groups = new Map<string, Counter>();
  const queue: Waiting[] = [];

  // First come, first served, but a call that waits for its own tool does not block the others.
  const startNext = (): void => {
    for (let index = 0; index < queue.length; ) {
      const { claim, start } = queue[index]!;
      if (fits(claim)) {
        queue.splice(index, 1);
        start();
      } else if (all.running >= claim.limits.concurrent) return;
      else index++;
    }
  };

  const enter = ({ counters }: Claim): Slot => {
    for (const { counter } of counters) counter.running++;
    let isHeld = true;
    return {
      release() {
        if (!isHeld) return;
        isHeld = false;
        for (const { counter } of counters) counter.running--;
        startNext();
      },
    };
  };

  const wait = (tool: Tool, claim: Claim, signal: AbortSignal): Promise<Slot> =>
    new Promise((resolve, reject) => {
      const waiting: Waiting = {
        claim,
        start() {
          release();
          resolve(enter(claim));
        },
      };
      queue.push(waiting);
      const release = onAbort(signal, () => {
        const index = queue.indexOf(waiting);
        if (index !== -1) queue.splice(index, 1);
        reject(cancelled(tool.name, ' before it started'));
      });
    });

  return {
    async acquire(tool, limits, call, nested) {
      const { group } = tool.traits;
      const counters = [{ counter: counterOf(tools, tool.name), most: limits.concurrentPerTool }];
      if (!nested) counters.push({ counter: all, most: limits.concurrent });
      if (group !== undefined) counters.push({ counter: counterOf(groups, group), most: limits.concurrentPerGroup });
      const claim = { limits, counters };
      if (fits(claim)) return enter(claim);
      if (!nested && queue.length < limits.queue) return wait(tool, claim, call.signal);
      throw new ToolError('busy', `${tool.name} cannot start: too many calls are running and waiting`, {
        hint: 'call again when some have ended',
        data: { running: all.running, waiting: queue.length },
      });
    },
    admit: createRates(),
    load: () => ({ running: all.running, waiting: queue.length }),
  };
}

function fits({ counters }: Claim): boolean {
  return counters.every(({ counter, most }) => counter.running < most);
}

function counterOf(counters: Map<string, Counter>, name: string): Counter {
  let counter = counters.get(name);
  if (counter === undefined) {
    if (counters.size > MAX_IDLE) for (const [idle, { running }] of counters) if (running === 0) counters.delete(idle);
    counter = { running: 0 };
    counters.set(name, counter);
  }
  return counter;
}

/** A minute, the time that a rate is given for. */
export const RATE_MS = 60_000;

const MAX_CALLERS = 1000;

function createRates(): Limiter['admit'] {
  // When all calls of a caller are forgotten: each adds its share of a minute, up to a minute from now.
  const ends = new Map<string, number>();
  return async (caller, perMinute) => {
    const now = performance.now();
    if (ends.size > MAX_CALLERS) for (const [idle, end] of ends) if (end <= now) ends.delete(idle);
    const end = Math.max(ends.get(caller) ?? 0, now) + RATE_MS / perMinute;
    const waitMs = end - now - RATE_MS;
    // Sums of fractions are not exact.
    if (waitMs > 0.01) return Math.ceil(waitMs);
    ends.set(caller, end);
    return 0;
  };
}
