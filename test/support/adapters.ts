// The adapters of all SDKs behind one interface.

import { runAISDKCall, toAISDKTools } from '../../src/adapters/ai-sdk/index.js';
import { runAnthropicCall, toAnthropicTools } from '../../src/adapters/anthropic/index.js';
import { runOllamaCall, toOllamaTools } from '../../src/adapters/ollama/index.js';
import { runOpenAICall, toOpenAITools } from '../../src/adapters/openai/index.js';
import type { Toolbox } from '../../src/index.js';

export interface AdapterTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: object;
}

export interface Adapter {
  readonly name: string;
  readonly door: string;
  list(toolbox: Toolbox): Promise<AdapterTool[]>;
  /** Returns the text of the result, and whether it is an error. */
  call(
    toolbox: Toolbox,
    name: string,
    input: object,
    signal?: AbortSignal,
  ): Promise<{ readonly text: string; readonly isError: boolean }>;
}

const isErrorText = (text: string): boolean => /^\[[a-z_]+\] /.test(text);

export const ADAPTERS: readonly Adapter[] = [
  {
    name: 'the adapter for Anthropic',
    door: 'anthropic',
    list: async (toolbox) =>
      (await toAnthropicTools(toolbox)).map(({ name, description, input_schema: inputSchema }) => ({
        name,
        description,
        inputSchema,
      })),
    call: async (toolbox, name, input, signal) => {
      const block = { type: 'tool_use', id: 'toolu_1', name, input } as const;
      const result = await runAnthropicCall(toolbox, block, { signal });
      const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
      return { text, isError: result.is_error === true };
    },
  },
  {
    name: 'the adapter for chat completions',
    door: 'openai',
    list: async (toolbox) =>
      (await toOpenAITools(toolbox, { api: 'chat' })).map(({ function: { name, description, parameters } }) => ({
        name,
        description,
        inputSchema: parameters,
      })),
    call: async (toolbox, name, input, signal) => {
      const call = {
        type: 'function',
        id: 'call_1',
        function: { name, arguments: JSON.stringify(input) },
      } as const;
      const { content: text } = await runOpenAICall(toolbox, call, { signal });
      return { text, isError: isErrorText(text) };
    },
  },
  {
    name: 'the adapter for responses',
    door: 'openai',
    list: async (toolbox) =>
      (await toOpenAITools(toolbox, { api: 'responses' })).map(({ name, description, parameters }) => ({
        name,
        description,
        inputSchema: parameters,
      })),
    call: async (toolbox, name, input, signal) => {
      const call = {
        type: 'function_call',
        call_id: 'call_1',
        name,
        arguments: JSON.stringify(input),
      } as const;
      const text = String((await runOpenAICall(toolbox, call, { signal })).output);
      return { text, isError: isErrorText(text) };
    },
  },
  {
    name: 'the adapter for Ollama',
    door: 'ollama',
    list: async (toolbox) =>
      (await toOllamaTools(toolbox)).map(({ function: { name, description, parameters } }) => ({
        name,
        description,
        inputSchema: parameters,
      })),
    call: async (toolbox, name, input, signal) => {
      const { content: text } = await runOllamaCall(toolbox, { function: { name, arguments: input } }, { signal });
      return { text, isError: isErrorText(text) };
    },
  },
  {
    name: 'the adapter for the AI SDK',
    door: 'ai-sdk',
    list: async (toolbox) =>
      Object.entries(await toAISDKTools(toolbox)).map(([name, { description, inputSchema }]) => ({
        name,
        description,
        inputSchema: inputSchema['~standard'].jsonSchema.input(),
      })),
    call: async (toolbox, toolName, input, signal) => {
      const { output } = await runAISDKCall(toolbox, { toolCallId: 'call_1', toolName, input }, { signal });
      return { text: String(output.value), isError: output.type === 'error-text' };
    },
  },
];
