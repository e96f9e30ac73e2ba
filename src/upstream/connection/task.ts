// Waits for the result of a call that its server answered with a task, in both protocol versions (UPS-99).

import { promises as timers } from 'node:timers';
import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import { quoteOutside } from '../../core/text.js';
import type { RemoteTool } from '../remote-tool.js';
import { type Client, type Fields, type RequestOptions, toRpcError } from './client.js';
import { type AskingCall, answerInputs } from './requests.js';

interface TaskCall extends AskingCall, Pick<RequestOptions, 'envelope' | 'trace'> {}

const DEFAULT_POLL_MS = 1000;
const MIN_POLL_MS = 50;
const MAX_POLL_MS = 10_000;
const CANCEL_TIMEOUT_MS = 5000;

/** Whether a server of the older protocol version runs the tool only as a task; the newer version decides by itself. */
export function needsTask({ execution }: RemoteTool): boolean {
  return execution?.taskSupport === 'required';
}

/** Returns the result of a call: the given one, or that of the task that it names. A call that is cancelled cancels its task. */
export async function untilTaskEnds(client: Client, result: unknown, call: TaskCall): Promise<unknown> {
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
  call: TaskCall,
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

function endedBy({ name }: TaskCall, how: string): ToolError {
  return new ToolError('tool_failed', `${name} ran as a task, and its server ${how}`, {
    hint: 'call it again, or contact the operator of the server',
  });
}
