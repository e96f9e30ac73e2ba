// Limits concurrent calls in total, per tool and per group, with a bounded queue (RUN-8).

import type { Cancellation } from '../core/cancellation.js';
import { ToolError } from '../core/error.js';
import type { Settings } from '../core/settings.js';
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
  acquire(tool: Tool, limits: Limits, cancellation: Cancellation, nested: boolean): Slot | Promise<Slot>;
  /** Counts calls per minute, if this is shared with others; returns how long a call has to wait, or 0 (FLT-74). */
  admit?(caller: string, perMinute: number): Promise<number>;
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
      if (claim.fits) {
        queue.splice(index, 1);
        start();
      } else if (all.running >= claim.limits.concurrent) return;
      else index++;
    }
  };

  const wait = (tool: Tool, claim: Claim, cancellation: Cancellation): Promise<Slot> =>
    new Promise<Slot>((resolve, reject) => {
      const start = (): void => {
        cancellation.offCancel(onCancel);
        resolve(claim.enter());
      };
      const waiting: Waiting = { claim, start };
      const onCancel = (): void => {
        const index = queue.indexOf(waiting);
        if (index !== -1) queue.splice(index, 1);
        reject(
          new ToolError('cancelled', `${tool.name} was cancelled before it started`, {
            hint: 'call it again if that was not intended',
          }),
        );
      };
      queue.push(waiting);
      cancellation.onCancel(onCancel);
    });

  return {
    acquire(tool, limits, cancellation, nested) {
      const { group } = tool.traits;
      const claim = new Claim(limits, nested ? undefined : all, counterOf(tools, tool.name), startNext);
      if (group !== undefined) claim.group = counterOf(groups, group);
      if (claim.fits) return claim.enter();
      if (!nested && queue.length < limits.queue) return wait(tool, claim, cancellation);
      throw new ToolError('busy', `${tool.name} cannot start: too many calls are running and waiting`, {
        hint: 'call again when some have ended',
        data: { running: all.running, waiting: queue.length },
      });
    },
    load: () => ({ running: all.running, waiting: queue.length }),
  };
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

/** A call that takes a place in each of its counters. */
class Claim implements Slot {
  readonly limits: Limits;
  /** Undefined for a nested call. */
  readonly all: Counter | undefined;
  readonly tool: Counter;
  group: Counter | undefined;
  readonly #onRelease: () => void;
  #isHeld = false;

  constructor(limits: Limits, all: Counter | undefined, tool: Counter, onRelease: () => void) {
    this.limits = limits;
    this.all = all;
    this.tool = tool;
    this.group = undefined;
    this.#onRelease = onRelease;
  }

  get fits(): boolean {
    const { concurrent, concurrentPerTool, concurrentPerGroup } = this.limits;
    return (
      (this.all === undefined || this.all.running < concurrent) &&
      this.tool.running < concurrentPerTool &&
      (this.group === undefined || this.group.running < concurrentPerGroup)
    );
  }

  enter(): Slot {
    this.#isHeld = true;
    this.#count(1);
    return this;
  }

  release(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#count(-1);
    this.#onRelease();
  }

  #count(change: 1 | -1): void {
    this.tool.running += change;
    if (this.all !== undefined) this.all.running += change;
    if (this.group !== undefined) this.group.running += change;
  }
}
