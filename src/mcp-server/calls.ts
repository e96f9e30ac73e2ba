// Calls of tools for both dispatchers: the lane and the SDK server.

import { createHash } from 'node:crypto';
import { type ErrorValue, formatError, ToolError } from '../core/error.js';
import { canonicalJson, type Json } from '../core/json.js';
import { decodeName } from '../core/name.js';
import type { Plan } from '../core/plan.js';
import { isFailedOutput, type ToolResult } from '../core/result.js';
import type { CallOptions, Toolbox } from '../core/toolbox.js';
import { RpcError } from '../net/mcp.js';
import { resolveAppTool, showsApps } from './apps.js';
import type { InputRequiredResult } from './input-request.js';
import { createInteractiveCalls, type InteractiveCalls } from './interactive-calls.js';
import { APP_HOST, type Listing, type LiveListing, MODEL } from './listing.js';
import { ERROR, type Params } from './message.js';
import { type RequestContext, readKey, readTraceParent, toLogListener, toProgressListener } from './request-context.js';
import { type CallResult, projectResult, toCallResult } from './result.js';
import type { SharedSessions } from './shared-sessions.js';
import type { CallOutcome, CallRequest, InteractionOptions } from './suspended-calls.js';
import type { Tasks } from './tasks.js';
import { needsTasks, wantsTask } from './wants-task.js';

export interface ToolCalls extends Pick<InteractiveCalls, 'verifyState' | 'close'> {
  /** `session` identifies the client that may read the stored results of its calls (CTX-3). */
  call(session: string, params: Params, context: RequestContext): Promise<CallResult | InputRequiredResult>;
  /** Likewise, but never as a task: the SDK cannot send one as the result of a call. */
  callNow: ToolCalls['call'];
  /** Returns the tasks of all clients. Undefined in a fleet, whose servers keep nothing in memory (FLT-76). */
  readonly tasks: (() => Promise<Tasks>) | undefined;
  /** Whether a task of a session runs; one that waits for an answer does not. */
  runsTask(session: string): boolean;
  /** Ends the tasks of a session, which nobody can ask for any more. */
  endSession(session: string): void;
  /** Runs a call of a tool, a resource or a prompt for a request; `id` and `input` identify it. */
  serve(
    session: string,
    context: RequestContext,
    id: string,
    input: Json,
    run: (options: CallOptions) => Promise<ToolResult>,
  ): Promise<CallOutcome>;
}

export interface ToolCallsOptions {
  readonly toolbox: Toolbox;
  readonly listing: LiveListing;
  /** Delays calls while the client does not read its responses. */
  readonly ready?: CallOptions['ready'];
  readonly shared?: SharedSessions | undefined;
}

export function createToolCalls({ toolbox, listing, ready, shared }: ToolCallsOptions): ToolCalls {
  const interactive = createInteractiveCalls(shared);
  const serve: ToolCalls['serve'] = (session, context, id, input, run) =>
    interactive.serve(new ServedCall({ session, context, id, input, ready, start: run }));
  const callNow: ToolCalls['call'] = async (session, params, context) => {
    const listed = params.name as string;
    const known = listing.newest() ?? (await listing.known());
    const asked = known.names.has(listed) ? listed : await toAppTool(listing, known, listed, context);
    const name = known.names.get(asked) ?? decodeName(asked);
    const input = (params.arguments ?? {}) as Json;
    // In a fleet there are no tasks, so that every tool runs as any other.
    const mayBeTask = shared !== undefined || wantsTask(params, context);
    let isRefused = false;
    // SRV-83: the listing may not know the tool yet.
    const checkPlan = ({ tool }: Plan): void => {
      if (mayBeTask || tool.traits.taskOnly !== true) return;
      isRefused = true;
      throw new ToolError('unavailable', `${tool.name} can only be called as a task`, {
        hint: 'use a client that supports tasks',
      });
    };
    const start = (options: CallOptions): Promise<ToolResult> => toolbox.call(name, input, options);
    const outcome = await interactive.serve(
      new ServedCall({ session, context, id: name, input, ready, start, checkPlan }),
    );
    if (isRefused) throw needsTasks(context);
    if ('resultType' in outcome) return outcome;
    // This call may have been the first to connect to the tool's upstream server.
    const { names, outputs, structured } = known.outputs.has(asked) ? known : await listing.rereadKnown();
    if (outcome.error !== undefined && !names.has(asked)) rejectUnknown(outcome.error);
    const schema = outputs.get(asked);
    const mayBeInText = !structured.has(asked) && !isFailedOutput(outcome.structured);
    // A client that does not know an output schema needs no structured content beside a handle.
    const withStructured =
      !mayBeInText &&
      (outcome.meta.handle === undefined || schema !== undefined) &&
      (outcome.ok || schema === undefined || (await matchesOutput(toolbox, name, outcome)));
    return projectResult(toCallResult(outcome, withStructured), context.isNewer, schema);
  };
  let loading: Promise<Tasks> | undefined;
  let loaded: Tasks | undefined;
  const tasks = (): Promise<Tasks> => {
    loading ??= import('./tasks.js').then(({ createTasks }) => {
      loaded = createTasks(interactive.verifyState);
      return loaded;
    });
    return loading;
  };
  const startTask: ToolCalls['call'] = async (session, params, context) => {
    const started = (await tasks()).start(session, params, context, (given, own) => callNow(session, given, own));
    return (await started) as CallResult;
  };
  return {
    verifyState: interactive.verifyState,
    tasks: shared === undefined ? tasks : undefined,
    close() {
      interactive.close();
      loading?.then((all) => all.close()).catch(() => {});
    },
    runsTask: (session) => loaded?.list(session).some(({ status }) => status === 'working') === true,
    endSession: (session) => void loading?.then((all) => all.end(session)).catch(() => {}),
    serve,
    callNow,
    call: (session, params, context) =>
      shared !== undefined || !wantsTask(params, context)
        ? callNow(session, params, context)
        : startTask(session, params, context),
  };
}

interface ServedCallOptions extends Pick<ToolCallsOptions, 'ready'>, Pick<CallOptions, 'checkPlan'> {
  readonly session: string;
  readonly context: RequestContext;
  readonly id: string;
  readonly input: Json;
  readonly start: (options: CallOptions) => Promise<ToolResult>;
}

class ServedCall implements CallRequest {
  readonly context: RequestContext;
  readonly onProgress: CallRequest['onProgress'];
  readonly #options: ServedCallOptions;

  constructor(options: ServedCallOptions) {
    this.context = options.context;
    this.onProgress = toProgressListener(options.context);
    this.#options = options;
  }

  get client(): string {
    return `${this.#options.session} ${this.context.clientName ?? ''}`;
  }

  binding(): string {
    const { session, id, input } = this.#options;
    return createHash('sha256')
      .update(canonicalJson([session, this.context.clientName ?? '', id, input]))
      .digest('hex');
  }

  run({ cancellation, onProgress, approve, elicit, client, fault }: InteractionOptions): Promise<ToolResult> {
    const { session, ready, start, checkPlan } = this.#options;
    const { kind, door, apps } = showsApps(this.context.capabilities) ? APP_HOST : MODEL;
    // Listed explicitly: spread properties take 2 µs a call.
    return start({
      caller: { kind, door, apps, session, name: this.context.clientName },
      cancellation,
      onProgress,
      approve,
      elicit,
      client,
      fault,
      ready,
      trace: readTraceParent(this.context),
      key: readKey(this.context),
      onPending: this.context.onPending,
      onLog: toLogListener(this.context),
      logLevel: this.context.logLevel,
      checkPlan,
    });
  }
}

// The listing may be older than the rules that now allow the tool.
async function toAppTool(listing: LiveListing, known: Listing, name: string, context: RequestContext): Promise<string> {
  if (!showsApps(context.capabilities)) return name;
  const found = resolveAppTool(known.appTools, name, context);
  return found ?? resolveAppTool((await listing.rereadKnown()).appTools, name, context) ?? name;
}

// An unknown tool is a protocol error; what else goes wrong with a call is a result.
function rejectUnknown(error: ErrorValue): void {
  if (error.code !== 'not_found' && error.code !== 'invalid_ref') return;
  throw new RpcError(ERROR.invalidParams, formatError(error), { 'wield/error': error });
}

// Older clients validate the structured content of a failed call too.
async function matchesOutput(toolbox: Toolbox, name: string, { structured }: ToolResult): Promise<boolean> {
  if (structured === undefined) return false;
  const tool = await toolbox.find(name).catch(() => undefined);
  return (await tool?.output?.check(structured))?.ok === true;
}
