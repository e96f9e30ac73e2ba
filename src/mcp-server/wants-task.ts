// Whether a call becomes a task; apart from the code of tasks, which most servers never load.

import { isRecord } from '../core/json.js';
import type { Params } from './message.js';
import type { RequestContext } from './request-context.js';

export const TASKS = 'io.modelcontextprotocol/tasks';

/** Whether the client can handle tasks: in the older version it asks for one with the call. */
export function wantsTask({ task }: Params, context: RequestContext): boolean {
  if (!context.isNewer) return isRecord(task);
  return context.state === undefined && hasTasks(context.capabilities);
}

export function hasTasks(capabilities: unknown): boolean {
  const { extensions } = isRecord(capabilities) ? capabilities : {};
  return isRecord(extensions) && isRecord(extensions[TASKS]);
}
