// The vendors' real SDKs, connected to a local model server.

import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import type { ModelClient, Provider } from '../../src/adapters/loop/index.js';

export interface Vendor {
  readonly name: string;
  /** The name of its door in rules and the audit log. */
  readonly door: string;
  readonly provider: Provider;
  /** Whether arguments are sent as text, and so can be malformed. */
  readonly sendsText: boolean;
  connect(url: string): ModelClient;
}

const OPTIONS = { apiKey: 'none', maxRetries: 0 };

export const VENDORS: readonly Vendor[] = [
  {
    name: 'Anthropic',
    door: 'anthropic',
    provider: 'anthropic',
    sendsText: false,
    connect: (url) => new Anthropic({ ...OPTIONS, baseURL: url }),
  },
  {
    name: 'OpenAI, chat completions',
    door: 'openai',
    provider: 'openai',
    sendsText: true,
    connect: (url) => new OpenAI({ ...OPTIONS, baseURL: `${url}/v1` }),
  },
  {
    name: 'OpenAI, responses',
    door: 'openai',
    provider: 'openai-responses',
    sendsText: true,
    connect: (url) => new OpenAI({ ...OPTIONS, baseURL: `${url}/v1` }),
  },
  {
    name: 'Ollama',
    door: 'ollama',
    provider: 'ollama',
    sendsText: false,
    connect: (url) => new Ollama({ host: url }),
  },
];
