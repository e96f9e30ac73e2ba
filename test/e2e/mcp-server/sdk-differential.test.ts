// The server gives the answers of the official SDK's server to random messages, over stdio and HTTP, in both protocol versions.

import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import {
  createMcpHandler,
  isInitializeRequest,
  isLegacyRequest,
  type JSONRPCMessage,
  ProtocolError,
  parseJSONRPCMessage,
  Server,
  type ServerContext,
  type Transport,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { expect, vi } from 'vitest';
import { isToolError } from '../../../src/core/error.js';
import { isRecord, parseJson } from '../../../src/core/json.js';
import { createToolbox, defineTool, type Toolbox } from '../../../src/index.js';
import { createMcpHttp } from '../../../src/mcp-server/http.js';
import { Client } from '../../../src/mcp-server/request.js';
import { createMcpServer, type McpServer } from '../../../src/mcp-server/server.js';
import { serveMcpStdio } from '../../../src/mcp-server/stdio.js';
import { ALL_TESTS, rounds, THOROUGH } from '../../support/effort.js';
import {
  type GeneratedMessage,
  initializeMessage,
  NEWER,
  nextMessage,
  OLDER,
  Random,
} from '../../support/mcp-messages.js';
import { spec } from '../../support/spec.js';

// The same messages in every `npm test`; others in every `npm run thorough`.
const SEED = Number(process.env.WIELD_SEED ?? (THOROUGH ? Date.now() % 2 ** 32 : 1));
const VERSION = '0';
const BOUNDS = { maxDepth: 64, maxBytes: 2 ** 24 };

function createTools(): Toolbox {
  const inputSchema = { type: 'object', properties: { text: { type: 'string' } } };
  const tool = (name: string, execute: (input: { text?: string }, context: never) => unknown, outputSchema?: object) =>
    defineTool({ name, description: `The ${name}.`, inputSchema, outputSchema, execute } as never);
  const steps = async (_input: object, { progress }: { progress(step: object): void }) => {
    for (const done of [1, 2]) progress({ done, total: 2, message: 'step' });
    return 'done';
  };
  const list = { type: 'array', items: { $ref: '#/$defs/item' }, $defs: { item: { type: 'string' } } };
  return createToolbox({
    tools: [
      tool('echo', ({ text }) => `said ${text}`),
      tool('fail', () => {
        throw new Error('broken');
      }),
      tool('object', () => ({ a: 1 }), { type: 'object', properties: { a: { type: 'integer' } } }),
      tool('list', () => ['x'], list),
      tool('number', () => 7, { type: 'integer' }),
      tool('picture', () => ({ content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }] })),
      tool('silent', () => ''),
      tool('steps', steps as never),
    ],
  });
}

// Requests that the SDK's server accepts are answered by our handlers, so that framing and refusals are compared.
const METHODS = [
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'tasks/get',
] as const;
const ANY = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const;

function createSdkServer(own: McpServer, session: string): Server {
  const capabilities = {
    tools: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
    extensions: { 'io.modelcontextprotocol/skills': { directoryRead: true }, 'io.modelcontextprotocol/tasks': {} },
    tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  };
  const server = new Server({ name: 'wield', version: VERSION }, { capabilities });
  const handle = async (method: string, params: Record<string, unknown> = {}, { mcpReq }: ServerContext) => {
    const isNewer = server.getNegotiatedProtocolVersion() === NEWER;
    const client = new Client(session, () => {});
    client.initialized = { capabilities: server.getClientCapabilities(), clientInfo: server.getClientVersion() };
    const _meta = { ...mcpReq._meta, ...mcpReq.envelope };
    const { inputResponses } = mcpReq;
    const requestState = mcpReq.requestState();
    const message = {
      jsonrpc: '2.0',
      id: mcpReq.id,
      method,
      params: { ...params, _meta, inputResponses, requestState },
    };
    const send = (text: string): void => void mcpReq.notify(JSON.parse(text)).catch(() => {});
    const { parts } = (await own.answer(message as never, { client, isNewer, send }))!;
    const { result, error: failure } = JSON.parse(parts.join(''));
    if (failure !== undefined) throw new ProtocolError(failure.code, failure.message, failure.data);
    return result;
  };
  for (const method of METHODS) {
    if (method === 'tasks/get')
      server.setRequestHandler(method, { params: ANY as never }, ((params: never, context: ServerContext) =>
        handle(method, params, context)) as never);
    else
      server.setRequestHandler(method, ({ params }: { params?: object }, context) =>
        handle(method, params as never, context),
      );
  }
  return server;
}

interface Connection {
  send(text: string): void;
  readonly received: unknown[];
  close(): Promise<void>;
}

function openOwn(toolbox: Toolbox): Connection {
  const input = new PassThrough();
  const received: unknown[] = [];
  const write = async (bytes: Uint8Array): Promise<void> => {
    for (const line of Buffer.from(bytes).toString('utf8').trim().split('\n')) received.push(JSON.parse(line));
  };
  const serving = serveMcpStdio(toolbox, { version: VERSION, input, write });
  return { received, send: (text) => void input.write(`${text}\n`), close: () => serving.close() };
}

const error = (id: unknown, code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } });

// The SDK path: messages are validated by the SDK's schemas and answered by its server.
function openSdk(toolbox: Toolbox): Connection {
  const own = createMcpServer(toolbox, { version: VERSION });
  const received: unknown[] = [];
  const transport: Transport = {
    async start() {},
    async send(message) {
      received.push(structuredClone(JSON.parse(JSON.stringify(message))));
    },
    async close() {},
  };
  const handle = serveStdio(() => createSdkServer(own, 'stdio'), { transport });
  return {
    received,
    send(text) {
      // Empty lines are ignored.
      if (text.trim() === '') return;
      const message = readMessage(text);
      if ('error' in message) received.push(message.error);
      else transport.onmessage?.(message.message);
    },
    async close() {
      await handle.close();
      own.close();
    },
  };
}

function readMessage(text: string): { message: JSONRPCMessage } | { error: unknown } {
  let value: unknown;
  try {
    value = parseJson(text, 'the message', BOUNDS);
  } catch (thrown) {
    const isSyntax = isToolError(thrown) && thrown.data?.fault === 'syntax';
    return { error: { code: isSyntax ? -32700 : -32600 } };
  }
  try {
    return { message: parseJSONRPCMessage(value) };
  } catch {
    const { id } = isRecord(value) ? value : {};
    const isId = typeof id === 'string' || typeof id === 'number';
    return { error: error(isId ? id : null, -32600, 'not a JSON-RPC 2.0 message') };
  }
}

// Refusals have the same code; the SDK's messages are dumps of its schemas.
function normalise(received: readonly unknown[]): string[] {
  return received
    .map((message) => {
      const {
        id,
        error: found,
        code = found?.code,
      } = message as { id?: unknown; code?: number; error?: { code: number } };
      if (code === undefined) return canonical(message);
      // The id of an unparsed message is a guess.
      return [-32700, -32600].includes(code) ? String(code) : canonical({ id, code });
    })
    .sort();
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, node) =>
    isRecord(node) ? Object.fromEntries(Object.entries(node).sort(([a], [b]) => (a < b ? -1 : 1))) : node,
  );
}

/** Waits until nothing more arrives. */
async function settle(...sides: readonly Connection[]): Promise<void> {
  const count = (): number => sides.reduce((sum, { received }) => sum + received.length, 0);
  for (let last = -1, quiet = 0; quiet < 6; quiet = count() === last ? quiet + 1 : 0) {
    last = count();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

spec(
  'SRV-40 SRV-8',
  `answers like the SDK server over stdio (seed ${SEED})`,
  async () => {
    const random = new Random(SEED);
    const toolbox = createTools();
    const total = rounds(ALL_TESTS ? 1500 : 500, 60_000);
    for (let sent = 0; sent < total; ) {
      const [own, sdk] = [openOwn(toolbox), openSdk(toolbox)];
      const isNewer = random.chance(0.5);
      const texts: string[] = [];
      const send = (text: string): void => {
        texts.push(text);
        for (const side of [own, sdk]) side.send(text);
      };
      if (!isNewer && random.chance(0.8)) send(JSON.stringify(initializeMessage(random, 'first')));
      for (let at = 0; at < 20; at++) {
        send(nextMessage(random, at + 1, isNewer).text);
        sent++;
        await settle(own, sdk);
        // On a busy machine one side may answer later than the other.
        await vi.waitFor(
          () => expect(normalise(own.received), texts.join('\n')).toEqual(normalise(sdk.received)),
          10_000,
        );
        own.received.length = 0;
        sdk.received.length = 0;
      }
      await Promise.all([own.close(), sdk.close()]);
    }
    await toolbox.close();
  },
  20 * 60_000,
);

type Fetch = (request: Request) => Promise<Response>;

// The SDK path over HTTP: its own session transport and handler.
function createSdkHttp(toolbox: Toolbox): Fetch {
  const own = createMcpServer(toolbox, { version: VERSION });
  const stateless = createMcpHandler(() => createSdkServer(own, 'http'), { legacy: 'reject' });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    const body: unknown = parseJson(await request.clone().text(), 'the body', BOUNDS);
    if (!(await isLegacyRequest(request, body))) return stateless.fetch(request, { parsedBody: body });
    const id = request.headers.get('mcp-session-id');
    if (id !== null) return sessions.get(id)!.handleRequest(request, { parsedBody: body });
    if (!isInitializeRequest(body)) return Response.json(error(null, -32600, 'missing'), { status: 400 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    await createSdkServer(own, 'session').connect(transport);
    return transport.handleRequest(request, { parsedBody: body });
  };
}

// Returns the body of a response; that of a subscription is read until it is acknowledged.
async function readBody({ body }: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (/subscriptions\/acknowledged.*\n\n/.test(text)) break;
  }
  return text;
}

async function read(response: Response): Promise<readonly [number, string[]]> {
  const text = await readBody(response);
  const isStream = response.headers.get('content-type')?.includes('event-stream') ?? false;
  const messages = isStream
    ? [...text.matchAll(/^data: ([^\n]+)/gm)].map(([, data]) => data!)
    : text === ''
      ? []
      : [text];
  return [response.status, normalise(messages.map((data) => JSON.parse(data)))];
}

function headersFor(random: Random, { message }: GeneratedMessage, isNewer: boolean): Record<string, string> {
  const version = random.chance(0.95) ? (isNewer ? NEWER : OLDER) : random.pick([OLDER, NEWER, '1999-01-01']);
  const params = isRecord(message.params) ? message.params : {};
  const headers: Record<string, string> = random.chance(0.97) ? { 'mcp-protocol-version': version } : {};
  if (isNewer && random.chance(0.97)) headers['mcp-method'] = String(message.method).replace(/[^ -~]/g, '');
  if (isNewer && typeof params.name === 'string' && random.chance(0.97)) headers['mcp-name'] = params.name;
  return headers;
}

spec(
  'SRV-40 SRV-5',
  `answers like the SDK server over HTTP (seed ${SEED})`,
  async () => {
    const random = new Random(SEED);
    const toolbox = createTools();
    const own = createMcpHttp(toolbox, { version: VERSION, access: { host: '127.0.0.1' } });
    const sdk = createSdkHttp(toolbox);
    const post = (fetch: Fetch, body: string, headers: Record<string, string>): Promise<Response> =>
      fetch(
        new Request('http://127.0.0.1/mcp', {
          method: 'POST',
          body,
          headers: {
            host: '127.0.0.1',
            accept: 'application/json, text/event-stream',
            'content-type': 'application/json',
            ...headers,
          },
        }),
      );
    const open = async (fetch: Fetch, body: string): Promise<string> => {
      const response = await post(fetch, body, {});
      await response.text();
      return response.headers.get('mcp-session-id')!;
    };
    const total = rounds(ALL_TESTS ? 600 : 200, 40_000);
    for (let sent = 0; sent < total; ) {
      const isNewer = random.chance(0.5);
      const first = JSON.stringify(initializeMessage(random, 'first'));
      const sessions = isNewer ? undefined : [await open(own.fetch, first), await open(sdk, first)];
      const cancelled = new Set<unknown>();
      for (let at = 0; at < 20; at++, sent++) {
        const generated = nextMessage(random, at + 1, isNewer);
        if ('error' in readMessage(generated.text)) continue;
        // Over HTTP a cancellation can overtake its request, which the SDK does not expect.
        const { method, id, params } = generated.message;
        if (cancelled.has(id)) continue;
        if (method === 'notifications/cancelled' && isRecord(params)) cancelled.add(params.requestId);
        const headers = headersFor(random, generated, isNewer);
        const [ours, theirs] = await Promise.all(
          [own.fetch, sdk].map(async (fetch, side) => {
            const session: Record<string, string> = sessions ? { 'mcp-session-id': sessions[side]! } : {};
            return read(await post(fetch, generated.text, { ...headers, ...session }));
          }),
        );
        if (theirs![0] === 400 && theirs![1][0]?.includes('missing')) expect(ours![0]).toBe(400);
        else expect(ours, `${generated.text}\n${JSON.stringify(headers)}`).toEqual(theirs);
      }
    }
    await own.close();
    await toolbox.close();
  },
  20 * 60_000,
);
