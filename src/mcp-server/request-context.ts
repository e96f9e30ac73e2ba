// What a call needs of its request, whichever dispatcher received it.

import type { TraceParent } from '../core/caller.js';
import type { Cancellation } from '../core/cancellation.js';
import type { LogListener, ProgressListener } from '../core/context.js';
import type { CallOptions } from '../core/toolbox.js';
import type { InputAnswer, InputRequest } from './input-request.js';
import type { Params } from './message.js';

/** Signed state that a client sends back with its answer. */
export interface RequestState {
  readonly nonce: string;
  /** Identifies the call that needs approval: caller, tool, plan, directory and input. */
  readonly binding?: string;
}

export interface RequestContext {
  /** Whether the request is of the newer protocol version. */
  readonly isNewer: boolean;
  /** What the client says it supports. */
  readonly capabilities: unknown;
  readonly clientName: string | undefined;
  readonly meta: Params | undefined;
  /** Cancelled when the client cancels the request. */
  readonly cancellation: Cancellation;
  /** Aborted when the connection ends that alone can carry the result. */
  readonly connection: AbortSignal | undefined;
  /** State that this server signed, and the answers that came with it. */
  readonly state: RequestState | undefined;
  readonly inputResponses: unknown;
  /** The lowest level of log messages that the client wants, if it said so. */
  readonly logLevel: string | undefined;
  notify(method: string, params: object): void;
  /** Sends a log message, if the client wants messages of this level. */
  log(level: string, data: unknown, logger: string | undefined): void;
  /** Whether questions are sent by `request` now, because the request was answered with the handle of a task. */
  readonly asksInTask?: boolean;
  /** Called with the id of the approval that the call waits for, if it can wait. */
  readonly onPending?: CallOptions['onPending'];
  /** Whether consent can be taken from the client; unknown if its answers alone are checked. */
  mayConsent?(): boolean;
  /** Sends a request to the client; only in the older protocol version, and in tasks. */
  request(request: InputRequest, signal: AbortSignal): Promise<InputAnswer>;
}

/** Reads the caller's span from `_meta`, as OpenTelemetry's conventions for MCP define it. */
export function readTraceParent({ meta }: RequestContext): TraceParent | undefined {
  if (typeof meta?.traceparent !== 'string') return undefined;
  const { traceparent, tracestate, baggage } = meta;
  const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
  return { traceparent: traceparent as string, tracestate: textOf(tracestate), baggage: textOf(baggage) };
}

const KEY = 'wield/key';

/** Reads the caller's name for a call, which makes it safe to repeat in a fleet (FLT-12). */
export function readKey({ meta }: RequestContext): string | undefined {
  const key = meta?.[KEY];
  return key === undefined ? undefined : JSON.stringify(key);
}

/** Returns a listener that sends log messages as part of the request; in the newer version clients have to ask for them. */
export function toLogListener(context: RequestContext): LogListener | undefined {
  if (context.isNewer && context.logLevel === undefined) return undefined;
  return ({ level, data, logger }) => context.log(level, data, logger);
}

/** Returns a listener that sends progress notifications, or undefined if the client asked for none. */
export function toProgressListener(context: RequestContext): ProgressListener | undefined {
  const progressToken = context.meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last = -1;
  return ({ done, total, message }) => {
    // The protocol requires each value to be higher than the previous one, also for a mere heartbeat.
    const progress = done !== undefined && done > last ? done : Math.max(last, 0) + 0.01;
    last = progress;
    context.notify('notifications/progress', { progressToken, progress, total, message });
  };
}
