// Drivers: how the loop talks to each provider.

import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { DoorListOptions, Toolbox } from '../../core/toolbox.js';
import { getAnthropicAdapter, toAnthropicResult, toAnthropicTool } from '../anthropic/convert.js';
import { getOllamaAdapter, toOllamaResult, toOllamaTool } from '../ollama/convert.js';
import { getOpenAIAdapter, toChatResult, toChatTool, toResponsesResult, toResponsesTool } from '../openai/convert.js';
import type { AdaptedTool, Adapter, ModelCallResult, OfferOptions } from '../shared/adapter.js';

/** A message in the provider's format. */
export type Message = Readonly<Record<string, unknown>>;

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export interface ModelRequest {
  readonly model: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly maxTokens: number | undefined;
  /** Further fields of the request, in the provider's format. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal | undefined;
}

export interface ModelReply {
  readonly messages: readonly Message[];
  readonly calls: readonly ModelCall[];
  readonly text: string;
  /** Why it was cut off, in the provider's word, so the arguments of its calls may be incomplete. */
  readonly cutOff: string | undefined;
  /** The provider paused and expects to be called again. */
  readonly paused?: boolean;
}

export type DriverOptions = OfferOptions & Pick<DoorListOptions, 'decideMode'>;

export interface Driver {
  readonly adapter: Adapter;
  send(request: ModelRequest): Promise<ModelReply>;
  /** Returns the messages with the results of the calls. */
  toMessages(calls: readonly ModelCall[], results: readonly ModelCallResult[]): readonly Message[];
}

// Those of all providers, as compatible servers use the words of others. A missing or unknown reason counts as complete:
// such servers would run nothing otherwise.
const CUT_OFF: ReadonlySet<unknown> = new Set([
  ...['max_tokens', 'model_context_window_exceeded', 'refusal'],
  ...['length', 'content_filter', 'incomplete', 'failed', 'cancelled'],
  ...['model_length', 'insufficient_system_resource', 'error'],
]);

function cutOffBy(reason: string | null | undefined): string | undefined {
  return reason && CUT_OFF.has(reason) ? reason : undefined;
}

type Create = (body: never, options?: never) => PromiseLike<unknown>;

// Clients of the SDKs, as structural types: none of them is a dependency.
interface AnthropicClient {
  readonly messages: { readonly create: Create };
}
interface OpenAIChatClient {
  readonly chat: { readonly completions: { readonly create: Create } };
}
interface OpenAIResponsesClient {
  readonly responses: { readonly create: Create };
}
interface OllamaClient {
  chat(body: never): PromiseLike<unknown>;
}

/** A client of one of the SDKs. */
export type ModelClient = AnthropicClient | OpenAIChatClient | OpenAIResponsesClient | OllamaClient;

/** How the API of a provider is used. */
interface Api<Client> {
  getAdapter(toolbox: Toolbox, options: OfferOptions): Adapter;
  send(client: Client, request: ModelRequest, tools: readonly AdaptedTool[]): Promise<ModelReply>;
  toResult(call: ModelCall, result: ModelCallResult): object;
  /** Returns the messages with the results of one reply; each result is a message by default. */
  toMessages?(results: readonly object[]): readonly Message[];
}

const ANTHROPIC: Api<AnthropicClient> = {
  getAdapter: getAnthropicAdapter,
  async send(client, request, tools) {
    const { system, messages, signal } = request;
    // The API requires a limit.
    const limits = { max_tokens: request.maxTokens ?? 4096 };
    const conversation = { messages, ...(system === '' ? {} : { system }) };
    const body = toBody(limits, request, tools.map(toAnthropicTool), conversation);
    const { content, stop_reason: reason } = (await client.messages.create(body, { signal } as never)) as {
      readonly stop_reason?: string | null;
      readonly content: readonly Message[];
    };
    const uses = content.filter((block) => block.type === 'tool_use');
    return {
      messages: [{ role: 'assistant', content }],
      calls: uses.map(({ id, name, input }) => ({ id: String(id), name: String(name), args: input })),
      text: textOf(content, 'text'),
      cutOff: cutOffBy(reason),
      paused: reason === 'pause_turn',
    };
  },
  toResult: ({ id }, result) => toAnthropicResult(id, result),
  toMessages: (results) => [{ role: 'user', content: results }],
};

const OPENAI: Api<OpenAIChatClient> = {
  getAdapter: getOpenAIAdapter,
  async send(client, request, tools) {
    const limits = { max_completion_tokens: request.maxTokens };
    const body = toBody(limits, request, tools.map(toChatTool), { messages: withSystem(request) });
    const { signal } = request;
    const { choices } = (await client.chat.completions.create(body, { signal } as never)) as {
      readonly choices: readonly { readonly finish_reason?: string | null; readonly message: ChatMessage }[];
    };
    return toChatReply(choices[0]!.message, choices[0]!.finish_reason);
  },
  toResult: ({ id }, result) => toChatResult(id, result),
};

const OPENAI_RESPONSES: Api<OpenAIResponsesClient> = {
  getAdapter: getOpenAIAdapter,
  async send(client, request, tools) {
    const { system, messages: input, signal } = request;
    const limits = { max_output_tokens: request.maxTokens };
    const conversation = { input, ...(system === '' ? {} : { instructions: system }) };
    const body = toBody(limits, request, tools.map(toResponsesTool), conversation);
    const { output, status } = (await client.responses.create(body, { signal } as never)) as {
      readonly status?: string;
      readonly output: readonly Message[];
    };
    const called = output.filter((item) => item.type === 'function_call');
    const contents = output.flatMap(({ type, content }) =>
      type === 'message' && Array.isArray(content) ? (content as readonly Message[]) : [],
    );
    return {
      // All items are sent back, since a reasoning item belongs to the call that follows it.
      messages: output,
      calls: called.map(({ call_id, name, arguments: args }) => ({ id: String(call_id), name: String(name), args })),
      text: textOf(contents, 'output_text'),
      cutOff: cutOffBy(status),
    };
  },
  toResult: ({ id }, result) => toResponsesResult(id, result),
};

const OLLAMA: Api<OllamaClient> = {
  getAdapter: getOllamaAdapter,
  async send(client, request, tools) {
    const limits = { options: request.maxTokens === undefined ? undefined : { num_predict: request.maxTokens } };
    const body = toBody(limits, request, tools.map(toOllamaTool), { messages: withSystem(request) });
    const { message, done_reason: reason } = (await client.chat(body)) as {
      readonly done_reason?: string;
      readonly message: ChatMessage;
    };
    return toChatReply(message, reason);
  },
  toResult: ({ name }, result) => toOllamaResult(name, result),
};

const APIS = { anthropic: ANTHROPIC, openai: OPENAI, 'openai-responses': OPENAI_RESPONSES, ollama: OLLAMA };

/** The API that a client speaks. */
export type Provider = keyof typeof APIS;

/** Chooses the driver for a client, by its provider or its methods. */
export function createDriver(
  client: ModelClient,
  provider: Provider | undefined,
  toolbox: Toolbox,
  { decideMode, ...options }: DriverOptions,
): Driver {
  const { getAdapter, send, toResult, toMessages } = APIS[provider ?? detect(client)] as Api<ModelClient>;
  const adapter = getAdapter(toolbox, options);
  return {
    adapter,
    send: async (request) => send(client, request, await adapter.list(decideMode)),
    toMessages(calls, all) {
      const results = all.map((result, index) => toResult(calls[index]!, result));
      return toMessages?.(results) ?? (results as Message[]);
    },
  };
}

function detect(client: ModelClient): Provider {
  const { messages, chat, responses } = client as unknown as Record<string, unknown>;
  const isCallable = (value: unknown): boolean => typeof value === 'function';
  // OpenAI's client has both APIs; compatible services support chat completions.
  if (isCallable(chat)) return 'ollama';
  if (isRecord(chat) && isRecord(chat.completions)) return 'openai';
  if (isRecord(messages) && isCallable(messages.create)) return 'anthropic';
  if (isRecord(responses) && isCallable(responses.create)) return 'openai-responses';
  throw new ToolError('usage', 'unknown client', {
    hint: "pass a client of Anthropic's, OpenAI's or Ollama's SDK, or set `provider`",
  });
}

// Further fields of a request may replace its limits, but nothing that the loop needs.
function toBody(limits: object, { model, request }: ModelRequest, tools: readonly object[], conversation: object) {
  const body = { ...limits, ...request, model, stream: false, ...conversation };
  return (tools.length === 0 ? body : { ...body, tools }) as never;
}

function withSystem({ system, messages }: ModelRequest): readonly Message[] {
  return system === '' ? messages : [{ role: 'system', content: system }, ...messages];
}

function textOf(parts: readonly Message[], type: string): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

interface ChatMessage extends Message {
  readonly content?: string | null;
  readonly tool_calls?: readonly {
    readonly id?: string;
    readonly function?: { readonly name: string; readonly arguments: unknown };
  }[];
}

// Calls of Ollama have no ids; results are matched by their order.
function toChatReply(message: ChatMessage, reason: string | null | undefined): ModelReply {
  const calls = (message.tool_calls ?? []).map(({ id, function: called }, index) => ({
    id: id ?? String(index),
    name: called?.name ?? '',
    args: called?.arguments ?? '',
  }));
  return { messages: [message], calls, text: message.content ?? '', cutOff: cutOffBy(reason) };
}
