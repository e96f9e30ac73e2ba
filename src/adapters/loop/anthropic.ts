// Drives a model through a client of Anthropic's SDK.

import type { Toolbox } from '../../core/toolbox.js';
import { anthropicDoor, toAnthropicResult, toAnthropicTools } from '../anthropic/format.js';
import type { OfferOptions } from '../shared/door.js';
import type { Driver, Message } from './driver.js';

export interface AnthropicClient {
  readonly messages: { create(body: never, options?: never): PromiseLike<unknown> };
}

interface Reply {
  readonly stop_reason?: string | null;
  readonly content: readonly Message[];
}

// The interface has no default of its own.
const MAX_TOKENS = 4096;

export function createAnthropicDriver(
  client: AnthropicClient,
  toolbox: Toolbox,
  offer: OfferOptions,
): Driver {
  return {
    door: anthropicDoor(toolbox, offer),
    async ask({ model, system, messages, maxTokens = MAX_TOKENS, request, signal }) {
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
        cut: reply.stop_reason === 'max_tokens',
        paused: reply.stop_reason === 'pause_turn',
      };
    },
    answer: (calls, answers) => [
      { role: 'user', content: answers.map((answer, index) => toAnthropicResult(calls[index]!.id, answer)) },
    ],
  };
}
