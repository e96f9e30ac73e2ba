// The executors of a toolbox, and the digests of the tools they run.

import type { Executor } from '../core/executor.js';
import { deepFreeze } from '../core/json.js';
import type { Action, Tool } from '../core/tool.js';

export interface Executors {
  /** Returns the executor of a tool. */
  of(tool: Tool): Executor;
  /** Returns the tool with its digest, frozen (TOOL-6). Throws `integrity` if its files changed since it was read. */
  withDigest(tool: Tool): Tool;
  clearDigests(): void;
  close(): Promise<void>;
}

export function createExecutors(list: readonly Executor[]): Executors {
  const byKind = new Map<Action['kind'], Executor>(list.map((executor) => [executor.kind, executor]));
  let digested = new WeakMap<Tool, Tool>();
  const of = (tool: Tool): Executor => byKind.get(tool.action.kind)!;
  return {
    of,
    // The catalog returns the same object until a tool changed.
    withDigest(tool) {
      let known = digested.get(tool);
      if (known === undefined) {
        const executor = of(tool);
        // Frozen deeply, because plans refer to it: what was judged must be what runs (RUN-2).
        known = deepFreeze({ ...tool, origin: { ...tool.origin, digest: executor.digest(tool) } });
        if (executor.keepsDigest?.(tool) !== false) digested.set(tool, known);
      }
      return known;
    },
    clearDigests() {
      digested = new WeakMap();
    },
    async close() {
      await Promise.all(list.map((executor) => executor.close?.()));
    },
  };
}
