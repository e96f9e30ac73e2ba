// A `tools/call` request and how it can end.

import type { InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server';
import type { ToolResult } from '../core/result.js';
import type { CallOptions } from '../core/toolbox.js';

/** Call options that depend on what the client supports. */
export type InteractionOptions = Pick<CallOptions, 'signal' | 'onProgress' | 'approve' | 'elicit' | 'fault'>;

/** A request that starts a call, or resumes a suspended one. */
export interface CallRequest extends Pick<CallOptions, 'onProgress'> {
  readonly server: Server;
  readonly context: ServerContext;
  /** Identifies caller, tool and input. A function, because few calls need it. */
  readonly binding: () => string;
  run(options: InteractionOptions): Promise<ToolResult>;
}

/** The result of the call, or input that the client must provide first. */
export type CallOutcome = ToolResult | InputRequiredResult;
