// The ToolContext: everything that a function tool can reach, and nothing else.

import type { ToolResult } from './result.js';
import type { ContextStore } from './store.js';

export type ProgressListener = (progress: Progress) => void;

export interface Progress {
  readonly done?: number;
  readonly total?: number;
  readonly message?: string;
}

export interface ToolContext {
  /** Calls another tool as part of this call: same caller, same signal, one level deeper (RUN-7). */
  readonly toolbox: { call(ref: string, input: unknown): Promise<ToolResult> };
  /** Documents and large results; null where the toolbox has none. Of no use after the call (MOD-6). */
  readonly store: ContextStore | null;
  /** Hands the store to `use` for as long as that runs. Throws `unavailable` where there is none. */
  withStore<T>(use: (store: ContextStore) => Promise<T>): Promise<T>;
  /** Absolute path. */
  readonly workdir: string;
  readonly signal: AbortSignal;
  progress(done: number, total?: number, message?: string): void;
  log(message: string): void;
}
