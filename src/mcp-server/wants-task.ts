// Whether a call becomes a task; apart from the code of tasks, which most servers never load.

import { isRecord } from '../core/json.js';
import { RpcError, TASKS } from '../net/mcp.js';
import { ERROR, type Params } from './message.js';
import type { RequestContext } from './request-context.js';

const MISSING_CAPABILITY = -32021;

/** The error of a request that only clients with tasks can send. */
export function needsTasks({ isNewer }: RequestContext): RpcError {
  // The older version has no code for it.
  if (!isNewer) return new RpcError(ERROR.methodNotFound, 'the tool can only be called as a task');
  const requiredCapabilities = { extensions: { [TASKS]: {} } };
  return new RpcError(MISSING_CAPABILITY, 'Missing required client capability', { requiredCapabilities });
}

/** Whether a call may become a task: in the older version the client asks for one with the call. */
export function wantsTask({ task }: Params, context: RequestContext): boolean {
  return context.isNewer ? hasTasks(context.capabilities) : isRecord(task);
}

export function hasTasks(capabilities: unknown): boolean {
  const { extensions } = isRecord(capabilities) ? capabilities : {};
  return isRecord(extensions) && isRecord(extensions[TASKS]);
}
