// Ollama's chat: tools as `tools`, an entry of `tool_calls` in, a message of the role `tool` out.

import type { Toolbox } from '../../core/toolbox.js';
import { OLLAMA } from '../lowering/profile.js';
import { shownText } from '../shared/content.js';
import {
  type ModelAnswer,
  type ModelCallOptions,
  type ModelDoor,
  type OfferOptions,
  openDoor,
} from '../shared/door.js';

export interface OllamaTool {
  type: string;
  function: {
    name: string;
    description: string;
    parameters: { type: string; [keyword: string]: unknown };
  };
}

/** An entry of `message.tool_calls`. */
export interface OllamaCall {
  readonly function: { readonly name: string; readonly arguments: unknown };
}

export interface OllamaResult {
  role: 'tool';
  tool_name: string;
  content: string;
}

type OllamaOfferOptions = Pick<OfferOptions, 'offer'>;

export function ollamaDoor(toolbox: Toolbox, { offer }: OllamaOfferOptions): ModelDoor {
  return openDoor(toolbox, { door: 'ollama', profile: OLLAMA, offer });
}

/** The visible tools for `ollama.chat({ tools })`. */
export async function toOllamaTools(
  toolbox: Toolbox,
  options: OllamaOfferOptions = {},
): Promise<OllamaTool[]> {
  return (await ollamaDoor(toolbox, options).list()).map(({ name, description, lowering }) => ({
    type: 'function',
    function: { name, description, parameters: lowering.schema },
  }));
}

/** Runs a call and gives the message that answers it. */
export async function runOllamaCall(
  toolbox: Toolbox,
  call: OllamaCall,
  { offer, ...options }: OllamaOfferOptions & ModelCallOptions = {},
): Promise<OllamaResult> {
  const { name, arguments: args } = call.function;
  return toOllamaResult(name, await ollamaDoor(toolbox, { offer }).call(name, args, options));
}

export function toOllamaResult(name: string, { result }: ModelAnswer): OllamaResult {
  return { role: 'tool', tool_name: name, content: shownText(result) };
}
