// Runs a model until it calls a terminal tool, calls no tool, or reaches the maximum number of turns (SDK-3).

import { deferred, onAbort } from '../../core/async.js';
import { ToolError } from '../../core/error.js';
import type { ToolResult } from '../../core/result.js';
import type { Toolbox } from '../../core/toolbox.js';
import type { AutoMode } from '../../core/view.js';
import type { LoopCallOptions, ModelCallOptions, ModelCallResult, OfferOptions } from '../shared/adapter.js';
import { findConversation } from './conversation.js';
import type { Driver, Message, ModelReply } from './drivers.js';
import { createDriver, type ModelClient, type Provider } from './drivers.js';

/** Options of `runAgentLoop`. */
export interface AgentLoopOptions<M extends object = Message> extends OfferOptions, Omit<ModelCallOptions, 'client'> {
  /** A client of Anthropic's, OpenAI's or Ollama's SDK. */
  readonly client: ModelClient;
  /** By default recognised by the client's methods. */
  readonly provider?: Provider;
  /** The name of the model. */
  readonly model: string;
  /** The tools that the model may call. */
  readonly toolbox: Toolbox;
  /** The conversation so far, in the provider's format. */
  readonly messages: readonly M[];
  /** The system prompt; the toolbox's instructions are appended. */
  readonly system?: string;
  /** Maximum number of requests to the model; 20 by default. */
  readonly maxTurns?: number;
  /** Maximum length of each answer of the model. */
  readonly maxTokens?: number;
  /** Further fields of each request, in the provider's format. */
  readonly request?: Readonly<Record<string, unknown>>;
  /** Called for each new message. */
  readonly onMessage?: (message: M) => void;
}

/** Why a loop ended; the first three are set by a terminal tool. */
export type LoopStatus = 'completed' | 'failed' | 'waiting' | 'stopped' | 'max_turns' | 'cancelled';

/** How a loop ended. */
export interface LoopResult<M extends object = Message> {
  /** Why it ended. */
  readonly status: LoopStatus;
  /** The given messages and all new ones; every call has its result. */
  readonly messages: M[];
  /** The text of the model's last message. */
  readonly text: string;
  /** Number of requests to the model. */
  readonly turns: number;
  /** The terminal tool that ended the loop, and its result. */
  readonly terminal?: { readonly tool: string; readonly result: ToolResult };
}

/** Options of `runChatTurn`. */
export interface ChatTurnOptions<M extends object = Message> extends AgentLoopOptions<M> {
  /** A user message to append. */
  readonly input?: string;
}

// SDK-10. Any other terminal tool completes.
const STATUS: Readonly<Record<string, LoopStatus>> = { fail_task: 'failed', wait_task: 'waiting' };

/** Runs a model until its task ends. Rejects only if a request to the model fails. */
export async function runAgentLoop<M extends object = Message>(options: AgentLoopOptions<M>): Promise<LoopResult<M>> {
  const { client, provider, model, toolbox, system = '', maxTurns = 20, maxTokens, request = {} } = options;
  const { strict, offer, signal, timeoutMs, onProgress, trust, approve, elicit, ask } = options;
  const { session, joined, ...conversation } = findConversation(options.session, options.messages);
  // SRV-100: another list of tools would cost the model its prompt cache.
  let mode: AutoMode | undefined;
  const decideMode = (now: AutoMode): AutoMode => {
    mode ??= now;
    return mode;
  };
  const asking = { signal, timeoutMs, onProgress, trust, approve, elicit, ask };
  const callOptions: LoopCallOptions = { client: model, session, joined, decideMode, ...asking };
  const driver = createDriver(client, provider, toolbox, { strict, offer, decideMode });
  const systemPrompt = [system, await toolbox.workspace.instructions({ capabilities: true })]
    .filter(Boolean)
    .join('\n\n');
  const messages: M[] = [...options.messages];
  const add = (added: readonly Message[]): void => {
    for (const message of added as readonly M[]) {
      messages.push(message);
      conversation.add(message);
      options.onMessage?.(message);
    }
  };
  let text = '';
  let turns = 0;
  const end = (status: LoopStatus, terminal?: LoopResult['terminal']): LoopResult<M> => {
    return { status, messages, text, turns, terminal };
  };

  while (turns < maxTurns) {
    const sent = { model, system: systemPrompt, messages: messages as Message[], maxTokens, request, signal };
    const reply = await untilAborted(() => driver.send(sent), signal);
    if (reply === undefined) return end('cancelled');
    turns++;
    text = reply.text;
    add(reply.messages);
    if (reply.calls.length === 0) {
      if (reply.paused) continue;
      return end('stopped');
    }
    const results = await conversation.run(() => runCalls(driver, reply, callOptions));
    add(driver.toMessages(reply.calls, results));
    const last = results.find(({ tool, result }) => tool?.traits.terminal === true && result.ok);
    if (last?.tool !== undefined) {
      const { name } = last.tool;
      return end(STATUS[name] ?? 'completed', { tool: name, result: last.result });
    }
    if (signal?.aborted) return end('cancelled');
  }
  return end('max_turns');
}

/** Runs one turn of a conversation: until the model calls no tool. */
export async function runChatTurn<M extends object = Message>({
  input,
  ...options
}: ChatTurnOptions<M>): Promise<LoopResult<M>> {
  const added = input === undefined ? [] : [{ role: 'user', content: input } as unknown as M];
  return runAgentLoop({ ...options, messages: [...options.messages, ...added] });
}

// In parallel, with results in order. A call never throws, so every call gets a result (SDK-4).
function runCalls(
  { adapter }: Driver,
  { calls, cutOff }: ModelReply,
  options: LoopCallOptions,
): Promise<ModelCallResult[]> {
  return Promise.all(
    calls.map(async ({ name, args }) =>
      cutOff === undefined ? adapter.call(name, args, options) : { result: notRun(cutOff) },
    ),
  );
}

// Incomplete arguments can be valid and mean something else.
function notRun(reason: string): ToolResult {
  return {
    ok: false,
    content: [],
    error: {
      code: 'invalid_input',
      message: `the message was cut off (${reason}), so its calls were not run`,
      hint: 'call again with shorter arguments or fewer calls at once',
    },
    meta: { durationMs: 0 },
  };
}

// Resolves to undefined when the signal is aborted, also if the client ignores it.
async function untilAborted<T>(send: () => Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (signal?.aborted) return undefined;
  const aborted = deferred<undefined>();
  const release = signal && onAbort(signal, () => aborted.resolve(undefined));
  try {
    return await Promise.race([send(), aborted.promise]);
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw new ToolError('unavailable', `the request to the model failed: ${(error as Error).message}`, {
      hint: 'check the address, the API key and the model name, then run it again',
      cause: error,
    });
  } finally {
    release?.();
  }
}
