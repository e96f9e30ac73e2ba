// Suspended calls of the newer protocol version: resuming, rejecting and ending them.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, vi } from 'vitest';
import type { ToolDefinition } from '../../../src/formats/module/define.js';
import { createToolbox, defineTool } from '../../../src/index.js';
import { createMcpHttp } from '../../../src/mcp-server/index.js';
import { createTestToolbox } from '../../../src/testing.js';
import { untilNoHost } from '../../support/modules.js';
import { sleep } from '../../support/processes.js';
import { call, codeOf, createQuestionWorkspace, say, TYPED, textOf } from '../../support/questions.js';
import { serveHere } from '../../support/serve.js';
import { type Message, type RawSession, serveHttp, serveStdio, until } from '../../support/server.js';
import { spec } from '../../support/spec.js';

let ids = 0;
const params = (name: string, more: object = {}, client = 'raw') => ({
  ...call(name),
  ...more,
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    'io.modelcontextprotocol/clientInfo': { name: client, version: '1' },
  },
});
const send = async (server: RawSession, name: string, more: object = {}, client?: string) => {
  const answer = await server.request(++ids, 'tools/call', params(name, more, client));
  return answer.result ?? answer;
};
const inputResponses = { question1: say('Ada') };
const ask = async (server: RawSession, name = 'name'): Promise<string> => {
  const result = await send(server, name);
  expect(result.resultType).toBe('input_required');
  expect(Object.keys(result.inputRequests)).toEqual(['question1']);
  return result.requestState;
};

spec('SRV-15', 'accepts an answer once, also from concurrent requests', async () => {
  const workspace = createQuestionWorkspace();
  const server = serveHere(workspace);
  const requestState = await ask(server);
  const results = await Promise.all(
    Array.from({ length: 8 }, () => send(server, 'name', { requestState, inputResponses })),
  );
  expect(results.filter((result) => result.isError !== true).map(textOf)).toEqual(['heard Ada']);
  const replayed = await send(server, 'name', { requestState, inputResponses });
  expect(codeOf(replayed)).toBe('cancelled');
  expect(workspace.begun()).toEqual(['name']);
});

spec.thorough('SRV-15', 'rejects altered and foreign state, and keeps waiting', async () => {
  const workspace = createQuestionWorkspace();
  const server = serveHere(workspace);
  const requestState = await ask(server);
  const foreign = await ask(serveStdio(workspace));
  for (const state of [foreign, `${requestState.slice(0, -2)}AA`, 'nonsense']) {
    const { error } = await send(server, 'name', { requestState: state, inputResponses });
    expect(error.code).toBe(-32602);
  }
  expect(textOf(await send(server, 'name', { requestState, inputResponses }))).toBe('heard Ada');
  expect(workspace.begun()).toEqual(['name', 'name']);
});

spec('SRV-15', 'ends without an answer if tool, input or caller differ', async () => {
  const workspace = createQuestionWorkspace();
  const server = serveHere(workspace);
  const state = async () => ({ requestState: await ask(server), inputResponses });
  expect(codeOf(await send(server, 'order', await state()))).toBe('cancelled');
  expect(codeOf(await send(server, 'name', { ...(await state()), arguments: { what: 1 } }))).toBe('cancelled');
  const kept = await state();
  expect(codeOf(await send(server, 'name', kept, 'another'))).toBe('cancelled');
  expect(codeOf(await send(server, 'name', kept))).toBe('cancelled');
  expect(workspace.begun()).toEqual(['name', 'name', 'name']);
});

spec('SRV-15', 'loses no question whose key is that of another one', async () => {
  // In this process all three are asked in one turn of the event loop, so all are sent at once.
  const client = await connectHere([
    {
      name: 'keyed',
      description: 'Asks three questions.',
      inputSchema: { type: 'object', properties: {} },
      execute: (_input, { elicit, ask }) =>
        Promise.all([elicit({ message: 'One?', id: 'question2' }), ask('Two?'), ask('Three?')]),
    },
  ]);
  const { inputRequests } = await callHeld(client, 'keyed');
  expect(Object.keys(inputRequests).sort()).toEqual(['question1', 'question2', 'question3']);
});

spec('SRV-15 SRV-3', 'passes on progress that is reported before anything is awaited', async () => {
  const client = await connectHere([
    {
      name: 'hasty',
      description: 'Reports progress at once.',
      inputSchema: { type: 'object', properties: {} },
      execute: (_input, { progress }) => {
        progress(1, 2);
        return 'done';
      },
    },
  ]);
  const seen: number[] = [];
  // The first call loads modules, and so awaits them.
  for (let at = 0; at < 3; at++)
    await client.callTool(call('hasty'), { onprogress: ({ progress }) => void seen.push(progress) });
  expect(seen).toEqual([1, 1, 1]);
});

spec('SRV-15', 'asks an unanswered question again', async () => {
  const server = serveHere(createQuestionWorkspace());
  const again = await send(server, 'name', { requestState: await ask(server) });
  expect(again.resultType).toBe('input_required');
  const { requestState } = again;
  expect(textOf(await send(server, 'name', { requestState, inputResponses }))).toBe('heard Ada');
});

spec.thorough('SRV-15', 'can be cancelled only by the current request', async () => {
  const workspace = createQuestionWorkspace();
  const server = serveHere(workspace);
  const cancel = (requestId: number) =>
    server.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } });
  const requestState = await ask(server);
  cancel(ids);
  expect(textOf(await send(server, 'name', { requestState, inputResponses }))).toBe('heard Ada');
  workspace.module('slow.tool.mjs', SLOW_AFTER);
  const slow = await ask(server, 'slow');
  server.send({
    jsonrpc: '2.0',
    id: ++ids,
    method: 'tools/call',
    params: params('slow', { requestState: slow, inputResponses }),
  });
  await until(() => workspace.begun().includes('waits'), 'the tool goes on');
  cancel(ids);
  await until(() => workspace.begun().includes('stopped'), 'the tool is stopped');
});

spec.thorough('SRV-15', 'ends with the server', async () => {
  const workspace = createQuestionWorkspace();
  const server = serveStdio(workspace);
  await ask(server);
  server.child.stdin.end();
  expect(await server.exited).toBe(0);
  await untilNoHost(workspace);
  const http = await serveHttp(workspace);
  const client = await connectHeld(http.url);
  await callHeld(client, 'name');
  http.child.kill('SIGTERM');
  await http.exited;
  await untilNoHost(workspace);
});

spec('SRV-15', 'ends after ten minutes and then rejects the answer', async () => {
  const events: string[] = [];
  const client = await connectHere(TYPED, (text) => events.push(text));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'], shouldAdvanceTime: true });
  try {
    const held = await callHeld(client, 'name');
    expect(held.resultType).toBe('input_required');
    expect(events).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(10 * 60_000 + 1000);
    vi.useRealTimers();
    await until(() => events.length === 1, 'the call has ended');
    expect(events).toEqual(['heard null']);
    const late = { ...call('name'), requestState: held.requestState, inputResponses };
    expect(codeOf(await client.request({ method: 'tools/call', params: late as never }))).toBe('cancelled');
  } finally {
    vi.useRealTimers();
  }
});

const SLOW_AFTER = `import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
export const tool = {
  name: 'slow',
  description: 'Asks, then takes long.',
  inputSchema: { type: 'object', additionalProperties: true },
  execute: async (_, { ask, signal, workdir }) => {
    const note = (text) => appendFileSync(join(workdir, 'begun'), text + '\\n');
    signal.addEventListener('abort', () => note('stopped'));
    await ask('Go?');
    note('waits');
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  },
};
`;

// A client of a server in this process. `onEnd` gets the text of each result.
async function connectHere(
  definitions: readonly ToolDefinition[],
  onEnd: (text: string) => void = () => {},
): Promise<Client> {
  const toolbox = createTestToolbox(definitions);
  toolbox.on((event) => void (event.type === 'end' && onEnd(textOf(event.result))));
  const handler = createMcpHttp(toolbox, { version: '1', access: { host: '127.0.0.1' } });
  onTestFinished(() => handler.close());
  return connectHeld('http://127.0.0.1/mcp', (to, init) => {
    const headers = new Headers(init?.headers);
    headers.set('host', '127.0.0.1');
    return handler.fetch(new Request(to, { ...init, headers }));
  });
}

const callHeld = async (client: Client, name: string): Promise<Message> =>
  client.request({ method: 'tools/call', params: call(name) }, { allowInputRequired: true });

// A client without automatic elicitation, which returns the result unchanged.
async function connectHeld(
  url: string,
  fetchHere?: (to: string | URL, init?: RequestInit) => Promise<Response>,
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' }, capabilities: { elicitation: { form: {} } } },
  );
  client.setRequestHandler('elicitation/create', async () => ({ action: 'cancel' }));
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), fetchHere === undefined ? {} : { fetch: fetchHere }),
  );
  onTestFinished(() => client.close());
  return client;
}

spec(
  'SRV-15 RSC-7',
  'requests of the same time are sent together, however long one takes to be decided on',
  async () => {
    const form = { type: 'object', properties: { colour: { type: 'string' } } } as const;
    const toolbox = createToolbox({
      tools: [
        defineTool({
          name: 'all',
          description: 'Asks for everything.',
          inputSchema: { type: 'object' },
          execute: async (_input, { elicit, requestClient }) => {
            const sampling = requestClient('sampling', { messages: [], maxTokens: 1 });
            await Promise.all([elicit({ message: 'Which?', schema: form }), sampling, requestClient('roots')]);
            return 'asked';
          },
        }),
      ],
      middleware: [
        async ({ tool }, next) => {
          if (tool.name.startsWith('sampling:')) await sleep(100);
          return next();
        },
      ],
    });
    const handler = createMcpHttp(toolbox, { version: '1', access: { host: '127.0.0.1' } });
    onTestFinished(() => handler.close());
    const post = async (more: object = {}) => {
      const { _meta, ...rest } = params('all', more);
      const capabilities = { elicitation: { form: {} }, sampling: {}, roots: {} };
      const response = await handler.fetch(
        new Request('http://127.0.0.1/mcp', {
          method: 'POST',
          headers: {
            host: '127.0.0.1',
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': '2026-07-28',
            'mcp-method': 'tools/call',
            'mcp-name': 'all',
          },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: ++ids,
            method: 'tools/call',
            params: { ...rest, _meta: { ..._meta, 'io.modelcontextprotocol/clientCapabilities': capabilities } },
          }),
        }),
      );
      const text = await response.text();
      return JSON.parse(/^data: (\{.*)$/m.exec(text)?.[1] ?? text).result;
    };
    const { inputRequests, requestState } = await post();
    const methods = Object.values(inputRequests as Record<string, { method: string }>).map(({ method }) => method);
    expect(methods.sort()).toEqual(['elicitation/create', 'roots/list', 'sampling/createMessage']);
    const answers: Record<string, object> = {
      'elicitation/create': { action: 'accept', content: { colour: 'red' } },
      'roots/list': { roots: [] },
      'sampling/createMessage': { role: 'assistant', model: 'test', content: { type: 'text', text: 'x' } },
    };
    const entries = Object.entries(inputRequests as Record<string, { method: string }>);
    const given = Object.fromEntries(entries.map(([key, { method }]) => [key, answers[method]]));
    expect((await post({ requestState, inputResponses: given })).content[0].text).toBe('asked');
  },
);
