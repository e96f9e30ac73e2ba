// The ToolContext: everything a function tool can reach.

import type { ElicitAnswer, Elicitation } from './elicit.js';
import type { Json, JsonObject } from './json.js';
import type { ToolResult } from './result.js';
import type { ToolConfig } from './settings.js';
import type { ContextStore } from './store.js';
import type { NamedDefinition, ToolInput, ToolResultOf } from './typed.js';

export type ProgressListener = (progress: Progress) => void;

export interface Progress {
  readonly done?: number;
  readonly total?: number;
  readonly message?: string;
}

/** A log message of a tool or an upstream server. */
export interface LogEntry {
  /** A level of the protocol, such as `info`. */
  readonly level: string;
  readonly data: Json;
  readonly logger?: string;
}

export type LogListener = (entry: LogEntry) => void;

/** Access of a tool to upstream servers. */
export interface ToolUpstreams {
  list(): Promise<readonly { readonly server: string; readonly name: string; readonly description: string }[]>;
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
  readonly mcp: ToolUpstreams | null;
  /** Absolute path. */
  readonly workdir: string;
  /** The same path, by the name that tools of botholomew use. */
  readonly projectDir: string;
  readonly config: ToolConfig;
  readonly signal: AbortSignal;
  progress(done: number, total?: number, message?: string): void;
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
