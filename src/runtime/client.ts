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
import type { ToolResult } from '../core/result.js';
import type { Tool } from '../core/tool.js';

const BOUNDS = { maxDepth: 32, maxBytes: 4 * 1024 * 1024 };

/** Returns what the client answers. Throws if it does not support the request, a rule denies it, or it fails. */
export async function sendToClient(
  client: RequestClient,
  { name, origin }: Tool,
  { capability, params, id }: ClientRequest,
  call: (tool: Tool, input: JsonObject) => Promise<ToolResult>,
): Promise<JsonObject> {
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
  const { error, structured } = await call(tool, toJson(params, BOUNDS) as JsonObject);
  if (error === undefined) return structured as JsonObject;
  throw new ToolError(error.code, error.message, { hint: error.hint, data: error.data });
}
