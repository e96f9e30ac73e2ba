// Calls a tool of a server, answering its requests in both protocol versions.

import { nextTurn } from '../../core/async.js';
import type { TraceParent } from '../../core/caller.js';
import type { LogListener, Progress } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import { isLonger, isRecord, type Json } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import type { JsonSchema } from '../../core/schema.js';
import { readParamHeaders, toParamHeaders } from '../../net/param-headers.js';
import type { RemoteTool } from '../remote-tool.js';
import type { Client, Fields } from './client.js';
import { type AskingCall, answerInputs, visitPages } from './requests.js';
import { type DataMethod, toDataOutput, toOutput } from './result.js';
import { needsTask, untilTaskEnds } from './task.js';

/** The name is that of the tool in wield, for messages. */
export interface RemoteCall extends AskingCall {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly onLog?: LogListener | undefined;
  readonly logLevel?: string | undefined;
  /** The `_meta` of its requests, if it differs from that of others (newer protocol version). */
  readonly envelope?: Fields | undefined;
  /** The position of the call in a trace. */
  readonly trace?: TraceParent | undefined;
  /** Called with the id of each request, unless another process sends it. */
  readonly onSent?: ((id: string) => void) | undefined;
  /** Identifies the person behind the call. */
  readonly person: string;
}

const MAX_ROUNDS = 8;
// Characters of a result that takes more than a moment to read.
const LARGE = 64 * 1024;

/** Calls a tool by its own name. A tool that failed is an Output with an error. */
export async function callTool(client: Client, tool: RemoteTool, input: Json, call: RemoteCall): Promise<Output> {
  const asTask = !client.isModern && needsTask(tool);
  const params = { name: tool.name, arguments: input, ...(asTask ? { task: {} } : {}) };
  // The newer version repeats some parameters in headers.
  const isRepeated = client.isModern && client.transport.hasPerRequestStream === true;
  const headers = isRepeated ? toParamHeaders(readParamHeaders(tool.inputSchema as JsonSchema), input) : undefined;
  const result = await inRounds(client, 'tools/call', params, headers === undefined ? call : { ...call, headers });
  if (isLonger(result, LARGE)) await nextTurn();
  return toOutput(call.name, client.isModern || asTask ? await untilTaskEnds(client, result, call) : result);
}

/** A request whose result is data: to read a resource, make the messages of a prompt, or complete an argument. */
export interface DataRequest {
  readonly method: DataMethod;
  readonly params: Fields;
}

export async function requestData(client: Client, { method, params }: DataRequest, call: RemoteCall): Promise<Output> {
  return toDataOutput(method, call.name, await inRounds(client, method, params, call));
}

// Sends a request until the server needs no further input of the user.
async function inRounds(
  client: Client,
  method: string,
  given: Fields,
  call: RemoteCall & { readonly headers?: Readonly<Record<string, string>> | undefined },
): Promise<unknown> {
  let params = given;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    let result: unknown;
    try {
      result = await client.request(method, params, call);
    } catch (error) {
      if (client.isModern || !(await visitPages(error, call))) throw error;
      continue;
    }
    if (!isRecord(result) || result.resultType !== 'input_required') return result;
    params = {
      ...given,
      inputResponses: await answerInputs(result.inputRequests, call),
      requestState: result.requestState,
    };
  }
  throw new ToolError('tool_failed', `${call.name} requested input more than ${MAX_ROUNDS} times`, {
    hint: 'report this to the author of the server',
  });
}
