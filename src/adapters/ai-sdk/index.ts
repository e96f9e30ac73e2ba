// The adapter for the AI SDK.

import type { Json } from '../../core/json.js';
import type { ToolResult } from '../../core/result.js';
import type { JsonSchema } from '../../core/schema.js';
import type { Toolbox } from '../../core/toolbox.js';
import { ANY_PROVIDER } from '../lowering/profile.js';
import { type Adapter, getAdapter, type ModelCallOptions, type OfferOptions } from '../shared/adapter.js';
import { toModelParts, toModelText } from '../shared/content.js';

export type { ModelCallOptions, OfferOptions } from '../shared/adapter.js';

/** A schema that the AI SDK sends to the model. It accepts everything: the toolbox validates the input. */
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

/** An output as the AI SDK sends it to a model. */
export type AISDKOutput =
  | { type: 'text'; value: string }
  | { type: 'error-text'; value: string }
  | {
      type: 'content';
      value: ({ type: 'text'; text: string } | { type: 'image-data'; data: string; mediaType: string })[];
    };

/** A tool of the AI SDK. */
export interface AISDKTool {
  readonly description: string;
  readonly inputSchema: AISDKSchema;
  execute(input: unknown, options: { readonly abortSignal?: AbortSignal | undefined }): Promise<ToolResult>;
  toModelOutput(options: { readonly output: unknown }): AISDKOutput;
}

/** A call that the AI SDK reports. */
export interface AISDKCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: unknown;
}

/** A result in a message of the AI SDK. */
export interface AISDKResult {
  type: 'tool-result';
  toolCallId: string;
  toolName: string;
  output: AISDKOutput;
}

type AISDKOptions = Pick<OfferOptions, 'offer'> & ModelCallOptions;

/** Returns the visible tools for `generateText({ tools })`. Their `execute` throws if a call fails. */
export async function toAISDKTools(
  toolbox: Toolbox,
  { offer, ...options }: AISDKOptions = {},
): Promise<Record<string, AISDKTool>> {
  const adapter = getAISDKAdapter(toolbox, offer);
  const tools = (await adapter.list()).map(({ name, description, lowering }): [string, AISDKTool] => [
    name,
    {
      description,
      inputSchema: toSchema(lowering.schema),
      async execute(input, { abortSignal }) {
        const signals = [options.signal, abortSignal].filter((signal) => signal !== undefined);
        const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
        const { result } = await adapter.call(name, input, { ...options, signal });
        // The SDK reports the error to the model.
        if (!result.ok) throw new Error(toModelText(result));
        return result;
      },
      toModelOutput: ({ output }) => toOutput(output as ToolResult),
    },
  ]);
  // Not by assignment: a tool may be named `__proto__`.
  return Object.fromEntries(tools);
}

/** Runs a call that the SDK did not execute, and returns its result part. */
export async function runAISDKCall(
  toolbox: Toolbox,
  { toolCallId, toolName, input }: AISDKCall,
  { offer, ...options }: AISDKOptions = {},
): Promise<AISDKResult> {
  const { result } = await getAISDKAdapter(toolbox, offer).call(toolName, input as Json, options);
  return { type: 'tool-result', toolCallId, toolName, output: toOutput(result) };
}

function getAISDKAdapter(toolbox: Toolbox, offer: readonly string[] | undefined): Adapter {
  return getAdapter(toolbox, { door: 'ai-sdk', profile: ANY_PROVIDER, offer });
}

// With the registered symbol the SDK sends the schema unchanged; its types only know Standard Schema.
function toSchema(json: JsonSchema): AISDKSchema {
  const schema = () => json as Record<string, unknown>;
  const sdkSchema = {
    [Symbol.for('vercel.ai.schema')]: true,
    jsonSchema: json,
    validate: (value: unknown) => ({ success: true, value }),
  };
  return {
    ...sdkSchema,
    '~standard': {
      version: 1,
      vendor: 'wield',
      validate: (value) => ({ value }),
      jsonSchema: { input: schema, output: schema },
    },
  };
}

function toOutput(result: ToolResult): AISDKOutput {
  const parts = toModelParts(result);
  if (!result.ok) return { type: 'error-text', value: toModelText(result) };
  if (parts.every((part) => part.type === 'text')) return { type: 'text', value: toModelText(result) };
  return {
    type: 'content',
    value: parts.map((part) =>
      part.type === 'text'
        ? { type: 'text', text: part.text }
        : { type: 'image-data', data: part.data, mediaType: part.mimeType },
    ),
  };
}
