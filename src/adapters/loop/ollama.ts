// The driver for clients of Ollama's library.

import type { Toolbox } from '../../core/toolbox.js';
import { getOllamaAdapter, toOllamaResult, toOllamaTools } from '../ollama/convert.js';
import type { OfferOptions } from '../shared/adapter.js';
import type { Driver, Message } from './driver.js';

export interface OllamaClient {
  chat(body: never): PromiseLike<unknown>;
}

interface Reply {
  readonly done_reason?: string;
  readonly message: Message & {
    readonly content?: string;
    readonly tool_calls?: readonly { readonly function: { readonly name: string; readonly arguments: unknown } }[];
  };
}

export function createOllamaDriver(client: OllamaClient, toolbox: Toolbox, offer: OfferOptions): Driver {
  return {
    adapter: getOllamaAdapter(toolbox, offer),
    async send({ model, system, messages, maxTokens, request }) {
      const tools = await toOllamaTools(toolbox, offer);
      const body = {
        options: maxTokens === undefined ? undefined : { num_predict: maxTokens },
        ...request,
        model,
        stream: false,
        messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...messages],
        ...(tools.length === 0 ? {} : { tools }),
      };
      const { message, done_reason: reason } = (await client.chat(body as never)) as Reply;
      return {
        messages: [message],
        // Calls have no ids; results are matched by their order.
        calls: (message.tool_calls ?? []).map(({ function: { name, arguments: args } }, index) => ({
          id: String(index),
          name,
          args,
        })),
        text: message.content ?? '',
        truncated: reason === 'length',
        paused: false,
      };
    },
    toMessages: (calls, results) => results.map((result, index) => ({ ...toOllamaResult(calls[index]!.name, result) })),
  };
}
