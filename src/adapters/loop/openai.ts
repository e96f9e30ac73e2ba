// The drivers for clients of OpenAI's SDK: chat completions and responses.

import type { Toolbox } from '../../core/toolbox.js';
import { getOpenAIAdapter, toChatResult, toOpenAITools, toResponsesResult } from '../openai/convert.js';
import type { OfferOptions } from '../shared/adapter.js';
import type { Driver, Message } from './driver.js';

export interface OpenAIChatClient {
  readonly chat: { readonly completions: { create(body: never, options?: never): PromiseLike<unknown> } };
}

export interface OpenAIResponsesClient {
  readonly responses: { create(body: never, options?: never): PromiseLike<unknown> };
}

interface ChatReply {
  readonly choices: readonly {
    readonly finish_reason?: string | null;
    readonly message: Message & {
      readonly content?: string | null;
      readonly tool_calls?: readonly {
        readonly id: string;
        readonly function?: { readonly name: string; readonly arguments: string };
      }[];
    };
  }[];
}

interface Response {
  readonly status?: string;
  readonly output: readonly Message[];
}

export function createOpenAIChatDriver(client: OpenAIChatClient, toolbox: Toolbox, offer: OfferOptions): Driver {
  return {
    adapter: getOpenAIAdapter(toolbox, offer),
    async send({ model, system, messages, maxTokens, request, signal }) {
      const tools = await toOpenAITools(toolbox, offer);
      const body = {
        max_completion_tokens: maxTokens,
        ...request,
        model,
        stream: false,
        messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...messages],
        ...(tools.length === 0 ? {} : { tools }),
      };
      const reply = (await client.chat.completions.create(body as never, { signal } as never)) as ChatReply;
      const choice = reply.choices[0]!;
      return {
        messages: [choice.message],
        calls: (choice.message.tool_calls ?? []).map((call) => ({
          id: call.id,
          name: call.function?.name ?? '',
          args: call.function?.arguments ?? '',
        })),
        text: choice.message.content ?? '',
        truncated: choice.finish_reason === 'length',
        paused: false,
      };
    },
    toMessages: (calls, results) => results.map((result, index) => ({ ...toChatResult(calls[index]!.id, result) })),
  };
}

export function createOpenAIResponsesDriver(
  client: OpenAIResponsesClient,
  toolbox: Toolbox,
  offer: OfferOptions,
): Driver {
  return {
    adapter: getOpenAIAdapter(toolbox, offer),
    async send({ model, system, messages, maxTokens, request, signal }) {
      const tools = await toOpenAITools(toolbox, { ...offer, api: 'responses' });
      const body = {
        max_output_tokens: maxTokens,
        ...request,
        model,
        stream: false,
        input: messages,
        ...(system === '' ? {} : { instructions: system }),
        ...(tools.length === 0 ? {} : { tools }),
      };
      const reply = (await client.responses.create(body as never, { signal } as never)) as Response;
      return {
        // All items are sent back, since a reasoning item belongs to the call that follows it.
        messages: reply.output,
        calls: reply.output
          .filter((item) => item.type === 'function_call')
          .map(({ call_id, name, arguments: args }) => ({ id: String(call_id), name: String(name), args })),
        text: reply.output.map(textOfItem).join(''),
        truncated: reply.status === 'incomplete',
        paused: false,
      };
    },
    toMessages: (calls, results) =>
      results.map((result, index) => ({ ...toResponsesResult(calls[index]!.id, result) })),
  };
}

function textOfItem({ type, content }: Message): string {
  if (type !== 'message' || !Array.isArray(content)) return '';
  return content.map((part: Message) => (part.type === 'output_text' ? part.text : '')).join('');
}
