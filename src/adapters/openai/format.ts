// OpenAI's two interfaces: tools and calls of chat completions, and those of responses.

import type { Toolbox } from '../../core/toolbox.js';
import { OPENAI } from '../lowering/profile.js';
import { shownParts, shownText } from '../shared/content.js';
import {
  type ModelAnswer,
  type ModelCallOptions,
  type ModelDoor,
  type OfferOptions,
  openDoor,
} from '../shared/door.js';

export interface OpenAIChatTool {
  type: 'function';
  function: {
    name: string;
    description: string;
    parameters: { type: 'object'; [keyword: string]: unknown };
    strict: boolean;
  };
}

export interface OpenAIResponsesTool {
  type: 'function';
  name: string;
  description: string;
  parameters: { type: 'object'; [keyword: string]: unknown };
  strict: boolean;
}

/** An entry of `message.tool_calls`. */
export interface OpenAIChatCall {
  readonly type: 'function';
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

/** An item of `response.output`. */
export interface OpenAIResponsesCall {
  readonly type: 'function_call';
  readonly call_id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface OpenAIChatResult {
  role: 'tool';
  tool_call_id: string;
  content: string;
}

export interface OpenAIResponsesResult {
  type: 'function_call_output';
  call_id: string;
  output:
    | string
    | ({ type: 'input_text'; text: string } | { type: 'input_image'; image_url: string; detail: 'auto' })[];
}

export interface OpenAIOfferOptions extends OfferOptions {
  /** Which of the two interfaces; chat completions by default. */
  readonly api?: 'chat' | 'responses';
}

export function openaiDoor(toolbox: Toolbox, { strict, offer }: OfferOptions): ModelDoor {
  return openDoor(toolbox, { door: 'openai', profile: OPENAI, strict, offer });
}

/** The visible tools for `client.chat.completions.create({ tools })` or `client.responses.create({ tools })`. */
export function toOpenAITools(
  toolbox: Toolbox,
  options: OpenAIOfferOptions & { readonly api: 'responses' },
): Promise<OpenAIResponsesTool[]>;
export function toOpenAITools(
  toolbox: Toolbox,
  options?: OpenAIOfferOptions & { readonly api?: 'chat' },
): Promise<OpenAIChatTool[]>;
export async function toOpenAITools(
  toolbox: Toolbox,
  { api = 'chat', ...options }: OpenAIOfferOptions = {},
): Promise<OpenAIChatTool[] | OpenAIResponsesTool[]> {
  // Said either way: the two interfaces differ in what they take silence for.
  const tools = (await openaiDoor(toolbox, options).list()).map(({ name, description, lowering }) => ({
    name,
    description,
    parameters: lowering.schema,
    strict: lowering.strict,
  }));
  return api === 'chat'
    ? tools.map((tool): OpenAIChatTool => ({ type: 'function', function: tool }))
    : tools.map((tool): OpenAIResponsesTool => ({ type: 'function', ...tool }));
}

/** Runs a call of either interface and gives the message or item that answers it. */
export function runOpenAICall(
  toolbox: Toolbox,
  call: OpenAIResponsesCall,
  options?: OfferOptions & ModelCallOptions,
): Promise<OpenAIResponsesResult>;
export function runOpenAICall(
  toolbox: Toolbox,
  call: OpenAIChatCall,
  options?: OfferOptions & ModelCallOptions,
): Promise<OpenAIChatResult>;
export async function runOpenAICall(
  toolbox: Toolbox,
  call: OpenAIChatCall | OpenAIResponsesCall,
  { strict, offer, ...options }: OfferOptions & ModelCallOptions = {},
): Promise<OpenAIChatResult | OpenAIResponsesResult> {
  const door = openaiDoor(toolbox, { strict, offer });
  if (call.type === 'function_call')
    return toResponsesResult(call.call_id, await door.call(call.name, call.arguments, options));
  return toChatResult(call.id, await door.call(call.function.name, call.function.arguments, options));
}

export function toChatResult(id: string, { result }: ModelAnswer): OpenAIChatResult {
  return { role: 'tool', tool_call_id: id, content: shownText(result) };
}

export function toResponsesResult(id: string, { result }: ModelAnswer): OpenAIResponsesResult {
  const parts = shownParts(result);
  const output = parts.every((part) => part.type === 'text')
    ? parts.map((part) => part.text).join('\n')
    : parts.map((part) =>
        part.type === 'text'
          ? ({ type: 'input_text', text: part.text } as const)
          : ({
              type: 'input_image',
              image_url: `data:${part.mimeType};base64,${part.data}`,
              detail: 'auto',
            } as const),
      );
  return { type: 'function_call_output', call_id: id, output };
}
