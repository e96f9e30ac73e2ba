// Runs a tool of a server: asks the server, as long as it still describes the tool as it was judged.

import type { Progress } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { RunContext } from '../../core/executor.js';
import { copyJson, isRecord } from '../../core/json.js';
import type { RemotePlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import { cancelled, timedOut } from '../../core/stopped.js';
import { quoteOutside } from '../../core/text.js';
import { startTimeLimit } from '../../core/time-limit.js';
import type { Tool } from '../../core/tool.js';
import type { RemoteTool, ServerEntry } from '../../core/upstream.js';
import { digestDefinition } from '../catalog/definition.js';
import { callLost } from '../connection/failure.js';
import { isLostSession, RemoteError } from '../connection/lane.js';
import type { Lease } from '../connection/pool.js';
import { actionOf, type RemoteExecutorOptions } from './executor.js';

/** Runs a plan. A tool that ran and failed is an Output with an error. */
export async function runRemote(
  plan: RemotePlan,
  context: RunContext,
  options: RemoteExecutorOptions,
): Promise<Output> {
  const server = findServer(plan, options);
  const output = await bounded(plan, context, (within) => callServer(plan, server, within, options));
  return options.redact(output);
}

async function callServer(
  plan: RemotePlan,
  server: ServerEntry,
  context: RunContext,
  options: RemoteExecutorOptions,
  attempt = 1,
): Promise<Output> {
  const lease = await options.pool.acquire(server, context.signal);
  const onProgress = (progress: Progress): void => context.progress(options.redactProgress(progress));
  let outcome: Parameters<Lease['release']>[0] = 'unknown';
  try {
    const remote = findRemote(plan, lease);
    const output = await lease.connection.call(remote, copyJson(plan.input), {
      name: plan.tool.name,
      signal: context.signal,
      ...(context.wantsProgress ? { onProgress } : {}),
      ...(context.elicit === undefined ? {} : { elicit: context.elicit }),
    });
    outcome = 'answered';
    return output;
  } catch (error) {
    if (error instanceof RemoteError) {
      outcome = 'answered';
      return { content: [], error: refused(plan, error) };
    }
    if (context.signal.aborted || (error instanceof ToolError && !isCut(error))) throw error;
    outcome = 'lost';
    if (error instanceof ToolError) return { content: [], error: cutOff(plan, error) };
    // A session that the server has forgotten took nothing on: the call was not run.
    if (!isLostSession(error) || attempt > 1)
      return { content: [], error: callLost(plan.tool.name, error, describeWire(server, lease)) };
  } finally {
    lease.release(outcome);
  }
  return callServer(plan, server, context, options, attempt + 1);
}

function describeWire({ name }: ServerEntry, { wire }: Lease) {
  return { server: name, ending: wire.ending, lastLines: wire.lastLines };
}

// RUN-6: the caller is answered when time is up or it goes, whatever the server does then.
async function bounded(
  plan: RemotePlan,
  context: RunContext,
  run: (context: RunContext) => Promise<Output>,
): Promise<Output> {
  const stop = new AbortController();
  let late = false;
  const timeoutMs = context.timeoutMs ?? plan.timeoutMs;
  const limit = startTimeLimit(timeoutMs, () => {
    late = true;
    stop.abort();
  });
  const abort = (): void => stop.abort();
  context.signal.addEventListener('abort', abort, { once: true });
  try {
    context.whileAsked?.(limit.pause);
    return await run({ ...context, signal: stop.signal });
  } catch (error) {
    if (late) return { content: [], error: timedOut(plan.tool.name, timeoutMs, 'did not answer') };
    if (stop.signal.aborted) return { content: [], error: cancelled(plan.tool.name) };
    throw error;
  } finally {
    limit.clear();
    context.signal.removeEventListener('abort', abort);
  }
}

function findServer({ tool }: RemotePlan, { find }: RemoteExecutorOptions): ServerEntry {
  const { server, configuration } = actionOf(tool);
  const found = find(server);
  if (found?.configuration === configuration) return found.server;
  throw changed(tool, `the server ${server} is configured otherwise now`);
}

// RUN-2: what was judged is what runs; a server can describe its tools otherwise at any time.
function findRemote({ tool }: RemotePlan, { connection }: Lease): RemoteTool {
  const { server, tool: name, definition } = actionOf(tool);
  const remote = connection.listing().tools.find((one) => one.name === name);
  if (remote === undefined) throw changed(tool, `the server ${server} does not list it any more`);
  if (digestDefinition(remote) !== definition)
    throw changed(tool, `the server ${server} describes it otherwise now`);
  return remote;
}

function changed({ name }: Tool, how: string): ToolError {
  return new ToolError('integrity', `${name} was not run: ${how}`, {
    hint: 'call it again: what it is now is then judged anew',
  });
}

function refused({ tool }: RemotePlan, { message, code }: RemoteError): ToolError {
  return new ToolError(
    'tool_failed',
    `${tool.name} was refused by its server: ${quoteOutside(message, 500)}`,
    {
      hint: 'change the input; if it should be right, tell whoever runs the server',
      data: { code },
    },
  );
}

// What was sent and then cut off may have been run, unlike what could not be sent.
const CUT = new Set(['ECONNRESET', 'EPIPE']);

function isCut({ data }: ToolError): boolean {
  return isRecord(data) && CUT.has(String(data.errno));
}

function cutOff({ tool, server }: RemotePlan, { message, data }: ToolError): ToolError {
  return new ToolError('exec_failed', `the server ${server} was lost while it ran ${tool.name}: ${message}`, {
    hint: 'call it again; whether the first call did something is not known',
    data,
  });
}
