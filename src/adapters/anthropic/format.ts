// Anthropic's messages: tools as `tools`, a `tool_use` block in, a `tool_result` block out.

import type { Toolbox } from '../../core/toolbox.js';
import { ANTHROPIC } from '../lowering/profile.js';
import { shownParts } from '../shared/content.js';
import {
  type ModelAnswer,
  type ModelCallOptions,
  type ModelDoor,
  type OfferOptions,
  openDoor,
} from '../shared/door.js';

export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: { type: 'object'; properties?: unknown; required?: string[]; [keyword: string]: unknown };
  strict?: boolean;
}

/** A block of a model's message that calls a tool. */
export interface AnthropicToolUse {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

export interface AnthropicToolResult {
  type: 'tool_result';
  tool_use_id: string;
  content: (
    | { type: 'text'; text: string }
    | {
        type: 'image';
        source: {
          type: 'base64';
          media_type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
          data: string;
        };
      }
  )[];
  is_error?: boolean;
}

export type AnthropicOptions = OfferOptions & ModelCallOptions;

export function anthropicDoor(toolbox: Toolbox, { strict, offer }: OfferOptions): ModelDoor {
  return openDoor(toolbox, { door: 'anthropic', profile: ANTHROPIC, strict, offer });
}

/** The visible tools for `client.messages.create({ tools })`. */
export async function toAnthropicTools(
  toolbox: Toolbox,
  options: OfferOptions = {},
): Promise<AnthropicTool[]> {
  return (await anthropicDoor(toolbox, options).list()).map(({ name, description, lowering }) => ({
    name,
    description,
    input_schema: lowering.schema as AnthropicTool['input_schema'],
    ...(lowering.strict ? { strict: true } : {}),
  }));
}

/** Runs a `tool_use` block and gives the block that answers it; the options are those of the listing. */
export async function runAnthropicCall(
  toolbox: Toolbox,
  block: AnthropicToolUse,
  { strict, offer, ...options }: AnthropicOptions = {},
): Promise<AnthropicToolResult> {
  const door = anthropicDoor(toolbox, { strict, offer });
  return toAnthropicResult(block.id, await door.call(block.name, block.input, options));
}

export function toAnthropicResult(id: string, { result }: ModelAnswer): AnthropicToolResult {
  return {
    type: 'tool_result',
    tool_use_id: id,
    content: shownParts(result).map((part) =>
      part.type === 'text'
        ? { type: 'text', text: part.text }
        : {
            type: 'image',
            source: { type: 'base64', media_type: part.mimeType as 'image/png', data: part.data },
          },
    ),
    ...(result.ok ? {} : { is_error: true }),
  };
}
