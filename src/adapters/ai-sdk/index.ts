// Tools for the AI SDK: a toolbox as its set of tools, each of which runs through the toolbox.

import type { Json } from '../../core/json.js';
import type { ToolResult } from '../../core/result.js';
import type { JsonSchema } from '../../core/schema.js';
import type { Toolbox } from '../../core/toolbox.js';
import { ANY_PROVIDER } from '../lowering/profile.js';
import { shownParts, shownText } from '../shared/content.js';
import { type ModelCallOptions, type ModelDoor, type OfferOptions, openDoor } from '../shared/door.js';

export type { ModelCallOptions, OfferOptions } from '../shared/door.js';

/** A schema as the AI SDK takes it: shown to the model, and never the one that judges. */
export interface AISDKSchema {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => { value: unknown };
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>;
      readonly output: () => Record<string, unknown>;
    };
    readonly types?: { readonly input: unknown; readonly output: unknown };
  };
}

export type AISDKOutput =
  | { type: 'text'; value: string }
  | { type: 'error-text'; value: string }
  | {
      type: 'content';
      value: ({ type: 'text'; text: string } | { type: 'image-data'; data: string; mediaType: string })[];
    };

export interface AISDKTool {
  readonly description: string;
  readonly inputSchema: AISDKSchema;
  execute(input: unknown, options: { readonly abortSignal?: AbortSignal | undefined }): Promise<ToolResult>;
  toModelOutput(options: { readonly output: unknown }): AISDKOutput;
}

/** A part of a model's message that calls a tool. */
export interface AISDKCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

export interface AISDKResult {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: AISDKOutput;
}

type AISDKOptions = Pick<OfferOptions, 'offer'> & ModelCallOptions;

/** The visible tools for `generateText({ tools })`; a call that fails is an error to the SDK too. */
export async function toAISDKTools(
  toolbox: Toolbox,
  { offer, ...options }: AISDKOptions = {},
): Promise<Record<string, AISDKTool>> {
  const door = openAISDKDoor(toolbox, offer);
  const tools: Record<string, AISDKTool> = {};
  for (const { name, description, lowering } of await door.list()) {
    tools[name] = {
      description,
      inputSchema: toSchema(lowering.schema),
      async execute(input, { abortSignal }) {
        const { result } = await door.call(name, input, {
          ...options,
          signal: abortSignal ?? options.signal,
        });
        // The SDK takes what is thrown for an error of the tool and tells the model so.
        if (!result.ok) throw new Error(shownText(result));
        return result;
      },
      toModelOutput: ({ output }) => toOutput(output as ToolResult),
    };
  }
  return tools;
}

/** Runs a call that the SDK left to its caller, and gives the part that answers it. */
export async function runAISDKCall(
  toolbox: Toolbox,
  { toolCallId, toolName, input }: AISDKCall,
  { offer, ...options }: AISDKOptions = {},
): Promise<AISDKResult> {
  const { result } = await openAISDKDoor(toolbox, offer).call(toolName, input as Json, options);
  return { type: 'tool-result', toolCallId, toolName, output: toOutput(result) };
}

function openAISDKDoor(toolbox: Toolbox, offer: readonly string[] | undefined): ModelDoor {
  return openDoor(toolbox, { door: 'ai-sdk', profile: ANY_PROVIDER, offer });
}

// The SDK knows its own schemas by a registered symbol and sends them unchanged. Its types know them by the public
// standard alone, which is there as well.
function toSchema(json: JsonSchema): AISDKSchema {
  const schema = () => json as Record<string, unknown>;
  const known = {
    [Symbol.for('vercel.ai.schema')]: true,
    jsonSchema: json,
    validate: (value: unknown) => ({ success: true, value }),
  };
  return {
    ...known,
    '~standard': {
      version: 1,
      vendor: 'wield',
      validate: (value) => ({ value }),
      jsonSchema: { input: schema, output: schema },
    },
  };
}

function toOutput(result: ToolResult): AISDKOutput {
  const parts = shownParts(result);
  if (!result.ok) return { type: 'error-text', value: shownText(result) };
  if (parts.every((part) => part.type === 'text')) return { type: 'text', value: shownText(result) };
  return {
    type: 'content',
    value: parts.map((part) =>
      part.type === 'text'
        ? { type: 'text', text: part.text }
        : { type: 'image-data', data: part.data, mediaType: part.mimeType },
    ),
  };
}
