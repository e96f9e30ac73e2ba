// A scripted model behind a server that implements the vendors' HTTP APIs and rejects what they reject.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { refusals } from './provider-rules.js';

// biome-ignore lint/suspicious/noExplicitAny: requests have the formats of several vendors
type Wire = any;

/** The results that the model received since its last message. */
export interface Answered {
  readonly text: string;
  readonly isError: boolean;
}

export interface Seen {
  readonly results: readonly Answered[];
  readonly system: string;
  /** Names of the offered tools. */
  readonly tools: readonly string[];
  readonly body: Wire;
}

export interface Speech {
  readonly text?: string;
  /** Arguments are an object, or raw text for APIs that send text. */
  readonly calls?: readonly { readonly name: string; readonly args: object | string }[];
  /** Why it ended; `cut`: at the token limit. */
  readonly reason?: string | null;
}

type Step = (seen: Seen) => Speech | Promise<Speech>;

/** One step per request, or one for all requests. */
export type Script = readonly Step[] | Step;

/** A model that calls `add`, reports the sum, and completes the task if it can. */
export const ADDS: Script = ({ results, tools }) => {
  if (results.length === 0) return { calls: [{ name: 'add', args: { a: 4, b: 6 } }] };
  const text = `The sum is ${results[0]!.text.trim()}.`;
  return tools.includes('complete_task') ? { calls: [{ name: 'complete_task', args: { summary: text } }] } : { text };
};

export interface ModelServer {
  /** The origin, without a path. */
  readonly url: string;
  /** What the model received, by request. */
  readonly seen: Seen[];
  /** Requests that a vendor would have rejected. */
  readonly refused: string[];
}

interface Format {
  read(
    body: Wire,
  ): Omit<Seen, 'body'> & { readonly schemas: readonly Wire[]; readonly strict: boolean; open: string[] };
  write(speech: Speech, turn: number): object;
  readonly provider: 'anthropic' | 'openai' | 'ollama';
}

const join = (...parts: unknown[]): string => parts.filter(Boolean).join('\n');
const idOf = (turn: number, index: number): string => `call_${turn}_${index}`;
const asText = (args: object | string): string => (typeof args === 'string' ? args : JSON.stringify(args));

const textOf = (content: Wire): string =>
  typeof content === 'string' ? content : (content ?? []).map((part: Wire) => part.text ?? '').join('\n');

// Calls without a result, which every vendor rejects.
function unanswered(asked: readonly string[], answered: readonly string[]): string[] {
  return asked.filter((id) => !answered.includes(id));
}

const ANTHROPIC: Format = {
  provider: 'anthropic',
  read({ messages, tools = [], system = '' }) {
    const last = messages.at(-1);
    const blocks = Array.isArray(last.content) ? last.content : [];
    const before = messages.at(-2)?.content;
    const asked = (Array.isArray(before) ? before : []).filter((block: Wire) => block.type === 'tool_use');
    const results = blocks.filter((block: Wire) => block.type === 'tool_result');
    return {
      system,
      tools: tools.map((tool: Wire) => tool.name),
      schemas: tools.map((tool: Wire) => tool.input_schema),
      strict: tools.some((tool: Wire) => tool.strict),
      results: results.map((block: Wire) => ({
        text: textOf(block.content),
        isError: block.is_error === true,
      })),
      open: unanswered(
        asked.map((block: Wire) => block.id),
        results.map((block: Wire) => block.tool_use_id),
      ),
    };
  },
  write: ({ text, calls = [], reason }, turn) => ({
    id: `msg_${turn}`,
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    content: [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map(({ name, args }, index) => ({
        type: 'tool_use',
        id: idOf(turn, index),
        name,
        input: args,
      })),
    ],
    stop_reason:
      reason === 'cut' ? 'max_tokens' : reason !== undefined ? reason : calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  }),
};

const CHAT: Format = {
  provider: 'openai',
  read({ messages, tools = [] }) {
    const at = messages.findLastIndex((message: Wire) => message.role === 'assistant');
    const results = messages.slice(at + 1).filter((message: Wire) => message.role === 'tool');
    return {
      system: messages[0]?.role === 'system' ? textOf(messages[0].content) : '',
      tools: tools.map((tool: Wire) => tool.function.name),
      schemas: tools.map((tool: Wire) => tool.function.parameters),
      strict: tools.some((tool: Wire) => tool.function.strict),
      results: results.map((message: Wire) => toAnswered(textOf(message.content))),
      open: unanswered(
        (messages[at]?.tool_calls ?? []).map((call: Wire) => call.id),
        results.map((message: Wire) => message.tool_call_id),
      ),
    };
  },
  write: ({ text, calls = [], reason }, turn) => ({
    id: `chatcmpl-${turn}`,
    object: 'chat.completion',
    created: 1,
    model: 'scripted',
    choices: [
      {
        index: 0,
        finish_reason:
          reason === 'cut' ? 'length' : reason !== undefined ? reason : calls.length > 0 ? 'tool_calls' : 'stop',
        logprobs: null,
        message: {
          role: 'assistant',
          content: text ?? null,
          refusal: null,
          ...(calls.length === 0
            ? {}
            : {
                tool_calls: calls.map(({ name, args }, index) => ({
                  id: idOf(turn, index),
                  type: 'function',
                  function: { name, arguments: asText(args) },
                })),
              }),
        },
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  }),
};

const RESPONSES: Format = {
  provider: 'openai',
  read({ input, tools = [], instructions = '' }) {
    const asked = input.filter((item: Wire) => item.type === 'function_call');
    const answered = input.filter((item: Wire) => item.type === 'function_call_output');
    const at = input.findLastIndex((item: Wire) => item.type === 'function_call');
    return {
      system: instructions,
      tools: tools.map((tool: Wire) => tool.name),
      schemas: tools.map((tool: Wire) => tool.parameters),
      strict: tools.some((tool: Wire) => tool.strict),
      results: input
        .slice(at + 1)
        .filter((item: Wire) => item.type === 'function_call_output')
        .map((item: Wire) => toAnswered(textOf(item.output))),
      open: unanswered(
        asked.map((item: Wire) => item.call_id),
        answered.map((item: Wire) => item.call_id),
      ),
    };
  },
  write: ({ text, calls = [], reason }, turn) => ({
    id: `resp_${turn}`,
    object: 'response',
    created_at: 1,
    status: reason === 'cut' ? 'incomplete' : reason !== undefined ? reason : 'completed',
    error: null,
    model: 'scripted',
    output: [
      ...(text === undefined
        ? []
        : [
            {
              type: 'message',
              id: `item_${turn}`,
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text, annotations: [] }],
            },
          ]),
      ...calls.map(({ name, args }, index) => ({
        type: 'function_call',
        id: `fc_${turn}_${index}`,
        call_id: idOf(turn, index),
        name,
        arguments: asText(args),
        status: 'completed',
      })),
    ],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  }),
};

const OLLAMA: Format = {
  provider: 'ollama',
  read({ messages, tools = [] }) {
    const at = messages.findLastIndex((message: Wire) => message.role === 'assistant');
    const results = messages.slice(at + 1).filter((message: Wire) => message.role === 'tool');
    const asked = (messages[at]?.tool_calls ?? []).map((call: Wire) => call.function.name);
    return {
      system: messages[0]?.role === 'system' ? messages[0].content : '',
      tools: tools.map((tool: Wire) => tool.function.name),
      schemas: tools.map((tool: Wire) => tool.function.parameters),
      strict: false,
      results: results.map((message: Wire) => toAnswered(message.content)),
      open: asked.slice(results.length),
    };
  },
  write: ({ text = '', calls = [], reason }) => ({
    model: 'scripted',
    created_at: '2026-11-15T06:00:00Z',
    message: {
      role: 'assistant',
      content: text,
      ...(calls.length === 0
        ? {}
        : { tool_calls: calls.map(({ name, args }) => ({ function: { name, arguments: args } })) }),
    },
    done: true,
    done_reason: reason === 'cut' ? 'length' : reason !== undefined ? reason : 'stop',
  }),
};

// These APIs mark errors only in the text.
function toAnswered(text: string): Answered {
  return { text, isError: /^\[[a-z_]+\] /.test(text) };
}

const ROUTES: Readonly<Record<string, Format>> = {
  '/v1/messages': ANTHROPIC,
  '/v1/chat/completions': CHAT,
  '/v1/responses': RESPONSES,
  '/api/chat': OLLAMA,
};

/** Starts a server whose model follows the script, one step per request. */
export async function serveModel(script: Script): Promise<ModelServer> {
  const seen: Seen[] = [];
  const refused: string[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch((error) => send(response, 500, { error: { message: String(error) } }));
  });
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const format = ROUTES[new URL(request.url ?? '/', 'http://host').pathname];
    if (format === undefined) return send(response, 404, { error: { message: `no route ${request.url}` } });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    const { schemas, strict, open, ...view } = format.read(body);
    const faults = [
      ...schemas.flatMap((schema: Wire) =>
        refusals(schema, {
          provider: format.provider,
          strict: strict && schema.additionalProperties === false,
        }),
      ),
      ...open.map((id) => `the call ${id} has no answer`),
      ...view.tools.filter((name) => !/^[a-zA-Z0-9_-]{1,64}$/.test(name)),
    ];
    if (faults.length > 0) {
      refused.push(...faults);
      return send(response, 400, { error: { type: 'invalid_request_error', message: join(...faults) } });
    }
    const turn = seen.length;
    const now: Seen = { ...view, body };
    seen.push(now);
    const step = typeof script === 'function' ? script : script[turn];
    const speech = (await step?.(now)) ?? { text: 'Nothing more to say.' };
    if (!response.destroyed) send(response, 200, format.write(speech, turn));
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, refused };
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
