// Calls a tool of a server, answering its requests in both protocol versions.

import { nextTurn } from '../../core/async.js';
import type { TraceParent } from '../../core/caller.js';
import type { RequestClient } from '../../core/client-request.js';
import type { LogListener, Progress } from '../../core/context.js';
import type { Elicit } from '../../core/elicit.js';
import { ToolError } from '../../core/error.js';
import { isLonger, isRecord, type Json } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import { RpcError } from '../../net/mcp.js';
import type { RemoteTool } from '../remote-tool.js';
import type { Client } from '../sdk.js';
import { answerInputs, visitPages } from './elicitation.js';
import type { Lane } from './lane.js';
import { type OfferMethod, toOfferOutput } from './offer-result.js';
import { toOutput } from './result.js';
import { needsTask, untilTaskEnds } from './task.js';
import { toTraceMeta } from './trace.js';

type Params = Readonly<Record<string, unknown>>;

export interface RemoteCall {
  /** The name of the tool in wield, for messages. */
  readonly name: string;
  readonly signal: AbortSignal;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  readonly onLog?: LogListener | undefined;
  readonly logLevel?: string | undefined;
  readonly elicit?: Elicit | undefined;
  readonly client?: RequestClient | undefined;
  /** The `_meta` of its requests, if it differs from that of others (newer protocol version). */
  readonly envelope?: Params | undefined;
  /** The position of the call in a trace. */
  readonly trace?: TraceParent | undefined;
  /** Identifies the person behind the call. */
  readonly person: string;
}

export interface CallSession {
  readonly sdk: typeof import('../sdk.js');
  readonly client: Client;
  readonly lane: Lane;
  readonly isModern: boolean;
  readonly isHttp: boolean;
}

const MAX_ROUNDS = 8;
// Characters of a result that takes more than a moment to read.
const LARGE = 64 * 1024;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls a tool by its own name. A tool that failed is an Output with an error. */
export async function callTool(session: CallSession, tool: RemoteTool, input: Json, call: RemoteCall): Promise<Output> {
  const { lane, isModern } = session;
  const asTask = !isModern && needsTask(tool);
  const params = { name: tool.name, arguments: input, ...(asTask ? { task: {} } : {}) };
  const send = (given: Params): Promise<unknown> => request(session, tool, given, call);
  const result = await inRounds(session, params, send, call);
  if (isLonger(result, LARGE)) await nextTurn();
  return toOutput(call.name, isModern || asTask ? await untilTaskEnds(lane, isModern, result, call) : result);
}

/** Reads a resource, makes the messages of a prompt, or completes an argument. */
export async function requestOffer(
  session: CallSession,
  { method, params }: OfferRequest,
  call: RemoteCall,
): Promise<Output> {
  const send = (given: Params): Promise<unknown> => session.lane.request(method, given, call);
  return toOfferOutput(method, call.name, await inRounds(session, params, send, call));
}

export interface OfferRequest {
  readonly method: OfferMethod;
  readonly params: Params;
}

// Sends a request until the server needs no further input of the user.
async function inRounds(
  session: CallSession,
  given: Params,
  send: (params: Params) => Promise<unknown>,
  call: RemoteCall,
): Promise<unknown> {
  let params = given;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    let result: unknown;
    try {
      result = await send(params);
    } catch (error) {
      if (session.isModern || !(await visitPages(error, call))) throw error;
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

function request(session: CallSession, tool: RemoteTool, params: Params, call: RemoteCall): Promise<unknown> {
  const { sdk, client, lane } = session;
  if (!session.isModern || !session.isHttp || !mirrorsParameters(tool)) return lane.request('tools/call', params, call);
  const { signal, onProgress } = call;
  const options = {
    signal,
    timeout: MAX_TIMER_MS,
    toolDefinition: tool,
    allowInputRequired: true,
    onprogress: onProgress && toListener(onProgress),
  };
  const level = call.envelope?.[sdk.LOG_LEVEL_META_KEY];
  const meta = {
    ...(call.trace && toTraceMeta(call.trace)),
    ...(level === undefined ? {} : { [sdk.LOG_LEVEL_META_KEY]: level }),
  };
  const traced = { ...params, _meta: meta };
  return client.callTool(traced as never, options as never).catch((error: unknown) => {
    if (!(error instanceof sdk.ProtocolError)) throw error;
    throw new RpcError(error.code, error.message, error.data);
  });
}

// Over HTTP, such a tool takes some parameters in headers too, which the SDK client writes.
function mirrorsParameters({ inputSchema }: RemoteTool): boolean {
  return JSON.stringify(inputSchema).includes('"x-mcp-header"');
}

function toListener(onProgress: (progress: Progress) => void) {
  return ({ progress, total, message }: { progress: number; total?: number; message?: string }) =>
    onProgress({ done: progress, total, message });
}
