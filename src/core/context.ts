// The ToolContext: everything a function tool can reach.

import type { ElicitAnswer, Elicitation } from './elicit.js';
import type { Json, JsonObject } from './json.js';
import type { ToolResult } from './result.js';
import type { ToolConfig } from './settings.js';
import type { ContextStore } from './store.js';
import type { NamedDefinition, ToolInput, ToolResultOf } from './typed.js';

/** Receives the progress of a tool. */
export type ProgressListener = (progress: Progress) => void;

/** How far a tool is. */
export interface Progress {
  /** How much is done. */
  readonly done?: number;
  /** How much there is to do. */
  readonly total?: number;
  /** What is being done, for people. */
  readonly message?: string;
}

/** A log message of a tool or an upstream server. */
export interface LogEntry {
  /** A level of the protocol, such as `info`. */
  readonly level: string;
  /** The message, or other data. */
  readonly data: Json;
  /** What logs. */
  readonly logger?: string;
}

/** Receives the log messages of a tool. */
export type LogListener = (entry: LogEntry) => void;

/** Access of a tool to upstream servers. */
export interface ToolUpstreams {
  /** Lists the tools of all servers. */
  list(): Promise<readonly { readonly server: string; readonly name: string; readonly description: string }[]>;
  /** Calls a tool of a server. Never throws: every outcome is a result. */
  call(server: string, name: string, input: unknown): Promise<ToolResult>;
}

/** What is known about a tool before it is called. */
export interface CalledTool {
  readonly name: string;
  readonly traits: { readonly terminal: boolean };
}

/** Options of a nested call. */
export interface NestedOptions {
  /** Called with the tool that was found and every tool it calls; an exception ends that call. */
  readonly accept?: (tool: CalledTool) => void;
  /** Called right before the tool runs. */
  readonly onStart?: () => void;
  /** Receives all output of a process while it is written, regardless of the cap. */
  readonly onOutput?: OutputStream;
  /** Cancels that call, in addition to the signal of the caller. */
  readonly signal?: AbortSignal;
  /** Returns a large result as a handle; by default nested calls return it whole. */
  readonly handles?: boolean;
  /** A call that needs consent fails with `needs_approval` before it starts, and nobody is asked. */
  readonly deferApproval?: boolean;
}

/** Calls of other tools, by reference or by a definition that types them. */
export interface NestedCalls {
  /** Calls a tool by name, path or URI. Never throws: every outcome is a result. */
  call(ref: string, input: unknown, options?: NestedOptions): Promise<ToolResult>;
  /** Calls the tool of a definition, by its name, with the types of its schemas. */
  call<D extends NamedDefinition>(
    definition: D,
    input: ToolInput<D>,
    options?: NestedOptions,
  ): Promise<ToolResultOf<D>>;
}

/** What a client can support besides questions to the user, each one request (RSC-7). */
export type ClientCapability = 'sampling' | 'roots';

/** Everything a function tool can reach (MOD-5); null if not available. */
export interface ToolContext {
  /** Calls another tool as part of this call: same caller, same signal, one level deeper (RUN-7). */
  readonly toolbox: NestedCalls;
  /** Documents and large results; null if the toolbox has none. Unusable after the call (MOD-6). */
  readonly store: ContextStore | null;
  /** Calls `use` with the store. Throws `unavailable` if there is none. */
  withStore<T>(use: (store: ContextStore) => Promise<T>): Promise<T>;
  /** The tools of upstream servers. */
  readonly mcp: ToolUpstreams | null;
  /** Absolute path. */
  readonly workdir: string;
  /** The same path, by the name that tools of botholomew use. */
  readonly projectDir: string;
  /** The effective limits and roots. */
  readonly config: ToolConfig;
  /** Aborted when the call is cancelled or times out. */
  readonly signal: AbortSignal;
  /** Reports progress to the caller. */
  progress(done: number, total?: number, message?: string): void;
  /** Writes a line to the log. */
  log(message: string): void;
  /** Asks the user. Throws `unavailable` if the user cannot be asked. */
  ask(question: string): Promise<string | null>;
  /** Asks the user with a form or a page to visit (MOD-18). The answer matches the form. */
  elicit(request: Elicitation): Promise<ElicitAnswer>;
  /** Sends a request to the client: to sample its model, or for its roots (RSC-7). Throws `unavailable` if it cannot. */
  requestClient(capability: ClientCapability, params?: JsonObject): Promise<JsonObject>;
}

/** Receives output. A returned promise applies back-pressure. */
export type OutputStream = (chunk: Uint8Array, from: 'stdout' | 'stderr') => void | Promise<void>;
