// Sends one question to the configured model over HTTP.

import { ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import type { ModelSettings } from '../core/settings.js';
import { quoteOutside } from '../core/text.js';

export interface AskModelOptions {
  readonly model: ModelSettings;
  /** The API key, if configured. */
  readonly key: string | undefined;
  readonly system: string;
  readonly prompt: string;
  readonly signal: AbortSignal;
  readonly createFetch: CreateModelFetch;
}

/** Creates what sends requests to one address; confidential ones are encrypted. */
export type CreateModelFetch = (options: {
  readonly url: string;
  readonly confidential: boolean;
}) => (url: string, init: RequestInit) => Promise<Response>;

interface Wire {
  readonly url: string;
  readonly path: string;
  headers(key: string): Record<string, string>;
  body(options: AskModelOptions): object;
  read(reply: Record<string, unknown>): unknown;
}

const chatMessages = ({ system, prompt }: AskModelOptions): object[] => [
  { role: 'system', content: system },
  { role: 'user', content: prompt },
];
const first = (value: unknown): Record<string, unknown> => (Array.isArray(value) && isRecord(value[0]) ? value[0] : {});
const within = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});

const WIRES: Readonly<Record<ModelSettings['provider'], Wire>> = {
  anthropic: {
    url: 'https://api.anthropic.com',
    path: '/v1/messages',
    headers: (key) => ({ 'x-api-key': key, 'anthropic-version': '2023-06-01' }),
    body: ({ model, system, prompt }) => ({
      model: model.name,
      max_tokens: 2048,
      system,
      messages: [{ role: 'user', content: prompt }],
    }),
    read: ({ content }) => first(content).text,
  },
  openai: {
    url: 'https://api.openai.com/v1',
    path: '/chat/completions',
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    body: (options) => ({ model: options.model.name, messages: chatMessages(options) }),
    read: ({ choices }) => within(first(choices).message).content,
  },
  ollama: {
    url: 'http://127.0.0.1:11434',
    path: '/api/chat',
    headers: (key) => ({ authorization: `Bearer ${key}` }),
    body: (options) => ({ model: options.model.name, stream: false, messages: chatMessages(options) }),
    read: ({ message }) => within(message).content,
  },
};
const MAX_CHARACTERS = 64 * 1024;

/** Returns the answer of the model as text. Throws `unavailable`. */
export async function askModel(options: AskModelOptions): Promise<string> {
  const { model, key, signal, createFetch } = options;
  const wire = WIRES[model.provider];
  const url = `${(model.url ?? wire.url).replace(/\/+$/, '')}${wire.path}`;
  try {
    const response = await createFetch({ url, confidential: key !== undefined })(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key === undefined ? {} : wire.headers(key)) },
      body: JSON.stringify(wire.body(options)),
      signal,
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const text = wire.read((await response.json()) as Record<string, unknown>);
    if (typeof text !== 'string') throw new Error('its answer has no text');
    return text.slice(0, MAX_CHARACTERS);
  } catch (error) {
    const { message, cause } = error as Error;
    const why = cause instanceof Error ? cause.message : message;
    throw new ToolError('unavailable', `could not reach the model at ${url}: ${quoteOutside(why, 200)}`, {
      hint: 'check [model] in the configuration; without it the inventory is created without a model',
      cause: error,
    });
  }
}
