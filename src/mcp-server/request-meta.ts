// What a request's metadata contains: the client's name, its trace context and its progress token.

import { CLIENT_INFO_META_KEY, type Server, type ServerContext } from '@modelcontextprotocol/server';
import type { LogListener, ProgressListener } from '../core/context.js';
import { isRecord } from '../core/json.js';
import type { TraceParent } from '../core/toolbox.js';

export function readClientName(server: Server, { mcpReq }: ServerContext): string | undefined {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const info = envelope[CLIENT_INFO_META_KEY] ?? server.getClientVersion();
  return isRecord(info) && typeof info.name === 'string' ? info.name : undefined;
}

/** Reads the caller's span from `_meta`, as OpenTelemetry's conventions for MCP define it. */
export function readTraceParent({ mcpReq }: ServerContext): TraceParent | undefined {
  const { traceparent, tracestate } = (mcpReq._meta ?? {}) as Record<string, unknown>;
  if (typeof traceparent !== 'string') return undefined;
  return { traceparent, tracestate: typeof tracestate === 'string' ? tracestate : undefined };
}

/** Returns a listener that sends log messages as part of the request. */
export function toLogListener({ mcpReq }: ServerContext): LogListener {
  return ({ level, data, logger }) => {
    mcpReq.log(level as never, data, logger).catch(() => {});
  };
}

/** Returns a listener that sends progress notifications, or undefined if the client asked for none. */
export function toProgressListener({ mcpReq }: ServerContext): ProgressListener | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last = -1;
  return ({ done, total, message }) => {
    // The protocol requires each value to be higher than the previous one, also for a mere heartbeat.
    const progress = done !== undefined && done > last ? done : Math.max(last, 0) + 0.01;
    last = progress;
    mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken, progress, total, message } })
      .catch(() => {});
  };
}
