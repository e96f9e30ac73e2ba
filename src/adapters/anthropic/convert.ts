// Converts tools to Anthropic's `tools`, and `tool_use` blocks to `tool_result` blocks.

import type { Toolbox } from '../../core/toolbox.js';
import { ANTHROPIC } from '../lowering/profile.js';
import {
  type AdaptedTool,
  type Adapter,
  getAdapter,
  type ModelCallOptions,
  type ModelCallResult,
  type OfferOptions,
} from '../shared/adapter.js';
import { toModelParts } from '../shared/content.js';

/** A tool in a request to Anthropic's API. */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: { type: 'object'; properties?: unknown; required?: string[]; [keyword: string]: unknown };
  strict?: boolean;
}

/** A call in an answer of Anthropic's API. */
export interface AnthropicToolUse {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** A result in the next request to Anthropic's API. */
export interface AnthropicToolResult {
  type: 'tool_result';
  tool_use_id: string;
  content: (
    | { type: 'text'; text: string }
    | {
        type: 'image';
        source: { type: 'base64'; media_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp'; data: string };
      }
  )[];
  is_error?: boolean;
}

export type AnthropicOptions = OfferOptions & ModelCallOptions;

export function getAnthropicAdapter(toolbox: Toolbox, { strict, offer }: OfferOptions): Adapter {
  return getAdapter(toolbox, { door: 'anthropic', profile: ANTHROPIC, strict, offer });
}

/** Returns the visible tools for `client.messages.create({ tools })`. */
export async function toAnthropicTools(toolbox: Toolbox, options: OfferOptions = {}): Promise<AnthropicTool[]> {
  return (await getAnthropicAdapter(toolbox, options).list()).map(toAnthropicTool);
}

export function toAnthropicTool({ name, description, lowering }: AdaptedTool): AnthropicTool {
  return {
    name,
    description,
    input_schema: lowering.schema as AnthropicTool['input_schema'],
    strict: lowering.strict || undefined,
  };
}

/** Runs a `tool_use` block and returns its `tool_result`. Takes the options that the tools were listed with. */
export async function runAnthropicCall(
  toolbox: Toolbox,
  block: AnthropicToolUse,
  { strict, offer, ...options }: AnthropicOptions = {},
): Promise<AnthropicToolResult> {
  const adapter = getAnthropicAdapter(toolbox, { strict, offer });
  return toAnthropicResult(block.id, await adapter.call(block.name, block.input, options));
}

export function toAnthropicResult(id: string, { result }: ModelCallResult): AnthropicToolResult {
  return {
    type: 'tool_result',
    tool_use_id: id,
    content: toModelParts(result).map((part) =>
      part.type === 'text'
        ? { type: 'text', text: part.text }
        : { type: 'image', source: { type: 'base64', media_type: part.mimeType as 'image/png', data: part.data } },
    ),
    is_error: result.ok ? undefined : true,
  };
}
