// Chooses the driver for a client, by the `provider` option or by the client's methods.

import { ToolError } from '../../core/error.js';
import { isRecord } from '../../core/json.js';
import type { Toolbox } from '../../core/toolbox.js';
import type { OfferOptions } from '../shared/adapter.js';
import { type AnthropicClient, createAnthropicDriver } from './anthropic.js';
import type { Driver } from './driver.js';
import { createOllamaDriver, type OllamaClient } from './ollama.js';
import {
  createOpenAIChatDriver,
  createOpenAIResponsesDriver,
  type OpenAIChatClient,
  type OpenAIResponsesClient,
} from './openai.js';

/** A client of one of the SDKs, as structural types: none of them is a dependency. */
export type ModelClient = AnthropicClient | OpenAIChatClient | OpenAIResponsesClient | OllamaClient;

const DRIVERS = {
  anthropic: createAnthropicDriver,
  openai: createOpenAIChatDriver,
  'openai-responses': createOpenAIResponsesDriver,
  ollama: createOllamaDriver,
};

export type Provider = keyof typeof DRIVERS;

export function createDriver(
  client: ModelClient,
  provider: Provider | undefined,
  toolbox: Toolbox,
  offer: OfferOptions,
): Driver {
  return DRIVERS[provider ?? detect(client)](client as never, toolbox, offer);
}

function detect(client: ModelClient): Provider {
  const { messages, chat, responses } = client as unknown as Record<string, unknown>;
  // OpenAI's client has both APIs; compatible services support chat completions.
  if (isCallable(chat)) return 'ollama';
  if (isRecord(chat) && isRecord(chat.completions)) return 'openai';
  if (isRecord(messages) && isCallable(messages.create)) return 'anthropic';
  if (isRecord(responses) && isCallable(responses.create)) return 'openai-responses';
  throw new ToolError('usage', 'unknown client', {
    hint: "pass a client of Anthropic's, OpenAI's or Ollama's SDK, or set `provider`",
  });
}

function isCallable(value: unknown): boolean {
  return typeof value === 'function';
}
