// The ToolContext: everything that a function tool can reach, and nothing else.

import type { Json } from './json.js';
import type { ToolResult } from './result.js';
import type { ToolConfig } from './settings.js';

export type ProgressListener = (progress: Progress) => void;

export interface Progress {
  readonly done?: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a tool can keep between calls. */
export interface ToolStore {
  get(key: string): Promise<Json | undefined>;
  set(key: string, value: Json): Promise<void>;
  delete(key: string): Promise<void>;
  /** The keys that begin with a prefix, sorted. */
  keys(prefix?: string): Promise<readonly string[]>;
}

/** Tools of other servers, as a tool reaches them. */
export interface ToolUpstreams {
  list(): Promise<
    readonly { readonly server: string; readonly name: string; readonly description: string }[]
  >;
  call(server: string, name: string, input: unknown): Promise<ToolResult>;
}

/** Asks whoever calls; null where that one does not answer. */
export type Ask = (question: string) => Promise<string | null>;

/** Everything that a function tool can reach (MOD-5). What it is not handed is null. */
export interface ToolContext {
  /** Calls another tool as part of this call: same caller, same signal, one level deeper (RUN-7). */
  readonly toolbox: { call(ref: string, input: unknown): Promise<ToolResult> };
  readonly store: ToolStore | null;
  readonly mcp: ToolUpstreams | null;
  /** Absolute path. */
  readonly workdir: string;
  readonly config: ToolConfig;
  readonly signal: AbortSignal;
  progress(done: number, total?: number, message?: string): void;
  log(message: string): void;
  /** The answer of whoever calls. Throws `unavailable` where that is nobody who can be asked. */
  ask(question: string): Promise<string | null>;
}
