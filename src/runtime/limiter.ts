// Bounds how many calls run at once: in all, for a tool and for a group, with a queue that is bounded too (RUN-8).

import { ToolError } from '../core/error.js';
import type { Settings } from '../core/settings.js';
import type { Tool } from '../core/tool.js';

export interface Slot {
  release(): void;
}

export interface Limiter {
  /**
   * A place to run in, after those who came before. Throws `busy` where the queue is full, `cancelled` where
   * the signal ends the wait. A nested call stands in its outermost call's place and never waits for one of its
   * tool or group: two that hold what the other waits for would wait for ever.
   */
  acquire(tool: Tool, signal: AbortSignal, nested: boolean): Promise<Slot>;
}

interface Waiting {
  readonly tool: Tool;
  readonly start: () => void;
}

export function createLimiter(limits: () => Settings['limits']): Limiter {
  const running = new Map<string, number>();
  const queue: Waiting[] = [];

  const keysFor = (tool: Tool, nested: boolean): [string, number][] => {
    const { concurrent, concurrentPerTool, concurrentPerGroup } = limits();
    const keys: [string, number][] = nested ? [] : [['all', concurrent]];
    keys.push([`tool ${tool.name}`, concurrentPerTool]);
    if (tool.traits.group !== undefined) keys.push([`group ${tool.traits.group}`, concurrentPerGroup]);
    return keys;
  };
  const fits = (keys: [string, number][]): boolean =>
    keys.every(([key, limit]) => (running.get(key) ?? 0) < limit);

  const enter = (keys: [string, number][]): Slot => {
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

  // First come, first served, but a call that waits for its own tool does not hold up the others.
  const startNext = (): void => {
    for (let index = 0; index < queue.length; ) {
      const waiting = queue[index]!;
      if (fits(keysFor(waiting.tool, false))) {
        queue.splice(index, 1);
        waiting.start();
      } else if ((running.get('all') ?? 0) >= limits().concurrent) return;
      else index++;
    }
  };

  return {
    async acquire(tool, signal, nested) {
      const keys = keysFor(tool, nested);
      if (fits(keys)) return enter(keys);
      if (nested || queue.length >= limits().queue) {
        throw new ToolError('busy', `${tool.name} cannot start: too many calls are running and waiting`, {
          hint: 'call again when some have ended',
          data: { running: running.get('all') ?? 0, waiting: queue.length },
        });
      }
      return new Promise<Slot>((resolve, reject) => {
        const waiting: Waiting = {
          tool,
          start: () => {
            signal.removeEventListener('abort', onAbort);
            resolve(enter(keysFor(tool, false)));
          },
        };
        const onAbort = (): void => {
          const index = queue.indexOf(waiting);
          if (index !== -1) queue.splice(index, 1);
          reject(
            new ToolError('cancelled', `${tool.name} was cancelled before it started`, {
              hint: 'call it again if that was not meant',
            }),
          );
        };
        signal.addEventListener('abort', onAbort, { once: true });
        queue.push(waiting);
      });
    },
  };
}
