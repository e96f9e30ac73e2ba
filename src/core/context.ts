// The ToolContext: everything that a function tool can reach, and nothing else.

import type { ElicitAnswer, Elicitation } from './elicit.js';
import type { OutputStream } from './executor.js';
import type { ToolResult } from './result.js';
import type { ToolConfig } from './settings.js';
import type { ContextStore } from './store.js';
import type { Tool } from './tool.js';

export type ProgressListener = (progress: Progress) => void;

export interface Progress {
  readonly done?: number;
  readonly total?: number;
  readonly message?: string;
}

/** Tools of other servers, as a tool reaches them. */
export interface ToolUpstreams {
  list(): Promise<
    readonly { readonly server: string; readonly name: string; readonly description: string }[]
  >;
  call(server: string, name: string, input: unknown): Promise<ToolResult>;
}

/** What a tool can say of a call that it makes. */
export interface NestedOptions {
  /** Asked of the tool that is found, and of every tool that this one calls; what it throws ends that call. */
  readonly accept?: (tool: Tool) => void;
  /** Told right before the tool runs: until then nothing has happened. */
  readonly onStart?: () => void;
  /** Gets the output of a process while it is written, all of it, whatever the cap. */
  readonly onOutput?: OutputStream;
  /** Ends that call early; the caller's own signal does so too. */
  readonly signal?: AbortSignal;
}

/** Everything that a function tool can reach (MOD-5). What it is not handed is null. */
export interface ToolContext {
  /** Calls another tool as part of this call: same caller, same signal, one level deeper (RUN-7). */
  readonly toolbox: { call(ref: string, input: unknown, options?: NestedOptions): Promise<ToolResult> };
  /** Documents and large results; null where the toolbox has none. Of no use after the call (MOD-6). */
  readonly store: ContextStore | null;
  /** Hands the store to `use` for as long as that runs. Throws `unavailable` where there is none. */
  withStore<T>(use: (store: ContextStore) => Promise<T>): Promise<T>;
  readonly mcp: ToolUpstreams | null;
  /** Absolute path. */
  readonly workdir: string;
  readonly config: ToolConfig;
  readonly signal: AbortSignal;
  progress(done: number, total?: number, message?: string): void;
  log(message: string): void;
  /** The answer of whoever calls. Throws `unavailable` where that is nobody who can be asked. */
  ask(question: string): Promise<string | null>;
  /** The same with a form or a page to visit (MOD-18). What comes back fits the form. */
  elicit(request: Elicitation): Promise<ElicitAnswer>;
}
