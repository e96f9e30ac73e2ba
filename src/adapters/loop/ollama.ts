// Drives a model through a client of Ollama's library.

import type { Toolbox } from '../../core/toolbox.js';
import { ollamaDoor, toOllamaResult, toOllamaTools } from '../ollama/format.js';
import type { OfferOptions } from '../shared/door.js';
import type { Driver, Message } from './driver.js';

export interface OllamaClient {
  chat(body: never): PromiseLike<unknown>;
}

interface Reply {
  readonly done_reason?: string;
  readonly message: Message & {
    readonly content?: string;
    readonly tool_calls?: readonly {
      readonly function: { readonly name: string; readonly arguments: unknown };
    }[];
  };
}

export function createOllamaDriver(client: OllamaClient, toolbox: Toolbox, offer: OfferOptions): Driver {
  return {
    door: ollamaDoor(toolbox, offer),
    async ask({ model, system, messages, maxTokens, request }) {
      const tools = await toOllamaTools(toolbox, offer);
      const body = {
        ...(maxTokens === undefined ? {} : { options: { num_predict: maxTokens } }),
        ...request,
        model,
        stream: false,
        messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...messages],
        ...(tools.length === 0 ? {} : { tools }),
      };
      const { message, done_reason: reason } = (await client.chat(body as never)) as Reply;
      return {
        messages: [message],
        // Calls have no ids here: answers are told apart by their order.
        calls: (message.tool_calls ?? []).map(({ function: { name, arguments: args } }, index) => ({
          id: String(index),
          name,
          args,
        })),
        text: message.content ?? '',
        cut: reason === 'length',
        paused: false,
      };
    },
    answer: (calls, answers) =>
      answers.map((answer, index) => ({ ...toOllamaResult(calls[index]!.name, answer) })),
  };
}
