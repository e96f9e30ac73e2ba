// Converts tools and calls for OpenAI's chat completions and responses.

import type { Toolbox } from '../../core/toolbox.js';
import { OPENAI } from '../lowering/profile.js';
import {
  type AdaptedTool,
  type Adapter,
  getAdapter,
  type ModelCallOptions,
  type ModelCallResult,
  type OfferOptions,
} from '../shared/adapter.js';
import { toModelParts, toModelText } from '../shared/content.js';

interface OpenAIFunction {
  name: string;
  description: string;
  parameters: { type: 'object'; [keyword: string]: unknown };
  strict: boolean;
}

/** A tool in a request to OpenAI's chat completions. */
export interface OpenAIChatTool {
  type: 'function';
  function: OpenAIFunction;
}

/** A tool in a request to OpenAI's responses. */
export interface OpenAIResponsesTool extends OpenAIFunction {
  type: 'function';
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

/** A result in the next request to OpenAI's chat completions. */
export interface OpenAIChatResult {
  role: 'tool';
  tool_call_id: string;
  content: string;
}

/** A result in the next request to OpenAI's responses. */
export interface OpenAIResponsesResult {
  type: 'function_call_output';
  call_id: string;
  output:
    | string
    | ({ type: 'input_text'; text: string } | { type: 'input_image'; image_url: string; detail: 'auto' })[];
}

/** Which tools a model is offered, and in which API. */
export interface OpenAIOfferOptions extends OfferOptions {
  /** Chat completions by default. */
  readonly api?: 'chat' | 'responses';
}

export function getOpenAIAdapter(toolbox: Toolbox, { strict, offer }: OfferOptions): Adapter {
  return getAdapter(toolbox, { door: 'openai', profile: OPENAI, strict, offer });
}

/** Returns the visible tools for `client.chat.completions.create({ tools })` or `client.responses.create({ tools })`. */
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
  const tools = await getOpenAIAdapter(toolbox, options).list();
  return api === 'chat' ? tools.map(toChatTool) : tools.map(toResponsesTool);
}

export function toChatTool(tool: AdaptedTool): OpenAIChatTool {
  return { type: 'function', function: toFunction(tool) };
}

export function toResponsesTool(tool: AdaptedTool): OpenAIResponsesTool {
  return { type: 'function', ...toFunction(tool) };
}

// `strict` is always set, since its default differs between the two APIs.
function toFunction({ name, description, lowering }: AdaptedTool): OpenAIFunction {
  return { name, description, parameters: lowering.schema, strict: lowering.strict };
}

/** Runs a call of either API and returns the message or item with its result. */
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
  const adapter = getOpenAIAdapter(toolbox, { strict, offer });
  if (call.type === 'function_call')
    return toResponsesResult(call.call_id, await adapter.call(call.name, call.arguments, options));
  return toChatResult(call.id, await adapter.call(call.function.name, call.function.arguments, options));
}

export function toChatResult(id: string, { result }: ModelCallResult): OpenAIChatResult {
  return { role: 'tool', tool_call_id: id, content: toModelText(result) };
}

export function toResponsesResult(id: string, { result }: ModelCallResult): OpenAIResponsesResult {
  const parts = toModelParts(result);
  const output = parts.every((part) => part.type === 'text')
    ? parts.map((part) => part.text).join('\n')
    : parts.map((part) =>
        part.type === 'text'
          ? ({ type: 'input_text', text: part.text } as const)
          : ({ type: 'input_image', image_url: `data:${part.mimeType};base64,${part.data}`, detail: 'auto' } as const),
      );
  return { type: 'function_call_output', call_id: id, output };
}
