// Sends a request to the client behind a call, as a call of its own (RSC-7).

import {
  type ClientRequest,
  isClientResult,
  lacksCapability,
  type RequestClient,
  toClientTool,
} from '../core/client-request.js';
import { ToolError } from '../core/error.js';
import { type JsonObject, toJson } from '../core/json.js';
import type { ExecuteOptions } from './execution.js';

const BOUNDS = { maxDepth: 32, maxBytes: 4 * 1024 * 1024 };

/** Returns what the client answers. Throws if it does not support the request, a rule denies it, or it fails. */
export async function sendToClient(
  client: RequestClient,
  { plan, nest }: Pick<ExecuteOptions, 'plan' | 'nest'>,
  { capability, params, id }: ClientRequest,
  until: AbortSignal,
): Promise<JsonObject> {
  const { name, origin } = plan.tool;
  const isUpstream = origin.owner === 'upstream' && origin.server !== null;
  const asker = isUpstream ? origin.server : name;
  if (client.capabilities[capability] === undefined) throw lacksCapability(asker, capability);
  const send = async (given: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    const _meta = { ...(given._meta as JsonObject | undefined), 'wield/server': asker };
    const answer = await client.request({ capability, params: { ...given, _meta }, id }, signal);
    if (isClientResult(capability, answer)) return toJson(answer, BOUNDS) as JsonObject;
    throw new ToolError('unavailable', `the client sent an invalid answer to ${capability} for ${asker}`, {
      hint: 'report this to the author of the client',
    });
  };
  const tool = toClientTool(capability, asker, origin.owner === 'program', send);
  const place = { placed: true, named: 'by-definition' } as const;
  const asked = { until, elicit: undefined, client, tool };
  const { error, structured } = await nest(place, tool.name, toJson(params, BOUNDS), asked);
  if (error === undefined) return structured as JsonObject;
  throw new ToolError(error.code, error.message, { hint: error.hint, data: error.data });
}
