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
}

interface Waiting {
  readonly keys: readonly Key[];
  readonly limits: Limits;
  readonly start: () => void;
}

type Limits = Settings['limits'];
/** What is counted, with its limit. */
type Key = readonly [string, number];

export function createLimiter(): Limiter {
  const running = new Map<string, number>();
  const queue: Waiting[] = [];

  const fits = (keys: readonly Key[]): boolean => keys.every(([key, limit]) => (running.get(key) ?? 0) < limit);

  const enter = (keys: readonly Key[]): Slot => {
    for (const [key] of keys) running.set(key, (running.get(key) ?? 0) + 1);
    let held = true;
    return {
      release() {
        if (!held) return;
        held = false;
        for (const [key] of keys) {
          const left = running.get(key)! - 1;
          if (left === 0) running.delete(key);
          else running.set(key, left);
        }
        startNext();
      },
    };
  };

  // First come, first served, but a call that waits for its own tool does not block the others.
  const startNext = (): void => {
    for (let index = 0; index < queue.length; ) {
      const { keys, limits, start } = queue[index]!;
      if (fits(keys)) {
        queue.splice(index, 1);
        start();
      } else if ((running.get('all') ?? 0) >= limits.concurrent) return;
      else index++;
    }
  };

  const wait = (tool: Tool, keys: readonly Key[], limits: Limits, cancellation: Cancellation): Promise<Slot> =>
    new Promise<Slot>((resolve, reject) => {
      const start = (): void => {
        cancellation.offCancel(onCancel);
        resolve(enter(keys));
      };
      const waiting: Waiting = { keys, limits, start };
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
      const keys = keysFor(tool, limits, nested);
      if (fits(keys)) return enter(keys);
      if (!nested && queue.length < limits.queue) return wait(tool, keys, limits, cancellation);
      throw new ToolError('busy', `${tool.name} cannot start: too many calls are running and waiting`, {
        hint: 'call again when some have ended',
        data: { running: running.get('all') ?? 0, waiting: queue.length },
      });
    },
  };
}

function keysFor({ name, traits }: Tool, limits: Limits, nested: boolean): Key[] {
  const { concurrent, concurrentPerTool, concurrentPerGroup } = limits;
  const keys: Key[] = nested ? [] : [['all', concurrent]];
  keys.push([`tool ${name}`, concurrentPerTool]);
  if (traits.group !== undefined) keys.push([`group ${traits.group}`, concurrentPerGroup]);
  return keys;
}
