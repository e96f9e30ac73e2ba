// The driver for clients of Anthropic's SDK.

import type { Toolbox } from '../../core/toolbox.js';
import { getAnthropicAdapter, toAnthropicResult, toAnthropicTools } from '../anthropic/convert.js';
import type { OfferOptions } from '../shared/adapter.js';
import type { Driver, Message } from './driver.js';

export interface AnthropicClient {
  readonly messages: { create(body: never, options?: never): PromiseLike<unknown> };
}

interface Reply {
  readonly stop_reason?: string | null;
  readonly content: readonly Message[];
}

// Required by the API.
const DEFAULT_MAX_TOKENS = 4096;

export function createAnthropicDriver(client: AnthropicClient, toolbox: Toolbox, offer: OfferOptions): Driver {
  return {
    adapter: getAnthropicAdapter(toolbox, offer),
    async send({ model, system, messages, maxTokens = DEFAULT_MAX_TOKENS, request, signal }) {
      const tools = await toAnthropicTools(toolbox, offer);
      const body = {
        max_tokens: maxTokens,
        ...request,
        model,
        stream: false,
        messages,
        ...(system === '' ? {} : { system }),
        ...(tools.length === 0 ? {} : { tools }),
      };
      const reply = (await client.messages.create(body as never, { signal } as never)) as Reply;
      const uses = reply.content.filter((block) => block.type === 'tool_use');
      return {
        messages: [{ role: 'assistant', content: reply.content }],
        calls: uses.map(({ id, name, input }) => ({ id: String(id), name: String(name), args: input })),
        text: reply.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        truncated: reply.stop_reason === 'max_tokens',
        paused: reply.stop_reason === 'pause_turn',
      };
    },
    toMessages: (calls, results) => [
      { role: 'user', content: results.map((result, index) => toAnthropicResult(calls[index]!.id, result)) },
    ],
  };
}
