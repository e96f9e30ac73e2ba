// Drives a model with tools until a terminal tool is called, none is, or the turns are used up (SDK-3).

import { ToolError } from '../../core/error.js';
import type { ToolResult } from '../../core/result.js';
import type { Toolbox } from '../../core/toolbox.js';
import { type ModelAnswer, type ModelCallOptions, type OfferOptions, toFailure } from '../shared/door.js';
import { createDriver, type ModelClient, type Provider } from './client.js';
import type { Driver, Message, Said } from './driver.js';

export interface AgentLoopOptions<M extends object = Message>
  extends OfferOptions,
    Omit<ModelCallOptions, 'client'> {
  /** A client of Anthropic's, OpenAI's or Ollama's SDK. */
  readonly client: ModelClient;
  /** Which of them it is; by its shape where left out. */
  readonly provider?: Provider;
  readonly model: string;
  readonly toolbox: Toolbox;
  /** The conversation so far, in the provider's own form. */
  readonly messages: readonly M[];
  /** The system prompt; what the toolbox has to say to a model comes after it. */
  readonly system?: string;
  /** How often the model is asked at most; 20 by default. */
  readonly maxTurns?: number;
  readonly maxTokens?: number;
  /** What else each request holds, as the provider names it. */
  readonly request?: Readonly<Record<string, unknown>>;
  /** Sees each message when it is added. */
  readonly onMessage?: (message: M) => void;
}

/** Why a loop ended; the first three are said by a terminal tool. */
export type LoopStatus = 'completed' | 'failed' | 'waiting' | 'stopped' | 'max_turns' | 'cancelled';

export interface LoopResult<M extends object = Message> {
  readonly status: LoopStatus;
  /** What was given and all that came after; every call in it has its answer. */
  readonly messages: M[];
  /** What the model said last. */
  readonly text: string;
  /** How often it was asked. */
  readonly turns: number;
  /** The terminal tool that ended the loop, and its result. */
  readonly terminal?: { readonly tool: string; readonly result: ToolResult };
}

export interface ChatTurnOptions<M extends object = Message> extends AgentLoopOptions<M> {
  /** What the person says now; left out where it stands in the messages already. */
  readonly input?: string;
}

const MAX_TURNS = 20;
// SDK-10. Any other terminal tool completes.
const STATUS: Readonly<Record<string, LoopStatus>> = { fail_task: 'failed', wait_task: 'waiting' };

/** Drives a model to the end of its task. Rejects only where the model cannot be asked. */
export async function runAgentLoop<M extends object = Message>(
  options: AgentLoopOptions<M>,
): Promise<LoopResult<M>> {
  const {
    client,
    provider,
    model,
    toolbox,
    system = '',
    maxTurns = MAX_TURNS,
    maxTokens,
    request = {},
  } = options;
  const { strict, offer, signal, timeoutMs, onProgress, trust, approve, elicit, ask } = options;
  const callOptions = { client: model, signal, timeoutMs, onProgress, trust, approve, elicit, ask };
  const driver = createDriver(client, provider, toolbox, { strict, offer });
  const told = [system, await toolbox.workspace.instructions({ capabilities: true })]
    .filter(Boolean)
    .join('\n\n');
  const messages: M[] = [...options.messages];
  const add = (added: readonly Message[]): void => {
    for (const message of added as readonly M[]) {
      messages.push(message);
      options.onMessage?.(message);
    }
  };
  let text = '';
  let turns = 0;
  const end = (status: LoopStatus, terminal?: LoopResult['terminal']): LoopResult<M> => ({
    status,
    messages,
    text,
    turns,
    ...(terminal === undefined ? {} : { terminal }),
  });

  while (turns < maxTurns) {
    const asked = {
      model,
      system: told,
      messages: messages as readonly Message[],
      maxTokens,
      request,
      signal,
    };
    const said = await untilAborted(() => driver.ask(asked), signal);
    if (said === undefined) return end('cancelled');
    turns++;
    text = said.text;
    add(said.messages);
    if (said.calls.length === 0) {
      if (said.paused) continue;
      return end('stopped');
    }
    const answers = await answerAll(driver, said, callOptions);
    add(driver.answer(said.calls, answers));
    const last = answers.find(({ tool, result }) => tool?.traits.terminal === true && result.ok);
    if (last?.tool !== undefined) {
      const { name } = last.tool;
      return end(STATUS[name] ?? 'completed', { tool: name, result: last.result });
    }
    if (signal?.aborted) return end('cancelled');
  }
  return end('max_turns');
}

/** One turn of a conversation: the model is asked, and its tools run, until it calls none. */
export async function runChatTurn<M extends object = Message>({
  input,
  ...options
}: ChatTurnOptions<M>): Promise<LoopResult<M>> {
  const spoken = input === undefined ? [] : [{ role: 'user', content: input } as unknown as M];
  return runAgentLoop({ ...options, messages: [...options.messages, ...spoken] });
}

// In parallel, answered in order. A call never throws, so that none is left without its answer (SDK-4).
function answerAll(
  { door }: Driver,
  { calls, cut }: Said,
  options: ModelCallOptions,
): Promise<ModelAnswer[]> {
  return Promise.all(
    calls.map(async ({ name, args }) => (cut ? { result: CUT } : door.call(name, args, options))),
  );
}

// Half of the arguments can be valid and mean something else.
const CUT = toFailure({
  code: 'invalid_input',
  message: 'the message was cut off at its limit, so its calls were not run',
  hint: 'call again with shorter arguments, fewer calls at once',
});

// Undefined where it was aborted. Not every client takes a signal, and nobody waits for one that does not.
async function untilAborted<T>(
  ask: () => Promise<T>,
  signal: AbortSignal | undefined,
): Promise<T | undefined> {
  if (signal?.aborted) return undefined;
  let onAbort = (): void => {};
  const aborted = new Promise<undefined>((resolve) => {
    onAbort = () => resolve(undefined);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([ask(), aborted]);
  } catch (error) {
    if (signal?.aborted) return undefined;
    throw new ToolError('unavailable', `the model could not be asked: ${(error as Error).message}`, {
      hint: 'look at the address, the key and the name of the model, and run it again',
      cause: error,
    });
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
