// Converts tools to Ollama's `tools`, and `tool_calls` to messages with the role `tool`.

import type { Toolbox } from '../../core/toolbox.js';
import { OLLAMA } from '../lowering/profile.js';
import {
  type AdaptedTool,
  type Adapter,
  getAdapter,
  type ModelCallOptions,
  type ModelCallResult,
  type OfferOptions,
} from '../shared/adapter.js';
import { toModelText } from '../shared/content.js';

/** A tool in a request to Ollama. */
export interface OllamaTool {
  type: string;
  function: { name: string; description: string; parameters: { type: string; [keyword: string]: unknown } };
}

/** An entry of `message.tool_calls`. */
export interface OllamaCall {
  readonly function: { readonly name: string; readonly arguments: unknown };
}

/** A result in the next request to Ollama. */
export interface OllamaResult {
  role: 'tool';
  tool_name: string;
  content: string;
}

type OllamaOfferOptions = Pick<OfferOptions, 'offer'>;

export function getOllamaAdapter(toolbox: Toolbox, { offer }: OllamaOfferOptions): Adapter {
  return getAdapter(toolbox, { door: 'ollama', profile: OLLAMA, offer });
}

/** Returns the visible tools for `ollama.chat({ tools })`. */
export async function toOllamaTools(toolbox: Toolbox, options: OllamaOfferOptions = {}): Promise<OllamaTool[]> {
  return (await getOllamaAdapter(toolbox, options).list()).map(toOllamaTool);
}

export function toOllamaTool({ name, description, lowering }: AdaptedTool): OllamaTool {
  return { type: 'function', function: { name, description, parameters: lowering.schema } };
}

/** Runs a call and returns the message with its result. */
export async function runOllamaCall(
  toolbox: Toolbox,
  call: OllamaCall,
  { offer, ...options }: OllamaOfferOptions & ModelCallOptions = {},
): Promise<OllamaResult> {
  const { name, arguments: args } = call.function;
  return toOllamaResult(name, await getOllamaAdapter(toolbox, { offer }).call(name, args, options));
}

export function toOllamaResult(name: string, { result }: ModelCallResult): OllamaResult {
  return { role: 'tool', tool_name: name, content: toModelText(result) };
}
