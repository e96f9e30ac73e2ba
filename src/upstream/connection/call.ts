// Calls a tool of a server, answering its requests in both protocol versions.

import { promises as timers } from 'node:timers';
import { nextTurn } from '../../core/async.js';
import type { TraceParent } from '../../core/caller.js';
import type { LogListener, Progress } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import { isLonger, isRecord, type Json } from '../../core/json.js';
import type { Output } from '../../core/result.js';
import type { JsonSchema } from '../../core/schema.js';
import { quoteOutside } from '../../core/text.js';
import { readParamHeaders, toParamHeaders } from '../../net/param-headers.js';
import type { RemoteTool } from '../remote-tool.js';
import { type Client, type Fields, toRpcError } from './client.js';
import { type AskingCall, answerInputs, visitPages } from './requests.js';
import { type DataMethod, toDataOutput, toOutput } from './result.js';

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

const DEFAULT_POLL_MS = 1000;
const MIN_POLL_MS = 50;
const MAX_POLL_MS = 10_000;
const CANCEL_TIMEOUT_MS = 5000;

// Whether a server of the older protocol version runs the tool only as a task; the newer version decides by itself.
function needsTask({ execution }: RemoteTool): boolean {
  return execution?.taskSupport === 'required';
}

// Returns the result of a call: the given one, or that of the task that it names. A call that is cancelled cancels its task.
async function untilTaskEnds(client: Client, result: unknown, call: RemoteCall): Promise<unknown> {
  const { isModern } = client;
  const created = isModern ? result : isRecord(result) ? result.task : undefined;
  if (!isRecord(created) || typeof created.taskId !== 'string') return result;
  if (isModern && created.resultType !== 'task') return result;
  const { taskId } = created;
  const { signal, envelope, trace } = call;
  const request = (method: string, more: Fields = {}): Promise<unknown> =>
    client.request(method, { taskId, ...more }, { signal, envelope, trace });
  try {
    return await (isModern ? poll(created, request, call) : request('tasks/result'));
  } catch (error) {
    const timeout = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    if (signal.aborted) client.request('tasks/cancel', { taskId }, { signal: timeout, envelope }).catch(() => {});
    throw error;
  }
}

async function poll(
  created: Fields,
  request: (method: string, more?: Fields) => Promise<unknown>,
  call: RemoteCall,
): Promise<unknown> {
  const answered = new Set<string>();
  for (let task = created; ; ) {
    await timers.setTimeout(pollMsOf(task), undefined, { signal: call.signal });
    const got = await request('tasks/get');
    task = isRecord(got) ? got : {};
    const { status, result, error, inputRequests } = task;
    if (status === 'completed' && isRecord(result)) return result;
    if (status === 'failed' && isRecord(error)) throw toRpcError(error);
    if (status === 'cancelled') throw endedBy(call, 'cancelled it');
    if (status !== 'working' && status !== 'input_required')
      throw endedBy(call, `reports the status "${quoteOutside(String(status), 40)}" without a result`);
    const open = Object.entries(isRecord(inputRequests) ? inputRequests : {}).filter(([key]) => !answered.has(key));
    if (open.length === 0) continue;
    for (const [key] of open) answered.add(key);
    await request('tasks/update', { inputResponses: await answerInputs(Object.fromEntries(open), call) });
  }
}

function pollMsOf({ pollIntervalMs }: Fields): number {
  const wanted = typeof pollIntervalMs === 'number' ? pollIntervalMs : DEFAULT_POLL_MS;
  return Math.min(Math.max(wanted, MIN_POLL_MS), MAX_POLL_MS);
}

function endedBy({ name }: RemoteCall, how: string): ToolError {
  return new ToolError('tool_failed', `${name} ran as a task, and its server ${how}`, {
    hint: 'call it again, or contact the operator of the server',
  });
}
