// Adapters, tested with the vendors' real SDKs.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import Anthropic from '@anthropic-ai/sdk';
import { generateText, stepCountIs, type ToolSet } from 'ai';
import { Ollama, type Tool as OllamaTool } from 'ollama';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { toAISDKTools } from '../../../src/adapters/ai-sdk/index.js';
import { runAnthropicCall, toAnthropicTools } from '../../../src/adapters/anthropic/index.js';
import { runOllamaCall, toOllamaTools } from '../../../src/adapters/ollama/index.js';
import { runOpenAICall, toOpenAITools } from '../../../src/adapters/openai/index.js';
import { createToolbox, defineTool, type Json, type ToolDefinition } from '../../../src/index.js';
import { ADAPTERS } from '../../support/adapters.js';
import { ROOT } from '../../support/documents.js';
import { serveModel } from '../../support/model-server.js';
import { until } from '../../support/server.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const OPTIONS = { apiKey: 'none', maxRetries: 0 };

const createTools = (...more: ToolDefinition[]) =>
  createToolbox({
    tools: [
      defineTool({
        name: 'note:add',
        description: 'Add two numbers.',
        inputSchema: {
          $schema: 'https://json-schema.org/draft/2020-12/schema',
          type: 'object',
          properties: {
            a: { $ref: '#/$defs/number' },
            b: { $ref: '#/$defs/number' },
            log: { type: 'array' },
          },
          required: ['a', 'b'],
          $defs: { number: { type: 'number' } },
        },
        execute: ({ a, b }: { a: number; b: number }) => String(a + b),
      }),
      ...more,
    ],
  });

const PICTURE = defineTool({
  name: 'picture',
  description: 'Draw a dot.',
  execute: () => ({
    content: [
      { type: 'text', text: 'a dot' },
      { type: 'image', data: DOT, mimeType: 'image/png' },
      { type: 'audio', data: DOT, mimeType: 'audio/wav' },
    ],
  }),
});

const TEN = [() => ({ calls: [{ name: 'note--add', args: { a: 4, b: 6 } }] }), () => ({ text: 'Ten.' })];

const word = { type: 'string' };
const RENAMED: Record<string, [schema: Record<string, unknown>, sent: Json, received: Json]> = {
  'free-form objects': [
    { properties: { $id: word, document: { type: 'object' } } },
    { _id: 'a', document: { _id: '42', deep: [{ _id: 1 }] } },
    { $id: 'a', document: { _id: '42', deep: [{ _id: 1 }] } },
  ],
  'undeclared keys': [
    { properties: { a: { type: 'object', properties: { $id: word } } }, additionalProperties: true },
    { a: { _id: 'x' }, _id: 'y' },
    { a: { $id: 'x' }, _id: 'y' },
  ],
  'items, branches and references': [
    {
      properties: { trees: { type: 'array', items: { $ref: '#/$defs/tree' } }, map: { type: 'object' } },
      $defs: {
        tree: {
          allOf: [{ type: 'object' }],
          anyOf: [{ properties: { $id: word } }, { properties: { more: { type: 'array' } } }],
          properties: { under: { $ref: '#/$defs/tree' }, data: { type: 'object', additionalProperties: word } },
        },
      },
    },
    { trees: [{ _id: 'a', under: { _id: 'b', data: { _id: 'c' } } }], map: { _id: 'd' } },
    { trees: [{ $id: 'a', under: { $id: 'b', data: { _id: 'c' } } }], map: { _id: 'd' } },
  ],
};
for (const [what, [schema, sent, received]] of Object.entries(RENAMED))
  spec('SDK-2', `Anthropic: renames no keys that are data: ${what}`, async () => {
    let got: unknown;
    const inputSchema = { type: 'object', ...schema } as const;
    const execute = (input: unknown) => {
      got = input;
      return 'done';
    };
    const toolbox = createToolbox({
      tools: [{ name: 'put', description: 'P.', inputSchema, execute } as ToolDefinition],
    });
    await runAnthropicCall(toolbox, { type: 'tool_use', id: '1', name: 'put', input: sent });
    expect(got).toEqual(received);
  });

describe('with its SDK', () => {
  spec('SDK-1 SDK-6', 'Anthropic: converts tools, a call and its result', async () => {
    const toolbox = createTools();
    const server = await serveModel([
      TEN[0]!,
      ({ results }) => {
        expect(results).toEqual([{ text: '10', isError: false }]);
        return { text: 'Ten.' };
      },
    ]);
    const client = new Anthropic({ ...OPTIONS, baseURL: server.url });
    const tools: Anthropic.Tool[] = await toAnthropicTools(toolbox, { strict: true });
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: '4 + 6?' }];
    const ask = () => client.messages.create({ model: 'scripted', max_tokens: 99, tools, messages });
    const first = await ask();
    const call = first.content.find((block) => block.type === 'tool_use')!;
    messages.push(
      { role: 'assistant', content: first.content },
      { role: 'user', content: [await runAnthropicCall(toolbox, call, { strict: true })] },
    );
    expect((await ask()).content).toEqual([{ type: 'text', text: 'Ten.' }]);
    expect(server.refused).toEqual([]);
  });

  spec('SDK-1 SDK-6', 'OpenAI chat completions: converts tools, a call and its result', async () => {
    const toolbox = createTools();
    const server = await serveModel(TEN);
    const client = new OpenAI({ ...OPTIONS, baseURL: `${server.url}/v1` });
    const tools: OpenAI.ChatCompletionTool[] = await toOpenAITools(toolbox, { api: 'chat' });
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: '4 + 6?' }];
    const ask = () => client.chat.completions.create({ model: 'scripted', tools, messages });
    const { message } = (await ask()).choices[0]!;
    const call = message.tool_calls![0]!;
    if (call.type !== 'function') throw new Error(call.type);
    messages.push(message, await runOpenAICall(toolbox, call));
    expect((await ask()).choices[0]!.message.content).toBe('Ten.');
    expect(server.seen[1]!.results).toEqual([{ text: '10', isError: false }]);
  });

  spec('SDK-1 SDK-6', 'OpenAI responses: converts tools, a call and its result', async () => {
    const toolbox = createTools();
    const server = await serveModel(TEN);
    const client = new OpenAI({ ...OPTIONS, baseURL: `${server.url}/v1` });
    const tools: OpenAI.Responses.Tool[] = await toOpenAITools(toolbox, { api: 'responses' });
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: '4 + 6?' }];
    const ask = () => client.responses.create({ model: 'scripted', tools, input });
    const first = await ask();
    const call = first.output.find((item) => item.type === 'function_call')!;
    input.push(call, await runOpenAICall(toolbox, call));
    expect((await ask()).output_text).toBe('Ten.');
    expect(server.seen[1]!.results).toEqual([{ text: '10', isError: false }]);
  });

  spec('SDK-1 SDK-6', 'Ollama: converts tools, a call and its result', async () => {
    const toolbox = createTools();
    const server = await serveModel(TEN);
    const client = new Ollama({ host: server.url });
    const tools = (await toOllamaTools(toolbox)) satisfies OllamaTool[];
    const messages: Parameters<typeof client.chat>[0]['messages'] = [{ role: 'user', content: '4 + 6?' }];
    const ask = () => client.chat({ model: 'scripted', tools, messages });
    const { message } = await ask();
    messages!.push(message, await runOllamaCall(toolbox, message.tool_calls![0]!));
    expect((await ask()).message.content).toBe('Ten.');
    expect(server.seen[1]!.results).toEqual([{ text: '10', isError: false }]);
  });

  spec(
    'SDK-1 SDK-6',
    'AI SDK: runs several turns with parallel, malformed, denied, unapproved and terminal calls',
    async () => {
      const workspace = createWorkspace();
      workspace.script('greet', shellScript('echo "Hello, $WIELD_PARAM_WHO"', '@param *who string Whom'));
      workspace.script('deploy', shellScript('echo deployed', '@param *branch string Branch'));
      workspace.config('[trust]\nrules = "deploy(branch=main,$deny) deploy(branch=next)"\n');
      const server = await serveModel([
        () => ({
          calls: [
            { name: 'greet', args: { who: 'Ada' } },
            { name: 'greet', args: { who: 'Bob' } },
          ],
        }),
        ({ results }) => {
          expect(results.map(({ text }) => text)).toEqual(['Hello, Ada\n', 'Hello, Bob\n']);
          return {
            calls: [
              { name: 'greet', args: { whom: 'Ada' } },
              { name: 'greet', args: '{"who": "Ad' },
              { name: 'deploy', args: { branch: 'main' } },
              { name: 'deploy', args: { branch: 'next' } },
            ],
          };
        },
        ({ results }) => {
          expect(results[0]!.text).toMatch(/^\[invalid_input\]/);
          expect(results[1]!.text).toMatch(/JSON/);
          expect(results[2]!.text).toMatch(/^\[denied\]/);
          expect(results[3]!.text).toMatch(/^\[needs_approval\]/);
          return { calls: [{ name: 'greet', args: { who: 'Ada' } }] };
        },
        ({ results }) => {
          expect(results).toEqual([{ text: 'Hello, Ada\n', isError: false }]);
          return { calls: [{ name: 'complete_task', args: { summary: 'greeted' } }] };
        },
        ({ results }) => ({ text: results[0]!.text }),
      ]);
      const provider = createOpenAICompatible({ name: 'scripted', baseURL: `${server.url}/v1` });
      const tools: ToolSet = await toAISDKTools(workspace.toolbox({ trust: true }), { offer: ['task'] });
      const { text, steps } = await generateText({
        model: provider('scripted'),
        tools,
        prompt: 'Greet Ada and Bob.',
        stopWhen: stepCountIs(9),
      });
      expect(text).toBe('Task completed: greeted');
      expect(steps).toHaveLength(5);
      // The SDK reports failed calls as errors.
      const errors = steps[1]!.content.filter((part) => part.type === 'tool-error');
      expect(errors).toHaveLength(4);
      expect(server.refused).toEqual([]);
    },
  );

  spec('SDK-4 SDK-6', 'AI SDK: its signal cancels a running call', async () => {
    const workspace = createWorkspace();
    const started = join(workspace.dir, 'started');
    workspace.script('slow', shellScript(`touch ${started}; sleep 600`));
    const server = await serveModel([() => ({ calls: [{ name: 'slow', args: {} }] })]);
    const controller = new AbortController();
    const toolbox = workspace.toolbox({ trust: true });
    const ends: (string | undefined)[] = [];
    toolbox.on((event) => event.type === 'end' && ends.push(event.result.error?.code));
    const running = generateText({
      model: createOpenAICompatible({ name: 'scripted', baseURL: `${server.url}/v1` })('scripted'),
      tools: (await toAISDKTools(toolbox)) as ToolSet,
      prompt: 'Wait.',
      stopWhen: stepCountIs(3),
      abortSignal: controller.signal,
    }).catch(() => 'aborted');
    await until(() => existsSync(started), 'the tool runs');
    controller.abort();
    expect(await running).toBe('aborted');
    await until(() => ends.length > 0, 'the call ended');
    expect(ends).toEqual(['cancelled']);
  });
});

describe('toAISDKTools', () => {
  spec('SDK-4', 'a call is cancelled by the signal of the options and by that of the SDK', async () => {
    const wait = defineTool({
      name: 'wait',
      description: 'Wait.',
      inputSchema: { type: 'object' },
      execute: () => new Promise(() => {}),
    });
    for (const isOwn of [true, false]) {
      const [own, theirs] = [new AbortController(), new AbortController()];
      const tools = await toAISDKTools(createTools(wait), { signal: own.signal });
      const running = tools.wait!.execute({}, { abortSignal: theirs.signal });
      (isOwn ? own : theirs).abort();
      await expect(running).rejects.toThrow('cancelled');
    }
  });

  spec('SDK-1', 'has every tool, whatever its name', async () => {
    const odd = ['__proto__', 'constructor', 'toString'].map((name) =>
      defineTool({ name, description: 'Odd.', inputSchema: { type: 'object' }, execute: () => name }),
    );
    const tools = await toAISDKTools(createToolbox({ tools: odd }));
    expect(Object.keys(tools).sort()).toEqual(odd.map(({ name }) => name).sort());
    expect(Object.getPrototypeOf(tools)).toBe(Object.prototype);
  });
});

describe('every adapter', () => {
  spec('SDK-1', 'encodes tool names for providers and decodes them', async () => {
    for (const { list, call } of ADAPTERS) {
      const toolbox = createTools();
      expect((await list(toolbox)).map((tool) => tool.name)).toEqual(['note--add']);
      expect(await call(toolbox, 'note--add', { a: 4, b: 6 })).toEqual({ text: '10', isError: false });
    }
  });

  spec('SDK-1', 'marks errors and includes the hint', async () => {
    for (const { name, call } of ADAPTERS) {
      const answer = await call(createTools(), 'note--add', { a: 4 });
      expect([name, answer.isError]).toEqual([name, true]);
      expect(answer.text).toMatch(/^\[invalid_input\] .*\nhint: /s);
    }
  });

  spec('SDK-1', 'needs no SDK as a dependency', () => {
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    for (const name of ['@anthropic-ai/sdk', 'openai', 'ollama', 'ai', '@ai-sdk/openai-compatible'])
      expect(Object.keys(dependencies)).not.toContain(name);
  });

  test('marks untrusted tools and does not run them', async () => {
    const workspace = createWorkspace();
    workspace.script('greet', shellScript('echo hello'));
    for (const { list, call } of ADAPTERS) {
      const toolbox = workspace.toolbox();
      expect((await list(toolbox))[0]!.description).toMatch(/^\[Not callable yet/);
      expect((await call(toolbox, 'greet', {})).text).toMatch(/^\[needs_trust\]/);
    }
  });

  test('sets the door of the caller', async () => {
    for (const { door, call } of ADAPTERS) {
      const toolbox = createTools();
      const callers: string[] = [];
      toolbox.on((event) => event.type === 'start' && callers.push(`${event.caller.kind} ${event.caller.door}`));
      await call(toolbox, 'note--add', { a: 1, b: 2 });
      expect(callers).toEqual([`model ${door}`]);
    }
  });
});

describe('images', () => {
  test('are sent if the provider accepts them, else described', async () => {
    const toolbox = createTools(PICTURE);
    const use = { type: 'tool_use', id: 't', name: 'picture', input: {} } as const;
    expect((await runAnthropicCall(toolbox, use)).content).toEqual([
      { type: 'text', text: 'a dot' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: DOT } },
      {
        type: 'text',
        text: expect.stringMatching(/^\[audio, audio\/wav, \d+ B: cannot be shown here\]$/),
      },
    ]);
    const item = { type: 'function_call', call_id: 'c', name: 'picture', arguments: '' } as const;
    expect((await runOpenAICall(toolbox, item)).output).toContainEqual({
      type: 'input_image',
      image_url: `data:image/png;base64,${DOT}`,
      detail: 'auto',
    });
    const chat = { type: 'function', id: 'c', function: { name: 'picture', arguments: '{}' } } as const;
    expect((await runOpenAICall(toolbox, chat)).content).toContain('[an image, image/png');
  });
});

describe('strict mode', () => {
  const many = Array.from({ length: 30 }, (_, index) =>
    defineTool({
      name: `tool_${String(index).padStart(2, '0')}`,
      description: 'One of many.',
      inputSchema: {
        type: 'object',
        properties: { must: { type: 'string' }, may: { type: 'string' } },
        required: ['must'],
      },
      execute: (input: Json) => JSON.stringify(input),
    }),
  );

  test('is used if it can express the schema, and null is restored as absent', async () => {
    const toolbox = createToolbox({ tools: many.slice(0, 1) });
    const [tool] = await toOpenAITools(toolbox, { strict: true });
    expect(tool!.function).toMatchObject({ strict: true, parameters: { required: ['must', 'may'] } });
    const args = JSON.stringify({ must: 'x', may: null });
    const call = { type: 'function', id: 'c', function: { name: 'tool_00', arguments: args } } as const;
    expect((await runOpenAICall(toolbox, call, { strict: true })).content).toBe('{"must":"x"}');
  });

  test('stays within the limits of one Anthropic request', async () => {
    const tools = await toAnthropicTools(createToolbox({ tools: many }), { strict: true });
    expect(tools.filter((tool) => tool.strict)).toHaveLength(20);
    expect(tools).toHaveLength(30);
  });
});
